//! `--find`: searches the highest rate that a server holds while an objective is met. Runs the steps that [`Search`] proposes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Result, anyhow};
use dyno_load::find::{Ended, Next, Objective, Search, StepCounts, StepPlan, Verdict};
use dyno_load::{
    Arrivals, Event, FindRecord, FindStepRecord, FoundRecord, PerSecond, Plan, Rate, Report,
    Termination, Watch, format_time,
};

use super::arguments::Arguments;
use super::find_nodes::Generators;
use super::server_cpu::ServerProcesses;
use crate::table::{Cell, Column, Kind, Table, general, general_grouped, thousands};

/// Time of a search, in seconds.
const BUDGET_S: f64 = 60.0;
/// The most connections that a search opens by itself.
const MOST_CONNECTIONS: usize = 1000;
/// Connections per request that the objective lets be in flight.
const SPARE_CONNECTIONS: f64 = 1.25;
/// Send lag that a step may always have.
const ALLOWED_LAG_NS: u64 = 100_000;
/// Busy and waiting share of a thread from which on it limits a step, as for every load; of a step that was cut short.
const MOST_BUSY: f64 = 0.85;
const MOST_WAITING: f64 = 0.1;
/// Reports in a row, five a second, with a median beyond the limit after which a step is cut short.
const HOPELESS: u32 = 4;

/// Progress of a search, for its observer.
pub enum Progress<'p> {
    /// A step begins: its name, its number from 1 (`None` for a recovery), and its plan.
    Begin(&'p str, Option<usize>, &'p Plan),
    /// An event of a step.
    Event(Event<'p>),
    /// A line about a step that has ended, or about the search.
    Line(&'p str),
}

/// Runs a search; returns the report of the step nearest to its result, with the search in it.
pub fn search(
    arguments: &Arguments,
    objective: &Objective,
    plan: &Plan,
    stop: &Arc<AtomicBool>,
    show: &mut dyn FnMut(Progress<'_>),
) -> Result<Report> {
    let began = Instant::now();
    let from = plan
        .pace
        .as_ref()
        .map_or(0.0, |(rate, _)| rate.ends().0.get());
    let budget = arguments.find_for.map(|time| time.as_secs_f64());
    let mut search = Search::new(
        objective.clone(),
        from,
        budget.unwrap_or(BUDGET_S),
        budget.is_some(),
    );
    let bound = arguments.start.clock_bound;
    let mut generators = arguments
        .find_steps
        .map(|descriptors| Generators::open(descriptors, bound))
        .transpose()?;
    let processes = ServerProcesses::of(plan);
    let mut steps: Vec<FindStepRecord> = Vec::new();
    let mut reports: Vec<Report> = Vec::new();
    let mut number = 0;
    let mut was_ended = false;
    while let Next::Step(step) = search.next() {
        number += 1;
        let budget_s = search.budget_s();
        let of_step = (!step.is_recovery).then_some(steps.len() + 1);
        let name = of_step.map_or("waiting for the server".to_owned(), |number| {
            format!("step {number}")
        });
        let cpu_before = processes.cpu_s();
        let step_began = Instant::now();
        let own = step_plan(arguments, objective, plan, &step, number)?;
        let connections = own.connections * own.streams;
        show(Progress::Begin(&name, of_step, &own));
        let (ran, took_s) = match &mut generators {
            None => {
                let ran = run_step(own, objective, stop, show)?;
                (Some(ran), step_began.elapsed().as_secs_f64())
            }
            // Without the time in which generators are started.
            Some(generators) => (generators.run(&own)?, planned_s(&own)),
        };
        let Some(mut report) = ran else {
            was_ended = true;
            break;
        };
        let server_cpu = cpu_before
            .zip(processes.cpu_s())
            .map(|(before, after)| (after - before) / took_s);
        let counts = report.blocks.take().unwrap_or_default();
        let limited_by = limited_by(&report, &counts, objective, connections, step.rate)
            .map(|why| named(&report, &why));
        let has_no_answer = report.requests == 0 && reports.is_empty();
        if !step.is_recovery {
            let record = step_record(
                &step,
                &report,
                &counts,
                connections,
                server_cpu,
                limited_by.clone(),
            );
            show(Progress::Line(&step_line(steps.len() + 1, &record)));
            steps.push(record);
            reports.push(report);
        }
        let was_stopped = stop.load(Ordering::Relaxed);
        if !was_stopped {
            search.take(Ended {
                plan: step,
                took_s,
                counts,
                is_limited: limited_by.is_some(),
            });
        }
        if was_stopped || has_no_answer {
            break;
        }
        if search.budget_s() > budget_s {
            show(Progress::Line(&format!(
                "the search takes about {:.0} s: so long until the server has had the requests that show {}",
                search.budget_s(),
                objective.text()
            )));
        }
    }
    let was_stopped = was_ended || stop.load(Ordering::Relaxed);
    let found = found(&search, objective, steps, began.elapsed().as_secs_f64());
    let rate = found.found_per_s.unwrap_or(0.0);
    let distance = |report: &Report| {
        let of = report.plan.rate_per_s.unwrap_or(0.0);
        // A step below the rate describes a server that holds it.
        (of - rate).abs() * if of > rate { 4.0 } else { 1.0 }
    };
    let nearest = reports
        .into_iter()
        .min_by(|one, other| distance(one).total_cmp(&distance(other)));
    let mut report =
        nearest.ok_or_else(|| anyhow!("the search was stopped before its first step"))?;
    report.interrupted = was_stopped;
    report.found = (report.requests > 0).then_some(found);
    Ok(report)
}

/// Warm-up and length of a step, in seconds.
#[expect(clippy::cast_precision_loss, reason = "a time")]
fn planned_s(plan: &Plan) -> f64 {
    plan.warm_up.as_secs_f64() + plan.termination.duration_ns.unwrap_or_default() as f64 / 1e9
}

/// The plan of a step: its rate, its length, and connections that do not limit it.
fn step_plan(
    arguments: &Arguments,
    objective: &Objective,
    plan: &Plan,
    step: &StepPlan,
    number: u64,
) -> Result<Plan> {
    let rate = PerSecond::parse(&format!("{:.3}", step.rate)).map_err(|error| anyhow!(error))?;
    let arrivals = match plan.pace.as_ref().map(|(_, arrivals)| arrivals) {
        Some(Arrivals::Poisson { seed }) => Arrivals::Poisson {
            seed: seed.wrapping_add(2 * number),
        },
        Some(other) => other.clone(),
        None => Arrivals::Poisson { seed: number },
    };
    let connections = match arguments.connections {
        Some(connections) => connections,
        None => plan.connections.max(
            needed_connections(step.rate, objective)
                .div_ceil(plan.streams)
                .min(MOST_CONNECTIONS),
        ),
    };
    let length_ns = nanoseconds(step.length_s) + objective.settling_ns();
    Ok(Plan {
        pace: Some((Rate::constant(rate), arrivals)),
        connections,
        warm_up: std::time::Duration::from_secs_f64(step.warm_up_s),
        termination: Termination {
            requests: None,
            duration_ns: Some(length_ns),
        },
        ..plan.clone()
    })
}

/// Connections at which a request exceeds a limit in the server before it waits for a connection: by Little's law, the rate times the
/// limit are in flight.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a number of connections"
)]
fn needed_connections(rate: f64, objective: &Objective) -> usize {
    (SPARE_CONNECTIONS * rate * objective.longest_ns() as f64 / 1e9).ceil() as usize
}

/// Sends a step; cuts it short when most requests are beyond their limit.
fn run_step(
    plan: Plan,
    objective: &Objective,
    stop: &Arc<AtomicBool>,
    show: &mut dyn FnMut(Progress<'_>),
) -> Result<Report> {
    let own_stop = Arc::new(AtomicBool::new(stop.load(Ordering::Relaxed)));
    let limit_ns = objective.longest_ns();
    let mut behind = 0;
    let mut observer = |event: Event<'_>| {
        show(Progress::Event(event));
        let Event::Stretch(live) = event else { return };
        let is_slow = live.response_p50_ns.is_some_and(|p50_ns| p50_ns > limit_ns);
        behind = if limit_ns > 0 && is_slow && !live.is_warm_up {
            behind + 1
        } else {
            0
        };
        if behind >= HOPELESS || stop.load(Ordering::Relaxed) {
            own_stop.store(true, Ordering::Relaxed);
        }
    };
    let watch = Watch {
        is_frequent: true,
        observer: &mut observer,
    };
    super::measure(plan, &own_stop, Some(watch))
}

/// Why a generator limited a step, with its name if there are several.
fn named(report: &Report, why: &str) -> String {
    let mut nodes = report.nodes.iter().flatten();
    let limited = nodes.find(|node| node.verdict == Some(dyno_load::Verdict::GeneratorLimited));
    limited.map_or(why.to_owned(), |node| {
        format!("segment {} on {}: {why}", node.segment, node.host)
    })
}

/// Why the generator, not the server, set the figures of a step.
#[expect(clippy::cast_precision_loss, reason = "times and counts")]
fn limited_by(
    report: &Report,
    counts: &StepCounts,
    objective: &Objective,
    connections: usize,
    rate: f64,
) -> Option<String> {
    let rules = report.validity.iter().flat_map(|judged| &judged.rules);
    let mut broken = rules.filter(|rule| {
        rule.passed == Some(false)
            && rule.verdict == dyno_load::Verdict::GeneratorLimited
            && rule.rule != "generator_lag"
    });
    if let Some(rule) = broken.next() {
        return rule.sentence.clone();
    }
    if report.validity.is_none() && report.elapsed_s >= 1.0 {
        let shares = [
            (report.busy_share(), MOST_BUSY, "busy"),
            (report.waiting_share(), MOST_WAITING, "waiting for its CPU"),
        ];
        for (share, most, what) in shares {
            if let Some(share) = share.filter(|share| *share > most) {
                return Some(format!(
                    "a thread of the generator was {what} for {} % of the step; give it more CPUs (--cpus), or stop other programs",
                    general(100.0 * share, 3)
                ));
            }
        }
    }
    // The lag matters by the time that the objective limits.
    let limits = objective.bounds().iter().filter_map(|bound| bound.time_ns);
    let lag_ns = report.send_lag.as_ref().filter(|lag| lag.count > 0)?.p99_ns;
    let shortest_ns = limits.min();
    if shortest_ns.is_some_and(|limit_ns| lag_ns > ALLOWED_LAG_NS.max(limit_ns / 10)) {
        return Some(format!(
            "the generator itself sent late, p99 by {}: give it more CPUs (--cpus)",
            format_time(lag_ns as f64)
        ));
    }
    let over = counts.over();
    let timed = objective.bounds().iter().zip(over);
    let slow = timed.filter(|(bound, _)| bound.time_ns.is_some());
    let slow = slow.map(|(_, over)| over).max()?;
    let in_server = counts.slow_in_service + report.failed();
    (in_server < slow / 2 && slow as f64 > 0.05 * counts.total() as f64).then(|| {
        format!(
            "requests waited for one of the {connections} connections; give it --connections {}",
            needed_connections(rate, objective).max(2 * connections)
        )
    })
}

fn step_record(
    step: &StepPlan,
    report: &Report,
    counts: &StepCounts,
    connections: usize,
    server_cpu: Option<f64>,
    limited_by: Option<String>,
) -> FindStepRecord {
    let response = report.response();
    FindStepRecord {
        rate_per_s: step.rate,
        achieved_per_s: report.rps,
        duration_s: counts.duration_s(),
        requests: counts.total(),
        over: counts.over(),
        p50_ns: response.as_ref().map(|times| times.p50_ns),
        p99_ns: response.as_ref().map(|times| times.p99_ns),
        errors: report.failed(),
        send_lag_p99_ns: report
            .send_lag
            .as_ref()
            .filter(|lag| lag.count > 0)
            .map(|lag| lag.p99_ns),
        server_cpu: server_cpu.map(|cpus| (cpus * 1e4).round() / 1e4),
        connections,
        limited_by,
    }
}

fn found(
    search: &Search,
    objective: &Objective,
    steps: Vec<FindStepRecord>,
    duration_s: f64,
) -> FoundRecord {
    let end = search.end();
    let name = |place: usize| {
        objective
            .bounds()
            .get(place)
            .map(|bound| bound.name.clone())
    };
    FoundRecord {
        found_per_s: end.estimate.map(|found| found.rate).or(end.held),
        found_low_per_s: end.estimate.map(|found| found.low).or(end.held),
        found_high_per_s: end.estimate.map(|found| found.high),
        find: FindRecord {
            objective: objective.text(),
            verdict: end.verdict,
            first_broken: end.first_broken.and_then(name),
            duration_s,
            steps,
        },
    }
}

/// The result in one line.
pub fn sentence(found: &FoundRecord) -> String {
    let find = &found.find;
    let objective = &find.objective;
    let rate = rate_text(found.found_per_s.unwrap_or(0.0));
    let first = find.first_broken.as_deref().unwrap_or("the objective");
    match find.verdict {
        Verdict::Found => {
            let ends = [found.found_low_per_s, found.found_high_per_s];
            let [low, high] = ends.map(|end| rate_text(end.unwrap_or(0.0)));
            format!(
                "holds {rate} requests/s (95 % interval {low} to {high}) with {objective}; above it {first} breaks first"
            )
        }
        Verdict::TwoStates => {
            let ends = [found.found_low_per_s, found.found_high_per_s];
            let [low, high] = ends.map(|end| rate_text(end.unwrap_or(0.0)));
            format!(
                "holds about {rate} requests/s (95 % interval {low} to {high}) with {objective}: the server has two states; above this it may become slow for good and then miss {first}, although higher rates held before"
            )
        }
        Verdict::GeneratorLimited => {
            let mut reasons = find.steps.iter().rev();
            let reason = reasons.find_map(|step| step.limited_by.as_deref());
            if found.found_per_s.is_none() {
                return format!(
                    "no rate was measured with {objective}: {}",
                    reason.unwrap_or("it could not send faster")
                );
            }
            format!(
                "holds at least {rate} requests/s with {objective}; the generator was the limit: {}",
                reason.unwrap_or("it could not send faster")
            )
        }
        Verdict::NotBroken => format!(
            "holds at least {rate} requests/s with {objective}; no higher rate was tried in {} s: give it more time (--find-for)",
            general(find.duration_s, 3)
        ),
        Verdict::NeverHeld => {
            let rates = find.steps.iter().map(|step| step.rate_per_s);
            format!(
                "does not hold {} requests/s, the lowest rate tried, with {objective}: {first} breaks it",
                rate_text(rates.fold(f64::MAX, f64::min))
            )
        }
    }
}

/// A rate with the digits that matter.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate above 100"
)]
fn rate_text(rate: f64) -> String {
    if rate >= 100.0 {
        thousands(rate.round() as u64)
    } else {
        general_grouped((rate * 100.0).round() / 100.0)
    }
}

/// A step in a line of the terminal.
#[expect(clippy::cast_precision_loss, reason = "times for people")]
fn step_line(number: usize, step: &FindStepRecord) -> String {
    let time = |time_ns: Option<u64>| {
        time_ns.map_or("-".to_owned(), |time_ns| format_time(time_ns as f64))
    };
    let limited = if step.limited_by.is_some() {
        "  generator limited"
    } else {
        ""
    };
    format!(
        "step {number}: {}/s  {:.1} s  p50 {}  p99 {}  {} errors{limited}",
        rate_text(step.rate_per_s),
        step.duration_s,
        time(step.p50_ns),
        time(step.p99_ns),
        thousands(step.errors)
    )
}

/// A row for each step, titled with the result.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_wrap,
    reason = "counts and times"
)]
pub fn table(found: &FoundRecord) -> Table {
    let time = |time_ns: Option<u64>| Cell::from(time_ns.map(|time_ns| time_ns as f64 / 1e6));
    let rows = found.find.steps.iter().map(|step| {
        let cpus = step.server_cpu.map(|cpus| (cpus * 100.0).round() / 100.0);
        vec![
            Cell::Number(step.rate_per_s.round()),
            Cell::Number(step.achieved_per_s.round()),
            Cell::Number((step.duration_s * 100.0).round() / 100.0),
            time(step.p50_ns),
            time(step.p99_ns),
            Cell::Integer(step.errors as i64),
            time(step.send_lag_p99_ns),
            cpus.into(),
        ]
    });
    Table {
        title: sentence(found),
        columns: vec![
            Column::new("rate", Kind::Number),
            Column::new("achieved", Kind::Number),
            Column::new("s", Kind::Decimal),
            Column::new("p50", Kind::Time),
            Column::new("p99", Kind::Time),
            Column::new("errors", Kind::Integer),
            Column::new("send lag p99", Kind::Time),
            Column::new("server CPU", Kind::Decimal),
        ],
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "seconds of a step"
)]
fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}
