//! Wakes the thread of a link when it has an order, whether it spins or sleeps.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};

use crate::error::{Result, Step};

/// Wakes the emulator, whether it spins or sleeps.
///
/// Only `is_set` indicates an order; the descriptor just ends a sleep. A spinning emulator may see `is_set` before the
/// descriptor is written, and is then woken once more without an order, which is harmless.
#[derive(Debug)]
pub(super) struct WakeEvent {
    is_set: AtomicBool,
    event: OwnedFd,
}

impl WakeEvent {
    pub(super) fn new() -> Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let event = eventfd(0, flags).step(|| "making an event descriptor".to_owned())?;
        Ok(Self {
            is_set: AtomicBool::new(false),
            event,
        })
    }

    /// Wake the emulator. The flag must be set before the write: an emulator with a higher priority may take the CPU
    /// during the write, and would miss an order that is set afterwards.
    pub(super) fn wake(&self) {
        self.is_set.store(true, Ordering::Release);
        self.end_sleep();
    }

    fn end_sleep(&self) {
        // Fails only after 2^64 writes.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    /// Return whether it was set since the last call, and reset it. Every order given before is visible then.
    pub(super) fn take(&self) -> bool {
        // Usually it is not set, and a load costs less than a swap.
        self.is_set.load(Ordering::Relaxed) && self.is_set.swap(false, Ordering::Acquire)
    }

    /// Drain the descriptor, so that it ends no other sleep; call [`WakeEvent::take`] afterwards.
    pub(super) fn drain(&self) {
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
    }
}

impl AsFd for WakeEvent {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::super::pace::Pace;
    use super::*;

    /// Rest until the event ends the rest; return whether the event would end the next rest, too.
    fn would_wake_again(wake_event: &WakeEvent) -> bool {
        let (nothing, _writer) = std::io::pipe().unwrap();
        Pace::new(true).rest(None, [nothing.as_fd(); 2], wake_event);
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let mut descriptors = [PollFd::new(wake_event, PollFlags::IN)];
        poll(&mut descriptors, Some(&at_once)).unwrap() > 0
    }

    #[test]
    fn an_event_ends_one_sleep_and_not_the_next() {
        let wake_event = WakeEvent::new().unwrap();
        wake_event.wake();
        assert!(!would_wake_again(&wake_event));
        assert!(wake_event.take());
        assert!(!wake_event.take());
    }

    #[test]
    fn an_event_that_is_taken_before_its_write_wakes_once() {
        let wake_event = WakeEvent::new().unwrap();
        wake_event.is_set.store(true, Ordering::Release);
        assert!(wake_event.take());
        wake_event.end_sleep();
        assert!(!would_wake_again(&wake_event));
        assert!(!wake_event.take());
    }

    #[test]
    fn an_event_after_a_take_is_a_new_one() {
        let wake_event = WakeEvent::new().unwrap();
        wake_event.wake();
        assert!(wake_event.take());
        wake_event.wake();
        assert!(!would_wake_again(&wake_event));
        assert!(wake_event.take());
    }
}
