//! Search for the highest rate that a server holds while an objective is met: `p99 < 50ms, errors < 0.1%`. No clock, no I/O.
//!
//! A [`Search`] proposes steps: open loops at one rate each. The caller runs them and returns their counts per block of 50 ms. First the
//! rate doubles until the objective is clearly missed, then the interval between a held and a missed rate is halved, then steps go above
//! and below the estimate until its interval is narrow or the time is used. Each limit of the objective has a capacity: the rate at which
//! the share of requests beyond the limit equals the share that the objective permits. [`model`] estimates it.

pub(crate) mod blocks;
mod model;
mod objective;
mod search;
#[cfg(test)]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times and counts of simulations"
)]
mod simulated;

pub use blocks::StepCounts;
pub use objective::{Bound, Objective};
pub use search::{End, Ended, Estimate, Next, Search, StepPlan, Verdict};

/// Length of a block, in nanoseconds.
pub const BLOCK_NS: u64 = 50_000_000;
/// Length of a block, in seconds.
pub(crate) const BLOCK_S: f64 = 0.05;
