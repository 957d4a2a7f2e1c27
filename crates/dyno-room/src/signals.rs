//! Signals as readable descriptors: blocked, and read when convenient.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::{Result, Step};

/// Signals that stop the engine.
pub(crate) const STOPPING: &[i32] = &[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Blocked signals and the descriptor that delivers them.
#[derive(Debug)]
pub(crate) struct Signals(OwnedFd);

impl Signals {
    /// Block these signals in this thread and its later threads; open a descriptor that delivers them.
    pub(crate) fn block(signals: &[i32]) -> Result<Self> {
        let set = block(signals).step(|| "blocking signals".to_owned())?;
        // SAFETY: the set is a live, initialised local.
        let descriptor =
            unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error())
                .step(|| "opening a signal descriptor".to_owned());
        }
        // SAFETY: signalfd has just made this descriptor, and no other code has it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// Return whether a signal is pending.
    pub(crate) fn is_pending(&self) -> bool {
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let mut descriptors = [PollFd::new(self, PollFlags::IN)];
        poll(&mut descriptors, Some(&at_once)).is_ok_and(|ready| ready > 0)
    }

    /// Take one pending signal, if any.
    pub(crate) fn take(&self) -> Option<i32> {
        let mut buffer = [0; size_of::<libc::signalfd_siginfo>()];
        let length = rustix::io::read(&self.0, &mut buffer).ok()?;
        // The signal's number is the structure's first field.
        let number = buffer.get(..length)?.first_chunk()?;
        i32::try_from(u32::from_ne_bytes(*number)).ok()
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Unblock every signal, as a program expects at its start.
pub(crate) fn unblock_all() -> io::Result<()> {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the pointers are to the live local set, which sigemptyset initialises before it is read.
    let error = unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, set.as_ptr(), std::ptr::null_mut())
    };
    match error {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// Block these signals in this thread and its later threads.
pub(crate) fn block(signals: &[i32]) -> io::Result<libc::sigset_t> {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the pointers are to the live local set, which sigemptyset initialises before it is read.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for &signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        let set = set.assume_init();
        match libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) {
            0 => Ok(set),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }
}
