//! How long a super-packet may be on a link, so that moving it as one still looks like its segments.

use crate::link::{Link, Path};
use crate::units::Nanos;

/// The longest that a super-packet may take at the rate: its first segment is that much later than it would be alone.
const LONGEST: Nanos = Nanos::from_micros(100);

/// The longest that the kernel builds unless told otherwise (`GSO_LEGACY_MAX_SIZE`).
const KERNEL_LIMIT: u64 = 65_536;

/// What segmentation offload may do on a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuperPacket {
    /// Nothing: two segments already take too long at the rate.
    OffForRate,
    /// Super-packets of up to so many bytes, which take 0.1 ms at the rate at most.
    Bounded(u32),
    /// As the kernel builds them: there is no rate, or one at which the longest takes less than 0.1 ms.
    Free(u32),
}

impl SuperPacket {
    /// The longest super-packet in bytes; none where there must not be any.
    #[must_use]
    pub const fn longest_bytes(self) -> Option<u32> {
        match self {
            Self::OffForRate => None,
            Self::Bounded(bytes) | Self::Free(bytes) => Some(bytes),
        }
    }

    /// Why, in a line for a report.
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
    /// What segmentation offload may do in this direction.
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
    /// What segmentation offload may do on a link whose two ends have the same setting: the lesser of both directions.
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
