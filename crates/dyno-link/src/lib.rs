//! A link as a pure packet queue: it decides when each packet between subject and peer arrives, and which are lost.
//!
//! A [`Link`] is the user's request: `rtt=40ms,rate=1gbit,loss=0.1%`. It has two [`Path`]s, `up` (subject to peer) and `down`.
//! A [`Direction`] simulates one of them: the caller offers it each packet and takes out the packets that are due.
//!
//! # Stages
//!
//! A packet passes the [`Stage`]s of its path in order: the queue before the rate ([`Bottleneck`]), [`Loss`], [`Delay`]. A lost
//! packet therefore has used its share of the rate, as on a radio link, and a packet in the queue has not left yet. A stage is a
//! value: it takes a packet at a moment and returns the moment at which the packet leaves, or that the packet is lost. It has no
//! access to clocks, sockets or other stages.
//!
//! # Adding an axis
//!
//! - Jitter and reordering: a stage that adds a time computed from the packet's number. Packets in flight are sorted by
//!   due time, so that a later packet may arrive first.
//! - A trace: a stage in place of the [`Bottleneck`] with a time-dependent rate.
//! - A burst loss (Gilbert and Elliott): a stage with a state in place of [`Loss`].
//!
//! Each needs a file with a type that implements [`Stage`], a line in [`Path::stages`], and a key in the grammar.
//! `tests/later_axes.rs` drives such a jitter and such a trace through a [`Direction`].
//!
//! # Exactness
//!
//! Times are whole nanoseconds. A rate never drifts: the remainder of each division is carried over to the next packet. Whether packet
//! number `n` is lost is a pure function of seed, direction and `n`, equal on every machine and in every version.
#![forbid(unsafe_code)]

mod bottleneck;
mod canonical;
mod delay;
mod direction;
mod error;
mod in_flight;
mod link;
mod loss;
mod parse;
mod preset;
mod quantity;
mod stage;
mod super_packet;
mod units;

pub use bottleneck::Bottleneck;
pub use delay::Delay;
pub use direction::{Counts, Direction, Offered};
pub use error::LinkError;
pub use link::{DEFAULT_MTU, DEFAULT_QUEUE, Limit, Link, Path};
pub use loss::Loss;
pub use preset::{PRESETS, Preset};
pub use stage::{Burst, Gone, Passing, Stage, Way};
pub use super_packet::SuperPacket;
pub use units::{Nanos, Rate, Share};
