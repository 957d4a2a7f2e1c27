//! Estimate of a capacity from the steps of a search.
//!
//! Near its capacity R, the share of requests beyond a limit grows as a power of the rate r: q(r) = s (r / R)^b, where s is the share that
//! the limit permits. A queue whose tail is exponential behaves so in a neighbourhood (Asmussen, Applied Probability and Queues, 2003,
//! XIII.5), and a fixed limit of the rate does in the extreme of a large b. Far from R the curve has another shape, so the power is cut at
//! a factor of e^2.5 on each side: a step there says on which side R lies, and nothing about b.
//!
//! R and ln b have a posterior on a grid: R is uniform in ln R, ln b normal around ln 25. Requests beyond a limit come in clusters, since
//! a queue makes many slow at once, so that the likelihood is divided by a dispersion (quasi-likelihood: Wedderburn, Biometrika 61 (1974),
//! 439-447).

use super::BLOCK_S;
use super::blocks::StepCounts;

/// Logarithm of the factor up to which the share follows the power.
const CUT: f64 = 2.5;
/// The exponents of the grid.
const SLOPES: usize = 36;
const LEAST_SLOPE: f64 = 2.0;
const MOST_SLOPE: f64 = 3000.0;
const USUAL_SLOPE: f64 = 25.0;
const SPREAD_OF_SLOPE: f64 = 1.3;
/// The rates of the grid.
const RATES: usize = 161;
/// Independent parts that a step has at least: bounds its dispersion.
const LEAST_PARTS: f64 = 6.0;
/// The same for a step so short that a slow queue may not have filled in it.
const LEAST_PARTS_OF_SHORT: f64 = 3.0;
/// The same for a step that was mostly beyond the limit. By Markov's inequality a server below its capacity has such a step with a chance
/// of at most the permitted share over a half.
const LEAST_PARTS_OF_OVERLOADED: f64 = 20.0;
/// The same for a step that began empty and had not filled for most of its time.
const LEAST_PARTS_OF_SLOW: f64 = 2.0;
/// Factor of the dispersion, which is itself an estimate from few clusters.
const CAUTION: f64 = 1.1;
/// Memory from which on batches of 2 s are too short to show the dispersion.
pub(crate) const LONG_MEMORY_S: f64 = 0.25;
/// Share from which on requests beyond a limit are so common that they form no clusters.
const COMMON: f64 = 0.2;
/// Blocks of a long step.
const LONG: usize = 60;

/// The counts of a step for one limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sighting<'s> {
    pub(crate) rate: f64,
    pub(crate) counts: &'s StepCounts,
    pub(crate) limit: usize,
}

impl Sighting<'_> {
    #[expect(clippy::cast_precision_loss, reason = "counts")]
    fn total(&self) -> f64 {
        self.counts.total() as f64
    }

    #[expect(clippy::cast_precision_loss, reason = "counts")]
    fn over(&self) -> f64 {
        self.counts.over[self.limit].iter().sum::<u64>() as f64
    }

    /// The share beyond the limit, shrunk so that it is neither 0 nor 1.
    fn share(&self) -> f64 {
        (self.over() + 0.5) / (self.total() + 1.0)
    }

    /// The dispersion of its counts: that of all steps, or more if its response times keep their level for long. The mean of n requests
    /// with an integrated correlation time of t seconds varies as that of n / (2 r t) independent ones (Law, Simulation Modeling and
    /// Analysis, 2015, 4.4).
    fn dispersion(&self, of_all: f64, permitted: f64) -> f64 {
        let memory_s = memory_s(self.counts);
        let is_slow = memory_s > LONG_MEMORY_S;
        let is_overloaded = self.share() > 0.5 && self.share() > 20.0 * permitted;
        let parts = if is_overloaded {
            LEAST_PARTS_OF_OVERLOADED
        } else if is_slow {
            LEAST_PARTS_OF_SLOW
        } else if self.counts.requests.len() < LONG {
            LEAST_PARTS_OF_SHORT
        } else {
            LEAST_PARTS
        };
        let of_memory = if is_slow || permitted >= COMMON {
            2.0 * self.rate * memory_s
        } else {
            1.0
        };
        of_all.max(of_memory).min(self.total() / parts).max(1.0)
    }

    /// Requests beyond the limit in each run of blocks that all have some.
    #[expect(clippy::cast_precision_loss, reason = "counts")]
    fn clusters(&self) -> impl Iterator<Item = f64> {
        let blocks = &self.counts.over[self.limit];
        blocks
            .split(|over| *over == 0)
            .map(|run| run.iter().sum::<u64>() as f64)
            .filter(|size| *size > 0.0)
    }
}

/// How much more the counts vary than those of independent requests, and how many clusters were seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Dispersion {
    pub(crate) factor: f64,
    pub(crate) clusters: usize,
}

/// Estimates the dispersion from the steps near the capacity: the largest of the size of clusters (a compound Poisson process with sizes
/// c has the dispersion E c^2 / E c) and of the variances of batches of half a second, 1 s and 2 s.
pub(crate) fn dispersion(steps: &[Sighting<'_>], share: f64) -> Dispersion {
    let (mut squares, mut sum, mut clusters) = (0.0, 0.0, 0);
    for step in steps {
        if step.share() > (6.0 * share).min(0.5) {
            continue;
        }
        for size in step.clusters() {
            squares += size * size;
            sum += size;
            clusters += 1;
        }
    }
    let is_rare = share < COMMON;
    let mut factor: f64 = if is_rare && sum > 0.0 {
        squares / sum
    } else {
        1.0
    };
    for length in [10, 20, 40] {
        if let Some(of_batches) = dispersion_of_batches(steps, share, length) {
            factor = factor.max(of_batches);
        }
    }
    Dispersion {
        factor: factor * CAUTION,
        clusters: if is_rare { clusters } else { usize::MAX },
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts")]
fn dispersion_of_batches(steps: &[Sighting<'_>], share: f64, length: usize) -> Option<f64> {
    let (mut sum, mut free) = (0.0, 0.0);
    for step in steps {
        let found = step.share();
        if step.over() < 3.0 || found > 0.6_f64.max(share * 1.4).min(20.0 * share) {
            continue;
        }
        let requests = step.counts.requests.chunks_exact(length);
        let over = step.counts.over[step.limit].chunks_exact(length);
        let batches = requests.len() as f64;
        for (requests, over) in requests.zip(over) {
            let requests = requests.iter().sum::<u64>() as f64;
            let over = over.iter().sum::<u64>() as f64;
            sum += (over - requests * found).powi(2) / (requests.max(1.0) * found * (1.0 - found));
        }
        free += (batches - 1.0).max(0.0);
    }
    (free > 10.0).then_some(sum / free)
}

/// The posterior of a capacity on a grid of rates.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Posterior {
    /// Logarithms of the rates.
    pub(crate) rates_ln: Vec<f64>,
    pub(crate) weights: Vec<f64>,
    /// The geometric mean of the exponent.
    pub(crate) slope: f64,
}

impl Posterior {
    /// The posterior for capacities between two rates (natural logarithms).
    pub(crate) fn of(
        steps: &[Sighting<'_>],
        share: f64,
        dispersion: f64,
        (low_ln, high_ln): (f64, f64),
    ) -> Self {
        let rates_ln = spaced(low_ln, high_ln, RATES);
        let slopes_ln = spaced(LEAST_SLOPE.ln(), MOST_SLOPE.ln(), SLOPES);
        let most_ln = CUT.min((0.93 / share).ln());
        let mut logs: Vec<f64> = Vec::with_capacity(RATES * SLOPES);
        for _ in &rates_ln {
            logs.extend(
                slopes_ln.iter().map(|slope_ln| {
                    -0.5 * ((slope_ln - USUAL_SLOPE.ln()) / SPREAD_OF_SLOPE).powi(2)
                }),
            );
        }
        for step in steps {
            let total = step.total();
            let over = step.over().min(total * share * most_ln.exp());
            let step_ln = step.rate.ln();
            let dispersion = step.dispersion(dispersion, share);
            let at = |factor_ln: f64| {
                let log = share.ln() + factor_ln;
                (over * log + (total - over) * (-log.exp()).ln_1p()) / dispersion
            };
            let (least, most) = (at(-CUT), at(most_ln));
            for (row, capacity_ln) in logs.chunks_exact_mut(SLOPES).zip(&rates_ln) {
                let distance = step_ln - capacity_ln;
                for (log, slope_ln) in row.iter_mut().zip(&slopes_ln) {
                    let factor_ln = slope_ln.exp() * distance;
                    *log += if factor_ln <= -CUT {
                        least
                    } else if factor_ln >= most_ln {
                        most
                    } else {
                        at(factor_ln)
                    };
                }
            }
        }
        let largest = logs.iter().copied().fold(f64::MIN, f64::max);
        let mut weights = Vec::with_capacity(RATES);
        let (mut sum, mut mean_slope) = (0.0, 0.0);
        for row in logs.chunks_exact(SLOPES) {
            let mut of_rate = 0.0;
            for (log, of_slope) in row.iter().zip(&slopes_ln) {
                let weight = (log - largest).exp();
                of_rate += weight;
                mean_slope += weight * of_slope;
            }
            sum += of_rate;
            weights.push(of_rate);
        }
        for weight in &mut weights {
            *weight /= sum;
        }
        Self {
            rates_ln,
            weights,
            slope: (mean_slope / sum).exp(),
        }
    }

    /// The posterior of the smallest of several independent capacities on the same grid, and the place of the most probable smallest.
    pub(crate) fn smallest(all: &[Self]) -> (Self, usize) {
        let above: Vec<Vec<f64>> = all.iter().map(|one| survival(&one.weights)).collect();
        let mut weights = vec![0.0; RATES];
        let mut chances = vec![0.0; all.len()];
        for (place, one) in all.iter().enumerate() {
            for (rate, weight) in one.weights.iter().enumerate() {
                let others = above.iter().enumerate();
                let chance: f64 = others
                    .filter(|(other, _)| *other != place)
                    .map(|(_, above)| above[rate])
                    .product();
                weights[rate] += weight * chance;
                chances[place] += weight * chance;
            }
        }
        let sum: f64 = weights.iter().sum();
        for weight in &mut weights {
            *weight /= sum;
        }
        let first = (0..all.len()).max_by(|one, other| chances[*one].total_cmp(&chances[*other]));
        let first = first.unwrap_or(0);
        let posterior = Self {
            rates_ln: all[first].rates_ln.clone(),
            weights,
            slope: all[first].slope,
        };
        (posterior, first)
    }

    /// The logarithm of the rate below which a share of the weight lies, interpolated in the cells of the grid.
    #[expect(clippy::cast_precision_loss, reason = "a small grid")]
    pub(crate) fn quantile_ln(&self, share: f64) -> f64 {
        let cell = (self.rates_ln[RATES - 1] - self.rates_ln[0]) / (RATES - 1) as f64;
        let mut below = 0.0;
        for (rate_ln, weight) in self.rates_ln.iter().zip(&self.weights) {
            if below + weight >= share && *weight > 0.0 {
                return rate_ln + cell * ((share - below) / weight - 0.5);
            }
            below += weight;
        }
        self.rates_ln[RATES - 1]
    }
}

/// For each rate the weight above it, half of its own included.
fn survival(weights: &[f64]) -> Vec<f64> {
    let mut above = 1.0;
    let mut all = Vec::with_capacity(weights.len());
    for weight in weights {
        all.push((above - 0.5 * weight).max(0.0));
        above -= weight;
    }
    all
}

#[expect(clippy::cast_precision_loss, reason = "a small grid")]
fn spaced(low: f64, high: f64, count: usize) -> Vec<f64> {
    let gap = (high - low) / (count - 1) as f64;
    (0..count).map(|place| low + gap * place as f64).collect()
}

/// The time in which a step forgets its state: half the integral of the autocorrelation of the mean response times of its blocks.
#[expect(clippy::cast_precision_loss, reason = "counts")]
pub(crate) fn memory_s(counts: &StepCounts) -> f64 {
    let means: Vec<f64> = counts
        .sum_ns
        .iter()
        .zip(&counts.requests)
        .map(|(sum_ns, requests)| *sum_ns as f64 / (*requests).max(1) as f64)
        .collect();
    let count = means.len();
    let mean = means.iter().sum::<f64>() / count.max(1) as f64;
    let apart: Vec<f64> = means.iter().map(|value| value - mean).collect();
    let variance = apart.iter().map(|value| value * value).sum::<f64>() / count.max(1) as f64;
    if count < 8 || variance <= 0.0 {
        return BLOCK_S / 2.0;
    }
    let mut sum = 1.0;
    for lag in 1..count / 3 {
        let products = apart[lag..].iter().zip(&apart);
        let correlation = products.map(|(late, early)| late * early).sum::<f64>()
            / (count - lag) as f64
            / variance;
        if correlation <= 0.05 {
            break;
        }
        sum += 2.0 * correlation;
    }
    sum * BLOCK_S / 2.0
}
