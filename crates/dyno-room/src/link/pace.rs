//! When the emulator sleeps: not while something is due soon, since sleepers wake late.

use std::os::fd::{AsFd, BorrowedFd};
use std::thread::{sleep, yield_now};
use std::time::Duration;

use dyno_link::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::bell::Bell;
use super::line::now;
use crate::cpu_time::NANOSECONDS_PER_SECOND;

/// However much there is to do, others of this CPU get so much of it, so often. The kernel's own threads need little, and all wait for them;
/// and who gets less than a twentieth is given that by the kernel in one piece, once a second: 50 ms in which no packet moves.
const BREAK: Duration = Duration::from_micros(60);
const BETWEEN_BREAKS: Nanos = Nanos::from_millis(1);

/// Where others need the CPU nobody spins for longer than this: of a steady stream a next packet is always due soon.
const SHARED_SPIN: Nanos = Nanos::from_micros(60);
/// For so long a stream then leaves the CPU to them, again and again, unless a packet comes: what falls due is handed over together.
const GATHER: Nanos = Nanos::from_micros(150);

/// How the time between packets passes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    /// Who is woken, is woken this long before a packet is due; the rest is spun.
    lead: Nanos,
    /// For so long after a packet the next one is looked for without sleep.
    linger: Nanos,
    shared: bool,
    gathering: bool,
    last_busy: Nanos,
    last_sleep: Nanos,
}

impl Pace {
    /// A CPU of the emulator's own is spun on: the host of a virtual machine may take a millisecond to run a processor that slept. On one
    /// that others need it gives way.
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

    /// Packets have come or gone just now.
    pub(crate) fn busy(&mut self) {
        self.last_busy = now();
        self.take_break();
    }

    /// Sleeps until one of these ends has something to read, the bell has rung or the next packet is nearly due; not at all when that
    /// is now.
    pub(crate) fn rest(&mut self, next_due: Option<Nanos>, ends: [BorrowedFd; 2], bell: &Bell) {
        let now = now();
        let mut left = next_due.map(|due| due.saturating_sub(now + self.lead));
        if now.saturating_sub(self.last_busy) < self.linger || left == Some(Nanos::ZERO) {
            let may_spin = !self.gathering && now.saturating_sub(self.last_sleep) < SHARED_SPIN;
            if may_spin || !self.shared {
                // Another with the same precedence, such as another room's link, would wait for a tenth of a second.
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
        let mut descriptors = [subject, peer, bell.as_fd()]
            .map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
        // Interrupted or not: the caller looks again.
        let _ = poll(&mut descriptors, timeout.as_ref());
        if !descriptors[2].revents().is_empty() {
            bell.hush();
        }
        self.last_sleep = self::now();
    }

    /// Sleeps for a moment if it has not slept for long.
    fn take_break(&mut self) {
        if now().saturating_sub(self.last_sleep) > BETWEEN_BREAKS {
            sleep(BREAK);
            self.last_sleep = now();
        }
    }
}
