//! Who hands a subject the lines of `--stdin` while it runs: on a schedule, batch by batch, or so that hosts are spared.

mod answered_lines;
mod batches;
mod feed;
mod host_feed;
mod per_host;
mod pipes;

use std::thread::JoinHandle;

use dyno_room::{Ending, Stopper};
use serde::Serialize;

pub use batches::Batcher;
use batches::Handed;
pub use feed::Feeder;
use feed::{Fed, Feeding};
use host_feed::HostFed;
pub use host_feed::{Answered, HostFeeder};
pub use per_host::HostLimit;

/// Whoever is about to begin.
pub enum Supply {
    /// On a schedule.
    Paced(Feeder),
    /// Batch by batch.
    Batched(Batcher),
    /// So that hosts are spared.
    Limited(Box<HostFeeder>),
}

/// Lines that are being handed over.
pub enum Supplying {
    /// On a schedule.
    Paced(Feeding),
    /// Batch by batch.
    Batched(JoinHandle<Handed>),
    /// So that hosts are spared.
    Limited(JoinHandle<HostFed>),
}

/// What was handed over.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Supplied {
    /// On a schedule.
    Paced(Fed),
    /// Batch by batch.
    Batched(Handed),
    /// So that hosts are spared.
    Limited(HostFed),
}

impl Supply {
    /// How far the subject is, where that is looked at.
    pub fn answered(&self) -> Answered {
        match self {
            Self::Limited(feeder) => feeder.answered.clone(),
            Self::Paced(_) | Self::Batched(_) => Answered::default(),
        }
    }

    /// Hands lines over from now on.
    pub fn start(self, subject: Stopper) -> Supplying {
        match self {
            Self::Paced(feeder) => Supplying::Paced(feeder.start(subject)),
            Self::Batched(batcher) => Supplying::Batched(batcher.start()),
            Self::Limited(feeder) => Supplying::Limited(feeder.start()),
        }
    }
}

impl Supplying {
    /// Takes note that the subject has ended, and with it all that could read or print.
    pub fn end(self, ending: &mut Ending) -> Option<Supplied> {
        match self {
            Self::Paced(feeding) => feeding.end(ending).map(Supplied::Paced),
            Self::Batched(thread) => thread.join().ok().map(Supplied::Batched),
            Self::Limited(thread) => thread.join().ok().map(Supplied::Limited),
        }
    }
}
