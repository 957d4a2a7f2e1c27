//! The confidence interval of a response time in a running load, from batches: when it is narrow enough, the load may end. No clock, no I/O.
//!
//! Response times depend on those before them: a queue makes many slow at once. Batches that are long enough hardly do, so that their
//! spread says how well the whole is known: non-overlapping batch means, whose batches double as data grows (Law and Carson, A
//! sequential procedure for determining the length of a steady-state simulation, Operations Research 27 (1979), 1011-1025), and count
//! only if von Neumann's ratio finds no correlation between neighbours (Fishman, Grouping observations in digital simulation,
//! Management Science 24 (1978), 510-521). The interval of a percentile is that of the share of requests below it, read back from the
//! distribution (Woodruff, Confidence intervals for medians and other position measures, JASA 47 (1952), 635-646): no percentile of a
//! short batch, which would be biased, is taken.

use hdrhistogram::Histogram;

use crate::records::UntilRecord;
use crate::validity::student::two_sided_quantile;

/// Batches are 32 to 63.
const FEWEST: usize = 32;
/// The confidence of the interval. A load that ends when it looks narrow ends more often when it looks too narrow: with 97 % the
/// interval at the end covers the truth about as often as 95 % promise.
const LEVEL: f64 = 0.97;
/// The one-sided 5 % point of the normal distribution.
const UNCORRELATED: f64 = 1.645;
const STRONGEST_DEPENDENCE: f64 = 0.9;
/// The largest share of batches without a request beyond the percentile: fewer say too little of a tail whose requests come together.
const MOST_EMPTY: f64 = 0.1;

/// A figure, and how well it is to be known: `ci(p99) < 5%`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goal {
    /// As a share, 0.5 to 0.999; `None`: the mean.
    quantile: Option<f64>,
    /// The largest half of the interval, as a share of the figure.
    share: f64,
}

impl Goal {
    /// Reads `ci(FIGURE) < SHARE%`.
    ///
    /// # Errors
    ///
    /// The correct form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not understood: write it like 'ci(p99) < 5%'");
        let inner = text.trim().strip_prefix("ci(").ok_or_else(wrong)?;
        let (figure, rest) = inner.split_once(')').ok_or_else(wrong)?;
        let share = rest
            .trim()
            .strip_prefix('<')
            .and_then(|rest| rest.trim().strip_suffix('%'));
        let share = share
            .and_then(|share| decimal(share.trim()))
            .ok_or_else(wrong)?;
        if !(0.1..=50.0).contains(&share) {
            return Err(format!("{text:?}: the share must be 0.1 to 50 %"));
        }
        let quantile = match figure.trim() {
            "mean" => None,
            percentile => {
                let percent = percentile.strip_prefix('p').and_then(decimal);
                let percent = percent.filter(|percent| (50.0..=99.9).contains(percent));
                Some(
                    percent.ok_or_else(|| {
                        format!("{text:?}: choose mean or a percentile from p50 to p99.9")
                    })? / 100.0,
                )
            }
        };
        Ok(Self {
            quantile,
            share: share / 100.0,
        })
    }

    /// As it is written.
    #[must_use]
    pub fn text(self) -> String {
        let figure = self.quantile.map_or_else(
            || "mean".to_owned(),
            |share| format!("p{}", round(100.0 * share)),
        );
        format!("ci({figure}) < {}%", round(100.0 * self.share))
    }
}

fn decimal(text: &str) -> Option<f64> {
    let is_number = text.len() <= 9
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
    is_number.then(|| text.parse().ok()).flatten()
}

fn round(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

/// Response times with their counts, in order.
#[derive(Debug, Clone, Default)]
struct Batch {
    count: u64,
    sum_ns: f64,
    times: Vec<(u64, u64)>,
}

impl Batch {
    #[expect(clippy::cast_precision_loss, reason = "times and counts")]
    fn add(&mut self, times: impl Iterator<Item = (u64, u64)>) {
        let own = std::mem::take(&mut self.times);
        let mut own = own.into_iter().peekable();
        for (time_ns, count) in times {
            self.count += count;
            self.sum_ns += time_ns as f64 * count as f64;
            while let Some(before) = own.next_if(|(other_ns, _)| *other_ns < time_ns) {
                self.times.push(before);
            }
            let same = own.next_if(|(other_ns, _)| *other_ns == time_ns);
            self.times
                .push((time_ns, count + same.map_or(0, |(_, count)| count)));
        }
        self.times.extend(own);
    }

    fn at_most(&self, time_ns: u64) -> u64 {
        let below = self
            .times
            .iter()
            .take_while(|(other_ns, _)| *other_ns <= time_ns);
        below.map(|(_, count)| count).sum()
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank"
    )]
    fn quantile(&self, share: f64) -> u64 {
        let rank = (share * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.times.iter().find(|(_, count)| {
            seen += count;
            seen >= rank
        });
        found
            .or(self.times.last())
            .map_or(0, |(time_ns, _)| *time_ns)
    }
}

/// An estimate with its interval, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Interval {
    estimate: f64,
    low: f64,
    high: f64,
}

impl Interval {
    fn half_share(self) -> f64 {
        (self.high - self.low) / 2.0 / self.estimate
    }
}

/// The response times of a load so far, in batches of equal time.
#[derive(Debug)]
pub(crate) struct Batches {
    goal: Goal,
    all: Vec<Batch>,
    whole: Batch,
    filling: Batch,
    filled: u64,
    /// Stretches in each.
    stretches: u64,
    met: Option<Interval>,
}

impl Batches {
    pub(crate) fn new(goal: Goal) -> Self {
        Self {
            goal,
            all: Vec::new(),
            whole: Batch::default(),
            filling: Batch::default(),
            filled: 0,
            stretches: 1,
            met: None,
        }
    }

    /// Takes the response times of the next stretch.
    pub(crate) fn add(&mut self, times: &Histogram<u64>) {
        let recorded = times.iter_recorded();
        self.filling
            .add(recorded.map(|step| (step.value_iterated_to(), step.count_at_value())));
        self.filled += 1;
        if self.filled < self.stretches {
            return;
        }
        self.filled = 0;
        let batch = std::mem::take(&mut self.filling);
        self.whole.add(batch.times.iter().copied());
        self.all.push(batch);
        if self.all.len() == 2 * FEWEST {
            let mut old = std::mem::take(&mut self.all).into_iter();
            while let (Some(mut first), Some(second)) = (old.next(), old.next()) {
                first.add(second.times.into_iter());
                self.all.push(first);
            }
            self.stretches *= 2;
        }
        if self.met.is_none() {
            self.met = self
                .interval()
                .filter(|interval| interval.half_share() < self.goal.share);
        }
    }

    /// Whether the interval has become narrow enough.
    pub(crate) const fn is_met(&self) -> bool {
        self.met.is_some()
    }

    pub(crate) fn record(&self) -> UntilRecord {
        let interval = self.met.or_else(|| self.interval());
        UntilRecord {
            condition: self.goal.text(),
            is_met: self.is_met(),
            estimate_ns: interval.map(|interval| interval.estimate),
            low_ns: interval.map(|interval| interval.low),
            high_ns: interval.map(|interval| interval.high),
            half_width_share: interval.map(Interval::half_share),
            batches: self.all.len(),
        }
    }

    /// `None` where there is too little to tell, or batches depend on each other.
    #[expect(clippy::cast_precision_loss, reason = "times and counts")]
    fn interval(&self) -> Option<Interval> {
        if self.all.len() < FEWEST || self.whole.count == 0 {
            return None;
        }
        let (batches, count) = (self.all.len() as f64, self.whole.count as f64);
        let time_ns = self.goal.quantile.map(|share| self.whole.quantile(share));
        let of_batch = |batch: &Batch| match time_ns {
            None => batch.sum_ns,
            Some(time_ns) => batch.at_most(time_ns) as f64,
        };
        let mean = of_batch(&self.whole) / count;
        // Batches have different numbers of requests: a ratio, whose residuals have the mean 0.
        let residual = |batch: &Batch| of_batch(batch) - mean * batch.count as f64;
        let rest: Vec<f64> = self.all.iter().map(residual).collect();
        if let Some(time_ns) = time_ns {
            let empty = self
                .all
                .iter()
                .filter(|batch| batch.at_most(time_ns) == batch.count);
            if empty.count() as f64 > MOST_EMPTY * batches {
                return None;
            }
        }
        let error = standard_error(&rest)? / count;
        let reach = two_sided_quantile(LEVEL, batches - 1.0) * error;
        let Some(share) = self.goal.quantile else {
            return Some(Interval {
                estimate: mean,
                low: mean - reach,
                high: mean + reach,
            });
        };
        (share - reach > 0.0 && share + reach < 1.0).then(|| Interval {
            estimate: self.whole.quantile(share) as f64,
            low: self.whole.quantile(share - reach) as f64,
            high: self.whole.quantile(share + reach) as f64,
        })
    }
}

/// The standard error of a sum of residuals; `None` where neighbours are correlated. What may remain of it widens the error.
#[expect(clippy::cast_precision_loss, reason = "a count of batches")]
fn standard_error(rest: &[f64]) -> Option<f64> {
    let count = rest.len() as f64;
    let squares: f64 = rest.iter().map(|value| value * value).sum();
    if squares == 0.0 {
        return None;
    }
    let pairs = || rest.iter().zip(&rest[1..]);
    let differences: f64 = pairs().map(|(one, next)| (next - one).powi(2)).sum();
    let von_neumann = 1.0 - differences / (2.0 * squares);
    if von_neumann > UNCORRELATED * ((count - 2.0) / (count * count - 1.0)).sqrt() {
        return None;
    }
    let products: f64 = pairs().map(|(one, next)| one * next).sum();
    let correlation = (products / squares + 1.0 / count).clamp(0.0, STRONGEST_DEPENDENCE);
    let growth = (1.0 + correlation) / (1.0 - correlation);
    Some((count / (count - 1.0) * squares * growth).sqrt())
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    use super::*;

    const STRETCH_S: f64 = 0.2;
    const LOADS: u64 = 100;

    #[test]
    fn a_goal_is_read() {
        for (text, written) in [
            ("ci(p99) < 5%", "ci(p99) < 5%"),
            (" ci( p99.9 )<2.5 % ", "ci(p99.9) < 2.5%"),
            ("ci(mean) < 10%", "ci(mean) < 10%"),
        ] {
            assert_eq!(Goal::parse(text).unwrap().text(), written);
        }
        for (text, expected) in [
            (
                "p99 < 5%",
                "is not understood: write it like 'ci(p99) < 5%'",
            ),
            ("ci(p99) < 5", "is not understood"),
            ("ci(p99) > 5%", "is not understood"),
            ("ci(p99) < 0%", "the share must be 0.1 to 50 %"),
            (
                "ci(p99.99) < 5%",
                "choose mean or a percentile from p50 to p99.9",
            ),
            ("ci(rps) < 5%", "choose mean or a percentile"),
        ] {
            let refused = Goal::parse(text).unwrap_err();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }

    struct Noise(ChaCha8Rng);

    impl Noise {
        #[expect(clippy::cast_precision_loss, reason = "53 bits")]
        fn share(&mut self) -> f64 {
            ((self.0.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
        }

        fn exponential(&mut self) -> f64 {
            -self.share().ln()
        }

        fn normal(&mut self) -> f64 {
            let angle = 2.0 * std::f64::consts::PI * self.share();
            (2.0 * self.exponential()).sqrt() * angle.cos()
        }
    }

    /// Makes response times in seconds, each with the time to the next.
    trait Server {
        fn new(noise: &mut Noise) -> Self;
        fn next(&mut self, noise: &mut Noise) -> (f64, f64);
    }

    /// A queue of random arrivals, 1,600 a second at a server that takes 2,000: response times are exponential, 400 of them a second.
    struct Queue {
        wait_s: f64,
    }

    impl Server for Queue {
        fn new(noise: &mut Noise) -> Self {
            let is_busy = noise.share() < 0.8;
            let wait_s = if is_busy {
                noise.exponential() / 400.0
            } else {
                0.0
            };
            Self { wait_s }
        }

        fn next(&mut self, noise: &mut Noise) -> (f64, f64) {
            let response_s = self.wait_s + noise.exponential() / 2000.0;
            let gap_s = noise.exponential() / 1600.0;
            self.wait_s = (response_s - gap_s).max(0.0);
            (response_s, gap_s)
        }
    }

    /// Log-normal times, each of which depends on the one before: 0.9 of its logarithm.
    struct Chain {
        logarithm: f64,
    }

    impl Server for Chain {
        fn new(noise: &mut Noise) -> Self {
            let logarithm = noise.normal();
            Self { logarithm }
        }

        fn next(&mut self, noise: &mut Noise) -> (f64, f64) {
            self.logarithm = 0.9 * self.logarithm + (1.0_f64 - 0.81).sqrt() * noise.normal();
            (0.01 * (0.5 * self.logarithm).exp(), 0.001)
        }
    }

    /// Of a hundred loads that end by their interval, how many intervals hold the truth.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time"
    )]
    fn covered<S: Server>(goal: &str, truth_s: f64) -> u64 {
        let mut covered = 0;
        for seed in 0..LOADS {
            let mut noise = Noise(ChaCha8Rng::seed_from_u64(seed));
            let mut server = S::new(&mut noise);
            let mut batches = Batches::new(Goal::parse(goal).unwrap());
            let mut times = Histogram::new(3).unwrap();
            let mut now_s = 0.0;
            while !batches.is_met() {
                times.reset();
                while now_s < STRETCH_S {
                    let (response_s, gap_s) = server.next(&mut noise);
                    times.record((response_s * 1e9) as u64).unwrap();
                    now_s += gap_s;
                }
                now_s -= STRETCH_S;
                batches.add(&times);
            }
            let met = batches.met.unwrap();
            // Histograms keep three digits.
            covered +=
                u64::from(met.low * 0.999 <= truth_s * 1e9 && truth_s * 1e9 <= met.high * 1.001);
        }
        println!("{goal}: {covered} of {LOADS}");
        covered
    }

    #[test]
    fn the_interval_of_a_queue_covers_the_truth() {
        let mut all = 0;
        for (goal, truth_s) in [
            ("ci(mean) < 10%", 1.0 / 400.0),
            ("ci(p50) < 10%", 2_f64.ln() / 400.0),
            ("ci(p99) < 10%", 100_f64.ln() / 400.0),
        ] {
            let covered = covered::<Queue>(goal, truth_s);
            all += covered;
            assert!(covered >= 90, "{goal}: {covered}");
        }
        // An interval that always covers it would be too wide.
        assert!(all < 3 * LOADS, "{all}");
    }

    #[test]
    fn the_interval_of_a_chain_covers_the_truth() {
        let mut all = 0;
        for (goal, truth_s) in [
            ("ci(mean) < 5%", 0.01 * 0.125_f64.exp()),
            ("ci(p50) < 5%", 0.01),
            ("ci(p99) < 5%", 0.01 * (0.5 * 2.326_347_87_f64).exp()),
        ] {
            let covered = covered::<Chain>(goal, truth_s);
            all += covered;
            assert!(covered >= 90, "{goal}: {covered}");
        }
        // An interval that always covers it would be too wide.
        assert!(all < 3 * LOADS, "{all}");
    }

    #[test]
    fn few_or_constant_times_have_no_interval() {
        let mut batches = Batches::new(Goal::parse("ci(p50) < 50%").unwrap());
        let mut times = Histogram::new(3).unwrap();
        times.record(1_000).unwrap();
        for _ in 0..200 {
            batches.add(&times);
        }
        assert!(!batches.is_met());
        assert_eq!(batches.record().estimate_ns, None);
    }
}
