//! A link: two paths, and the largest packet that fits through.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::bottleneck::Bottleneck;
use crate::delay::Delay;
use crate::loss::Loss;
use crate::stage::{Stage, Way};
use crate::units::{Nanos, Rate, Share};

/// The largest IP packet of a link that names none: Ethernet's (RFC 894).
pub const DEFAULT_MTU: u16 = 1500;

/// The longest that a packet may wait for a rate that names no queue.
pub const DEFAULT_QUEUE: Nanos = Nanos::from_millis(100);

/// One direction of a link, as it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Path {
    /// The distance: how long every packet takes, once it was sent.
    pub delay: Nanos,
    /// What it carries, and how long a packet may wait for that; none carries everything at once.
    pub limit: Option<Limit>,
    /// The share of packets that are lost.
    pub loss: Share,
}

/// A rate with the queue before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limit {
    /// Bits of IP packets a second.
    pub rate: Rate,
    /// The longest that a packet may wait for the rate: who would wait longer is dropped.
    pub queue: Nanos,
}

impl Path {
    /// The stages of the path, in order; those that do nothing are left out.
    #[must_use]
    pub fn stages(&self, seed: u64, way: Way) -> Vec<Box<dyn Stage>> {
        let mut stages: Vec<Box<dyn Stage>> = Vec::new();
        if let Some(Limit { rate, queue }) = self.limit {
            stages.push(Box::new(Bottleneck::new(rate, queue)));
        }
        if self.loss > Share::NONE {
            stages.push(Box::new(Loss::new(self.loss, seed, way)));
        }
        if self.delay > Nanos::ZERO {
            stages.push(Box::new(Delay(self.delay)));
        }
        stages
    }

    /// The rate, if it has one.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        self.limit.map(|limit| limit.rate)
    }

    /// The longest that a packet may wait, if there is a rate to wait for.
    #[must_use]
    pub fn queue(&self) -> Option<Nanos> {
        self.limit.map(|limit| limit.queue)
    }
}

/// `delay_ns`, `rate_bits_per_s`, `queue_ns` (null without a rate), `loss` (0 to 1).
impl Serialize for Path {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut path = serializer.serialize_struct("Path", 4)?;
        path.serialize_field("delay_ns", &self.delay.0)?;
        path.serialize_field("rate_bits_per_s", &self.rate().map(Rate::bits_per_second))?;
        path.serialize_field("queue_ns", &self.queue().map(|queue| queue.0))?;
        path.serialize_field("loss", &self.loss.as_f64())?;
        path.end()
    }
}

/// What lies between subject and peer. The default is a direct link, which adds nothing.
///
/// Read with [`str::parse`]; [`ToString`] writes the canonical text, which reads as the same link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Link {
    /// From the subject to its peer.
    pub up: Path,
    /// From the peer to the subject.
    pub down: Path,
    /// The largest IP packet, in bytes.
    pub mtu: u16,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            up: Path::default(),
            down: Path::default(),
            mtu: DEFAULT_MTU,
        }
    }
}

impl Link {
    /// Whether it adds nothing.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        *self == Self::default()
    }

    /// The time of a round trip, as far as distance makes it.
    #[must_use]
    pub fn round_trip(&self) -> Nanos {
        self.up.delay + self.down.delay
    }

    /// The path of one direction.
    #[must_use]
    pub fn path(&self, way: Way) -> &Path {
        match way {
            Way::Up => &self.up,
            Way::Down => &self.down,
        }
    }
}

/// `spec` (the canonical text), `mtu`, `rtt_ns`, `up` and `down`.
impl Serialize for Link {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut link = serializer.serialize_struct("Link", 5)?;
        link.serialize_field("spec", &self.to_string())?;
        link.serialize_field("mtu", &self.mtu)?;
        link.serialize_field("rtt_ns", &self.round_trip().0)?;
        link.serialize_field("up", &self.up)?;
        link.serialize_field("down", &self.down)?;
        link.end()
    }
}
