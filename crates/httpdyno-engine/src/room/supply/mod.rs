//! Who hands a subject the lines of `--stdin` while it runs: on a schedule, or batch by batch.

mod batches;
mod feed;

use std::thread::JoinHandle;

use dyno_room::{Ending, Stopper};
use serde::Serialize;

pub use batches::Batcher;
use batches::Handed;
pub use feed::Feeder;
use feed::{Fed, Feeding};

/// Whoever is about to begin.
pub enum Supply {
    /// On a schedule.
    Paced(Feeder),
    /// Batch by batch.
    Batched(Batcher),
}

/// Lines that are being handed over.
pub enum Supplying {
    /// On a schedule.
    Paced(Feeding),
    /// Batch by batch.
    Batched(JoinHandle<Handed>),
}

/// What was handed over.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Supplied {
    /// On a schedule.
    Paced(Fed),
    /// Batch by batch.
    Batched(Handed),
}

impl Supply {
    /// Hands lines over from now on.
    pub fn start(self, subject: Stopper) -> Supplying {
        match self {
            Self::Paced(feeder) => Supplying::Paced(feeder.start(subject)),
            Self::Batched(batcher) => Supplying::Batched(batcher.start()),
        }
    }
}

impl Supplying {
    /// Takes note that the subject has ended, and with it all that could read or print.
    pub fn end(self, ending: &mut Ending) -> Option<Supplied> {
        match self {
            Self::Paced(feeding) => feeding.end(ending).map(Supplied::Paced),
            Self::Batched(thread) => thread.join().ok().map(Supplied::Batched),
        }
    }
}
