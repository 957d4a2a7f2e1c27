//! A trial on another machine's origin, held while the subject runs: asked for its progress, and noticed when it is lost.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use dyno_room::Stopper;

use super::error::AgainstError;
use super::session::Session;
use crate::progress::Done;

/// How often the origin is asked.
const EVERY: Duration = Duration::from_millis(500);

/// What the origin has told last.
#[derive(Debug, Clone, Default)]
pub struct Told(Arc<Mutex<Done>>);

impl Told {
    /// How far it is.
    pub fn done(&self) -> Done {
        *self.lock()
    }

    fn tell(&self, done: Done) {
        *self.lock() = done;
    }

    fn lock(&self) -> MutexGuard<'_, Done> {
        // Stored whole: there is nothing that a panic could leave half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A trial that is held.
#[derive(Debug)]
pub struct Hold {
    end: Sender<()>,
    thread: JoinHandle<Result<Session, AgainstError>>,
}

impl Hold {
    /// Holds a trial; the subject is stopped as soon as the origin is lost, since nobody could say any more what it was given.
    pub fn start(mut session: Session, told: Told, subject: Stopper) -> Self {
        let (end, ended) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                match session.progress() {
                    Ok(value) => told.tell(Done {
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

    /// The subject has ended: gives the session back, or why it was lost.
    pub fn end(self) -> Result<Session, AgainstError> {
        drop(self.end);
        match self.thread.join() {
            Ok(held) => held,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
