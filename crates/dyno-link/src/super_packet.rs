//! Maximum length of a super-packet on a link, so that moving it as a whole still resembles its segments.

use crate::link::{Link, Path};
use crate::units::Nanos;

/// Longest duration of a super-packet at the rate: its first segment arrives that much later than it would alone.
const LONGEST: Nanos = Nanos::from_micros(100);

/// The kernel's default limit (`GSO_LEGACY_MAX_SIZE`).
const KERNEL_LIMIT: u64 = 65_536;

/// Limit of segmentation offload on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuperPacket {
    /// Disabled: even two segments take too long at the rate.
    OffForRate,
    /// Super-packets up to this length, which take at most 0.1 ms at the rate.
    Bounded(u32),
    /// The kernel's limit: there is no rate, or one at which the longest super-packet takes less than 0.1 ms.
    Free(u32),
}

impl SuperPacket {
    /// Return the length of the longest super-packet in bytes; none if disabled.
    #[must_use]
    pub const fn longest_bytes(self) -> Option<u32> {
        match self {
            Self::OffForRate => None,
            Self::Bounded(bytes) | Self::Free(bytes) => Some(bytes),
        }
    }

    /// Return the reason in one line for a report.
    #[must_use]
    pub const fn why(self) -> &'static str {
        match self {
            Self::OffForRate => "off: two packets take more than 0.1 ms at this rate",
            Self::Bounded(_) => "bounded: a super-packet takes 0.1 ms at this rate at most",
            Self::Free(_) => "on: the longest super-packet takes less than 0.1 ms",
        }
    }
}

impl Path {
    /// Return the limit of segmentation offload in this direction.
    #[must_use]
    pub fn super_packet(&self, mtu: u16) -> SuperPacket {
        let longest = self
            .rate()
            .map_or(u64::MAX, |rate| rate.bytes_in(LONGEST))
            .min(KERNEL_LIMIT);
        let bytes = u32::try_from(longest).expect("the kernel's limit is far below 4 GiB");
        if longest < 2 * u64::from(mtu) {
            SuperPacket::OffForRate
        } else if longest < KERNEL_LIMIT {
            SuperPacket::Bounded(bytes)
        } else {
            SuperPacket::Free(bytes)
        }
    }
}

impl Link {
    /// Return the limit for both ends of a link, which share one setting: the smaller of both directions.
    #[must_use]
    pub fn super_packet(&self) -> SuperPacket {
        let (up, down) = (
            self.up.super_packet(self.mtu),
            self.down.super_packet(self.mtu),
        );
        if up.longest_bytes() <= down.longest_bytes() {
            up
        } else {
            down
        }
    }
}
