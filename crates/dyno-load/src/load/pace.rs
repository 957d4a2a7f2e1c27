//! Wakes whoever waits for the intended time of a request, to a few microseconds.
//!
//! The runtime's timer counts milliseconds, so a timerfd wakes the thread a little before the moment, and the rest is spun
//! away: each turn of the spin lets the runtime look for input without sleeping, so that answers are taken meanwhile.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

/// How long before a moment a sleeping thread is woken, at first: what it may wake late by, with a margin.
const LEAST_SPIN_NS: u64 = 80_000;
/// The longest that is spun away, where the machine wakes sleepers late.
const LONGEST_SPIN_NS: u64 = 1_000_000;
/// How long to be awake counts as one sleep that ended in time: who never sleeps would never learn that the machine does again.
const TRUSTED_AFTER_NS: u64 = 10_000_000;

/// How long before a moment a sleeping thread is to be woken: learned from how late it was, since hosts of virtual machines may
/// take a millisecond to run a processor that slept.
#[derive(Debug, Clone, Copy)]
struct Spin {
    ns: u64,
    awake_ns: u64,
}

impl Default for Spin {
    fn default() -> Self {
        Self {
            ns: LEAST_SPIN_NS,
            awake_ns: 0,
        }
    }
}

impl Spin {
    /// How long to sleep when there is so much time; `None` when that is not worth it.
    fn sleep_ns(self, wait_ns: u64) -> Option<u64> {
        (wait_ns > 2 * self.ns).then(|| wait_ns - self.ns)
    }

    /// Takes more time when a sleeper came near to being late, and by and by less when it does not.
    fn learn(&mut self, late_ns: u64) {
        let enough_ns = if late_ns > self.ns / 2 {
            late_ns * 2
        } else {
            self.ns - self.ns / 64
        };
        self.ns = enough_ns.clamp(LEAST_SPIN_NS, LONGEST_SPIN_NS);
    }

    /// Takes less time, too, by and by, when so much of it was spun away.
    fn spun(&mut self, ns: u64) {
        self.awake_ns += ns;
        if self.awake_ns >= TRUSTED_AFTER_NS {
            self.awake_ns = 0;
            self.learn(0);
        }
    }
}

/// Who waits for which moment, in the order of the moments; of those who wait for the same, who came first goes first.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: RefCell<VecDeque<(u64, usize)>>,
    /// Until when it sleeps; 0 while it is awake.
    sleeps_until_ns: Cell<u64>,
    /// Somebody came who is to be woken before that.
    news: Notify,
    /// Nanoseconds that were spun away with nothing else to do.
    spun_ns: Cell<u64>,
}

impl Queue {
    /// Adds who waits for a moment. Claims are made in the order of their times, so that the end is nearly always the place.
    pub(super) fn push(&self, moment_ns: u64, lane: usize) {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.back().is_none_or(|(last, _)| *last <= moment_ns) {
            waiting.push_back((moment_ns, lane));
        } else {
            let place = waiting.partition_point(|(other, _)| *other <= moment_ns);
            waiting.insert(place, (moment_ns, lane));
        }
        if moment_ns < self.sleeps_until_ns.get() {
            self.sleeps_until_ns.set(0);
            self.news.notify_one();
        }
    }

    pub(super) fn spun_ns(&self) -> u64 {
        self.spun_ns.get()
    }

    /// Wakes everybody at their moments, for ever. `turns` counts what else the thread has done.
    pub(super) async fn run(
        &self,
        now_ns: impl Fn() -> u64,
        turns: &Cell<u64>,
        wake: impl Fn(usize),
    ) -> io::Result<()> {
        let alarm = Alarm::new()?;
        let (mut spun_from_ns, mut seen) = (None, 0);
        let mut spin = Spin::default();
        loop {
            let first = self.waiting.borrow().front().copied();
            let Some((moment_ns, lane)) = first else {
                self.sleeps_until_ns.set(u64::MAX);
                self.news.notified().await;
                continue;
            };
            let at_ns = now_ns();
            if let Some(from_ns) = spun_from_ns.take() {
                let spun_ns = at_ns - from_ns;
                spin.spun(spun_ns);
                if turns.get() == seen {
                    self.spun_ns.set(self.spun_ns.get() + spun_ns);
                }
            }
            if at_ns >= moment_ns {
                self.waiting.borrow_mut().pop_front();
                wake(lane);
            } else if let Some(sleep_ns) = spin.sleep_ns(moment_ns - at_ns) {
                self.sleeps_until_ns.set(moment_ns);
                tokio::select! {
                    biased;
                    slept = alarm.after(sleep_ns) => {
                        slept?;
                        spin.learn(now_ns().saturating_sub(at_ns + sleep_ns));
                    }
                    () = self.news.notified() => {}
                }
                self.sleeps_until_ns.set(0);
            } else {
                (spun_from_ns, seen) = (Some(at_ns), turns.get());
                // What the kernel has put off to a thread of its own, as packets on the loopback, would wait for milliseconds.
                rustix::thread::sched_yield();
                tokio::task::yield_now().await;
            }
        }
    }
}

/// A timer of the thread.
#[derive(Debug)]
pub(super) struct Alarm {
    clock: AsyncFd<OwnedFd>,
}

impl Alarm {
    pub(super) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let clock = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self {
            clock: watched(clock)?,
        })
    }

    /// Waits so long.
    pub(super) async fn after(&self, wait_ns: u64) -> io::Result<()> {
        self.set(wait_ns, 0)?;
        self.expired().await
    }

    /// Expires again and again from now on.
    pub(super) fn every(&self, period: Duration) -> io::Result<()> {
        let period_ns = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX);
        self.set(period_ns, period_ns)
    }

    /// Waits until it expires; at once if it has since the last time.
    pub(super) async fn expired(&self) -> io::Result<()> {
        loop {
            let mut ready = self.clock.readable().await?;
            // How often it expired does not matter; reading makes it quiet.
            let read = ready.try_io(|clock| Ok(rustix::io::read(clock.get_ref(), &mut [0; 8])?));
            if let Ok(read) = read {
                return read.map(drop);
            }
        }
    }

    fn set(&self, wait_ns: u64, period_ns: u64) -> io::Result<()> {
        let setting = Itimerspec {
            it_interval: timespec(period_ns),
            // Zero would switch it off.
            it_value: timespec(wait_ns.max(1)),
        };
        timerfd_settime(self.clock.get_ref(), TimerfdTimerFlags::empty(), &setting)?;
        Ok(())
    }
}

fn timespec(nanos: u64) -> Timespec {
    let duration = Duration::from_nanos(nanos);
    Timespec {
        tv_sec: duration.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}

#[expect(
    deprecated,
    reason = "an owned descriptor stays open and the same, which is what the new, unsafe function asks for"
)]
fn watched(clock: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(clock, Interest::READABLE)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn who_wakes_in_time_spins_little() {
        let mut spin = Spin::default();
        for late_ns in [0, 5_000, 39_000, 40_000] {
            spin.learn(late_ns);
            assert_eq!(spin.ns, LEAST_SPIN_NS, "{late_ns}");
        }
        assert_eq!(spin.sleep_ns(2 * LEAST_SPIN_NS), None);
        assert_eq!(spin.sleep_ns(1_000_000), Some(1_000_000 - LEAST_SPIN_NS));
    }

    #[test]
    fn who_wakes_late_is_woken_earlier_and_forgets_it_by_and_by() {
        let mut spin = Spin::default();
        spin.learn(200_000);
        assert_eq!(spin.ns, 400_000);
        spin.learn(12_000_000);
        assert_eq!(spin.ns, LONGEST_SPIN_NS);
        assert_eq!(spin.sleep_ns(1_500_000), None);
        let mut before = spin.ns;
        for _ in 0..200 {
            spin.learn(10_000);
            assert!(spin.ns < before || spin.ns == LEAST_SPIN_NS);
            before = spin.ns;
        }
        assert_eq!(spin.ns, LEAST_SPIN_NS);
    }

    #[test]
    fn who_spins_from_each_moment_to_the_next_sleeps_again_within_a_second() {
        let mut spin = Spin::default();
        spin.learn(5_000_000);
        let (gap_ns, turn_ns, mut awake_ns) = (1_000_000, 700, 0);
        while spin.sleep_ns(gap_ns).is_none() {
            spin.spun(turn_ns);
            awake_ns += turn_ns;
            assert!(awake_ns < 1_000_000_000);
        }
        assert!(awake_ns > 200_000_000, "{awake_ns}");
    }

    #[test]
    fn who_comes_late_for_an_earlier_moment_is_woken_at_it() {
        let (queue, turns) = (Queue::default(), Cell::new(0));
        let woken = RefCell::new(Vec::new());
        let began = Instant::now();
        let now_ns = || u64::try_from(began.elapsed().as_nanos()).unwrap();
        let hour_ns = 3_600_000_000_000;
        queue.push(hour_ns, 0);
        let latecomers = async {
            // By now it sleeps for an hour, and after the first of these for half of one.
            for (moment_ns, lane) in [(hour_ns / 2, 1), (20_000_000, 2), (20_000_000, 3), (0, 4)] {
                tokio::task::yield_now().await;
                queue.push(moment_ns, lane);
            }
            while woken.borrow().len() < 3 {
                tokio::task::yield_now().await;
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        runtime.block_on(async {
            let wake = |lane| woken.borrow_mut().push(lane);
            tokio::select! {
                biased;
                ended = queue.run(now_ns, &turns, wake) => ended.unwrap(),
                () = latecomers => {}
            }
        });
        assert_eq!(woken.into_inner(), [4, 2, 3]);
        let waiting: Vec<_> = queue.waiting.into_inner().into();
        assert_eq!(waiting, [(hour_ns / 2, 1), (hour_ns, 0)]);
    }
}
