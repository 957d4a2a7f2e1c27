//! Simulated servers with a known capacity, and how often the interval of a search covers it.

use std::collections::{BinaryHeap, VecDeque};

use super::*;

/// Pseudorandom numbers (Steele, Lea and Flood, Fast splittable pseudorandom number generators, OOPSLA 2014).
struct Random(u64);

impl Random {
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((word ^ (word >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }
}

/// Time in order, for the heap of free workers.
#[derive(Clone, Copy, PartialEq)]
struct Moment(f64);

impl Eq for Moment {}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.0.total_cmp(&self.0)
    }
}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Clone)]
enum Server {
    /// Workers that are free at these moments, the mean service time, whether it is exponential.
    Queue(BinaryHeap<Moment>, f64, bool),
    /// Requests per second, burst, tokens, and when they were counted.
    Limiter(f64, f64, f64, f64),
    /// Mean service time, growth for each request in the queue, when each of them ends.
    Degrading(f64, f64, VecDeque<f64>),
}

impl Server {
    fn queue(per_s: f64, workers: usize, is_exponential: bool) -> Self {
        let free = (0..workers).map(|_| Moment(0.0)).collect();
        Self::Queue(free, workers as f64 / per_s, is_exponential)
    }

    /// The response time of a request that arrives at a moment, and whether it failed.
    fn answer(&mut self, random: &mut Random, at: f64) -> (f64, bool) {
        match self {
            Self::Queue(free, mean, is_exponential) => {
                let time = if *is_exponential {
                    random.exponential(*mean)
                } else {
                    *mean
                };
                let Moment(worker) = free.pop().unwrap();
                let end = worker.max(at) + time;
                free.push(Moment(end));
                (end - at, false)
            }
            Self::Limiter(per_s, burst, tokens, counted) => {
                *tokens = (*tokens + (at - *counted) * *per_s).min(*burst);
                *counted = at;
                let passes = *tokens >= 1.0;
                *tokens -= f64::from(u8::from(passes));
                (0.001, !passes)
            }
            Self::Degrading(mean, growth, ends) => {
                while ends.front().is_some_and(|end| *end <= at) {
                    ends.pop_front();
                }
                let slower = 1.0 + *growth * ends.len().min(50) as f64;
                let begin = ends.back().copied().unwrap_or(at);
                let end = begin + random.exponential(*mean) * slower;
                ends.push_back(end);
                (end - at, false)
            }
        }
    }
}

struct Case {
    name: &'static str,
    server: Server,
    objective: &'static str,
    truth: f64,
}

fn cases() -> Vec<Case> {
    let case = |name, server, objective, truth| Case {
        name,
        server,
        objective,
        truth,
    };
    let single = |limit: f64, share: f64| 5000.0 - (1.0 / share).ln() / limit;
    vec![
        case(
            "M/M/1",
            Server::queue(5000.0, 1, true),
            "p99 < 5ms",
            single(0.005, 0.01),
        ),
        case(
            "M/M/1",
            Server::queue(5000.0, 1, true),
            "p99.9 < 10ms",
            single(0.01, 0.001),
        ),
        case(
            "M/M/1",
            Server::queue(5000.0, 1, true),
            "p50 < 2ms",
            single(0.002, 0.5),
        ),
        case(
            "M/M/1",
            Server::queue(5000.0, 1, true),
            "p99 < 50ms",
            single(0.05, 0.01),
        ),
        case(
            "M/M/1",
            Server::queue(500.0, 1, true),
            "p99 < 50ms",
            single(0.05, 0.01) - 4500.0,
        ),
        case(
            "idle",
            Server::queue(5000.0, 1, true),
            "p99.9 < 2ms",
            single(0.002, 0.001),
        ),
        case(
            "M/D/1",
            Server::queue(5000.0, 1, false),
            "p99 < 5ms",
            constant_queue(5000.0, 0.005, 0.01),
        ),
        case(
            "M/D/1",
            Server::queue(5000.0, 1, false),
            "p99 < 5ms, errors < 0.1%",
            constant_queue(5000.0, 0.005, 0.01),
        ),
        case(
            "M/M/16",
            Server::queue(5000.0, 16, true),
            "p99 < 20ms",
            pool(5000.0, 16, 0.02, 0.01),
        ),
        case(
            "limiter",
            Server::Limiter(5000.0, 50.0, 50.0, 0.0),
            "errors < 0.1%",
            LIMITER,
        ),
        case(
            "degrading",
            Server::Degrading(0.0002, 0.01, VecDeque::new()),
            "p99 < 20ms",
            DEGRADING,
        ),
    ]
}

/// From simulations of 20 million requests per rate; `simulated_truths` computes it.
const LIMITER: f64 = 4819.6;
/// From 5,000 / 1.5 = 3,333 on the queue has no steady state; at 3,325, 40 million requests met the objective. A simulation is too short to
/// show it at higher rates: the server falls into its slow state only after minutes.
const DEGRADING: f64 = 3330.0;

/// Capacity of M/D/1 (Erlang 1909; Tijms, A First Course in Stochastic Models, 2003, 9.2): the distribution of the waiting time is
/// (1 - r D) sum over k of (-r (t - k D))^k / k! e^(r (t - k D)).
fn constant_queue(per_s: f64, limit: f64, share: f64) -> f64 {
    let service = 1.0 / per_s;
    bisect(per_s, share, |rate| {
        let time = limit - service;
        let mut sum = 0.0;
        let mut factorial = 1.0;
        let mut k = 0.0;
        while k * service <= time {
            let left = rate * (time - k * service);
            sum += (-left).powi(k as i32) / factorial * left.exp();
            k += 1.0;
            factorial *= k;
        }
        1.0 - (1.0 - rate * service) * sum
    })
}

/// Capacity of M/M/k: the response time is the service time, and with Erlang's C an exponential wait before it.
fn pool(per_s: f64, workers: usize, limit: f64, share: f64) -> f64 {
    let one = per_s / workers as f64;
    bisect(per_s, share, |rate| {
        let load = rate / one;
        let (mut sum, mut term) = (0.0, 1.0);
        for k in 0..workers {
            sum += term;
            term *= load / (k + 1) as f64;
        }
        let top = term / (1.0 - load / workers as f64);
        let waits = top / (sum + top);
        let drain = per_s - rate;
        (1.0 - waits) * (-one * limit).exp()
            + waits * (drain * (-one * limit).exp() - one * (-drain * limit).exp()) / (drain - one)
    })
}

/// The rate at which a share that grows with it is reached.
fn bisect(per_s: f64, share: f64, of: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (1e-6 * per_s, per_s * (1.0 - 1e-9));
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if of(middle) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Runs a whole search; the server keeps its state between the steps.
fn search(case: &Case, seed: u64) -> (End, f64) {
    search_with(case, f64::MAX, seed)
}

/// The same with a generator that sends at most `fastest` requests per second in time.
fn search_with(case: &Case, fastest: f64, seed: u64) -> (End, f64) {
    let objective = Objective::parse(case.objective).unwrap();
    let mut search = Search::new(objective.clone(), 100.0, 60.0, false);
    let mut server = case.server.clone();
    let mut random = Random(seed);
    let mut now = 0.0;
    let is_verbose = std::env::var_os("FIND_VERBOSE").is_some();
    while let Next::Step(plan) = search.next() {
        let lasts = plan.warm_up_s + plan.length_s;
        let mut counts = StepCounts::new(&objective);
        let mut at = now;
        loop {
            at += random.exponential(1.0 / plan.rate);
            let since = at - now - plan.warm_up_s;
            if since >= plan.length_s {
                break;
            }
            let (time, has_failed) = server.answer(&mut random, at);
            // A request that is sent late is late by the whole backlog of the generator.
            let late = (at - now).max(0.0) * (plan.rate / fastest - 1.0).max(0.0);
            if since >= 0.0 {
                let time_ns = ((time + late) * 1e9) as u64;
                counts.add((since * 1e9) as u64, time_ns, has_failed, 1);
            }
        }
        counts.truncate((plan.length_s * 1e9).round() as u64);
        now += lasts;
        if is_verbose {
            let end = search.end().estimate;
            let (rate, over) = (plan.rate, counts.over());
            eprintln!(
                "{rate:.0} {} T {lasts:.1} n {} k {over:?} {end:.0?}",
                plan.is_recovery,
                counts.total()
            );
        }
        search.take(Ended {
            plan,
            took_s: lasts,
            counts,
            is_limited: plan.rate > fastest,
        });
    }
    (search.end(), search.used_s())
}

/// How searches of a case ended.
struct Coverage {
    covered: usize,
    line: String,
}

fn coverage(case: &Case, first_seed: u64, searches: u64) -> Coverage {
    let (mut covered, mut below, mut above, mut lost) = (0, 0, 0, 0);
    let (mut errors, mut halves, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for seed in first_seed..first_seed + searches {
        let (end, used_s) = search(case, seed);
        times.push(used_s);
        let Some(found) = end.estimate else {
            lost += 1;
            continue;
        };
        let covers = (found.low..=found.high).contains(&case.truth);
        if !covers && std::env::var_os("MISSES").is_some() {
            eprintln!("seed {seed}: {found:.0?} {:?}", end.verdict);
        }
        covered += usize::from(covers);
        below += usize::from(found.high < case.truth);
        above += usize::from(found.low > case.truth);
        errors.push(100.0 * (found.rate / case.truth - 1.0));
        halves.push(50.0 * (found.high / found.low - 1.0));
    }
    for values in [&mut errors, &mut halves, &mut times] {
        values.sort_by(f64::total_cmp);
    }
    let median = |values: &[f64]| values.get(values.len() / 2).copied().unwrap_or(f64::NAN);
    let worst = errors
        .iter()
        .fold(0.0, |worst: f64, error| worst.max(error.abs()));
    let line = format!(
        "{:<10}{:<26}{:>8.0}{covered:>9}/{searches}{below:>7}{above:>7}{lost:>6}{:>+9.2}{worst:>9.2}{:>9.2}{:>7.0}",
        case.name,
        case.objective,
        case.truth,
        median(&errors),
        median(&halves),
        median(&times)
    );
    Coverage { covered, line }
}

/// First of the seeds with which the model was chosen; those from 5,000 and from 700,000 were also used for it.
const TUNING_SEEDS: u64 = 1000;
/// First of the seeds of the reported figures, on which no constant depends. A change of the model after a look at them needs new ones.
const REPORTED_SEEDS: u64 = 800_000;

/// Eight searches of each server with fixed seeds; `table_of_coverage` runs a hundred.
#[test]
fn intervals_cover_the_capacity() {
    let (mut covered, mut searches) = (0, 0);
    for case in &cases() {
        let found = coverage(case, TUNING_SEEDS, 8);
        assert!(found.covered >= 6, "{}", found.line);
        covered += found.covered;
        searches += 8;
    }
    assert!(100 * covered >= 93 * searches, "{covered} of {searches}");
}

#[test]
fn a_server_that_never_holds_is_reported() {
    let case = Case {
        name: "slow",
        server: Server::queue(5000.0, 1, false),
        objective: "errors < 1%, p99 < 100us",
        truth: 0.0,
    };
    let (end, ..) = search(&case, 1);
    assert_eq!(
        (end.verdict, end.first_broken),
        (Verdict::NeverHeld, Some(1))
    );
    assert_eq!((end.estimate, end.held), (None, None));
}

#[test]
fn a_generator_that_is_the_limit_ends_the_search() {
    let objective = Objective::parse("p99 < 5ms").unwrap();
    let mut search = Search::new(objective.clone(), 100.0, 60.0, false);
    while let Next::Step(plan) = search.next() {
        let is_limited = plan.rate > 1000.0;
        let mut counts = StepCounts::new(&objective);
        let requests = (plan.rate * plan.length_s) as u64;
        for request in 0..requests {
            let intended_ns = (request as f64 / plan.rate * 1e9) as u64;
            counts.add(
                intended_ns,
                if is_limited { 6_000_000 } else { 1 },
                false,
                1,
            );
        }
        search.take(Ended {
            plan,
            took_s: plan.length_s,
            counts,
            is_limited,
        });
    }
    let end = search.end();
    assert_eq!(
        (end.verdict, end.estimate),
        (Verdict::GeneratorLimited, None)
    );
    let held = end.held.unwrap();
    assert!((850.0..=1000.0).contains(&held), "{held}");
}

/// A generator that is somewhat faster than the capacity: the rates that held in short steps are above it at times.
#[test]
fn a_limited_generator_claims_no_rate_that_the_server_misses() {
    let (mut claims, mut too_high) = (0, Vec::new());
    for case in cases().iter().filter(|case| case.name != "degrading") {
        for seed in 0..3 {
            let (end, _) = search_with(case, case.truth * 1.03, TUNING_SEEDS + seed);
            let claimed = match (end.verdict, end.estimate, end.held) {
                (Verdict::GeneratorLimited, _, Some(held)) => held,
                (_, Some(estimate), _) => estimate.low,
                _ => continue,
            };
            claims += 1;
            if claimed > case.truth {
                too_high.push((case.name, case.objective, claimed / case.truth, end.verdict));
            }
        }
    }
    assert!(
        20 * too_high.len() <= claims,
        "{} of {claims}: {too_high:.4?}",
        too_high.len()
    );
}

#[test]
fn a_step_that_the_generator_limited_is_repeated_once() {
    let objective = Objective::parse("p99 < 5ms").unwrap();
    let mut search = Search::new(objective.clone(), 100.0, 60.0, false);
    let mut limited: Vec<StepPlan> = Vec::new();
    while let Next::Step(plan) = search.next() {
        let is_limited = plan.length_s >= 4.0 && limited.len() < 2;
        let mut counts = StepCounts::new(&objective);
        for request in 0..(plan.rate * plan.length_s) as u64 {
            let intended_ns = (request as f64 / plan.rate * 1e9) as u64;
            let time_ns = if plan.rate > 1000.0 { 6_000_000 } else { 1 };
            counts.add(intended_ns, time_ns, false, 1);
        }
        if is_limited {
            limited.push(plan);
        }
        search.take(Ended {
            plan,
            took_s: plan.length_s,
            counts,
            is_limited,
        });
    }
    assert_eq!(limited[0], limited[1]);
    let kept = search.steps().iter();
    assert_eq!(kept.filter(|step| step.plan == limited[0]).count(), 2);
}

/// `SEARCHES`, `FIRST` (a seed) and `ONLY` (a part of a name) set what runs, `MISSES` prints the intervals without the truth.
#[test]
#[ignore = "measurement: prints the table of coverage"]
fn table_of_coverage() {
    let searches = std::env::var("SEARCHES").map_or(100, |count| count.parse().unwrap());
    let only = std::env::var("ONLY").unwrap_or_default();
    let first = std::env::var("FIRST").map_or(REPORTED_SEEDS, |seed| seed.parse().unwrap());
    println!(
        "server    objective                  truth   covered  low   high  lost  bias %  worst %  half %    s"
    );
    for case in cases()
        .iter()
        .filter(|case| format!("{} {}", case.name, case.objective).contains(&only))
    {
        println!("{}", coverage(case, first, searches).line);
    }
}

/// Prints the capacities that have no formula.
#[test]
#[ignore = "measurement: computes constants of this file"]
fn simulated_truths() {
    for case in cases() {
        if !["limiter", "M/D/1"].contains(&case.name) {
            continue;
        }
        let objective = Objective::parse(case.objective).unwrap();
        let bound = &objective.bounds()[0];
        let limit = bound
            .time_ns
            .map_or(f64::MAX, |limit_ns| limit_ns as f64 / 1e9);
        let (mut low, mut high) = (3000.0_f64, 5500.0_f64);
        for _ in 0..14 {
            let rate = f64::midpoint(low, high);
            let (mut server, mut random) = (case.server.clone(), Random(99));
            let (mut at, mut over) = (0.0, 0.0);
            for number in 0..4_000_000 {
                at += random.exponential(1.0 / rate);
                let (time, has_failed) = server.answer(&mut random, at);
                over += f64::from(u8::from(number >= 40_000 && (has_failed || time > limit)));
            }
            if over / 3_960_000.0 < bound.share {
                low = rate;
            } else {
                high = rate;
            }
        }
        println!(
            "{} {}: {low:.1} (here {:.1})",
            case.name, case.objective, case.truth
        );
    }
}
