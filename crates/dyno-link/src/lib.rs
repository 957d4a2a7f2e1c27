//! A link as a pure packet queue: what happens to a packet between subject and peer, and when.
//!
//! A [`Link`] is what a user asks for: `rtt=40ms,rate=1gbit,loss=0.1%`. It has two [`Path`]s, `up` (subject to peer) and `down`.
//! A [`Direction`] plays one of them: whoever moves packets offers each to it, and takes out what is due.
//!
//! # Stages
//!
//! A packet passes the [`Stage`]s of its path in order: the queue before the rate ([`Bottleneck`]), [`Loss`], [`Delay`]. So a lost
//! packet has used its share of the rate, as on a radio link, and what waits in the queue is not on its way yet. A stage is a value:
//! it takes a packet at a moment, and gives the moment at which the packet leaves it, or says that the packet is gone. It knows
//! nothing of clocks, sockets or other stages.
//!
//! # A later axis is one file
//!
//! - Jitter and reordering: a stage that adds a time which depends on the packet's number. Packets in flight are held by
//!   the moment they are due, so that a later packet may arrive first.
//! - A trace: a stage in the place of the [`Bottleneck`] whose rate is a function of the moment.
//! - A burst loss (Gilbert and Elliott): a stage in the place of [`Loss`] with a state.
//!
//! Each is a file with a type that implements [`Stage`], a line in [`Path::stages`], and its key in the grammar.
//! `tests/later_axes.rs` drives a jitter and a trace of this kind through a [`Direction`].
//!
//! # What is exact
//!
//! Times are whole nanoseconds. A rate never drifts: what is left of a division is carried into the next packet. The fate of packet
//! number `n` is a pure function of seed, direction and `n`, the same on every machine and for ever.
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
