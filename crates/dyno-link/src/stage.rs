//! What a part of a path does to a packet: it says when the packet leaves, or that it is gone.

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

/// A packet on its way through the stages, or some that follow each other at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Passing {
    /// Counts the packets that were offered to the direction, from 0: that of the first.
    pub number: u64,
    /// What they are on the wire.
    pub burst: Burst,
    /// When it enters the stage.
    pub at: Nanos,
}

/// One packet, or the segments of a super-packet (TSO, GSO, USO), which pass as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// How many packets it is.
    pub packets: u32,
    /// The length of all these IP packets, the headers of each included.
    pub bytes: u32,
}

impl Burst {
    /// A single packet of this length.
    #[must_use]
    pub const fn one(bytes: u32) -> Self {
        Self { packets: 1, bytes }
    }
}

/// Why a packet does not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gone {
    /// Lost on the way.
    Lost,
    /// The queue before the rate had no room for it.
    Dropped,
}

/// A part of a path.
///
/// Packets come in the order of their numbers, at moments that never go back where the stages before it keep the order.
pub trait Stage: Debug + Send {
    /// Gives the moment at which the packet leaves, never before it came.
    ///
    /// # Errors
    ///
    /// Why it does not leave at all.
    fn pass(&mut self, packet: Passing) -> Result<Nanos, Gone>;

    /// Whether packet `number` is lost here, whenever it comes: who splits a super-packet asks ahead.
    fn loses(&self, _number: u64) -> bool {
        false
    }

    /// The longest that a packet which was let in has waited for its turn.
    fn longest_wait(&self) -> Nanos {
        Nanos::ZERO
    }
}
