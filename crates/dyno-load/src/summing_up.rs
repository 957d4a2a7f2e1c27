//! Builder of the report from the sums of a run.

use std::sync::Arc;
use std::time::SystemTime;

use dyno_client::Traffic;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::aggregate::Aggregate;
use crate::arrival_process::{Arrivals, PerSecond};
use crate::plan::Plan;
use crate::report::{
    Censored, ConnectionsRecord, Phases, PlanRecord, Report, Summary, ThreadRecord, VERSION,
    WireRecord,
};
use crate::tally::{Tally, Times};
use crate::thread::ThreadEnd;
use crate::usage::peak_memory_bytes;
use crate::validity;
use crate::worker::Common;

#[expect(clippy::cast_precision_loss, reason = "shown as seconds and rates")]
pub(crate) fn report(
    plan: &Plan,
    common: &Common,
    aggregate: &Aggregate,
    started: SystemTime,
    interrupted: bool,
    cpu: (f64, f64, f64),
    traffic: &[Arc<Traffic>],
) -> Report {
    let total = &aggregate.total;
    let end_ns = aggregate.lasts().map(|last| last.end_ns).max().unwrap_or(0);
    let elapsed_s = end_ns as f64 / 1e9;
    let mut unsent = total.unsent.clone();
    for (intended_ns, together) in common.schedule.unclaimed_before(end_ns) {
        unsent.record_many(end_ns - intended_ns, together);
    }
    let counts = total.counts;
    let failed_answers = total.failed_answers.histogram().len();
    let mut report = Report {
        version: VERSION,
        started: OffsetDateTime::from(started)
            .format(&Rfc3339)
            .unwrap_or_default(),
        elapsed_s,
        interrupted,
        validity: None,
        plan: plan_record(plan),
        sent: counts.sent,
        requests: counts.requests,
        rps: if end_ns == 0 {
            0.0
        } else {
            (counts.requests - failed_answers) as f64 / elapsed_s
        },
        cpu_s: cpu.0,
        cpu_user_s: cpu.1,
        cpu_system_s: cpu.2,
        peak_memory_bytes: peak_memory_bytes(),
        threads: threads(plan, aggregate, end_ns),
        statuses: total.statuses(),
        errors: total.errors().clone(),
        errors_total: total.errors_total(),
        failed_answers,
        resent: counts.resent,
        checks: plan.requests.are_checked().then_some(total.checked),
        censored: censored(&total.censored),
        unsent: unsent.histogram().len(),
        wire: WireRecord {
            sent_bytes: traffic.iter().map(|traffic| traffic.sent_bytes()).sum(),
            received_bytes: traffic.iter().map(|traffic| traffic.received_bytes()).sum(),
            content_bytes: counts.content_bytes,
        },
        connections: ConnectionsRecord {
            opened: counts.opened,
            failed: counts.failed,
            tls_full: counts.tls_full,
            tls_resumed: counts.tls_resumed,
            reused_requests: counts.reused,
        },
        versions: total.versions(),
        response_time: Summary::new(&total.response),
        response_time_at_least: at_least(&total.response, [&total.censored, &unsent]),
        response_time_all: all_answers(total, &unsent),
        service_time: Summary::new(&total.service),
        send_lag: plan.pace.map(|_| Summary::new(&total.send_lag)),
        phases: Phases {
            dns: Summary::of_some(&total.dns),
            connect: Summary::of_some(&total.connect),
            tls: Summary::of_some(&total.tls),
            first_byte: Summary::of_some(&total.first_byte),
            content: Summary::of_some(&total.content),
        },
        series: aggregate.rows.clone(),
    };
    if !interrupted && report.requests > 0 {
        report.validity = Some(validity::judge(&report));
    }
    report
}

#[expect(clippy::cast_precision_loss, reason = "shown as seconds and a share")]
fn threads(plan: &Plan, aggregate: &Aggregate, end_ns: u64) -> Vec<ThreadRecord> {
    let share = |time_ns: u64| {
        if end_ns == 0 {
            0.0
        } else {
            (time_ns as f64 / end_ns as f64).min(1.0)
        }
    };
    let record = |(index, last): (usize, ThreadEnd)| ThreadRecord {
        cpu: plan.cpus.get(index).copied(),
        cpu_s: last.cpu_ns as f64 / 1e9,
        busy_share: share(last.cpu_ns.saturating_sub(last.spun_ns)),
        waiting_share: last.waited_ns.map(share),
    };
    aggregate.lasts().enumerate().map(record).collect()
}

fn censored(ages: &Times) -> Censored {
    let summary = Summary::of_some(ages);
    Censored {
        count: ages.histogram().len(),
        oldest_ns: summary.is_some().then(|| ages.histogram().max()),
        ages: summary,
    }
}

/// Response times with those of requests that have not ended: as long as they have waited. `None` where all have.
fn at_least(ended: &Times, ages: [&Times; 2]) -> Option<Summary> {
    let mut all = ended.clone();
    for ages in ages {
        all.merge(ages);
    }
    (all.histogram().len() > ended.histogram().len()).then(|| Summary::new(&all))
}

/// Response times of all answers, at least those with the requests that have not ended; `None` where all answers are good.
fn all_answers(total: &Tally, unsent: &Times) -> Option<Summary> {
    if total.failed_answers.histogram().is_empty() {
        return None;
    }
    let mut all = total.response.clone();
    all.merge(&total.failed_answers);
    let ended = Summary::new(&all);
    let with_ages = at_least(&all, [&total.censored, unsent]);
    Some(with_ages.map_or_else(|| ended.clone(), |with_ages| ended.at_least(&with_ages)))
}

#[expect(clippy::cast_precision_loss, reason = "shown as seconds")]
fn plan_record(plan: &Plan) -> PlanRecord {
    let rates = plan.pace.map(|(rate, _)| rate.ends());
    let arrivals = plan.pace.map(|(_, arrivals)| arrivals);
    PlanRecord {
        urls: plan.requests.len(),
        connections: plan.connections,
        streams: plan.streams,
        http: plan.protocol.version().number(),
        keepalive: plan.keepalive,
        rate_per_s: rates.map(|(rate, _)| rate.get()),
        rate_end_per_s: rates.and_then(|(_, end)| end).map(PerSecond::get),
        arrivals: arrivals.map(|arrivals| match arrivals {
            Arrivals::Constant => "constant",
            Arrivals::Poisson { .. } => "poisson",
        }),
        seed: arrivals.and_then(|arrivals| match arrivals {
            Arrivals::Constant => None,
            Arrivals::Poisson { seed } => Some(seed),
        }),
        duration_s: plan.termination.duration_ns.map(|nanos| nanos as f64 / 1e9),
        requests: plan.termination.requests,
        timeout_s: plan.timeout.as_secs_f64(),
        method: plan.method.clone(),
        cpus: plan.cpus.clone(),
    }
}
