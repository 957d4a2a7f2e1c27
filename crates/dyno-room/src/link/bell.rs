//! Wakes the thread of a link when there is an order for it.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::{EventfdFlags, eventfd};

use crate::error::{Result, Step};

/// Wakes the emulator, whether it spins or sleeps.
///
/// Whether it was rung is in `rung` alone; the descriptor only ends a sleep. So it makes no difference that an emulator which spins
/// may answer before the descriptor says anything, and that it is then woken once for nothing.
#[derive(Debug)]
pub(super) struct Bell {
    rung: AtomicBool,
    event: OwnedFd,
}

impl Bell {
    pub(super) fn new() -> Result<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let event = eventfd(0, flags).step(|| "making an event descriptor".to_owned())?;
        Ok(Self {
            rung: AtomicBool::new(false),
            event,
        })
    }

    /// In this order: an emulator with precedence may take the CPU at the very write, and would find nothing to answer before the
    /// other gets it back.
    pub(super) fn ring(&self) {
        self.rung.store(true, Ordering::Release);
        self.strike();
    }

    fn strike(&self) {
        // Refused only when it has been rung for 2^64 times already.
        let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
    }

    /// Whether it has rung since the last look. All that was ordered before is to be seen then.
    pub(super) fn take(&self) -> bool {
        // Mostly it has not, and looking costs less than taking.
        self.rung.load(Ordering::Relaxed) && self.rung.swap(false, Ordering::Acquire)
    }

    /// Has the descriptor, which has ended a sleep, end no other; to be followed by a look whether it has rung.
    pub(super) fn hush(&self) {
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::super::pace::Pace;
    use super::*;

    /// Rests as one who has nothing to do, which the bell ends; whether it would end the next rest, too.
    fn would_wake_again(bell: &Bell) -> bool {
        let (nothing, _writer) = std::io::pipe().unwrap();
        Pace::new(true).rest(None, [nothing.as_fd(); 2], bell);
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let mut descriptors = [PollFd::new(bell, PollFlags::IN)];
        poll(&mut descriptors, Some(&at_once)).unwrap() > 0
    }

    #[test]
    fn a_sleep_ends_with_the_bell_and_the_next_does_not() {
        let bell = Bell::new().unwrap();
        bell.ring();
        assert!(!would_wake_again(&bell));
        assert!(bell.take());
        assert!(!bell.take());
    }

    #[test]
    fn a_ring_that_was_answered_before_its_stroke_wakes_once() {
        let bell = Bell::new().unwrap();
        bell.rung.store(true, Ordering::Release);
        assert!(bell.take());
        bell.strike();
        assert!(!would_wake_again(&bell));
        assert!(!bell.take());
    }

    #[test]
    fn a_ring_after_the_answer_is_no_part_of_it() {
        let bell = Bell::new().unwrap();
        bell.ring();
        assert!(bell.take());
        bell.ring();
        assert!(!would_wake_again(&bell));
        assert!(bell.take());
    }
}
