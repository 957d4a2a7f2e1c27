//! Computes when each answer is due: pure, from the arrival times of requests.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::num::NonZeroU32;
use std::time::Duration;

use super::law::{Draws, Law, nanos};

/// Rule for when an answer is sent.
#[derive(Debug, Clone, PartialEq)]
pub enum Behaviour {
    /// Each request is served for a time drawn from a distribution, any number at once.
    Law(Law),
    /// The same, with stalls: answers due during a stall are sent at its end.
    Stall {
        /// Distribution of the service times.
        law: Law,
        /// Start of the first stall, from the first request's arrival.
        at: Duration,
        /// Duration of a stall.
        length: Duration,
        /// Time between the starts of two stalls; without it there is one.
        every: Option<Duration>,
    },
    /// A number of requests at a time, in the order of their arrival; the others wait.
    Queue {
        /// Distribution of the service times.
        law: Law,
        /// Seed of the service times.
        seed: u64,
        /// Requests served at a time.
        workers: NonZeroU32,
        /// Requests that wait at most; further ones are answered with 503 at once. None: no limit.
        most_waiting: Option<u32>,
    },
    /// A token bucket: each request takes a token; without one it is answered with 429 at once.
    Limiter {
        /// Tokens per second.
        per_s: NonZeroU32,
        /// Tokens that the bucket holds, and holds at first.
        burst: NonZeroU32,
        /// Service time of a request with a token, any number at once.
        time: Duration,
    },
    /// One request at a time, slower while overloaded.
    ///
    /// A request that finds more than `above` requests makes the server slow; one that finds none makes it normal again.
    /// Requests that arrive while it is slow take `factor` times as long.
    Degrade {
        /// Distribution of the service times.
        law: Law,
        /// Seed of the service times.
        seed: u64,
        /// Waiting and served requests that the server bears.
        above: u32,
        /// Factor of the service times while it is slow, at least 1.
        factor: f64,
    },
}

/// The answer to one request. Times are nanoseconds from the first arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) due_ns: u64,
    /// Time of service, without waiting; 0 for a request that is refused.
    pub(super) service_ns: u64,
    pub(super) status: u16,
}

impl Answer {
    const fn good(due_ns: u64, service_ns: u64) -> Self {
        Self {
            due_ns,
            service_ns,
            status: 200,
        }
    }

    const fn refused(arrived_ns: u64, status: u16) -> Self {
        Self {
            due_ns: arrived_ns,
            service_ns: 0,
            status,
        }
    }
}

/// Computes the answer to each request in turn.
#[derive(Debug)]
pub(super) enum Plan {
    Law(Draws),
    Stall {
        draws: Draws,
        at_ns: u64,
        length_ns: u64,
        every_ns: Option<u64>,
    },
    Queue(Queue),
    Limiter {
        bucket: Bucket,
        time_ns: u64,
    },
    Degrade(Degrading),
}

impl Plan {
    pub(super) fn new(behaviour: &Behaviour) -> Self {
        match behaviour {
            Behaviour::Law(law) => Self::Law(Draws::even(law)),
            Behaviour::Stall {
                law,
                at,
                length,
                every,
            } => Self::Stall {
                draws: Draws::even(law),
                at_ns: nanos(*at),
                length_ns: nanos(*length),
                every_ns: every.map(nanos),
            },
            Behaviour::Queue {
                law,
                seed,
                workers,
                most_waiting,
            } => Self::Queue(Queue {
                draws: Draws::independent(law, *seed),
                free_ns: (0..workers.get()).map(|_| Reverse(0)).collect(),
                most_waiting: most_waiting.map(|most| most as usize),
                starts_ns: VecDeque::new(),
            }),
            Behaviour::Limiter { per_s, burst, time } => Self::Limiter {
                bucket: Bucket::full(*per_s, *burst),
                time_ns: nanos(*time),
            },
            Behaviour::Degrade {
                law,
                seed,
                above,
                factor,
            } => Self::Degrade(Degrading {
                draws: Draws::independent(law, *seed),
                above: *above as usize,
                factor: *factor,
                slow: false,
                ends_ns: VecDeque::new(),
            }),
        }
    }

    /// The answer to the request that has just arrived.
    pub(super) fn answer(&mut self, arrived_ns: u64) -> Answer {
        match self {
            Self::Law(draws) => {
                let service_ns = draws.next_ns();
                Answer::good(arrived_ns.saturating_add(service_ns), service_ns)
            }
            Self::Stall { draws, .. } => {
                let service_ns = draws.next_ns();
                let due_ns = arrived_ns.saturating_add(service_ns);
                Answer::good(self.stall_end_ns(due_ns).unwrap_or(due_ns), service_ns)
            }
            Self::Queue(queue) => queue.answer(arrived_ns),
            Self::Limiter { bucket, time_ns } => {
                if bucket.take(arrived_ns) {
                    Answer::good(arrived_ns.saturating_add(*time_ns), *time_ns)
                } else {
                    Answer::refused(arrived_ns, 429)
                }
            }
            Self::Degrade(server) => server.answer(arrived_ns),
        }
    }

    /// The end of the stall at `moment_ns`; `None` outside of a stall.
    pub(super) fn stall_end_ns(&self, moment_ns: u64) -> Option<u64> {
        let Self::Stall {
            at_ns,
            length_ns,
            every_ns,
            ..
        } = self
        else {
            return None;
        };
        let since_first = moment_ns.checked_sub(*at_ns)?;
        let since = every_ns.map_or(since_first, |every| since_first % every.max(1));
        (since < *length_ns).then(|| moment_ns - since + length_ns)
    }
}

/// Workers that serve a queue in the order of arrival.
#[derive(Debug)]
pub(super) struct Queue {
    draws: Draws,
    /// When each worker is free.
    free_ns: BinaryHeap<Reverse<u64>>,
    most_waiting: Option<usize>,
    /// When the last requests begin to be served: at most `most_waiting`, ascending.
    starts_ns: VecDeque<u64>,
}

impl Queue {
    /// The earliest free worker serves the request (Lindley's recursion; for several workers, Kiefer and Wolfowitz's).
    fn answer(&mut self, arrived_ns: u64) -> Answer {
        let mut earliest = self.free_ns.peek_mut().expect("there is a worker");
        let start_ns = arrived_ns.max(earliest.0);
        if let Some(most) = self.most_waiting {
            // Starts ascend: all of the last requests still wait if the first of them does.
            let first_waits = self.starts_ns.front().is_none_or(|at| *at > arrived_ns);
            if start_ns > arrived_ns && self.starts_ns.len() == most && first_waits {
                return Answer::refused(arrived_ns, 503);
            }
            self.starts_ns.push_back(start_ns);
            if self.starts_ns.len() > most {
                self.starts_ns.pop_front();
            }
        }
        let service_ns = self.draws.next_ns();
        earliest.0 = start_ns.saturating_add(service_ns);
        Answer::good(earliest.0, service_ns)
    }
}

/// One token, in the unit in which the bucket gains `per_s` each nanosecond: integers keep the rate exactly.
const TOKEN: u64 = 1_000_000_000;

/// A token bucket.
#[derive(Debug)]
pub(super) struct Bucket {
    per_s: u64,
    most: u64,
    level: u64,
    at_ns: u64,
}

impl Bucket {
    fn full(per_s: NonZeroU32, burst: NonZeroU32) -> Self {
        let most = u64::from(burst.get()) * TOKEN;
        Self {
            per_s: per_s.get().into(),
            most,
            level: most,
            at_ns: 0,
        }
    }

    /// Takes a token; returns whether there was one.
    fn take(&mut self, now_ns: u64) -> bool {
        let gained = now_ns.saturating_sub(self.at_ns).saturating_mul(self.per_s);
        self.at_ns = now_ns;
        self.level = self.level.saturating_add(gained).min(self.most);
        let left = self.level.checked_sub(TOKEN);
        self.level = left.unwrap_or(self.level);
        left.is_some()
    }
}

/// A server of one request at a time that becomes slow under load.
#[derive(Debug)]
pub(super) struct Degrading {
    draws: Draws,
    above: usize,
    factor: f64,
    slow: bool,
    /// When the last `above + 1` requests are answered, ascending.
    ends_ns: VecDeque<u64>,
}

impl Degrading {
    fn answer(&mut self, arrived_ns: u64) -> Answer {
        let last_ns = self.ends_ns.back().copied().unwrap_or(0);
        if last_ns <= arrived_ns {
            self.slow = false;
        } else if self.ends_ns.len() > self.above && self.ends_ns[0] > arrived_ns {
            self.slow = true;
        }
        let drawn_ns = self.draws.next_ns();
        let service_ns = if self.slow {
            nanos(Duration::from_nanos(drawn_ns).mul_f64(self.factor))
        } else {
            drawn_ns
        };
        let due_ns = arrived_ns.max(last_ns).saturating_add(service_ns);
        self.ends_ns.push_back(due_ns);
        if self.ends_ns.len() > self.above + 1 {
            self.ends_ns.pop_front();
        }
        Answer::good(due_ns, service_ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn answers(behaviour: &Behaviour, arrivals_ns: &[u64]) -> Vec<Answer> {
        let mut plan = Plan::new(behaviour);
        arrivals_ns
            .iter()
            .map(|at_ns| plan.answer(*at_ns))
            .collect()
    }

    fn due_ms<const N: usize>(behaviour: &Behaviour, arrivals_ms: [u64; N]) -> [u64; N] {
        let mut plan = Plan::new(behaviour);
        arrivals_ms.map(|arrived_ms| plan.answer(arrived_ms * 1_000_000).due_ns / 1_000_000)
    }

    fn statuses_ms<const N: usize>(behaviour: &Behaviour, arrivals_ms: [u64; N]) -> [u16; N] {
        let mut plan = Plan::new(behaviour);
        arrivals_ms.map(|arrived_ms| plan.answer(arrived_ms * 1_000_000).status)
    }

    fn stall(every: Option<Duration>) -> Behaviour {
        Behaviour::Stall {
            law: Law::Constant(5 * MILLISECOND),
            at: 100 * MILLISECOND,
            length: 50 * MILLISECOND,
            every,
        }
    }

    fn number(value: u32) -> NonZeroU32 {
        NonZeroU32::new(value).unwrap()
    }

    fn queue(law: Law, workers: u32, most_waiting: Option<u32>) -> Behaviour {
        Behaviour::Queue {
            law,
            seed: 1,
            workers: number(workers),
            most_waiting,
        }
    }

    fn one_at_a_time(time: Duration) -> Behaviour {
        queue(Law::Constant(time), 1, None)
    }

    #[test]
    fn answers_due_in_a_stall_wait_for_its_end() {
        let arrivals = [0, 94, 95, 100, 144, 145, 200, 295];
        assert_eq!(
            due_ms(&stall(None), arrivals),
            [5, 99, 150, 150, 150, 150, 205, 300]
        );
        assert_eq!(
            due_ms(&stall(Some(200 * MILLISECOND)), arrivals),
            [5, 99, 150, 150, 150, 150, 205, 350]
        );
    }

    #[test]
    fn one_worker_serves_one_request_after_the_other() {
        // Like D/D/1: of three simultaneous requests the later ones wait; requests that find the server free take the
        // same time.
        let ten_ms = one_at_a_time(10 * MILLISECOND);
        assert_eq!(due_ms(&ten_ms, [0, 0, 0, 25, 100]), [10, 20, 30, 40, 110]);
    }

    #[test]
    fn a_rate_above_the_offered_one_delays_no_request() {
        let mut plan = Plan::new(&one_at_a_time(MILLISECOND));
        for arrived_ns in (0..1_000_000_000).step_by(1_250_000) {
            assert_eq!(plan.answer(arrived_ns).due_ns, arrived_ns + 1_000_000);
        }
    }

    #[test]
    fn two_workers_serve_two_requests_at_a_time() {
        let two = queue(Law::Constant(10 * MILLISECOND), 2, None);
        assert_eq!(due_ms(&two, [0, 0, 0, 5, 25]), [10, 10, 20, 20, 35]);
    }

    #[test]
    fn a_full_queue_refuses_at_once() {
        let one_waits = queue(Law::Constant(10 * MILLISECOND), 1, Some(1));
        // At 0 one is served and one waits. At 10 the second begins, and another may wait.
        assert_eq!(
            statuses_ms(&one_waits, [0, 0, 0, 9, 10, 10, 35]),
            [200, 200, 503, 503, 200, 503, 200]
        );
        assert_eq!(due_ms(&one_waits, [0, 0, 0, 9, 10]), [10, 20, 0, 9, 30]);
        let none_waits = queue(Law::Constant(10 * MILLISECOND), 2, Some(0));
        assert_eq!(
            statuses_ms(&none_waits, [0, 0, 0, 10, 10, 19]),
            [200, 200, 503, 200, 200, 503]
        );
    }

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let limiter = Behaviour::Limiter {
            per_s: number(100),
            burst: number(2),
            time: MILLISECOND,
        };
        // A token each 10 ms, and never more than two: at 95 the bucket is full again.
        assert_eq!(
            statuses_ms(&limiter, [0, 0, 0, 9, 10, 19, 20, 95, 95, 95]),
            [200, 200, 429, 429, 200, 429, 200, 200, 200, 429]
        );
        assert_eq!(due_ms(&limiter, [0, 0, 5]), [1, 1, 5]);
    }

    #[test]
    fn a_bucket_that_is_always_asked_gives_exactly_its_rate() {
        // A rate that divides no second into whole nanoseconds.
        let mut bucket = Bucket::full(number(3_000), number(5));
        let (seconds, step_ns) = (7, 1_013);
        let asked = (0..seconds * 1_000_000_000 / step_ns).map(|step| step * step_ns);
        let given = asked.filter(|now_ns| bucket.take(*now_ns)).count();
        // The burst, and all tokens of seven seconds but the last, which comes at their end.
        assert_eq!(given, 5 + 7 * 3_000 - 1);
    }

    #[test]
    fn a_degrading_server_is_slow_from_its_overload_until_it_is_empty() {
        let degrading = Behaviour::Degrade {
            law: Law::Constant(10 * MILLISECOND),
            seed: 1,
            above: 2,
            factor: 3.0,
        };
        // The fourth request finds three. The fifth finds one, but the server is still slow. The sixth finds none.
        assert_eq!(
            due_ms(&degrading, [0, 0, 0, 0, 55, 91, 200]),
            [10, 20, 30, 60, 90, 101, 210]
        );
    }

    #[test]
    fn random_arrivals_wait_as_long_as_theory_says() {
        const REQUESTS: u32 = 200_000;
        // At a load of one half, the mean wait of M/D/1 is rho / (2 (1 - rho)) service times, and that of M/M/1 twice as
        // long (Pollaczek, Khinchine). Of M/M/2 at a load of one half it is a third of a service time (Erlang C).
        let exponential = Law::Exponential { mean: MILLISECOND };
        for (behaviour, gap, expected_ns) in [
            (one_at_a_time(MILLISECOND), 2 * MILLISECOND, 500_000),
            (
                queue(exponential.clone(), 1, None),
                2 * MILLISECOND,
                1_000_000,
            ),
            (queue(exponential, 2, None), MILLISECOND, 333_333),
        ] {
            let mut plan = Plan::new(&behaviour);
            let mut gaps = Draws::independent(&Law::Exponential { mean: gap }, 2);
            let (mut now_ns, mut waited_ns) = (0, 0);
            for _ in 0..REQUESTS {
                now_ns += gaps.next_ns();
                let answer = plan.answer(now_ns);
                waited_ns += answer.due_ns - now_ns - answer.service_ns;
            }
            let mean_ns = waited_ns / u64::from(REQUESTS);
            assert!(
                mean_ns.abs_diff(expected_ns) * 20 < expected_ns,
                "{mean_ns} {expected_ns}"
            );
        }
    }

    prop_compose! {
        fn arrivals()(gaps_ns in prop::collection::vec(0_u64..3_000_000, 1..200)) -> Vec<u64> {
            gaps_ns.iter().scan(0, |now_ns, gap_ns| { *now_ns += gap_ns; Some(*now_ns) }).collect()
        }
    }

    proptest! {
        #[test]
        fn one_worker_follows_lindleys_recursion(arrivals_ns in arrivals()) {
            let law = Law::Exponential { mean: MILLISECOND };
            let (mut free_ns, mut draws) = (0, Draws::independent(&law, 1));
            for (arrived_ns, answer) in arrivals_ns.iter().zip(answers(&queue(law.clone(), 1, None), &arrivals_ns)) {
                free_ns = free_ns.max(*arrived_ns) + draws.next_ns();
                prop_assert_eq!(answer.due_ns, free_ns);
            }
        }

        #[test]
        fn a_queue_serves_at_most_its_workers_and_refuses_only_when_full(
            arrivals_ns in arrivals(), workers in 1_u32..4, most in 0_u32..4,
        ) {
            let law = Law::Exponential { mean: 2 * MILLISECOND };
            let answers = answers(&queue(law, workers, Some(most)), &arrivals_ns);
            for (place, (now_ns, answer)) in arrivals_ns.iter().zip(&answers).enumerate() {
                let earlier = || answers[..place].iter().filter(|answer| answer.status == 200);
                let present = earlier().filter(|answer| answer.due_ns > *now_ns).count();
                let waiting = earlier().filter(|answer| answer.due_ns - answer.service_ns > *now_ns).count();
                prop_assert!(present - waiting <= workers as usize);
                let full = present - waiting == workers as usize && waiting == most as usize;
                prop_assert_eq!(answer.status == 503, full);
                // A worker never rests while a request waits.
                prop_assert!(waiting == 0 || present - waiting == workers as usize);
            }
        }

        #[test]
        fn a_degrading_server_counts_its_requests(arrivals_ns in arrivals(), above in 0_u32..5) {
            let law = Law::Constant(2 * MILLISECOND);
            let degrading = Behaviour::Degrade { law, seed: 1, above, factor: 2.0 };
            let answers = answers(&degrading, &arrivals_ns);
            let mut slow = false;
            for (place, (now_ns, answer)) in arrivals_ns.iter().zip(&answers).enumerate() {
                let present = answers[..place].iter().filter(|answer| answer.due_ns > *now_ns).count();
                slow = present > 0 && (slow || present > above as usize);
                prop_assert_eq!(answer.service_ns, if slow { 4_000_000 } else { 2_000_000 });
            }
        }
    }
}
