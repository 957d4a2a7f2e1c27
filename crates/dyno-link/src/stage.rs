//! A stage of a path: computes when a packet leaves, or that it is lost.

use std::fmt::Debug;

use crate::units::Nanos;

/// A direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    /// From the subject to its peer.
    Up,
    /// From the peer to the subject.
    Down,
}

/// A packet passing the stages, or several consecutive ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passing {
    /// Number of the first packet, counted from 0 over all packets offered to the direction.
    pub number: u64,
    /// Number and length of the packets.
    pub burst: Burst,
    /// When it enters the stage.
    pub at: Nanos,
}

/// One packet, or the segments of a super-packet (TSO, GSO, USO), which pass as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// Number of packets.
    pub packets: u32,
    /// Total length of these IP packets with their headers.
    pub bytes: u32,
}

impl Burst {
    /// Make a burst of a single packet of this length.
    #[must_use]
    pub const fn one(bytes: u32) -> Self {
        Self { packets: 1, bytes }
    }
}

/// Why a packet does not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    /// Lost by chance.
    Lost,
    /// Dropped because the queue before the rate was full.
    Dropped,
}

/// A stage of a path.
///
/// Packets come in the order of their numbers. Their times never go back if the earlier stages keep the order.
pub trait Stage: Debug + Send {
    /// Return when the packet leaves, never before it came.
    ///
    /// # Errors
    ///
    /// Why it does not leave.
    fn pass(&mut self, packet: Passing) -> Result<Nanos, Gone>;

    /// Return whether packet `number` is lost here, independently of its time. Callers use this to split a super-packet.
    fn loses(&self, _number: u64) -> bool {
        false
    }

    /// Return the longest wait of an accepted packet.
    fn longest_wait(&self) -> Nanos {
        Nanos::ZERO
    }
}
