//! Wakes request loops at the intended times of their requests, to a few microseconds.
//!
//! The runtime's timer counts milliseconds, so a timerfd wakes the thread a little before the moment, and the rest is spun
//! away: each turn of the spin lets the runtime look for input without sleeping, so that answers are taken meanwhile.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use dyno_io::Alarm;
use tokio::sync::Notify;

/// How long before a moment a sleeping thread is woken, at first: what it may wake late by, with a margin.
const LEAST_SPIN_NS: u64 = 80_000;
/// The longest that is spun away, where the machine wakes sleepers late.
const LONGEST_SPIN_NS: u64 = 1_000_000;
/// How long to be awake counts as one sleep that ended in time: a thread that never sleeps would never learn that the machine wakes in time again.
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

/// Request loops that wait, in the order of their moments; of two with the same moment, the first to come is the first to go.
#[derive(Debug, Default)]
pub(crate) struct WakeQueue {
    waiting: RefCell<VecDeque<(u64, usize)>>,
    /// End of its sleep; 0 while it is awake.
    sleeps_until_ns: Cell<u64>,
    /// A request loop came that is to be woken before that.
    news: Notify,
    /// Nanoseconds that were spun away with nothing else to do.
    spun_ns: Cell<u64>,
}

impl WakeQueue {
    /// Adds a request loop that waits for a moment. Claims are made in the order of their times, so that the end is nearly always the place.
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

    /// Wakes each request loop at its moment, until the run ends. `requests_ended` counts what else the thread has done.
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
                // Work that the kernel deferred to a thread of its own, such as packets on the loopback, would wait for milliseconds.
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
            // By now it sleeps for an hour, and after the first of these for half of one.
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
