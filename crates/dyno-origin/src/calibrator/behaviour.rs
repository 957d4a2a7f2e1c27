//! Computes when each answer is due: pure, from the arrival times of requests.

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
    /// One request at a time, each for the same time.
    Rate {
        /// Requests served per second.
        per_s: f64,
    },
}

/// Computes for each request in turn when its answer is due. Times are nanoseconds from the first arrival.
#[derive(Debug)]
pub(super) enum Plan {
    Law(Draws),
    Stall {
        draws: Draws,
        at_ns: u64,
        length_ns: u64,
        every_ns: Option<u64>,
    },
    Rate {
        service_ns: u64,
        free_ns: u64,
    },
}

impl Plan {
    pub(super) fn new(behaviour: &Behaviour) -> Self {
        match behaviour {
            Behaviour::Law(law) => Self::Law(Draws::new(law)),
            Behaviour::Stall {
                law,
                at,
                length,
                every,
            } => Self::Stall {
                draws: Draws::new(law),
                at_ns: nanos(*at),
                length_ns: nanos(*length),
                every_ns: every.map(nanos),
            },
            Behaviour::Rate { per_s } => Self::Rate {
                service_ns: nanos(Duration::from_secs_f64(1.0 / per_s)),
                free_ns: 0,
            },
        }
    }

    /// When the answer to the request that has just arrived is due.
    pub(super) fn due_ns(&mut self, arrived_ns: u64) -> u64 {
        match self {
            Self::Law(draws) => arrived_ns.saturating_add(draws.next_ns()),
            Self::Stall { draws, .. } => {
                let due_ns = arrived_ns.saturating_add(draws.next_ns());
                self.stall_end_ns(due_ns).unwrap_or(due_ns)
            }
            Self::Rate {
                service_ns,
                free_ns,
            } => {
                *free_ns = arrived_ns.max(*free_ns).saturating_add(*service_ns);
                *free_ns
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn due_ms<const N: usize>(behaviour: &Behaviour, arrivals_ms: [u64; N]) -> [u64; N] {
        let mut plan = Plan::new(behaviour);
        arrivals_ms.map(|arrived_ms| plan.due_ns(arrived_ms * 1_000_000) / 1_000_000)
    }

    fn stall(every: Option<Duration>) -> Behaviour {
        Behaviour::Stall {
            law: Law::Constant(5 * MILLISECOND),
            at: 100 * MILLISECOND,
            length: 50 * MILLISECOND,
            every,
        }
    }

    #[test]
    fn what_comes_due_in_a_stall_waits_for_its_end() {
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
    fn a_server_of_a_rate_serves_one_after_the_other() {
        let ten_ms = Behaviour::Rate { per_s: 100.0 };
        // Like D/D/1: of three simultaneous requests the later ones wait; requests that find the server free take the
        // same time.
        assert_eq!(due_ms(&ten_ms, [0, 0, 0, 25, 100]), [10, 20, 30, 40, 110]);
    }

    #[test]
    fn a_rate_above_the_offered_one_delays_no_request() {
        let mut plan = Plan::new(&Behaviour::Rate { per_s: 1_000.0 });
        for arrived_ns in (0..1_000_000_000).step_by(1_250_000) {
            assert_eq!(plan.due_ns(arrived_ns), arrived_ns + 1_000_000);
        }
    }

    #[test]
    fn random_arrivals_wait_as_long_as_theory_says() {
        const REQUESTS: u32 = 200_000;
        // M/D/1 at a load of one half: the mean wait is rho / (2 (1 - rho)) service times (Pollaczek, Khinchine).
        let mut plan = Plan::new(&Behaviour::Rate { per_s: 1_000.0 });
        let mut gaps = Draws::new(&Law::Exponential {
            mean: 2 * MILLISECOND,
        });
        // Evenly spread draws are not independent: a fixed permutation shuffles them.
        let mut gaps_ns: Vec<u64> = (0..REQUESTS).map(|_| gaps.next_ns()).collect();
        shuffle(&mut gaps_ns);
        let (mut now_ns, mut waited_ns) = (0, 0);
        for gap_ns in &gaps_ns {
            now_ns += gap_ns;
            waited_ns += plan.due_ns(now_ns) - now_ns - 1_000_000;
        }
        let mean_ns = waited_ns / u64::from(REQUESTS);
        assert!((470_000..530_000).contains(&mean_ns), "{mean_ns}");
    }

    /// Shuffles (Fisher and Yates) with Marsaglia's xorshift generator and a fixed seed.
    fn shuffle(values: &mut [u64]) {
        let mut state = 88_172_645_463_325_252_u64;
        for last in (1..values.len()).rev() {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let other = usize::try_from(state >> 1).unwrap() % (last + 1);
            values.swap(last, other);
        }
    }
}
