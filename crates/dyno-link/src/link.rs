//! A link: two paths and the size of the largest packet.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::bottleneck::Bottleneck;
use crate::delay::Delay;
use crate::loss::Loss;
use crate::stage::{Stage, Way};
use crate::units::{Nanos, Rate, Share};

/// Default size of the largest IP packet: Ethernet's (RFC 894).
pub const DEFAULT_MTU: u16 = 1500;

/// Default of the longest wait for a rate.
pub const DEFAULT_QUEUE: Nanos = Nanos::from_millis(100);

/// Settings of one direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Path {
    /// Delay of every packet after it was sent.
    pub delay: Nanos,
    /// Rate and queue; none: unlimited.
    pub limit: Option<Limit>,
    /// Share of packets lost by chance.
    pub loss: Share,
}

/// A rate and the queue before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limit {
    /// Bits of IP packets per second.
    pub rate: Rate,
    /// Longest wait for the rate; packets that would wait longer are dropped.
    pub queue: Nanos,
}

impl Path {
    /// Return the stages of the path in order, without those that do nothing.
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

    /// Return the rate, if there is one.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        self.limit.map(|limit| limit.rate)
    }

    /// Return the longest wait, if there is a rate.
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

/// The link between subject and peer. The default is a direct link, which changes nothing.
///
/// Parse with [`str::parse`]; [`ToString`] writes the canonical text, which parses as the same link.
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
    /// Return whether the link changes nothing.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        *self == Self::default()
    }

    /// Return the time of a round trip, without time in queues.
    #[must_use]
    pub fn round_trip(&self) -> Nanos {
        self.up.delay + self.down.delay
    }

    /// Return the path of one direction.
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
