//! The schedule of a run. All threads and connections share it, and claim their next request from it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::arrival_process::ArrivalProcess;
use crate::segment::Segment;
use crate::termination::Termination;

/// Number of unclaimed requests up to which each is counted separately.
const ONE_BY_ONE: u64 = 1_000_000;

/// A request to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claim {
    /// Its number in the schedule of all generators, counted from 0; those of a warm-up before the run count, too.
    pub(crate) index: u64,
    /// Intended time; `None` in the closed loop: at once.
    pub(crate) intended_ns: Option<u64>,
}

/// The schedule of a run. A free request loop claims the next request, so no request waits while a loop could send
/// it.
#[derive(Debug)]
pub(crate) struct Schedule {
    termination: Termination,
    /// The part of it that this generator sends.
    segment: Segment,
    /// Number of its own requests that were claimed in a closed loop.
    next: AtomicU64,
    paced: Option<Mutex<Paced>>,
    /// Numbers the requests of a warm-up and of the run after it; `None`: the run alone.
    numbers: Option<Numbers>,
}

/// Numbers of requests, counted through a warm-up and the run after it.
#[derive(Debug, Clone)]
pub(crate) struct Numbers {
    next: Arc<AtomicU64>,
    end: u64,
    segment: Segment,
}

impl Numbers {
    /// Numbers of a segment from 0 up to `end`, which is the first that no request gets; `None`: without an end.
    pub(crate) fn new(end: Option<u64>, segment: Segment) -> Self {
        Self {
            next: Arc::default(),
            end: end.unwrap_or(u64::MAX),
            segment,
        }
    }

    fn take(&self) -> Option<u64> {
        let number = self
            .segment
            .place(self.next.fetch_add(1, Ordering::Relaxed));
        (number < self.end).then_some(number)
    }

    fn left(&self) -> u64 {
        let taken = self.next.load(Ordering::Relaxed);
        self.segment.share_of(self.end).saturating_sub(taken)
    }
}

#[derive(Debug)]
struct Paced {
    process: ArrivalProcess,
    /// Number of the next own request in the schedule of all generators.
    index: u64,
}

impl Schedule {
    /// The segment's part of a schedule.
    pub(crate) fn new(
        process: Option<ArrivalProcess>,
        termination: Termination,
        segment: Segment,
    ) -> Self {
        let begin = |mut process: ArrivalProcess| {
            let index = segment.index();
            process.pass_each(index);
            Mutex::new(Paced { process, index })
        };
        Self {
            termination,
            segment,
            next: AtomicU64::new(0),
            paced: process.map(begin),
            numbers: None,
        }
    }

    /// The same schedule, whose requests are numbered together with those of another.
    pub(crate) fn numbered_by(self, numbers: Option<Numbers>) -> Self {
        Self { numbers, ..self }
    }

    fn number(&self, index: u64) -> Option<u64> {
        let numbers = self.numbers.as_ref();
        numbers.map_or(Some(index), Numbers::take)
    }

    /// Whether a warm-up and this run have used all numbers that they share.
    pub(crate) fn has_no_numbers(&self) -> bool {
        self.numbers
            .as_ref()
            .is_some_and(|numbers| numbers.left() == 0)
    }

    /// Whether requests follow a schedule, independent of earlier answers.
    pub(crate) const fn is_open_loop(&self) -> bool {
        self.paced.is_some()
    }

    /// Whether the planned number of requests has been claimed.
    pub(crate) fn is_used_up(&self) -> bool {
        let claimed = match &self.paced {
            None => self.segment.place(self.next.load(Ordering::Relaxed)),
            Some(paced) => paced.lock().unwrap_or_else(PoisonError::into_inner).index,
        };
        !self.termination.admits(claimed) || self.has_no_numbers()
    }

    /// Claims the next request; `None` if no further request would be sent before the end.
    pub(crate) fn claim(&self) -> Option<Claim> {
        let Some(paced) = &self.paced else {
            let index = self
                .segment
                .place(self.next.fetch_add(1, Ordering::Relaxed));
            if !self.termination.admits(index) {
                return None;
            }
            return Some(Claim {
                index: self.number(index)?,
                intended_ns: None,
            });
        };
        // The lock guards two numbers that are stored without anything between that could panic.
        let mut paced = paced.lock().unwrap_or_else(PoisonError::into_inner);
        let (index, intended_ns) = (paced.index, paced.process.peek_ns());
        if !self.termination.admits(index) || intended_ns >= self.termination.end_ns() {
            return None;
        }
        let number = self.number(index)?;
        paced.index += self.segment.count();
        paced.process.pass_each(self.segment.count());
        Some(Claim {
            index: number,
            intended_ns: Some(intended_ns),
        })
    }

    /// Intended times of the unclaimed requests before `end_ns`, each with a count: one by one up to a million, from
    /// then on a millionth of the earlier ones at once, since an excessive rate leaves thousands of millions.
    ///
    /// Claims these requests; called once, at the end of the run.
    pub(crate) fn unclaimed_before(&self, end_ns: u64) -> impl Iterator<Item = (u64, u64)> {
        let end_ns = end_ns.min(self.termination.end_ns());
        let paced = self.paced.as_ref().map(Mutex::lock);
        let mut paced = paced.map(|paced| paced.unwrap_or_else(PoisonError::into_inner));
        let left = self.numbers.as_ref().map_or(u64::MAX, Numbers::left);
        let count = self.segment.count();
        let mut counted = 0;
        std::iter::from_fn(move || {
            let paced = paced.as_deref_mut()?;
            let intended_ns = paced.process.peek_ns();
            if intended_ns >= end_ns || !self.termination.admits(paced.index) || counted == left {
                return None;
            }
            let mut together = (1 + counted / ONE_BY_ONE).min(left - counted);
            // The last of these requests is this far behind the first, in the schedule of all generators.
            let behind = |together: u64| (together - 1).saturating_mul(count);
            while together > 1
                && (!self
                    .termination
                    .admits(paced.index.saturating_add(behind(together)))
                    || paced
                        .process
                        .peek_last_of_ns(behind(together).saturating_add(1))
                        >= end_ns)
            {
                together /= 2;
            }
            if together == 1 {
                paced.process.pass_each(count);
            } else {
                paced.process.pass(together.saturating_mul(count));
            }
            paced.index = paced.index.saturating_add(together.saturating_mul(count));
            counted += together;
            Some((intended_ns, together))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use proptest::prelude::*;

    use super::*;
    use crate::arrival_process::{Arrivals, PerSecond, Rate};
    use crate::recorded_times::RecordedTimes;
    use crate::stages::Stages;

    fn process(per_s: u64, arrivals: Arrivals) -> ArrivalProcess {
        let rate = PerSecond::parse(&per_s.to_string()).unwrap();
        ArrivalProcess::new(Rate::constant(rate), arrivals)
    }

    fn whole(process: Option<ArrivalProcess>, termination: Termination) -> Schedule {
        Schedule::new(process, termination, Segment::WHOLE)
    }

    fn claims(schedule: &Schedule) -> Vec<Claim> {
        std::iter::from_fn(|| schedule.claim()).collect()
    }

    #[test]
    fn a_run_ends_by_what_comes_first() {
        let second = Some(1_000_000_000);
        let cases = [
            (Some(30), second, 30),
            (Some(300), second, 100),
            (None, second, 100),
            (Some(300), None, 300),
        ];
        for (requests, duration_ns, expected) in cases {
            let termination = Termination {
                requests,
                duration_ns,
            };
            let schedule = whole(Some(process(100, Arrivals::Constant)), termination);
            assert_eq!(claims(&schedule).len(), expected, "{termination:?}");
            assert_eq!(schedule.claim(), None);
        }
    }

    #[test]
    fn a_run_continues_the_numbers_of_its_warm_up() {
        let termination = Termination {
            requests: Some(3),
            duration_ns: None,
        };
        for is_open in [false, true] {
            let numbers = Numbers::new(None, Segment::WHOLE);
            let [warm_up, run] = [(); 2].map(|()| {
                let process = is_open.then(|| process(100, Arrivals::Constant));
                whole(process, termination).numbered_by(Some(numbers.clone()))
            });
            for (schedule, expected) in [(warm_up, [0, 1, 2]), (run, [3, 4, 5])] {
                let found: Vec<_> = claims(&schedule).iter().map(|claim| claim.index).collect();
                assert_eq!(found, expected);
                assert!(schedule.is_used_up());
            }
        }
    }

    #[test]
    fn a_warm_up_and_its_run_end_with_the_numbers_that_they_share() {
        for is_open in [false, true] {
            let numbers = Numbers::new(Some(5), Segment::WHOLE);
            let [warm_up, run] = [Some(3), None].map(|requests| {
                let termination = Termination {
                    requests,
                    duration_ns: Some(10_000_000_000),
                };
                let process = is_open.then(|| process(100, Arrivals::Constant));
                whole(process, termination).numbered_by(Some(numbers.clone()))
            });
            assert_eq!(claims(&warm_up).len(), 3);
            assert!(!run.is_used_up());
            assert_eq!(run.claim().map(|claim| claim.index), Some(3));
            // Only as many requests are missing as numbers are left.
            let unclaimed = run.unclaimed_before(u64::MAX).count();
            assert_eq!(unclaimed, usize::from(is_open));
            assert_eq!(run.claim().map(|claim| claim.index), Some(4));
            assert_eq!(run.claim(), None);
            assert!(run.is_used_up() && run.has_no_numbers());
        }
    }

    #[test]
    fn unclaimed_requests_are_counted_to_the_end() {
        let termination = Termination {
            requests: None,
            duration_ns: Some(10_000_000_000),
        };
        let schedule = whole(Some(process(100, Arrivals::Constant)), termination);
        for _ in 0..150 {
            schedule.claim();
        }
        // The run was interrupted after 2 s.
        let unclaimed: Vec<_> = schedule.unclaimed_before(2_000_000_000).collect();
        assert_eq!((unclaimed.len(), unclaimed[0]), (50, (1_500_000_000, 1)));
        let closed = whole(None, termination);
        assert_eq!(closed.unclaimed_before(2_000_000_000).count(), 0);
    }

    #[test]
    fn billions_of_unclaimed_requests_are_counted() {
        let minute_ns = 60_000_000_000;
        let poisson = Arrivals::Poisson { seed: 3 };
        let cases = [
            (Arrivals::Constant, None, 6_000_000_000),
            (Arrivals::Constant, Some(4_321_012_345), 4_321_012_345),
            (poisson, Some(4_321_012_345), 4_321_012_345),
        ];
        for (arrivals, requests, expected) in cases {
            let termination = Termination {
                requests,
                duration_ns: Some(minute_ns),
            };
            let schedule = whole(Some(process(100_000_000, arrivals.clone())), termination);
            let (mut steps, mut counted, mut before_ns) = (0, 0, 0);
            for (intended_ns, together) in schedule.unclaimed_before(2 * minute_ns) {
                assert!(before_ns <= intended_ns && intended_ns < minute_ns);
                // The first of a group represents all of it: they lie close together.
                assert!(together <= 1 + counted / 1_000_000);
                (steps, counted, before_ns) = (steps + 1, counted + together, intended_ns);
            }
            assert_eq!(counted, expected, "{arrivals:?}");
            assert!(steps < 15_000_000, "{steps}");
            assert!(schedule.is_used_up() == requests.is_some());
        }
    }

    proptest! {
        #[test]
        fn what_threads_claim_together_is_the_schedule(
            threads in 1_usize..6,
            requests in 0_u64..500,
            per_s in 1_u64..100_000,
            seed: Option<u64>,
        ) {
            let termination = Termination { requests: Some(requests), duration_ns: None };
            let arrivals = seed.map_or(Arrivals::Constant, |seed| Arrivals::Poisson { seed });
            let alone = claims(&whole(Some(process(per_s, arrivals.clone())), termination));
            let shared = Arc::new(whole(Some(process(per_s, arrivals)), termination));
            let threads: Vec<_> = (0..threads)
                .map(|_| {
                    let shared = shared.clone();
                    thread::spawn(move || claims(&shared))
                })
                .collect();
            let mut together = Vec::new();
            for thread in threads {
                let claimed = thread.join().unwrap();
                prop_assert!(claimed.is_sorted_by_key(|claim| claim.intended_ns));
                together.extend(claimed);
            }
            together.sort_by_key(|claim| claim.index);
            prop_assert_eq!(together, alone);
        }

        #[test]
        fn the_segments_together_are_the_schedule(
            count in 1_u64..6,
            requests in proptest::option::of(0_u64..300),
            rate in prop_oneof![
                (1_u64..2_000).prop_map(|per_s| per_s.to_string()),
                Just("0..200/1s,200/500ms,0/300ms,50..0/1s".to_owned()),
            ],
            seed: Option<u64>,
            recorded in proptest::option::of(proptest::collection::vec(0_u64..2_000_000_000, 1..200)),
            is_loop: bool,
            claimed in 0_usize..300,
            end_ns in 0_u64..3_000_000_000,
        ) {
            let termination = Termination { requests, duration_ns: Some(2_800_000_000) };
            let process = || {
                let arrivals = match (&recorded, seed) {
                    (Some(times), _) => {
                        let mut times = times.clone();
                        times.sort_unstable();
                        let period = is_loop.then_some(2_000_000_000);
                        Arrivals::Recorded(Arc::new(RecordedTimes::new(times.into(), period)))
                    }
                    (None, Some(seed)) => Arrivals::Poisson { seed },
                    (None, None) => Arrivals::Constant,
                };
                let rate = match Stages::parse(&rate) {
                    Ok(stages) => stages.rate(),
                    Err(_) => Rate::constant(PerSecond::parse(&rate).unwrap()),
                };
                Some(ArrivalProcess::new(rate, arrivals))
            };
            let segments = || (0..count).map(|index| Segment::new(index, count));
            let all = claims(&whole(process(), termination));
            let mut together: Vec<Claim> = Vec::new();
            for segment in segments() {
                let own = claims(&Schedule::new(process(), termination, segment));
                prop_assert!(own.iter().all(|claim| claim.index % count == segment.index()));
                prop_assert_eq!(own.len() as u64, segment.share_of(all.len() as u64));
                together.extend(own);
            }
            together.sort_by_key(|claim| claim.index);
            prop_assert_eq!(&together, &all);
            // Requests that are missing at an early end are those of one generator, too.
            let due = |schedule: &Schedule, claimed: usize| {
                for _ in 0..claimed {
                    schedule.claim();
                }
                schedule.unclaimed_before(end_ns).map(|(at_ns, _)| at_ns).collect::<Vec<u64>>()
            };
            let claimed_whole = claimed * usize::try_from(count).unwrap();
            let expected = due(&whole(process(), termination), claimed_whole);
            let mut missing: Vec<u64> = segments()
                .flat_map(|segment| due(&Schedule::new(process(), termination, segment), claimed))
                .collect();
            missing.sort_unstable();
            prop_assert_eq!(missing, expected);
        }

        #[test]
        fn the_segments_of_a_closed_loop_share_its_numbers(
            count in 1_u64..6,
            requests in 0_u64..100,
            rows in proptest::option::of(0_u64..100),
        ) {
            let termination = Termination { requests: Some(requests), duration_ns: None };
            let mut together = Vec::new();
            for segment in (0..count).map(|index| Segment::new(index, count)) {
                let numbers = rows.map(|rows| Numbers::new(Some(rows), segment));
                let schedule = Schedule::new(None, termination, segment).numbered_by(numbers);
                together.extend(claims(&schedule).iter().map(|claim| claim.index));
                prop_assert!(schedule.is_used_up());
            }
            together.sort_unstable();
            prop_assert!(together.into_iter().eq(0..requests.min(rows.unwrap_or(u64::MAX))));
        }
    }
}
