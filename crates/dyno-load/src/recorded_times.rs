//! Times of recorded requests, and their order in a replay. No clock, no I/O.

use std::sync::Arc;

/// Moments of recorded requests since the start of the replay, in nanoseconds and in order: 8 bytes for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedTimes {
    times_ns: Box<[u64]>,
    /// Duration of one pass, if the recording begins again at its end.
    period_ns: Option<u64>,
}

/// The place in a recording that is replayed.
#[derive(Debug, Clone)]
pub(crate) struct Replayed {
    times: Arc<RecordedTimes>,
    place: usize,
    /// Start of this pass.
    begun_ns: u64,
}

impl RecordedTimes {
    /// Takes times in ascending order; a recording that begins again needs a period above its last time.
    #[must_use]
    pub fn new(times_ns: Box<[u64]>, period_ns: Option<u64>) -> Self {
        debug_assert!(times_ns.is_sorted());
        Self {
            times_ns,
            period_ns,
        }
    }

    /// The times of one pass.
    #[must_use]
    pub fn times_ns(&self) -> &[u64] {
        &self.times_ns
    }

    /// Whether the recording begins again at its end.
    #[must_use]
    pub const fn is_loop(&self) -> bool {
        self.period_ns.is_some()
    }

    /// The most requests in any second that begins with one of them.
    #[must_use]
    pub fn peak_per_s(&self) -> usize {
        let mut first = 0;
        let counts = self.times_ns.iter().enumerate().map(|(place, time_ns)| {
            while time_ns - self.times_ns[first] >= 1_000_000_000 {
                first += 1;
            }
            place + 1 - first
        });
        counts.max().unwrap_or(0)
    }
}

impl Replayed {
    pub(crate) const fn new(times: Arc<RecordedTimes>) -> Self {
        Self {
            times,
            place: 0,
            begun_ns: 0,
        }
    }

    /// Moment of the next request; `u64::MAX` after the last.
    #[inline]
    pub(crate) fn peek_ns(&self) -> u64 {
        let time_ns = self.times.times_ns.get(self.place);
        time_ns.map_or(u64::MAX, |time_ns| self.begun_ns.saturating_add(*time_ns))
    }

    /// Moment of the request that follows after `count` others.
    pub(crate) fn peek_after_ns(&self, count: u64) -> u64 {
        let mut later = self.clone();
        later.pass(count);
        later.peek_ns()
    }

    /// Skips `count` requests.
    #[inline]
    pub(crate) fn pass(&mut self, count: u64) {
        let length = self.times.times_ns.len();
        let place = (self.place as u64).saturating_add(count);
        if place < length as u64 {
            self.place += usize::try_from(count).expect("less than the length");
            return;
        }
        let Some(period_ns) = self.times.period_ns else {
            self.place = length;
            return;
        };
        let (passes, rest) = (place / length as u64, place % length as u64);
        self.place = usize::try_from(rest).expect("less than the length");
        self.begun_ns = self
            .begun_ns
            .saturating_add(passes.saturating_mul(period_ns));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arrival_process::{ArrivalProcess, Arrivals, PerSecond, Rate};
    use crate::schedule::Schedule;
    use crate::segment::Segment;
    use crate::termination::Termination;

    fn process(times_ns: &[u64], period_ns: Option<u64>) -> ArrivalProcess {
        let times = RecordedTimes::new(times_ns.into(), period_ns);
        let rate = Rate::constant(PerSecond::MAX);
        ArrivalProcess::new(rate, Arrivals::Recorded(Arc::new(times)))
    }

    #[test]
    fn a_recording_ends_or_begins_again() {
        let once: Vec<u64> = process(&[0, 5, 5], None).take(5).collect();
        assert_eq!(once, [0, 5, 5, u64::MAX, u64::MAX]);
        let again: Vec<u64> = process(&[0, 5, 5], Some(10)).take(7).collect();
        assert_eq!(again, [0, 5, 5, 10, 15, 15, 20]);
    }

    #[test]
    fn the_peak_is_that_of_the_busiest_second() {
        const S: u64 = 1_000_000_000;
        for (times_ns, peak) in [
            (&[][..], 0),
            (&[7], 1),
            (&[0, S - 1, S, S + 1], 3),
            (&[0, S, 2 * S], 1),
            (&[0, 0, 5 * S, 5 * S, 5 * S], 3),
        ] {
            assert_eq!(
                RecordedTimes::new(times_ns.into(), None).peak_per_s(),
                peak,
                "{times_ns:?}"
            );
        }
    }

    #[test]
    fn unclaimed_requests_of_a_recording_are_counted() {
        let termination = Termination {
            requests: None,
            duration_ns: Some(1_000_000_000),
        };
        let schedule = Schedule::new(
            Some(process(&[0, 3, 100], Some(200))),
            termination,
            Segment::WHOLE,
        );
        for _ in 0..4 {
            schedule.claim();
        }
        let unclaimed: u64 = schedule
            .unclaimed_before(1_000)
            .map(|(_, together)| together)
            .sum();
        assert_eq!(unclaimed, 15 - 4);
    }

    proptest! {
        #[test]
        fn passing_many_is_passing_one_by_one(
            mut times in proptest::collection::vec(0_u64..1000, 1..20),
            is_loop: bool,
            counts in proptest::collection::vec(0_u64..50, 1..10),
        ) {
            times.sort_unstable();
            let mut at_once = process(&times, is_loop.then_some(1000));
            let mut singly = at_once.clone();
            for count in counts {
                let last_ns = (0..count.max(1)).fold((singly.clone(), 0), |(mut ahead, _), _| {
                    let time_ns = ahead.next().unwrap();
                    (ahead, time_ns)
                });
                prop_assert_eq!(at_once.peek_last_of_ns(count), last_ns.1);
                at_once.pass(count);
                (0..count).for_each(|_| singly.pass(1));
                prop_assert_eq!(at_once.peek_ns(), singly.peek_ns());
            }
        }
    }
}
