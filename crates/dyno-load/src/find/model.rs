//! Estimate of a capacity from the steps of a search.
//!
//! Near its capacity R, the share of requests beyond a limit grows as a power of the rate r: q(r) = s (r / R)^b, where s is the share that
//! the limit permits. A queue whose tail is exponential behaves so in a neighbourhood (Asmussen, Applied Probability and Queues, 2003,
//! XIII.5), and a fixed limit of the rate does in the extreme of a large b. Far from R the curve has another shape, so the power is cut at
//! a factor of e^2.5 on each side: a step there says on which side R lies, and nothing about b.
//!
//! R and ln b have a posterior on a grid: R is uniform in ln R, ln b normal around ln 25, or around the value of a queue if an overload has
//! shown the throughput. Requests beyond a limit come in clusters, since a queue makes many slow at once, so that the likelihood is
//! divided by a dispersion (quasi-likelihood: Wedderburn, Biometrika 61 (1974), 439-447).

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
/// The same for a server whose throughput is known.
const SPREAD_OF_QUEUE_SLOPE: f64 = 0.8;
/// Utilisation up to which it is known well enough to say something about the exponent.
const MOST_USE: f64 = 0.98;
/// The rates of the grid.
const RATES: usize = 161;
/// Independent parts that a step has at least: bounds its dispersion.
const LEAST_PARTS: f64 = 3.0;
/// The same for a step that was mostly beyond the limit. By Markov's inequality a server below its capacity has such a step with a chance
/// of at most the permitted share over a half.
const LEAST_PARTS_OF_OVERLOADED: f64 = 20.0;
/// Memory from which on batches of 2 s are too short to show the spread.
const LONG_MEMORY_S: f64 = 0.25;
/// Share from which on requests beyond a limit are so common that they form no clusters.
const COMMON: f64 = 0.2;
/// Share up to which a step shows how large its clusters are, however small the permitted share is: rare requests come in few clusters.
const MOST_SHARE: f64 = 0.02;
/// Variation of the mean response times of blocks, as a share of the mean, below which they are equal but for rounding.
const ROUNDING: f64 = 1e-6;
/// Factor of the error of a throughput that may have been seen because it was low.
const BY_CHANCE: f64 = 2.0;
/// Least error of the throughput under overload.
const LEAST_ERROR_LN: f64 = 0.002;
/// Differences of blocks from which on their variance is known.
const LEAST_PAIRS: f64 = 20.0;
/// Blocks of the batches whose variances are compared: 0.5, 1 and 2 s.
const BATCHES: [usize; 3] = [10, 20, 40];

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

/// How much more the counts of a share vary than those of independent requests, up to a factor that is the same at all rates.
///
/// The time that a Brownian motion with drift -m and variance v per second, reflected at 0, spends above a level has the asymptotic
/// variance (v / m^2) 2 q (1 - q - q x) per second, where q = exp(-x) is its share (from its generator: Asmussen, Applied Probability and
/// Queues, 2003, III.8). A queue near its capacity is such a motion (Kingman 1962), and m falls as x does: the rest is a constant.
pub(crate) fn shape(share: f64) -> f64 {
    let share = share.clamp(1e-9, 0.95);
    let x = -share.ln();
    (1.0 - share - share * x) / ((1.0 - share) * x * x)
}

/// The factor of [`shape`], and how many clusters were seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    pub(crate) factor: f64,
    /// Variance per second of the response time of a slow queue, in seconds.
    pub(crate) motion: Option<f64>,
    pub(crate) clusters: usize,
}

/// Estimates the spread from steps with the shares that a curve has at their rates.
#[expect(clippy::cast_precision_loss, reason = "counts")]
pub(crate) fn spread(
    steps: &[Sighting<'_>],
    curve: &dyn Fn(f64) -> f64,
    permitted: f64,
    limit_s: f64,
) -> Spread {
    let (mut squares, mut sum, mut clusters) = (0.0, 0.0, 0);
    let mut batches = [(0.0, 0.0); BATCHES.len()];
    let (mut scales, mut variances, mut pairs_of_all) = (0.0, 0.0, 0.0);
    let mut most_of_motion: f64 = 1.0;
    let (least, most) = (
        permitted / 4.0,
        (CUT.exp() * permitted).clamp(MOST_SHARE, 0.6),
    );
    for step in steps {
        let found = step.over() / step.total();
        if found > most {
            continue;
        }
        let form = shape(curve(step.rate).clamp(least, most));
        if permitted < COMMON {
            for size in step.clusters() {
                squares += size * size;
                sum += size * form;
                clusters += 1;
            }
        }
        if step.over() >= 3.0 {
            for (length, (apart, free)) in BATCHES.into_iter().zip(&mut batches) {
                let requests = step.counts.requests.chunks_exact(length);
                let over = step.counts.over[step.limit].chunks_exact(length);
                let form = shape(found.clamp(least, most));
                *free += (requests.len() as f64 - 1.0).max(0.0);
                for (requests, over) in requests.zip(over) {
                    let requests = requests.iter().sum::<u64>() as f64;
                    let over = over.iter().sum::<u64>() as f64;
                    let expected = requests * found;
                    *apart +=
                        (over - expected).powi(2) / (expected.max(1e-3) * (1.0 - found) * form);
                }
            }
        }
        // The factor of a motion: v / m^2 is (2 limit / x)^2 / v, since x = 2 m limit / v.
        let scale = 8.0 * limit_s * limit_s * step.rate;
        let (variance, pairs) = motion(step.counts, 0.0);
        if pairs >= LEAST_PAIRS && variance > 0.0 {
            most_of_motion = most_of_motion.max(scale / variance);
        }
        if memory_s(step.counts) > LONG_MEMORY_S {
            let (variance, pairs) = motion(step.counts, limit_s / 4.0);
            scales += scale * pairs;
            variances += variance * pairs;
            pairs_of_all += pairs;
        }
    }
    let of_clusters = if sum > 0.0 { squares / sum } else { 0.0 };
    let known = batches.iter().filter(|(_, free)| *free > 8.0);
    let of_batches = known.map(|(apart, free)| apart / free).fold(0.0, f64::max);
    let is_known = pairs_of_all >= LEAST_PAIRS && variances > 0.0;
    let of_motion = if is_known { scales / variances } else { 0.0 };
    let of_seen = of_clusters.max(of_batches).max(of_motion);
    Spread {
        // Without a request beyond the limit, a bound: means of blocks hide a part of the variance of a fast queue.
        factor: if of_seen > 0.0 {
            of_seen
        } else {
            most_of_motion
        },
        motion: is_known.then_some(variances / pairs_of_all),
        clusters,
    }
}

/// The rate at which an overloaded server answers, with the standard error of its logarithm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Throughput {
    pub(crate) rate_ln: f64,
    pub(crate) error_ln: f64,
}

impl Throughput {
    /// Logarithm of the chance that a capacity is possible: no queue has a steady state above its throughput.
    pub(crate) fn log_chance_below(&self, rate_ln: f64) -> f64 {
        let excess = (rate_ln - self.rate_ln) / self.error_ln;
        -0.5 * excess.max(0.0).powi(2)
    }

    /// The same for a slow queue, whose capacity is below its throughput by a reserve (a share of it) that is known roughly.
    pub(crate) fn log_chance_of_reserve(&self, rate_ln: f64, reserve: f64) -> f64 {
        let apart = rate_ln - self.rate_ln - (1.0 - reserve.min(0.5)).ln();
        let rough = if apart > 0.0 { 0.3 } else { 0.8 };
        -0.5 * apart.powi(2) / ((rough * reserve).powi(2) + self.error_ln.powi(2))
    }
}

/// The throughput under overload. Each request adds its share of work to a backlog that falls by a second each second: of requests that
/// arrive over a time t while the response time grows by w, t + w is the work (Newell, Applications of Queueing Theory, 1982, chapter 2).
pub(crate) fn throughput(steps: &[Sighting<'_>], limit_s: f64) -> Option<Throughput> {
    let (mut sum, mut weights) = (0.0, 0.0);
    for step in steps {
        if step.over() < 0.5 * step.total() {
            continue;
        }
        if let Some(one) = throughput_of(step.counts, limit_s) {
            // A server near its throughput is overloaded by chance: because its requests took more work than usual.
            let is_by_chance = step.rate.ln() - one.rate_ln < 2.0 * one.error_ln;
            let error_ln = one.error_ln * if is_by_chance { BY_CHANCE } else { 1.0 };
            let weight = error_ln.powi(-2);
            sum += weight * one.rate_ln;
            weights += weight;
        }
    }
    (weights > 0.0).then(|| Throughput {
        rate_ln: sum / weights,
        error_ln: weights.powf(-0.5).max(LEAST_ERROR_LN),
    })
}

#[expect(clippy::cast_precision_loss, reason = "few blocks")]
fn throughput_of(counts: &StepCounts, limit_s: f64) -> Option<Throughput> {
    let means = means(counts);
    let length_s = counts.duration_s();
    // Requests that had not ended count with less than their time: only blocks whose requests have ended are used.
    let has_ended = |block: usize| means[block] < length_s - (block + 1) as f64 * BLOCK_S;
    let is_busy = |block: &usize| means[*block] > limit_s / 2.0;
    let first = (0..means.len()).find(is_busy)?;
    let last = (first..means.len())
        .take_while(|block| has_ended(*block) && is_busy(block))
        .last()?;
    if last < first + 5 {
        return None;
    }
    let halves = (counts.requests[first] + counts.requests[last]) as f64 / 2.0;
    let requests = counts.requests[first + 1..last].iter().sum::<u64>() as f64 + halves;
    let blocks = (last - first) as f64;
    let work_s = blocks * BLOCK_S + means[last] - means[first];
    if requests <= 0.0 || work_s <= 0.0 {
        return None;
    }
    let apart = (first..last).map(|block| {
        let arrived = (counts.requests[block] + counts.requests[block + 1]) as f64 / 2.0;
        let grown_s = BLOCK_S + means[block + 1] - means[block];
        (grown_s - arrived * work_s / requests).powi(2)
    });
    // Means of neighbouring blocks share a part of their variance: their differences have 2/3 of it.
    let error = (1.5 * apart.sum::<f64>()).sqrt() / work_s;
    Some(Throughput {
        rate_ln: (requests / work_s).ln(),
        error_ln: error.max(1e-4),
    })
}

/// The variance per second of the response time, from the differences of consecutive blocks (their means differ by 2/3 of it), and the
/// number of these differences. Only blocks with a mean of at least `least_s` count, since an empty queue does not move.
fn motion(counts: &StepCounts, least_s: f64) -> (f64, f64) {
    let means = means(counts);
    let pairs = means.windows(2);
    let busy = pairs.filter(|pair| pair[0].min(pair[1]) >= least_s);
    let (squares, count) = busy.fold((0.0, 0.0), |(squares, count), pair| {
        (squares + (pair[1] - pair[0]).powi(2), count + 1.0)
    });
    (squares / f64::max(count, 1.0) * 1.5 / BLOCK_S, count)
}

/// The mean response time of each block, in seconds.
#[expect(clippy::cast_precision_loss, reason = "counts and times")]
fn means(counts: &StepCounts) -> Vec<f64> {
    let blocks = counts.sum_ns.iter().zip(&counts.requests);
    blocks
        .map(|(sum_ns, requests)| *sum_ns as f64 / 1e9 / (*requests).max(1) as f64)
        .collect()
}

/// The usual logarithm of the exponent of a server with this capacity, and its spread. A queue with an exponential tail has ln(1 / s) u /
/// (1 - u), where u is the utilisation: the capacity as a share of the throughput.
fn usual_slope_ln(share: f64, rate_ln: f64, throughput: Option<Throughput>) -> (f64, f64) {
    let Some(throughput) = throughput else {
        return (USUAL_SLOPE.ln(), SPREAD_OF_SLOPE);
    };
    let use_of = (rate_ln - throughput.rate_ln).exp().min(MOST_USE);
    let usual = -share.ln() * use_of / (1.0 - use_of);
    (
        usual.clamp(LEAST_SLOPE, MOST_SLOPE).ln(),
        SPREAD_OF_QUEUE_SLOPE,
    )
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
        dispersion: &dyn Fn(f64) -> f64,
        prior: &dyn Fn(f64) -> f64,
        throughput: Option<Throughput>,
        (low_ln, high_ln): (f64, f64),
    ) -> Self {
        let rates_ln = spaced(low_ln, high_ln, RATES);
        let slopes_ln = spaced(LEAST_SLOPE.ln(), MOST_SLOPE.ln(), SLOPES);
        let most_ln = CUT.min((0.93 / share).ln());
        let mut logs: Vec<f64> = Vec::with_capacity(RATES * SLOPES);
        for rate_ln in &rates_ln {
            let of_rate = prior(*rate_ln);
            let (usual_ln, spread) = usual_slope_ln(share, *rate_ln, throughput);
            logs.extend(slopes_ln.iter().map(|slope_ln| {
                of_rate - 0.5 * ((slope_ln - usual_ln) / spread).powi(2) - spread.ln()
            }));
        }
        for step in steps {
            let total = step.total();
            let over = step.over().min(total * share * most_ln.exp());
            let step_ln = step.rate.ln();
            let found = step.over() / total;
            let parts = if found > 0.5 && found > 20.0 * share {
                LEAST_PARTS_OF_OVERLOADED
            } else {
                LEAST_PARTS
            };
            let dispersion = dispersion(step.rate).clamp(1.0, (total / parts).max(1.0));
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

    /// The share beyond the limit at a rate by the median capacity and the mean exponent.
    pub(crate) fn share_at(&self, rate: f64, share: f64) -> f64 {
        let most_ln = CUT.min((0.93 / share).ln());
        let factor_ln = self.slope * (rate.ln() - self.quantile_ln(0.5));
        share * factor_ln.clamp(-CUT, most_ln).exp()
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
    let means = means(counts);
    let count = means.len();
    let mean = means.iter().sum::<f64>() / count.max(1) as f64;
    let apart: Vec<f64> = means.iter().map(|value| value - mean).collect();
    let variance = apart.iter().map(|value| value * value).sum::<f64>() / count.max(1) as f64;
    if count < 8 || variance <= (ROUNDING * mean).powi(2) {
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
