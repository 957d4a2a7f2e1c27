//! The mode of the terminal in which single keys are read. It is restored when this program ends, however it ends.

use std::io;
use std::sync::{Mutex, PoisonError};

use rustix::process::getpgrp;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
};

/// The mode before; `None` while it is in force.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Whether this program is in the foreground of its terminal. In the background it must neither read from the terminal
/// nor change its mode: the kernel would stop it.
pub fn is_foreground() -> bool {
    tcgetpgrp(io::stderr()).is_ok_and(|group| group == getpgrp())
}

/// While this exists, standard input gives single keys, which the terminal does not print. Signals of the keyboard
/// remain: Ctrl-C, Ctrl-Z.
#[derive(Debug)]
pub struct SingleKeys(());

impl SingleKeys {
    /// Changes the mode of the terminal.
    ///
    /// # Errors
    ///
    /// If standard input is not a terminal.
    pub fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut mode = before.clone();
        mode.local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO);
        // A read returns at once, with or without a key.
        mode.special_codes[SpecialCodeIndex::VMIN] = 0;
        mode.special_codes[SpecialCodeIndex::VTIME] = 0;
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        tcsetattr(io::stdin(), OptionalActions::Now, &mode)?;
        Ok(Self(()))
    }

    /// The keys since the last call.
    #[expect(
        clippy::unused_self,
        reason = "in the usual mode a read waits for a line"
    )]
    pub fn read(&self) -> Vec<u8> {
        let mut keys = [0; 64];
        // Not through `Stdin`, which would read ahead.
        let count = rustix::io::read(io::stdin(), &mut keys).unwrap_or(0);
        keys[..count].to_vec()
    }
}

impl Drop for SingleKeys {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the mode, if it was changed: for ends of the process that drop nothing.
pub fn restore() {
    let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(before) = before.take()
        && is_foreground()
    {
        // The terminal may be gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
}
