//! Intended times of requests: a rate over time with constant or random arrivals, or recorded times. No clock, no I/O.
//!
//! Arrivals are counted in requests of a process of rate one: the k-th is at k or, with Poisson arrivals, at the sum of
//! k exponential gaps of mean one. The integral L(t) of the rate says how many requests are due by t; the k-th request
//! is due when L reaches the k-th arrival. So both kinds of arrivals work with every rate, and no error accumulates
//! over a run.

use std::fmt::{self, Display};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::exponential::{Exponential, REQUEST};
use crate::recorded_times::{RecordedTimes, Replayed};

/// Requests per second, as a function of the time since the start: stages one after the other, and one rate afterwards.
///
/// A constant rate has no stage, a ramp has one.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate {
    legs: Arc<[Leg]>,
    last: Leg,
}

/// A part of a schedule, in which the rate changes linearly from `from` to `to`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateStage {
    /// Rate at its start.
    pub from: PerSecond,
    /// Rate at its end.
    pub to: PerSecond,
    /// Duration of the stage.
    pub over_ns: u64,
}

/// A stage in its place.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Leg {
    stage: RateStage,
    begin_ns: u64,
    /// Due before it, and by its end, in parts of a request.
    begin_due: u128,
    end_due: u128,
}

/// Parts of a request: so small that a ramp between rates in whole millionths makes a whole number of them due in each
/// stage of whole nanoseconds.
const PARTS: u128 = 2 * 1_000_000_000 * PerSecond::UNIT as u128;

/// A rate in millionths of a request per second, so that rates add up exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PerSecond(u64);

/// Spacing of the requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrivals {
    /// Even spacing: each gap is the same share of the rate's integral.
    Constant,
    /// Random spacing, like many independent clients.
    Poisson {
        /// Seed: the same seed gives the same arrivals on every machine.
        seed: u64,
    },
    /// The times of a recording; the rate is its mean.
    Recorded(Arc<RecordedTimes>),
}

/// Iterator over the intended times of requests, in nanoseconds since the start.
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
    Recorded(Replayed),
}

impl PerSecond {
    /// The highest rate that is accepted.
    pub const MAX: Self = Self(100_000_000 * Self::UNIT);
    const UNIT: u64 = 1_000_000;

    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// Reads a decimal number above zero, with at most six digits after the point.
    ///
    /// # Errors
    ///
    /// A message with the correct form.
    pub fn parse(text: &str) -> Result<Self, String> {
        match Self::parse_or_zero(text)? {
            Self::ZERO => Err(format!("{text:?} is not a rate: it must be above 0")),
            rate => Ok(rate),
        }
    }

    /// Reads a decimal number, which may be zero, with at most six digits after the point.
    ///
    /// # Errors
    ///
    /// The correct form.
    pub fn parse_or_zero(text: &str) -> Result<Self, String> {
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
            rate if rate > Self::MAX => Err(format!("{text:?} is more than 100000000 a second")),
            rate => Ok(rate),
        }
    }

    /// A number of millionths, within what is accepted.
    pub(crate) fn of_millionths(millionths: u128) -> Self {
        Self(u64::try_from(millionths).unwrap_or(u64::MAX)).clamp(Self(1), Self::MAX)
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

impl Display for PerSecond {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / Self::UNIT, self.0 % Self::UNIT);
        if rest == 0 {
            return write!(formatter, "{whole}");
        }
        let text = format!("{whole}.{rest:06}");
        formatter.write_str(text.trim_end_matches('0'))
    }
}

impl RateStage {
    /// Due in it, in parts of a request.
    const fn due(self) -> u128 {
        (self.from.0 as u128 + self.to.0 as u128) * self.over_ns as u128
    }

    /// How many requests a second it sends, on the average.
    #[must_use]
    pub fn mean_per_s(self) -> f64 {
        f64::midpoint(self.from.get(), self.to.get())
    }

    /// The time at which this many of its parts are due, since its beginning; in whole nanoseconds, before its end.
    fn reaches(self, due: u128) -> u64 {
        if self.from == self.to {
            return u64::try_from(due / (2 * u128::from(self.from.0))).unwrap_or(u64::MAX);
        }
        let time_ns = if self.from < self.to {
            ramp_ns(due, self.from, self.to, self.over_ns).floor()
        } else {
            // From its end on: the form of the root without a difference, which would lose digits.
            let left_ns = ramp_ns(self.due() - due, self.to, self.from, self.over_ns);
            (seconds(self.over_ns) * 1e9 - left_ns).floor()
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "times of a ramp are far below 2^53, and positive"
        )]
        let time_ns = time_ns.max(0.0) as u64;
        time_ns.min(self.over_ns - 1)
    }
}

impl Rate {
    /// A constant rate.
    #[must_use]
    pub fn constant(rate: PerSecond) -> Self {
        Self::new(&[], rate)
    }

    /// A rate that changes linearly from `from` to `to`, and stays at `to` afterwards.
    #[must_use]
    pub fn ramp(from: PerSecond, to: PerSecond, over_ns: u64) -> Self {
        Self::new(&[RateStage { from, to, over_ns }], to)
    }

    /// Stages one after the other; the rate stays at the end of the last one afterwards.
    #[must_use]
    pub fn stages(stages: &[RateStage]) -> Self {
        Self::new(
            stages,
            stages.last().map_or(PerSecond::ZERO, |stage| stage.to),
        )
    }

    fn new(stages: &[RateStage], last: PerSecond) -> Self {
        let (mut begin_ns, mut begin_due) = (0_u64, 0);
        let mut leg = |stage: RateStage| {
            let leg = Leg {
                stage,
                begin_ns,
                begin_due,
                end_due: begin_due + stage.due(),
            };
            (begin_ns, begin_due) = (begin_ns.saturating_add(stage.over_ns), leg.end_due);
            leg
        };
        let legs = stages.iter().map(|stage| leg(*stage)).collect();
        let last = RateStage {
            from: last,
            to: last,
            over_ns: u64::MAX,
        };
        Self {
            legs,
            last: leg(last),
        }
    }

    /// An equal share of the rate, for a display: rounded to millionths.
    #[must_use]
    pub fn shared_by(&self, count: u64) -> Self {
        let share = |rate: PerSecond| PerSecond(rate.0 / count.max(1));
        let stages: Vec<RateStage> = self
            .legs
            .iter()
            .map(|leg| RateStage {
                from: share(leg.stage.from),
                to: share(leg.stage.to),
                ..leg.stage
            })
            .collect();
        Self::new(&stages, share(self.last.stage.to))
    }

    /// The rate at the start, and the rate at the end if there are stages.
    #[must_use]
    pub fn ends(&self) -> (PerSecond, Option<PerSecond>) {
        match self.legs.first() {
            None => (self.last.stage.from, None),
            Some(first) => (first.stage.from, Some(self.last.stage.to)),
        }
    }

    /// Requests per second at a time since the start.
    #[must_use]
    pub fn at_s(&self, time_s: f64) -> f64 {
        let mut stages = self.spans().map(|(stage, begin_ns, end_ns)| {
            let share = (time_s - seconds(begin_ns)) / (seconds(end_ns) - seconds(begin_ns));
            (stage, share)
        });
        let current = stages.find(|(_, share)| *share < 1.0);
        current.map_or(self.last.stage.to.get(), |(stage, share)| {
            stage.from.get() + share.max(0.0) * (stage.to.get() - stage.from.get())
        })
    }

    /// When each stage begins and ends.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (RateStage, u64, u64)> + '_ {
        let span = |leg: &Leg| (leg.stage, leg.begin_ns, leg.begin_ns + leg.stage.over_ns);
        self.legs.iter().map(span)
    }

    /// The time at which this many requests are due, rounded down to whole nanoseconds; `u64::MAX` if they never are.
    fn reaches(&self, due: u128) -> u64 {
        let due = (due / REQUEST) * PARTS + (due % REQUEST) * PARTS / REQUEST;
        let place = self.legs.partition_point(|leg| leg.end_due <= due);
        let leg = self.legs.get(place).unwrap_or(&self.last);
        if due >= leg.end_due {
            return u64::MAX;
        }
        let since_ns = leg.stage.reaches(due - leg.begin_due);
        leg.begin_ns.saturating_add(since_ns)
    }
}

/// Solves L(t) = from t + (to - from) t^2 / (2 over) for t, with the form of the root that loses no digits when
/// both rates are close.
///
/// Uses only operations that IEEE 754 rounds exactly, so the result is the same on every machine. `from` is less than
/// `to`.
#[expect(
    clippy::cast_precision_loss,
    reason = "times and counts of a ramp are far below 2^53"
)]
fn ramp_ns(due: u128, from: PerSecond, to: PerSecond, over_ns: u64) -> f64 {
    let (from_per_s, to_per_s) = (from.get(), to.get());
    let due_requests = (due / PARTS) as f64 + (due % PARTS) as f64 / PARTS as f64;
    if due == 0 {
        return 0.0;
    }
    let square =
        from_per_s * from_per_s + 2.0 * (to_per_s - from_per_s) * due_requests / seconds(over_ns);
    2.0 * due_requests / (from_per_s + square.sqrt()) * 1e9
}

#[expect(
    clippy::cast_precision_loss,
    reason = "times of a ramp are far below 2^53"
)]
fn seconds(time_ns: u64) -> f64 {
    time_ns as f64 / 1e9
}

impl ArrivalProcess {
    /// Starts with the first request: due at once, or after a first gap if arrivals are random.
    #[must_use]
    pub fn new(rate: Rate, arrivals: Arrivals) -> Self {
        let mut gaps = match arrivals {
            Arrivals::Constant => Gaps::Equal,
            Arrivals::Poisson { seed } => Gaps::Exponential(Box::new(Exponential::new(seed))),
            Arrivals::Recorded(times) => Gaps::Recorded(Replayed::new(times)),
        };
        let arrival = match &mut gaps {
            Gaps::Equal | Gaps::Recorded(_) => 0,
            Gaps::Exponential(gaps) => gaps.draw(),
        };
        Self {
            rate,
            gaps,
            arrival,
        }
    }

    /// Intended time of the next request.
    #[must_use]
    pub fn peek_ns(&self) -> u64 {
        if let Gaps::Recorded(replayed) = &self.gaps {
            return replayed.peek_ns();
        }
        self.rate.reaches(self.arrival)
    }

    /// Intended time of the last of the next `count` requests; their mean, if arrivals are random.
    pub(crate) fn peek_last_of_ns(&self, count: u64) -> u64 {
        if let Gaps::Recorded(replayed) = &self.gaps {
            return replayed.peek_after_ns(count.saturating_sub(1));
        }
        let between = u128::from(count.saturating_sub(1)) * REQUEST;
        self.rate.reaches(self.arrival.saturating_add(between))
    }

    /// Skips `count` requests. Random arrivals advance by the mean of that many gaps, which their sum comes close
    /// to.
    pub(crate) fn pass(&mut self, count: u64) {
        self.arrival += match &mut self.gaps {
            Gaps::Exponential(gaps) if count == 1 => gaps.draw(),
            Gaps::Recorded(replayed) => {
                replayed.pass(count);
                return;
            }
            _ => u128::from(count) * REQUEST,
        };
    }

    /// Skips `count` requests, each with its own gap.
    pub(crate) fn pass_each(&mut self, count: u64) {
        match &mut self.gaps {
            Gaps::Exponential(gaps) => {
                self.arrival += (0..count).map(|_| gaps.draw()).sum::<u128>();
            }
            Gaps::Equal | Gaps::Recorded(_) => self.pass(count),
        }
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
    use crate::stages::Stages;

    fn rate(text: &str) -> PerSecond {
        PerSecond::parse(text).unwrap()
    }

    #[test]
    fn a_share_of_a_rate_has_its_stages() {
        let quarter = Rate::ramp(rate("100"), rate("300"), 2_000_000_000).shared_by(4);
        for (time_s, expected) in [(0.0, 25.0), (1.0, 50.0), (9.0, 75.0)] {
            assert!((quarter.at_s(time_s) - expected).abs() < 1e-9, "{time_s}");
        }
        let third = Rate::constant(rate("100")).shared_by(3);
        assert!((third.at_s(5.0) - 33.333_333).abs() < 1e-9);
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
        let process = ArrivalProcess::new(Rate::constant(rate("3")), Arrivals::Constant);
        let times: Vec<u64> = process.take(4).collect();
        assert_eq!(times, [0, 333_333_333, 666_666_666, 1_000_000_000]);
        // The time is exact even a thousand million requests later.
        let late = Rate::constant(rate("50000")).reaches(1_000_000_000 * REQUEST);
        assert_eq!(late, 20_000_000_000_000);
    }

    #[test]
    fn a_ramp_sends_its_area() {
        // From 100 to 300 a second in 10 s: 2000 requests, a quarter of the way 100 t + 10 t^2 = 312.5 at 2.5 s.
        let law = Rate::ramp(rate("100"), rate("300"), 10_000_000_000);
        let sent = ArrivalProcess::new(law.clone(), Arrivals::Constant)
            .take_while(|at| *at < 10_000_000_000)
            .count();
        assert_eq!(sent, 2000);
        let at = law.reaches(625 * REQUEST / 2);
        assert!(at.abs_diff(2_500_000_000) <= 1, "{at}");
        assert_eq!(law.reaches(2300 * REQUEST), 11_000_000_000);
    }

    #[test]
    fn a_ramp_goes_down_too() {
        let law = Rate::ramp(rate("300"), rate("100"), 10_000_000_000);
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
            ArrivalProcess::new(Rate::constant(rate("1000")), Arrivals::Poisson { seed: 7 });
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
            ArrivalProcess::new(Rate::constant(rate("1000")), Arrivals::Poisson { seed: 1 });
        let other =
            ArrivalProcess::new(Rate::constant(rate("1000")), Arrivals::Poisson { seed: 2 });
        let times: Vec<u64> = process.clone().take(3).collect();
        assert_eq!(times, process.take(3).collect::<Vec<_>>());
        assert_ne!(times, other.take(3).collect::<Vec<_>>());
    }

    /// Stages of 0 to 2,000 a second, and of 1 ms to 20 s.
    fn any_stages() -> impl Strategy<Value = Vec<RateStage>> {
        let rate = prop_oneof![Just(0), 0_u64..2_000_000_000];
        let stage = (
            rate.clone(),
            rate,
            any::<bool>(),
            1_000_000_u64..20_000_000_000,
        );
        let stage = stage.prop_map(|(from, to, is_level, over_ns)| RateStage {
            from: PerSecond(from),
            to: PerSecond(if is_level { from } else { to }),
            over_ns,
        });
        proptest::collection::vec(stage, 1..6)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn a_stage_sends_the_integral_of_its_rate(stages in any_stages()) {
            let rate = Rate::stages(&stages);
            let end_ns = rate.spans().map(|(_, _, end_ns)| end_ns).max().unwrap();
            let process = ArrivalProcess::new(rate.clone(), Arrivals::Constant);
            let times: Vec<u64> = process.take_while(|at| *at < end_ns).collect();
            prop_assert!(times.is_sorted());
            for (stage, begin_ns, end_ns) in rate.spans() {
                let sent = times.partition_point(|at| *at < end_ns) - times.partition_point(|at| *at < begin_ns);
                let due = stage.mean_per_s() * seconds(stage.over_ns);
                prop_assert!((f64::from(u32::try_from(sent).unwrap()) - due).abs() <= 1.0 + 1e-6, "{stage}: {sent} {due}");
            }
        }

        #[test]
        fn two_stages_of_one_rate_are_one_stage(
            per_s in 1_u64..10_000_000_000,
            first_ns in 1_u64..10_000_000_000,
            second_ns in 1_u64..10_000_000_000,
            before in any_stages(),
            seed: Option<u64>,
        ) {
            let arrivals = seed.map_or(Arrivals::Constant, |seed| Arrivals::Poisson { seed });
            let times = |levels_ns: &[u64]| {
                let level = |over_ns: &u64| RateStage {
                    from: PerSecond(per_s),
                    to: PerSecond(per_s),
                    over_ns: *over_ns,
                };
                let stages = before.iter().copied().chain(levels_ns.iter().map(level));
                let rate = Rate::stages(&stages.collect::<Vec<_>>());
                ArrivalProcess::new(rate, arrivals.clone()).take(30_000).collect::<Vec<u64>>()
            };
            prop_assert_eq!(times(&[first_ns, second_ns]), times(&[first_ns + second_ns]));
        }

        #[test]
        fn poisson_arrivals_of_stages_never_go_back(stages in any_stages(), seed: u64) {
            let process = ArrivalProcess::new(Rate::stages(&stages), Arrivals::Poisson { seed });
            prop_assert!(process.take(20_000).is_sorted());
        }
    }

    #[test]
    fn a_stage_of_rate_0_sends_nothing() {
        let stages = Stages::parse("0/10s,2/1s,0/5s,1..0/2s").unwrap();
        let process = ArrivalProcess::new(stages.rate(), Arrivals::Constant);
        let times: Vec<u64> = process.take(4).collect();
        assert_eq!(
            times,
            [10_000_000_000, 10_500_000_000, 16_000_000_000, u64::MAX]
        );
        // Up from nothing: 5 t^2 requests by t.
        let up = ArrivalProcess::new(
            Stages::parse("0..100/10s").unwrap().rate(),
            Arrivals::Constant,
        );
        let times: Vec<u64> = up.skip(5).step_by(15).take(2).collect();
        assert_eq!(times, [1_000_000_000, 2_000_000_000]);
    }

    proptest! {
        #[test]
        fn intended_times_never_go_back(
            from in 1_u64..1_000_000,
            to in 1_u64..1_000_000,
            over_ms in 1_u64..100_000,
            seed: Option<u64>,
        ) {
            let law = Rate::ramp(rate(&from.to_string()), rate(&to.to_string()), over_ms * 1_000_000);
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
            let ramp = Rate::ramp(both, both, over_ms * 1_000_000);
            let due = u128::from(requests) * REQUEST;
            let (ramp, constant) = (ramp.reaches(due), Rate::constant(both).reaches(due));
            // A double has 53 bits, so the last bits of 10^15 ns may be rounded.
            prop_assert!(ramp.abs_diff(constant) <= 1 + (constant >> 50), "{ramp} {constant}");
        }
    }
}
