//! Intended times of requests: a rate over time, and constant or random arrivals. No clock, no I/O.
//!
//! Arrivals are counted in requests of a process of rate one: the k-th is at k, or, with Poisson arrivals, at the sum of k
//! exponential gaps of mean one. The law's integral L(t) says how many requests are due by t; the k-th request is meant for
//! the moment at which L reaches its arrival. So both arrivals work with every law, and no error adds up over a run.

use crate::exponential::{Exponential, REQUEST};

/// Requests a second, as a law of the time since the start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// Always so many.
    Constant(PerSecond),
    /// From one rate to another, evenly, and the second from then on.
    Ramp {
        /// At the start.
        from: PerSecond,
        /// At the end of the ramp, and after it.
        to: PerSecond,
        /// How long the ramp takes.
        over_ns: u64,
    },
}

/// Millionths of a request a second, so that rates add up exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PerSecond(u64);

/// How requests keep to the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// One after the other at equal shares of the law.
    Constant,
    /// As of many independent clients.
    Poisson {
        /// The same seed gives the same arrivals, everywhere.
        seed: u64,
    },
}

/// Intended times, one after the other, in nanoseconds since the start.
#[derive(Debug, Clone)]
pub struct ArrivalProcess {
    rate: Rate,
    gaps: Gaps,
    /// The arrival of the next request, in the process of rate one.
    arrival: u128,
}

#[derive(Debug, Clone)]
enum Gaps {
    Equal,
    Exponential(Box<Exponential>),
}

impl PerSecond {
    /// The highest rate that is accepted.
    pub const MAX: Self = Self(100_000_000 * Self::UNIT);
    const UNIT: u64 = 1_000_000;

    /// Reads a decimal number above zero, with at most six digits after the point.
    ///
    /// # Errors
    ///
    /// The correct form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a rate: write requests a second, as 2000 or 0.5");
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0
            || fraction.len() > 6
            || !digits(whole)
            || !digits(fraction)
        {
            return Err(wrong());
        }
        let whole: u64 = format!("0{whole}").parse().map_err(|_| wrong())?;
        let fraction: u64 = format!("{fraction:0<6}").parse().map_err(|_| wrong())?;
        let rate = whole.saturating_mul(Self::UNIT).saturating_add(fraction);
        match Self(rate) {
            Self(0) => Err(format!("{text:?} is not a rate: it must be above 0")),
            rate if rate > Self::MAX => Err(format!("{text:?} is more than 100000000 a second")),
            rate => Ok(rate),
        }
    }

    /// As a number of requests a second.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "rates are below 2^53 millionths"
    )]
    pub fn get(self) -> f64 {
        self.0 as f64 / Self::UNIT as f64
    }
}

impl Rate {
    /// The rate at the start, and the one of the end where it is another.
    #[must_use]
    pub fn ends(self) -> (PerSecond, Option<PerSecond>) {
        match self {
            Self::Constant(rate) => (rate, None),
            Self::Ramp { from, to, .. } => (from, Some(to)),
        }
    }

    /// The moment by which so much is due.
    fn reaches(self, due: u128) -> u64 {
        match self {
            Self::Constant(rate) => after(due, rate),
            Self::Ramp { from, to, over_ns } => ramp(due, from, to, over_ns),
        }
    }
}

/// due / rate, cut at whole nanoseconds.
fn after(due: u128, rate: PerSecond) -> u64 {
    // Whole requests and the rest apart, so that no product passes 128 bits.
    let per = u128::from(rate.0);
    let nanos = 1_000_000_000 * u128::from(PerSecond::UNIT);
    let whole = (due / REQUEST).saturating_mul(nanos);
    let rest = (due % REQUEST) * nanos;
    let time = whole / per + ((whole % per) * REQUEST + rest) / per / REQUEST;
    u64::try_from(time).unwrap_or(u64::MAX)
}

/// Solves L(t) = from t + (to - from) t^2 / (2 over) for t, by the form of the root that loses no digits when the rates are close.
///
/// Only operations that IEEE 754 rounds exactly: the same everywhere.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times and counts of a ramp are far below 2^53, and positive"
)]
fn ramp(due: u128, from: PerSecond, to: PerSecond, over_ns: u64) -> u64 {
    let length_s = over_ns as f64 / 1e9;
    let (from_per_s, to_per_s) = (from.get(), to.get());
    let due_requests = due as f64 / REQUEST as f64;
    let of_ramp = f64::midpoint(from_per_s, to_per_s) * length_s;
    if due_requests >= of_ramp {
        let beyond = (due_requests - of_ramp) / to_per_s;
        return ((length_s + beyond) * 1e9) as u64;
    }
    let square = from_per_s * from_per_s + 2.0 * (to_per_s - from_per_s) * due_requests / length_s;
    let time_s = 2.0 * due_requests / (from_per_s + square.max(0.0).sqrt());
    (time_s * 1e9) as u64
}

impl ArrivalProcess {
    /// Starts with the first request: at once, or after a first gap if arrivals are random.
    #[must_use]
    pub fn new(rate: Rate, arrivals: Arrivals) -> Self {
        let mut gaps = match arrivals {
            Arrivals::Constant => Gaps::Equal,
            Arrivals::Poisson { seed } => Gaps::Exponential(Box::new(Exponential::new(seed))),
        };
        let arrival = match &mut gaps {
            Gaps::Equal => 0,
            Gaps::Exponential(gaps) => gaps.draw(),
        };
        Self {
            rate,
            gaps,
            arrival,
        }
    }

    /// When the next request is meant to be sent.
    #[must_use]
    pub fn peek_ns(&self) -> u64 {
        self.rate.reaches(self.arrival)
    }

    /// When the last of this many requests from the next one on is meant to be sent; with random arrivals, on the average.
    pub(crate) fn peek_last_of_ns(&self, count: u64) -> u64 {
        let between = u128::from(count.saturating_sub(1)) * REQUEST;
        self.rate.reaches(self.arrival.saturating_add(between))
    }

    /// Goes on by so many requests. Of many random gaps together the mean is taken, which theirs comes near.
    pub(crate) fn pass(&mut self, count: u64) {
        self.arrival += match &mut self.gaps {
            Gaps::Exponential(gaps) if count == 1 => gaps.draw(),
            _ => u128::from(count) * REQUEST,
        };
    }
}

impl Iterator for ArrivalProcess {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let intended_ns = self.peek_ns();
        self.pass(1);
        Some(intended_ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rate(text: &str) -> PerSecond {
        PerSecond::parse(text).unwrap()
    }

    #[test]
    fn rates_are_read() {
        let cases = [
            ("2000", Some(2000.0)),
            ("0.5", Some(0.5)),
            (".25", Some(0.25)),
            ("1.000001", Some(1.000_001)),
            ("100000000", Some(1e8)),
            ("100000001", None),
            ("0", None),
            ("0.0000001", None),
            ("", None),
            (".", None),
            ("-1", None),
            ("1e3", None),
            ("12/s", None),
            ("99999999999999999999", None),
        ];
        for (text, expected) in cases {
            assert_eq!(
                PerSecond::parse(text).ok().map(PerSecond::get),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn constant_arrivals_do_not_drift() {
        let process = ArrivalProcess::new(Rate::Constant(rate("3")), Arrivals::Constant);
        let times: Vec<u64> = process.take(4).collect();
        assert_eq!(times, [0, 333_333_333, 666_666_666, 1_000_000_000]);
        // A thousand million requests later it is still exact.
        let late = Rate::Constant(rate("50000")).reaches(1_000_000_000 * REQUEST);
        assert_eq!(late, 20_000_000_000_000);
    }

    #[test]
    fn a_ramp_sends_its_area() {
        // From 100 to 300 a second in 10 s: 2000 requests, a quarter of the way 100 t + 10 t^2 = 312.5 at 2.5 s.
        let law = Rate::Ramp {
            from: rate("100"),
            to: rate("300"),
            over_ns: 10_000_000_000,
        };
        let sent = ArrivalProcess::new(law, Arrivals::Constant)
            .take_while(|at| *at < 10_000_000_000)
            .count();
        assert_eq!(sent, 2000);
        let at = law.reaches(625 * REQUEST / 2);
        assert!(at.abs_diff(2_500_000_000) <= 1, "{at}");
        assert_eq!(law.reaches(2300 * REQUEST), 11_000_000_000);
    }

    #[test]
    fn a_ramp_goes_down_too() {
        let law = Rate::Ramp {
            from: rate("300"),
            to: rate("100"),
            over_ns: 10_000_000_000,
        };
        let times: Vec<u64> = ArrivalProcess::new(law, Arrivals::Constant)
            .take(2500)
            .collect();
        assert!(times.is_sorted());
        assert_eq!(
            times.iter().filter(|at| **at < 10_000_000_000).count(),
            2000
        );
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_the_variance_of_the_law() {
        let process =
            ArrivalProcess::new(Rate::Constant(rate("1000")), Arrivals::Poisson { seed: 7 });
        let times: Vec<u64> = process.take(100_001).collect();
        let gaps: Vec<f64> = times
            .windows(2)
            .map(|pair| f64::from(u32::try_from(pair[1] - pair[0]).unwrap()) / 1e6)
            .collect();
        let mean = gaps.iter().sum::<f64>() / 100_000.0;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / 100_000.0;
        // Four standard errors: 1/sqrt(n) for the mean, sqrt(8/n) for the variance.
        assert!((mean - 1.0).abs() < 0.013, "{mean}");
        assert!((variance - 1.0).abs() < 0.036, "{variance}");
    }

    #[test]
    fn a_seed_gives_the_same_arrivals_for_ever() {
        let process =
            ArrivalProcess::new(Rate::Constant(rate("1000")), Arrivals::Poisson { seed: 1 });
        let other =
            ArrivalProcess::new(Rate::Constant(rate("1000")), Arrivals::Poisson { seed: 2 });
        let times: Vec<u64> = process.clone().take(3).collect();
        assert_eq!(times, process.take(3).collect::<Vec<_>>());
        assert_ne!(times, other.take(3).collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn intended_times_never_go_back(
            from in 1_u64..1_000_000,
            to in 1_u64..1_000_000,
            over_ms in 1_u64..100_000,
            seed: Option<u64>,
        ) {
            let law = Rate::Ramp {
                from: rate(&from.to_string()),
                to: rate(&to.to_string()),
                over_ns: over_ms * 1_000_000,
            };
            let arrivals = seed.map_or(Arrivals::Constant, |seed| Arrivals::Poisson { seed });
            let times: Vec<u64> = ArrivalProcess::new(law, arrivals).take(500).collect();
            prop_assert!(times.is_sorted());
        }

        #[test]
        fn a_ramp_between_equal_rates_is_constant(
            per_s in 1_u64..1_000_000,
            over_ms in 1_u64..100_000,
            requests in 0_u64..1_000_000,
        ) {
            let both = rate(&per_s.to_string());
            let ramp = Rate::Ramp { from: both, to: both, over_ns: over_ms * 1_000_000 };
            let due = u128::from(requests) * REQUEST;
            let (ramp, constant) = (ramp.reaches(due), Rate::Constant(both).reaches(due));
            // A double holds 53 bits: of 10^15 ns, the last one may be rounded.
            prop_assert!(ramp.abs_diff(constant) <= 1 + (constant >> 50), "{ramp} {constant}");
        }
    }
}
