//! Feeds the lines of `--stdin` to a running subject: on a schedule, in batches, or within a limit per host.

mod answered_lines;
mod batches;
mod feed;
mod host_feed;
mod per_host;
mod pipes;

use std::thread::JoinHandle;

use dyno_room::{Ending, Stopper};
use serde::Serialize;

use batches::BatchRecord;
pub use batches::Batcher;
pub use feed::Feeder;
use feed::{FeedRecord, RunningFeeder};
use host_feed::HostFeedRecord;
pub use host_feed::{AnswerCount, HostFeeder};
pub use per_host::HostLimit;

/// A supply to be started.
pub enum Supply {
    /// On a schedule.
    Paced(Feeder),
    /// Batch by batch.
    Batched(Batcher),
    /// Within a limit per host.
    Limited(Box<HostFeeder>),
}

/// A running supply.
pub enum RunningSupply {
    /// On a schedule.
    Paced(RunningFeeder),
    /// Batch by batch.
    Batched(JoinHandle<BatchRecord>),
    /// Within a limit per host.
    Limited(JoinHandle<HostFeedRecord>),
}

/// The record of a supply.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum SupplyRecord {
    /// On a schedule.
    Paced(FeedRecord),
    /// Batch by batch.
    Batched(BatchRecord),
    /// Within a limit per host.
    Limited(HostFeedRecord),
}

impl Supply {
    /// Count of the answered lines, if they are counted.
    pub fn answered(&self) -> AnswerCount {
        match self {
            Self::Limited(feeder) => feeder.answered.clone(),
            Self::Paced(_) | Self::Batched(_) => AnswerCount::default(),
        }
    }

    /// Starts feeding.
    pub fn start(self, subject: Stopper) -> RunningSupply {
        match self {
            Self::Paced(feeder) => RunningSupply::Paced(feeder.start(subject)),
            Self::Batched(batcher) => RunningSupply::Batched(batcher.start()),
            Self::Limited(feeder) => RunningSupply::Limited(feeder.start()),
        }
    }
}

impl RunningSupply {
    /// Waits for the supply after the subject's end.
    pub fn end(self, ending: &mut Ending) -> Option<SupplyRecord> {
        match self {
            Self::Paced(feeding) => feeding.end(ending).map(SupplyRecord::Paced),
            Self::Batched(thread) => thread.join().ok().map(SupplyRecord::Batched),
            Self::Limited(thread) => thread.join().ok().map(SupplyRecord::Limited),
        }
    }
}
