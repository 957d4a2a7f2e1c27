//! Builds the report from the sums of a run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use dyno_client::Traffic;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::aggregate::Aggregate;
use crate::arrival_process::{Arrivals, PerSecond};
use crate::confidence::Batches;
use crate::find::{Objective, StepCounts};
use crate::names::Names;
use crate::plan::Plan;
use crate::recording::ReplayRecord;
use crate::report::{
    AddressRecord, Censored, ChecksRecord, ConnectionsRecord, DataRecord, ExpectRecord, Phases,
    PlanRecord, Report, Summary, ThreadRecord, VERSION, WarmUpRecord, WireRecord,
};
use crate::sums::Sums;
use crate::tally::{Tally, Times};
use crate::template::Pick;
use crate::thread::ThreadEnd;
use crate::usage::peak_memory_bytes;
use crate::validity;
use crate::worker::Common;

#[expect(clippy::cast_precision_loss, reason = "shown as seconds and rates")]
#[expect(clippy::too_many_arguments, reason = "what a run consists of")]
pub(crate) fn report(
    plan: &Plan,
    common: &Common,
    sums: &Sums,
    started: SystemTime,
    interrupted: bool,
    cpu: (f64, f64, f64),
    traffic: &[Arc<Traffic>],
    names: &Names,
) -> Report {
    let aggregate = &sums.measured;
    let total = &aggregate.total;
    let end_ns = aggregate.lasts().map(|last| last.end_ns).max().unwrap_or(0);
    let elapsed_s = end_ns as f64 / 1e9;
    // What is due and unclaimed is claimed for its count below.
    let data = data_record(plan, common);
    let mut unsent = total.unsent.clone();
    let mut stages = aggregate.stages.clone();
    let mut blocks = aggregate.blocks.clone();
    for (intended_ns, together) in common.schedule.unclaimed_before(end_ns) {
        unsent.record_many(end_ns - intended_ns, together);
        if let Some(stages) = &mut stages {
            let stage = stages.at(intended_ns);
            stage.ages.record_many(end_ns - intended_ns, together);
        }
        if let Some(blocks) = &mut blocks {
            blocks.add(intended_ns, end_ns - intended_ns, true, together);
        }
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
        data,
        statuses: total.statuses(),
        errors: total.errors().clone(),
        errors_total: total.errors_total(),
        failed_answers,
        resent: counts.resent,
        tolerated: counts.tolerated.by_name(),
        expect_continue: plan.requests.expect_continue().then_some(ExpectRecord {
            continued: counts.continued,
            answered: counts.answered_at_once,
            silent: counts.silent,
        }),
        checks: plan.requests.are_checked().then(|| checks_record(total)),
        labels: plan.requests.labels().records(&aggregate.labels),
        addresses: plan
            .sockets
            .unix_socket()
            .is_none()
            .then(|| address_records(aggregate, names)),
        censored: censored(&total.censored),
        unsent: unsent.histogram().len(),
        wire: wire_record(sums, traffic),
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
        send_lag: plan.pace.as_ref().map(|_| Summary::new(&total.send_lag)),
        phases: phases(total),
        replay: plan
            .replay
            .as_ref()
            .map(|recording| ReplayRecord::new(recording, counts.late, counts.sent)),
        until: aggregate.batches.as_ref().map(Batches::record),
        warm_up: sums
            .warm_up
            .as_ref()
            .map(|warm_up| warm_up_record(plan, &warm_up.total)),
        stages: stages.map(|stages| stages.records(end_ns)),
        series: aggregate.rows.clone(),
        found: None,
        blocks: blocks.map(|blocks| settled(blocks, plan, end_ns)),
    };
    if !interrupted && report.requests > 0 {
        report.validity = Some(validity::judge(&report));
    }
    report
}

fn wire_record(sums: &Sums, traffic: &[Arc<Traffic>]) -> WireRecord {
    let sent_bytes: u64 = traffic.iter().map(|traffic| traffic.sent_bytes()).sum();
    let received_bytes: u64 = traffic.iter().map(|traffic| traffic.received_bytes()).sum();
    WireRecord {
        sent_bytes: sent_bytes - sums.before.sent_bytes,
        received_bytes: received_bytes - sums.before.received_bytes,
        content_bytes: sums.measured.total.counts.content_bytes,
    }
}

fn phases(total: &Tally) -> Phases {
    Phases {
        dns: Summary::of_some(&total.dns),
        connect: Summary::of_some(&total.connect),
        tls: Summary::of_some(&total.tls),
        first_byte: Summary::of_some(&total.first_byte),
        content: Summary::of_some(&total.content),
    }
}

fn address_records(aggregate: &Aggregate, names: &Names) -> Vec<AddressRecord> {
    let mut addresses = aggregate.addresses.clone();
    addresses.complete(names.main(), &aggregate.total);
    let (texts, grouped) = names.texts();
    addresses.records(&texts, grouped)
}

/// The blocks whose requests have all ended, or waited longer than a limit.
fn settled(mut blocks: StepCounts, plan: &Plan, end_ns: u64) -> StepCounts {
    let settling_ns = plan.objective.as_ref().map_or(0, Objective::settling_ns);
    blocks.truncate(end_ns.saturating_sub(settling_ns));
    blocks
}

fn warm_up_record(plan: &Plan, total: &Tally) -> WarmUpRecord {
    let mut failures: BTreeMap<String, u64> = total
        .errors()
        .iter()
        .map(|(name, count)| ((*name).to_owned(), *count))
        .collect();
    if plan.requests.are_checked() {
        failures.insert("wrong by a check".to_owned(), total.checked.wrong());
    } else {
        let statuses = total.statuses().into_iter();
        let bad = statuses.filter(|(status, _)| !matches!(status, 200..400));
        failures.extend(bad.map(|(status, count)| (format!("status {status}"), count)));
    }
    failures.retain(|_, count| *count > 0);
    WarmUpRecord {
        duration_s: plan.warm_up.as_secs_f64(),
        requests: total.counts.requests + total.errors_total() + total.censored.histogram().len(),
        failures,
    }
}

fn checks_record(total: &Tally) -> ChecksRecord {
    let mut examples = total.wrong_examples.clone();
    examples.sort_by_key(|example| example.kind);
    ChecksRecord {
        counts: total.checked,
        examples,
    }
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

fn data_record(plan: &Plan, common: &Common) -> Option<DataRecord> {
    let values = plan.requests.values();
    let rows = values.data.as_ref()?.rows();
    let is_last = plan.termination.requests == Some(rows as u64);
    let ended = is_last && common.schedule.is_used_up() || common.schedule.has_no_numbers();
    Some(DataRecord {
        rows,
        pick: values.pick.name(),
        used_up: values.pick == Pick::Unique && ended,
    })
}

fn censored(ages: &Times) -> Censored {
    let summary = Summary::of_some(ages);
    Censored {
        count: ages.histogram().len(),
        oldest_ns: summary.is_some().then(|| ages.histogram().max()),
        ages: summary,
    }
}

/// Response times including requests that have not ended, each with the time that it has waited. `None` if all have
/// ended.
fn at_least(ended: &Times, ages: [&Times; 2]) -> Option<Summary> {
    let mut all = ended.clone();
    for ages in ages {
        all.merge(ages);
    }
    (all.histogram().len() > ended.histogram().len()).then(|| Summary::new(&all))
}

/// Response times of all answers, including requests that have not ended; `None` if all answers are good.
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
    let rates = plan.pace.as_ref().map(|(rate, _)| rate.ends());
    let arrivals = plan.pace.as_ref().map(|(_, arrivals)| arrivals);
    PlanRecord {
        urls: plan.requests.len(),
        connections: plan.connections,
        streams: plan.streams,
        http: plan.protocol.version().number(),
        keepalive: plan.keepalive,
        unix_socket: plan.sockets.unix_socket().map(ToString::to_string),
        dns_refresh_s: plan.dns_refresh.map(|every| every.as_secs_f64()),
        proxy: plan.requests.proxies(),
        reconnect_after: plan.reconnect_after,
        opened_per_s: plan.opened_per_s.map(PerSecond::get),
        tls_resumption_percent: plan.tls.resumed_percent,
        rate_per_s: rates.map(|(rate, _)| rate.get()),
        rate_end_per_s: rates.and_then(|(_, end)| end).map(PerSecond::get),
        arrivals: arrivals.map(|arrivals| match arrivals {
            Arrivals::Constant => "constant",
            Arrivals::Poisson { .. } => "poisson",
            Arrivals::Recorded(_) => "recorded",
        }),
        seed: match arrivals {
            Some(Arrivals::Poisson { seed }) => Some(*seed),
            _ => plan
                .requests
                .use_seed()
                .then(|| plan.requests.values().seed),
        },
        duration_s: plan.termination.duration_ns.map(|nanos| nanos as f64 / 1e9),
        requests: plan.termination.requests,
        timeout_s: plan.timeout.as_secs_f64(),
        method: plan.method.clone(),
        cpus: plan.cpus.clone(),
    }
}
