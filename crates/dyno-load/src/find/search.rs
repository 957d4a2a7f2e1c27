//! The steps of a search: which rate is next, for how long, and when the search ends.

use serde::Serialize;

use super::blocks::StepCounts;
use super::model::{Posterior, Sighting, memory_s, shape, spread, throughput};
use super::{BLOCK_S, Objective};

/// Length of a step while the rate doubles.
const SHORT_S: f64 = 0.5;
/// Length of a step near the capacity.
const LONG_S: f64 = 4.0;
/// Requests beyond a limit that a step has at its capacity.
const WANTED_OVER: f64 = 3.0;
/// Ratio of a missed to a held rate from which on steps estimate.
const CLOSE: f64 = 1.12;
/// The estimates cover this factor below the held and above the missed rate.
const MARGIN: f64 = 1.4;
/// Half of the interval, as a share of the capacity, that ends the search.
const NARROW: f64 = 0.01;
const LEAST_ESTIMATES: usize = 6;
const LEAST_CLUSTERS: usize = 8;
/// Steps near the capacity that a result needs if the generator limited others.
const LEAST_MEASURED: usize = 4;
/// Factor by which the rate is lowered until a long step has held.
const LOWER: f64 = 1.05;
/// Held long steps at the highest rate that the generator could send: two if all are far below the limits.
const LEAST_CONFIRMATIONS: usize = 2;
const MOST_CONFIRMATIONS: usize = 8;
/// Part of that rate above which a lower bound ends them.
const CONFIRMED: f64 = 0.99;
/// Parts of a permitted share and of a limit of time below which a step is far below them.
const FAR_SHARE: f64 = 0.1;
const FAR_TIME: f64 = 0.25;
/// Factor of the dispersion, which is itself an estimate from few clusters.
const CAUTION: f64 = 1.3;
/// Growth of the dispersion for each second of memory, of which batches of 2 s miss a part.
const OF_MEMORY: f64 = 3.0;
/// Clusters by which few of them make the dispersion larger.
const FEW: f64 = 2.0;
/// How often the rate is quartered below the first.
const QUARTERINGS: i32 = 3;
/// Slow steps in a row that wait for an overloaded server.
const MOST_RECOVERIES: usize = 10;
/// How often a step that the generator limited is repeated.
const REPEATS: usize = 2;
/// Times that the budget is exceeded at most where requests are few.
const STEPS_OF_FEW: f64 = 10.0;

/// A step to run: an open loop at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepPlan {
    /// Requests per second.
    pub rate: f64,
    /// Time at the same rate before it, which counts in nothing, in seconds.
    pub warm_up_s: f64,
    /// Time whose requests are counted, in seconds.
    pub length_s: f64,
    /// Whether it only waits for an overloaded server to recover.
    pub is_recovery: bool,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Next {
    /// Run a step, and give its counts to [`Search::take`].
    Step(StepPlan),
    /// Read the result with [`Search::end`].
    End,
}

/// A step that has been run.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// What it was.
    pub plan: StepPlan,
    /// Time that it took with its warm-up, in seconds.
    pub took_s: f64,
    /// Its requests.
    pub counts: StepCounts,
    /// Whether the generator, not the server, set its figures.
    pub is_limited: bool,
}

/// The capacity with its 95 % interval, in requests per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The median of its distribution.
    pub rate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The capacity is known.
    Found,
    /// The server fell into a slow state in which it answers fewer requests than before; the capacity is where it may fall.
    TwoStates,
    /// The generator could not send faster: the server holds at least the rate.
    GeneratorLimited,
    /// The objective was missed at the lowest rate.
    NeverHeld,
    /// The objective was met at every rate in the time.
    NotBroken,
}

/// The result of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct End {
    /// How it ended.
    pub verdict: Verdict,
    /// The capacity; without one, `held` is what is known.
    pub estimate: Option<Estimate>,
    /// The highest rate of a step that met the objective. If the generator was the limit, one that long steps confirm: a short step may meet the
    /// objective by chance.
    pub held: Option<f64>,
    /// Place of the limit that is missed first above the capacity, or at the lowest rate.
    pub first_broken: Option<usize>,
}

/// A search in progress.
#[derive(Debug, Clone)]
pub struct Search {
    objective: Objective,
    from: f64,
    budget_s: f64,
    is_budget_fixed: bool,
    used_s: f64,
    steps: Vec<Ended>,
    phase: Phase,
    /// The highest held and the lowest missed rate of the first phase.
    held: Option<f64>,
    missed: Option<f64>,
    /// The lowest rate that the generator could not send.
    limited: Option<f64>,
    repeated: usize,
    /// A step that the generator limited, to be run once more.
    again: Option<StepPlan>,
    recoveries: usize,
    is_recovering: bool,
    /// Steps of the estimating phase, those that the generator limited included.
    estimates: usize,
    lost: usize,
    confirmations: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Doubling, then halving the interval.
    Bracket,
    /// Long steps at the highest held rate, above which the generator is the limit.
    Confirm,
    Estimate,
    Over,
}

/// What a step says about its rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Judged {
    Held,
    Missed,
    /// Missed by most requests: the server has a backlog.
    Overloaded,
}

/// All estimates of a moment.
struct Fit {
    capacity: Posterior,
    first: usize,
    clusters: usize,
}

impl Search {
    /// A search that begins at a rate and may take a time. Without `is_budget_fixed` the time grows if a limit needs more requests than
    /// it has.
    #[must_use]
    pub fn new(objective: Objective, from: f64, budget_s: f64, is_budget_fixed: bool) -> Self {
        Self {
            objective,
            from,
            budget_s,
            is_budget_fixed,
            used_s: 0.0,
            steps: Vec::new(),
            phase: Phase::Bracket,
            held: None,
            missed: None,
            limited: None,
            repeated: 0,
            again: None,
            recoveries: 0,
            is_recovering: false,
            estimates: 0,
            lost: 0,
            confirmations: 0,
        }
    }

    /// The time that the search may take, in seconds; it may grow once the capacity is roughly known.
    #[must_use]
    pub const fn budget_s(&self) -> f64 {
        self.budget_s
    }

    /// The time that the steps have taken, in seconds.
    #[must_use]
    pub const fn used_s(&self) -> f64 {
        self.used_s
    }

    /// The steps so far, without those that waited for a recovery.
    #[must_use]
    pub fn steps(&self) -> &[Ended] {
        &self.steps
    }

    /// Proposes the next step.
    #[must_use]
    pub fn next(&self) -> Next {
        if self.phase == Phase::Over {
            return Next::End;
        }
        if self.is_recovering {
            let rate = self.held.unwrap_or(self.from).min(self.from.max(20.0));
            return Next::Step(StepPlan {
                rate,
                warm_up_s: 0.0,
                length_s: SHORT_S,
                is_recovery: true,
            });
        }
        Next::Step(match self.phase {
            Phase::Bracket => self.bracketing_step(),
            Phase::Confirm => self.long_step(self.held.unwrap_or(self.from)),
            _ => self.again.unwrap_or_else(|| self.estimating_step()),
        })
    }

    fn bracketing_step(&self) -> StepPlan {
        let rate = self.bracketing_rate();
        let is_doubling = self.missed.is_none();
        let needed_s = WANTED_OVER / self.smallest_share() / rate;
        let length_s = if is_doubling {
            SHORT_S.max((12.0 / rate).min(30.0))
        } else {
            needed_s.clamp(1.0, 3.0)
        };
        StepPlan {
            rate,
            warm_up_s: 0.1,
            length_s: whole_blocks(length_s),
            is_recovery: false,
        }
    }

    fn bracketing_rate(&self) -> f64 {
        let ceiling = self.missed.into_iter().chain(self.limited);
        match (self.held, ceiling.reduce(f64::min)) {
            (None, None) => self.from,
            (Some(held), None) => 2.0 * held,
            (None, Some(missed)) => missed / 4.0,
            (Some(held), Some(missed)) => (held * missed).sqrt(),
        }
    }

    fn smallest_share(&self) -> f64 {
        let shares = self.objective.bounds().iter().map(|bound| bound.share);
        shares.fold(0.5, f64::min)
    }

    fn estimating_step(&self) -> StepPlan {
        let fit = self.fit(25.0);
        let honest = self.fit(f64::MAX);
        let slope = fit.capacity.slope;
        let half = (honest.capacity.quantile_ln(0.975) - honest.capacity.quantile_ln(0.025)) / 2.0;
        let (low, high) = (half * slope, half * slope);
        let offset = if self.estimates.is_multiple_of(2) {
            low.clamp(0.35, 1.2)
        } else {
            -high.clamp(0.35, 0.8)
        };
        let rate_ln = fit.capacity.quantile_ln(0.5) + (offset / slope).clamp(-0.08, 0.08);
        let rate = self
            .rate_to_verify()
            .map_or(rate_ln.exp(), |below| below.min(rate_ln.exp()));
        self.long_step(rate)
    }

    fn long_step(&self, rate: f64) -> StepPlan {
        let memory_s = self.memory_s(rate);
        let needed_s = WANTED_OVER / self.smallest_share() / rate;
        let length_s = LONG_S
            .max(needed_s)
            .max((10.0 * memory_s).min(self.budget_s / 8.0));
        StepPlan {
            rate,
            warm_up_s: whole_blocks((2.0 * memory_s).clamp(0.5, 3.0)),
            length_s: whole_blocks(length_s),
            is_recovery: false,
        }
    }

    /// A lower rate while no long step has held: the short steps before may have held by chance.
    fn rate_to_verify(&self) -> Option<f64> {
        let measured = self.steps.iter().filter(|step| !step.is_limited);
        let long = measured.filter(|step| step.plan.length_s >= LONG_S);
        let mut lowest: Option<f64> = None;
        for step in long {
            if self.judge(&step.counts) == Judged::Held {
                return None;
            }
            lowest = Some(lowest.map_or(step.plan.rate, |lowest| lowest.min(step.plan.rate)));
        }
        lowest.map(|lowest| lowest / LOWER)
    }

    /// The longest memory of the last steps near a rate.
    fn memory_s(&self, rate: f64) -> f64 {
        let near = self.steps.iter().rev().filter(|step| {
            let ratio = step.plan.rate / rate;
            (1.0 / 1.1..1.1).contains(&ratio) && !step.is_limited
        });
        let memories = near.take(6).map(|step| memory_s(&step.counts));
        memories.fold(BLOCK_S, f64::max)
    }

    /// Takes a step that has been run.
    pub fn take(&mut self, step: Ended) {
        self.used_s += step.took_s;
        if step.plan.is_recovery {
            self.recoveries += 1;
            let has_recovered = self.judge(&step.counts) == Judged::Held && step.counts.total() > 0;
            if has_recovered || self.recoveries >= MOST_RECOVERIES {
                self.is_recovering = false;
            }
            return;
        }
        let judged = self.judge(&step.counts);
        if judged == Judged::Overloaded {
            (self.is_recovering, self.recoveries) = (true, 0);
        }
        let (plan, is_limited) = (step.plan, step.is_limited);
        self.steps.push(step);
        if self.phase == Phase::Bracket {
            self.bracket(plan.rate, judged, is_limited);
        } else if self.phase == Phase::Confirm {
            self.confirm(plan.rate, judged, is_limited);
        } else if is_limited && self.again.is_none() {
            self.again = Some(plan);
        } else {
            self.again = None;
            self.estimates += 1;
            self.lost += usize::from(is_limited);
            self.end_if_known();
        }
        if self.used_s >= self.budget_s {
            self.phase = Phase::Over;
        }
    }

    fn bracket(&mut self, rate: f64, judged: Judged, is_limited: bool) {
        if is_limited && judged != Judged::Held {
            self.repeated += 1;
            if self.repeated <= REPEATS {
                return;
            }
            self.limited = Some(self.limited.map_or(rate, |limited| limited.min(rate)));
        } else if judged == Judged::Held {
            self.held = Some(self.held.map_or(rate, |held| held.max(rate)));
        } else {
            self.missed = Some(self.missed.map_or(rate, |missed| missed.min(rate)));
        }
        self.repeated = 0;
        let ceiling = self.missed.into_iter().chain(self.limited);
        match (self.held, ceiling.reduce(f64::min)) {
            (None, Some(missed)) if missed < self.from / 4_f64.powi(QUARTERINGS) * 1.01 => {
                self.phase = Phase::Over;
            }
            (Some(held), Some(missed)) if missed / held <= CLOSE => {
                let is_limited = self.limited.is_some_and(|limited| limited <= missed);
                self.phase = if is_limited {
                    Phase::Confirm
                } else {
                    Phase::Estimate
                };
                self.extend_budget(held);
            }
            _ => {}
        }
    }

    /// Takes a long step at the highest held rate. If the server misses the objective in it, its capacity is in reach of the generator.
    fn confirm(&mut self, rate: f64, judged: Judged, is_limited: bool) {
        if is_limited && judged != Judged::Held {
            self.repeated += 1;
            if self.repeated > REPEATS {
                (self.limited, self.held, self.repeated) = (Some(rate), Some(rate / LOWER), 0);
            }
        } else if judged == Judged::Held {
            self.confirmations += 1;
            let is_confirmed = self.confirmations >= LEAST_CONFIRMATIONS
                && self
                    .held_at_least()
                    .is_some_and(|held| held >= CONFIRMED * rate);
            if is_confirmed || self.confirmations >= MOST_CONFIRMATIONS {
                self.phase = Phase::Over;
            }
        } else {
            (self.missed, self.held) = (Some(rate), Some(rate / LOWER));
            self.phase = Phase::Estimate;
        }
    }

    /// The highest held rate, or the lower end of the interval of the capacity if that is less and a long step came near a limit.
    fn held_at_least(&self) -> Option<f64> {
        let held = self.held?;
        let at_held = |step: &&Ended| {
            step.plan.length_s >= LONG_S && !step.is_limited && step.plan.rate >= held / LOWER
        };
        let mut long = self.steps.iter().filter(at_held).peekable();
        if long.peek().is_some() && long.all(|step| self.is_far_below(&step.counts)) {
            return Some(held);
        }
        Some(held.min(self.fit(f64::MAX).capacity.quantile_ln(0.025).exp()))
    }

    /// Whether few requests were beyond a limit, and no block was near one on average: a queue that grows shows in the blocks first.
    #[expect(clippy::cast_precision_loss, reason = "counts and times")]
    fn is_far_below(&self, counts: &StepCounts) -> bool {
        let mean_ns = counts.largest_mean_ns();
        let mut limits = self.objective.bounds().iter().zip(counts.over());
        limits.all(|(bound, over)| {
            let is_fast = bound
                .time_ns
                .is_none_or(|ns| mean_ns <= FAR_TIME * ns as f64);
            is_fast && over as f64 <= FAR_SHARE * bound.share * counts.total() as f64
        })
    }

    /// Extends the time where requests are so few that rare ones are not seen in it.
    fn extend_budget(&mut self, rate: f64) {
        let needed_s = STEPS_OF_FEW * (WANTED_OVER / self.smallest_share() / rate);
        if !self.is_budget_fixed && self.used_s + needed_s > self.budget_s {
            self.budget_s = self.used_s + needed_s;
        }
    }

    fn end_if_known(&mut self) {
        let fit = self.fit(f64::MAX);
        let low_ln = fit.capacity.quantile_ln(0.005);
        let high_ln = fit.capacity.quantile_ln(0.995);
        let is_narrow = ((high_ln - low_ln).exp() - 1.0) / 2.0 < NARROW;
        let measured = self.estimates - self.lost;
        if measured >= LEAST_ESTIMATES && fit.clusters >= LEAST_CLUSTERS && is_narrow {
            self.phase = Phase::Over;
        }
    }

    /// Judges a step by its counts: a limit is missed if clearly more requests were beyond it than its share, by at least three.
    #[expect(clippy::cast_precision_loss, reason = "counts")]
    fn judge(&self, counts: &StepCounts) -> Judged {
        let total = counts.total() as f64;
        if total == 0.0 {
            return Judged::Overloaded;
        }
        let mut judged = Judged::Held;
        for (bound, over) in self.objective.bounds().iter().zip(counts.over()) {
            let (over, expected) = (over as f64, total * bound.share);
            if over > 0.5_f64.max(1.5 * bound.share).min(0.95) * total && over >= expected + 3.0 {
                return Judged::Overloaded;
            }
            if over - expected >= (4.0 * (expected * (1.0 - bound.share)).sqrt()).max(3.0) {
                judged = Judged::Missed;
            }
        }
        judged
    }

    /// Fits all limits, with a dispersion of at most `most`, first on the whole range and then on where the weight is.
    fn fit(&self, most: f64) -> Fit {
        let (low, high) = self.rates();
        let mut range = (low.ln(), high.ln());
        let mut fit = self.fit_in(range, most);
        for _ in 0..2 {
            let at = |share| fit.capacity.quantile_ln(share);
            let (low, high) = (at(0.001), at(0.999));
            let margin = ((high - low) / 4.0).max((range.1 - range.0) / 160.0);
            range = (low - margin, high + margin);
            fit = self.fit_in(range, most);
        }
        fit
    }

    fn fit_in(&self, range: (f64, f64), most: f64) -> Fit {
        let fitted: Vec<(Posterior, usize)> = (0..self.objective.bounds().len())
            .map(|limit| self.fit_limit(limit, range, most))
            .collect();
        let clusters = fitted.iter().map(|(_, seen)| *seen).max().unwrap_or(0);
        let posteriors: Vec<Posterior> = fitted.into_iter().map(|(one, _)| one).collect();
        let (capacity, first) = Posterior::smallest(&posteriors);
        Fit {
            capacity,
            first,
            clusters,
        }
    }

    /// The posterior of the capacity for one limit, and how many clusters of requests beyond it were seen.
    #[expect(clippy::cast_precision_loss, reason = "counts and times")]
    fn fit_limit(&self, limit: usize, range: (f64, f64), most: f64) -> (Posterior, usize) {
        let bound = &self.objective.bounds()[limit];
        let (share, limit_s) = (bound.share, bound.time_ns.unwrap_or(0) as f64 / 1e9);
        let steps = self.sightings(limit);
        let memory_s = self.memory_s(f64::midpoint(range.0, range.1).exp());
        let throughput = (limit_s > 0.0)
            .then(|| throughput(&steps, limit_s))
            .flatten();
        let below = |rate_ln: f64| throughput.map_or(0.0, |of| of.log_chance_below(rate_ln));
        let mut posterior = Posterior::of(&steps, share, &|_| 20.0, &below, throughput, range);
        let mut clusters = 0;
        // The spread depends on the curve, and the curve on the spread: two rounds.
        for _ in 0..2 {
            let curve = |rate: f64| posterior.share_at(rate, share);
            let found = spread(&steps, &curve, share, limit_s);
            clusters = clusters.max(found.clusters);
            let caution = CAUTION
                * (1.0 + FEW / (1.0 + found.clusters as f64))
                * (1.0 + OF_MEMORY * memory_s.min(0.5));
            let dispersion = |rate: f64| {
                let share = curve(rate).clamp(share / 4.0, 0.6_f64.max(share));
                (found.factor * caution * shape(share)).min(most)
            };
            let prior = |rate_ln: f64| {
                let of_motion = found.motion.zip(throughput).map_or(0.0, |(variance, of)| {
                    of.log_chance_of_reserve(rate_ln, variance * -share.ln() / (2.0 * limit_s))
                });
                below(rate_ln) + of_motion
            };
            posterior = Posterior::of(&steps, share, &dispersion, &prior, throughput, range);
        }
        (posterior, clusters)
    }

    /// The rates that a capacity may have. A rate may have held by chance in a short step: later and lower steps extend the range.
    fn rates(&self) -> (f64, f64) {
        let held = self.held.unwrap_or(self.from);
        let missed = self.missed.unwrap_or(held * CLOSE);
        let long = self
            .steps
            .iter()
            .filter(|step| step.plan.length_s >= LONG_S && self.phase != Phase::Bracket);
        let lowest = long.map(|step| step.plan.rate).fold(held, f64::min);
        (lowest / MARGIN, missed * MARGIN)
    }

    fn is_near(&self, step: &Ended) -> bool {
        let (low, high) = self.rates();
        (low..=high).contains(&step.plan.rate) && !step.is_limited && step.counts.total() > 0
    }

    /// The result so far.
    #[must_use]
    pub fn end(&self) -> End {
        let held = self.held;
        let without = |verdict, first_broken| End {
            verdict,
            estimate: None,
            held,
            first_broken,
        };
        let by_generator = || End {
            held: self.held_at_least(),
            ..without(Verdict::GeneratorLimited, None)
        };
        let Some(missed) = self.missed else {
            return match self.limited {
                Some(_) => by_generator(),
                None => without(Verdict::NotBroken, None),
            };
        };
        if held.is_none() {
            return without(Verdict::NeverHeld, self.worst_limit());
        }
        let is_limited = self.limited.is_some_and(|limited| limited <= missed)
            || self.estimates - self.lost < LEAST_MEASURED.min(self.lost);
        if is_limited {
            return by_generator();
        }
        let fit = self.fit(f64::MAX);
        let at = |share| fit.capacity.quantile_ln(share);
        if let Some((limit, estimate)) = self.two_states() {
            return End {
                verdict: Verdict::TwoStates,
                estimate: Some(estimate),
                held,
                first_broken: Some(limit),
            };
        }
        End {
            verdict: Verdict::Found,
            estimate: Some(Estimate {
                rate: at(0.5).exp(),
                low: at(0.025).exp(),
                high: at(0.975).exp(),
            }),
            held,
            first_broken: Some(fit.first),
        }
    }

    /// The estimate for a server that answers fewer requests under overload than it held before: a metastable one (Bronson and others,
    /// Metastable Failures in Distributed Systems, Hot Topics in Operating Systems 2021). The slow state has no steady state above its
    /// throughput, so that the capacity is below it. Below, the slow server meets a limit like a queue of that throughput, whose reserve
    /// is at least ln(1 / share) / limit.
    #[expect(clippy::cast_precision_loss, reason = "a time")]
    fn two_states(&self) -> Option<(usize, Estimate)> {
        let limits = self.objective.bounds().iter().enumerate();
        let found = limits.filter_map(|(limit, bound)| {
            let time_s = bound.time_ns? as f64 / 1e9;
            let of = throughput(&self.sightings(limit), time_s)?;
            let surely = (of.rate_ln + 3.0 * of.error_ln).exp();
            let is_contradiction = |step: &Ended| {
                let excess_s = (step.plan.rate / surely - 1.0) * step.counts.duration_s();
                excess_s > 2.0 * time_s
                    && !step.is_limited
                    && self.judge(&step.counts) == Judged::Held
            };
            if !self.steps.iter().any(is_contradiction) {
                return None;
            }
            let most = (of.rate_ln + 2.0 * of.error_ln).exp();
            let slow = (of.rate_ln - 2.0 * of.error_ln).exp();
            let least = (slow + bound.share.ln() / time_s).max(slow / 1.25);
            let estimate = Estimate {
                rate: (least * most).sqrt(),
                low: least,
                high: most,
            };
            Some((limit, estimate))
        });
        found.min_by(|(_, one), (_, other)| one.rate.total_cmp(&other.rate))
    }

    fn sightings(&self, limit: usize) -> Vec<Sighting<'_>> {
        let near = self.steps.iter().filter(|step| self.is_near(step));
        near.map(|step| Sighting {
            rate: step.plan.rate,
            counts: &step.counts,
            limit,
        })
        .collect()
    }

    /// The limit that the last step missed most.
    #[expect(clippy::cast_precision_loss, reason = "counts")]
    fn worst_limit(&self) -> Option<usize> {
        let over = self.steps.last()?.counts.over();
        let shares = self.objective.bounds().iter().map(|bound| bound.share);
        let ratios: Vec<f64> = over
            .iter()
            .zip(shares)
            .map(|(over, share)| *over as f64 / share)
            .collect();
        (0..ratios.len()).max_by(|one, other| ratios[*one].total_cmp(&ratios[*other]))
    }
}

fn whole_blocks(length_s: f64) -> f64 {
    (length_s / BLOCK_S).ceil() * BLOCK_S
}
