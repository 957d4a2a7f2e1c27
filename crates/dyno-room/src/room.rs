//! A room from its making to its end, as the engine drives it.

use crate::account::Ending;
use crate::error::Result;
use crate::options::{Furnishing, PeerOptions, RoomOptions, SubjectOptions};

/// A sealed room: this process is in the peer's network namespace, the subject's is waiting.
///
/// Dropping it ends everything in it.
#[derive(Debug)]
pub struct Room {}

impl Room {
    /// Makes the room's namespaces and its first process, and moves this process into the peer's network namespace.
    ///
    /// Call it first in `main`, before any thread is started: the kernel moves single-threaded processes only. Afterwards the
    /// caller may start threads; sockets they open are the peer's. From here on SIGINT, SIGTERM, SIGHUP and SIGQUIT are blocked and
    /// end the subject instead (see [`Running::wait`]), and this process dies with its parent.
    ///
    /// # Errors
    ///
    /// One line that says what the kernel refused and what to do about it.
    pub fn enter(_options: &RoomOptions) -> Result<Self> {
        unimplemented!()
    }

    /// Whether the room has IPv6 (a kernel can be without).
    #[must_use]
    pub fn has_ipv6(&self) -> bool {
        unimplemented!()
    }

    /// Kernel settings that could not be made, each with the reason; none is vital.
    #[must_use]
    pub fn refused_settings(&self) -> &[String] {
        unimplemented!()
    }

    /// Whether a signal to stop has come since [`Room::enter`]; preparations may look here.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        unimplemented!()
    }

    /// Lays the room's files over the machine's: names, trust, an own `/run`, `/tmp` stays.
    ///
    /// Call it once, before a program is started; it may be called from another thread than [`Room::enter`].
    ///
    /// # Errors
    ///
    /// One line that names the file and what to do about it.
    pub fn furnish(&mut self, _furnishing: &Furnishing) -> Result<()> {
        unimplemented!()
    }

    /// Starts a peer program in the peer's network namespace, on the engine's CPUs, with an empty standard input.
    ///
    /// It dies with the room. The caller can connect to it at 127.0.0.1 to learn when it is ready.
    ///
    /// # Errors
    ///
    /// When it cannot be executed.
    pub fn start_peer(&mut self, _peer: PeerOptions) -> Result<()> {
        unimplemented!()
    }

    /// Starts the subject; returns when it has been executed, or could not be (which is an [`Ending`], not an error).
    ///
    /// # Errors
    ///
    /// When the room itself fails.
    pub fn start(self, _subject: SubjectOptions) -> Result<Running> {
        unimplemented!()
    }
}

/// A room whose subject runs. Dropping it ends everything in it.
#[derive(Debug)]
pub struct Running {}

impl Running {
    /// Unix time of the subject's exec; absent when it could not be executed.
    #[must_use]
    pub fn started_at_ns(&self) -> Option<u64> {
        unimplemented!()
    }

    /// A handle to end the subject from another thread.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        unimplemented!()
    }

    /// Waits for the subject to end, by itself, by its deadline or by a signal to this process; then ends all that is left in
    /// the room, and accounts.
    ///
    /// # Errors
    ///
    /// When the room itself failed, so that there is nothing to report; nothing is left behind then either.
    pub fn wait(self) -> Result<Ending> {
        unimplemented!()
    }
}

/// Ends a subject early, as an interruption.
#[derive(Debug, Clone)]
pub struct Stopper {}

impl Stopper {
    /// Asks the subject to end: SIGTERM, two seconds, SIGKILL.
    pub fn stop(&self) {
        unimplemented!()
    }
}
