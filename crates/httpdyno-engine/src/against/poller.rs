//! A trial on another machine's origin while the subject runs: polls the origin's progress, and detects its loss.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dyno_room::Stopper;

use super::error::AgainstError;
use super::session::Session;
use crate::progress::Counters;

/// Poll interval.
const EVERY: Duration = Duration::from_millis(500);

/// The origin's progress at the last poll.
#[derive(Debug, Clone, Default)]
pub struct LatestProgress(Arc<Mutex<Counters>>);

impl LatestProgress {
    /// Returns the progress.
    pub fn counters(&self) -> Counters {
        *self.lock()
    }

    fn set(&self, counters: Counters) {
        *self.lock() = counters;
    }

    fn lock(&self) -> MutexGuard<'_, Counters> {
        // The value is valid at all times, even after a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A trial that is polled.
#[derive(Debug)]
pub struct Poller {
    end: Sender<()>,
    thread: JoinHandle<Result<Session, AgainstError>>,
}

impl Poller {
    /// Polls the origin; stops the subject as soon as the origin is lost, since the record of the trial is lost with it.
    pub fn start(mut session: Session, latest: LatestProgress, subject: Stopper) -> Self {
        let (end, ended) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                match session.progress() {
                    Ok(value) => latest.set(Counters {
                        requests: value["answers"].as_u64().unwrap_or(0),
                        sent_bytes: value["sent_bytes"].as_u64().unwrap_or(0),
                    }),
                    Err(error) => {
                        subject.stop();
                        return Err(error);
                    }
                }
            }
            Ok(session)
        });
        Self { end, thread }
    }

    /// Stops polling after the end of the subject; returns the session, or why it was lost.
    pub fn end(self) -> Result<Session, AgainstError> {
        drop(self.end);
        match self.thread.join() {
            Ok(session) => session,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
