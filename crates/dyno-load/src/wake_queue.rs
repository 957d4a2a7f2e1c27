//! Wakes request loops when their requests are due, accurate to a few microseconds.
//!
//! The runtime's timer has a resolution of milliseconds, so a timerfd wakes the thread shortly before the due time, and
//! the thread spins until then. Each turn of the spin polls for input without sleeping, so answers are received
//! meanwhile.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use dyno_io::Alarm;
use tokio::sync::Notify;

/// Initial and shortest time between waking up and the due time: the usual delay of a wake-up, with a margin.
const LEAST_SPIN_NS: u64 = 80_000;
/// Longest time to spin, on machines that wake threads late.
const LONGEST_SPIN_NS: u64 = 1_000_000;
/// Time awake that counts as one punctual wake-up: a thread that never sleeps could not learn that the machine is
/// punctual again.
const TRUSTED_AFTER_NS: u64 = 10_000_000;

/// Time by which a thread wakes before a due time. It adapts to the measured delay of wake-ups, since the host of a
/// virtual machine may take a millisecond to run a sleeping processor.
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
    /// How long to sleep when the due time is `wait_ns` away; `None` if a sleep is not worthwhile.
    fn sleep_ns(self, wait_ns: u64) -> Option<u64> {
        (wait_ns > 2 * self.ns).then(|| wait_ns - self.ns)
    }

    /// Lengthens the spin after a wake-up that was nearly too late, and shortens it slowly after others.
    fn learn(&mut self, late_ns: u64) {
        let enough_ns = if late_ns > self.ns / 2 {
            late_ns * 2
        } else {
            self.ns - self.ns / 64
        };
        self.ns = enough_ns.clamp(LEAST_SPIN_NS, LONGEST_SPIN_NS);
    }

    /// Shortens the spin slowly while the thread stays awake.
    fn spun(&mut self, ns: u64) {
        self.awake_ns += ns;
        if self.awake_ns >= TRUSTED_AFTER_NS {
            self.awake_ns = 0;
            self.learn(0);
        }
    }
}

/// Waiting request loops by due time; those with the same time in the order of their arrival.
#[derive(Debug, Default)]
pub(crate) struct WakeQueue {
    waiting: RefCell<VecDeque<(u64, usize)>>,
    /// Due time that the thread sleeps for; 0 while it is awake.
    sleeps_until_ns: Cell<u64>,
    /// Signals a request loop that is due earlier.
    news: Notify,
    /// Nanoseconds of spinning in which no request ended.
    spun_ns: Cell<u64>,
}

impl WakeQueue {
    /// Adds a request loop that waits until `moment_ns`. Requests are claimed in order of time, so it nearly always
    /// goes to the end.
    pub(crate) fn push(&self, moment_ns: u64, request_loop: usize) {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.back().is_none_or(|(last, _)| *last <= moment_ns) {
            waiting.push_back((moment_ns, request_loop));
        } else {
            let place = waiting.partition_point(|(other, _)| *other <= moment_ns);
            waiting.insert(place, (moment_ns, request_loop));
        }
        if moment_ns < self.sleeps_until_ns.get() {
            self.sleeps_until_ns.set(0);
            self.news.notify_one();
        }
    }

    pub(crate) fn spun_ns(&self) -> u64 {
        self.spun_ns.get()
    }

    /// Wakes each request loop when it is due, until the run ends. `requests_ended` shows whether the thread did
    /// other work meanwhile.
    pub(crate) async fn run(
        &self,
        now_ns: impl Fn() -> u64,
        requests_ended: &Cell<u64>,
        wake: impl Fn(usize),
    ) -> io::Result<()> {
        let alarm = Alarm::new()?;
        let (mut spun_from_ns, mut seen) = (None, 0);
        let mut spin = Spin::default();
        loop {
            let first = self.waiting.borrow().front().copied();
            let Some((moment_ns, request_loop)) = first else {
                self.sleeps_until_ns.set(u64::MAX);
                self.news.notified().await;
                continue;
            };
            let at_ns = now_ns();
            if let Some(from_ns) = spun_from_ns.take() {
                let spun_ns = at_ns - from_ns;
                spin.spun(spun_ns);
                if requests_ended.get() == seen {
                    self.spun_ns.set(self.spun_ns.get() + spun_ns);
                }
            }
            if at_ns >= moment_ns {
                self.waiting.borrow_mut().pop_front();
                wake(request_loop);
            } else if let Some(sleep_ns) = spin.sleep_ns(moment_ns - at_ns) {
                self.sleeps_until_ns.set(moment_ns);
                tokio::select! {
                    biased;
                    slept = alarm.after(Duration::from_nanos(sleep_ns)) => {
                        slept?;
                        spin.learn(now_ns().saturating_sub(at_ns + sleep_ns));
                    }
                    () = self.news.notified() => {}
                }
                self.sleeps_until_ns.set(0);
            } else {
                (spun_from_ns, seen) = (Some(at_ns), requests_ended.get());
                // Lets the kernel's own threads run: deferred work, such as packets on the loopback, would otherwise
                // wait for milliseconds.
                rustix::thread::sched_yield();
                tokio::task::yield_now().await;
            }
        }
    }
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
        let (queue, requests_ended) = (WakeQueue::default(), Cell::new(0));
        let woken = RefCell::new(Vec::new());
        let began = Instant::now();
        let now_ns = || u64::try_from(began.elapsed().as_nanos()).unwrap();
        let hour_ns = 3_600_000_000_000;
        queue.push(hour_ns, 0);
        let latecomers = async {
            // The queue sleeps for an hour now; after the first of these it sleeps for half an hour.
            for (moment_ns, request_loop) in
                [(hour_ns / 2, 1), (20_000_000, 2), (20_000_000, 3), (0, 4)]
            {
                tokio::task::yield_now().await;
                queue.push(moment_ns, request_loop);
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
            let wake = |request_loop| woken.borrow_mut().push(request_loop);
            tokio::select! {
                biased;
                ended = queue.run(now_ns, &requests_ended, wake) => ended.unwrap(),
                () = latecomers => {}
            }
        });
        assert_eq!(woken.into_inner(), [4, 2, 3]);
        let waiting: Vec<_> = queue.waiting.into_inner().into();
        assert_eq!(waiting, [(hour_ns / 2, 1), (hour_ns, 0)]);
    }
}
