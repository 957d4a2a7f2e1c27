//! Collects what a run has measured when it ends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use dyno_client::Traffic;
use time::OffsetDateTime;

use crate::address_tally::NamedAddress;
use crate::aggregate::Aggregate;
use crate::arrival_process::{Arrivals, PerSecond};
use crate::confidence::Batches;
use crate::find::{Objective, StepCounts};
use crate::measured::Measured;
use crate::names::Names;
use crate::plan::Plan;
use crate::records::{DataRecord, PlanRecord, ThreadRecord, WarmUpRecord, WireRecord};
use crate::sums::Sums;
use crate::tally::Tally;
use crate::template::Pick;
use crate::thread::ThreadEnd;
use crate::usage::peak_memory_bytes;
use crate::worker::Common;

#[expect(clippy::too_many_arguments, reason = "what a run consists of")]
pub(crate) fn measured(
    plan: &Plan,
    common: &Common,
    sums: &Sums,
    started: SystemTime,
    interrupted: bool,
    cpu_s: (f64, f64, f64),
    traffic: &[Arc<Traffic>],
    names: &Names,
) -> Measured {
    let aggregate = &sums.measured;
    let mut total = aggregate.total.clone();
    let end_ns = aggregate.lasts().map(|last| last.end_ns).max().unwrap_or(0);
    // What is due and unclaimed is claimed for its count below.
    let data = data_record(plan, common);
    let mut stages = aggregate.stages.clone();
    let mut blocks = aggregate.blocks.clone();
    for (intended_ns, together) in common.schedule.unclaimed_before(end_ns) {
        total.unsent.record_many(end_ns - intended_ns, together);
        if let Some(stages) = &mut stages {
            let stage = stages.at(intended_ns);
            stage.ages.record_many(end_ns - intended_ns, together);
        }
        if let Some(blocks) = &mut blocks {
            blocks.add(intended_ns, end_ns - intended_ns, true, together);
        }
    }
    let requests = &plan.requests;
    let recording = plan.replay.as_ref();
    let has_addresses = plan.sockets.unix_socket().is_none();
    Measured {
        started_unix_ns: OffsetDateTime::from(started).unix_timestamp_nanos(),
        end_ns,
        interrupted,
        plan: plan_record(plan),
        cpu_s,
        peak_memory_bytes: peak_memory_bytes(),
        threads: threads(plan, aggregate, end_ns),
        data,
        expects_continue: requests.expect_continue(),
        is_checked: requests.are_checked(),
        labels: requests.labels().clone(),
        label_tallies: aggregate.labels.clone(),
        addresses: has_addresses.then(|| named_addresses(aggregate, names)),
        wire: wire_record(sums, traffic),
        replay: recording.map(|recording| (**recording).clone()),
        warm_up: sums
            .warm_up
            .as_ref()
            .map(|warm_up| warm_up_record(plan, &warm_up.total)),
        stages,
        seconds: aggregate.packed_seconds.clone().unwrap_or_default(),
        rows: aggregate.rows.clone(),
        until: aggregate.batches.as_ref().map(Batches::record),
        blocks: blocks.map(|blocks| settled(blocks, plan, end_ns)),
        tolerated: total.counts.tolerated.by_name(),
        total,
    }
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

fn named_addresses(aggregate: &Aggregate, names: &Names) -> Vec<NamedAddress> {
    let mut addresses = aggregate.addresses.clone();
    addresses.complete(names.main(), &aggregate.total);
    let (texts, grouped) = names.texts();
    addresses.named(&texts, grouped)
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
