//! When the emulator sleeps or spins. It spins while a packet is due soon, because sleeping threads wake late.

use std::os::fd::{AsFd, BorrowedFd};
use std::thread::{sleep, yield_now};
use std::time::Duration;

use dyno_link::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::line::now;
use super::wake_event::WakeEvent;
use crate::cpu_time::NANOSECONDS_PER_SECOND;

/// Even under full load, the emulator leaves its CPU idle this long, this often, for threads of the kernel. They need
/// little CPU time, but everything waits for them. If such a thread gets less than a twentieth of a CPU, the kernel
/// grants it the missing time at once every second: 50 ms without any packet.
const BREAK: Duration = Duration::from_micros(60);
const BETWEEN_BREAKS: Nanos = Nanos::from_millis(1);

/// Longest spin on a shared CPU. In a steady stream the next packet is always due soon, so the spin would otherwise
/// never end.
const SHARED_SPIN: Nanos = Nanos::from_micros(60);
/// Longest sleep after such a spin, unless a packet arrives; packets that become due meanwhile are delivered together.
const GATHER: Nanos = Nanos::from_micros(150);

/// Decides how the emulator waits between packets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// How long before a packet is due the thread is woken; it spins for the remaining time.
    lead: Nanos,
    /// How long after a packet the thread polls for the next one without sleeping.
    linger: Nanos,
    shared: bool,
    gathering: bool,
    last_busy: Nanos,
    last_sleep: Nanos,
}

impl Pace {
    /// Spin on a dedicated CPU, because the host of a virtual machine may take a millisecond to run a sleeping
    /// processor. Yield on a shared CPU.
    pub(crate) fn new(shared: bool) -> Self {
        let (lead, linger) = if shared {
            (SHARED_SPIN, Nanos::ZERO)
        } else {
            (Nanos::from_millis(1), Nanos::from_millis(1))
        };
        Self {
            lead,
            linger,
            shared,
            gathering: false,
            last_busy: Nanos::ZERO,
            last_sleep: Nanos::ZERO,
        }
    }

    /// Record that packets were read or written just now.
    pub(crate) fn busy(&mut self) {
        self.last_busy = now();
        self.take_break();
    }

    /// Sleep until an end is readable, the emulator is woken, or the next packet is nearly due; return at once if it
    /// already is.
    pub(crate) fn rest(
        &mut self,
        next_due: Option<Nanos>,
        ends: [BorrowedFd; 2],
        wake_event: &WakeEvent,
    ) {
        let now = now();
        let mut left = next_due.map(|due| due.saturating_sub(now + self.lead));
        if now.saturating_sub(self.last_busy) < self.linger || left == Some(Nanos::ZERO) {
            let may_spin = !self.gathering && now.saturating_sub(self.last_sleep) < SHARED_SPIN;
            if may_spin || !self.shared {
                // Another thread of the same priority, such as the link of another room, would otherwise wait for a
                // tenth of a second.
                yield_now();
                self.take_break();
                return;
            }
            left = Some(GATHER);
            self.gathering = true;
        } else {
            self.gathering = false;
        }
        let timeout = left.map(|left| Timespec {
            tv_sec: i64::try_from(left.0 / NANOSECONDS_PER_SECOND).unwrap_or(i64::MAX),
            tv_nsec: i64::try_from(left.0 % NANOSECONDS_PER_SECOND).unwrap_or(0),
        });
        let [subject, peer] = ends;
        let mut descriptors = [subject, peer, wake_event.as_fd()]
            .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
        // After an interruption the caller polls again.
        let _ = poll(&mut descriptors, timeout.as_ref());
        if !descriptors[2].revents().is_empty() {
            wake_event.drain();
        }
        self.last_sleep = self::now();
    }

    /// Sleep for a moment if the last sleep was long ago.
    fn take_break(&mut self) {
        if now().saturating_sub(self.last_sleep) > BETWEEN_BREAKS {
            sleep(BREAK);
            self.last_sleep = now();
        }
    }
}
