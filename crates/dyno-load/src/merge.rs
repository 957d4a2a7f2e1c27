//! One report of several generators: whether their reports belong together, and their sum. No clock, no I/O.

use std::collections::BTreeMap;

use crate::judgement::{Judgement, Verdict};
use crate::report::Report;
use crate::segment_record::{NodeRecord, SegmentRecord};

/// The load of all generators, from the report of each with the name of its file.
///
/// `clock_bound_ns` is the largest accepted error between a clock and the reference.
///
/// # Errors
///
/// The reason why the reports are not those of all generators of one load.
pub fn merge(
    mut reports: Vec<(String, SegmentRecord)>,
    clock_bound_ns: i64,
) -> Result<Report, String> {
    reports.sort_by_key(|(_, record)| record.segment.number());
    check_plans(&reports)?;
    check_segments(&reports)?;
    check_clocks(&reports, clock_bound_ns)?;
    let nodes: Vec<NodeRecord> = reports.iter().map(|(_, record)| node(record)).collect();
    let mut parts = reports.into_iter();
    let Some((_, SegmentRecord { sums: mut all, .. })) = parts.next() else {
        return Err("there is no report".to_owned());
    };
    for (name, record) in parts {
        let merged = all.merge(record.sums);
        merged.map_err(|reason| format!("{name}: is damaged: {reason}"))?;
    }
    let mut report = all.report();
    report.validity = report.validity.map(|judged| with_nodes(judged, &nodes));
    report.nodes = Some(nodes);
    Ok(report)
}

/// Refuses reports of different loads.
fn check_plans(reports: &[(String, SegmentRecord)]) -> Result<(), String> {
    let Some((first_name, first)) = reports.first() else {
        return Err("there is no report".to_owned());
    };
    for (name, record) in &reports[1..] {
        let what = if record.segment.count() != first.segment.count() {
            format!("segments {} and {}", first.segment, record.segment)
        } else if record.plan_sha256 != first.plan_sha256 {
            "other requests, rates or options".to_owned()
        } else if record.start_unix_ns != first.start_unix_ns {
            "another --start-at".to_owned()
        } else {
            continue;
        };
        return Err(format!(
            "{first_name} and {name} are of different loads ({what}); merge the reports of one load"
        ));
    }
    Ok(())
}

/// Refuses missing and repeated segments.
fn check_segments(reports: &[(String, SegmentRecord)]) -> Result<(), String> {
    let mut files: BTreeMap<u64, &str> = BTreeMap::new();
    for (name, record) in reports {
        if let Some(other) = files.insert(record.segment.number(), name) {
            return Err(format!(
                "segment {} is in {other} and in {name}; name each report once",
                record.segment
            ));
        }
    }
    let count = reports[0].1.segment.count();
    let missing = (1..=count).filter(|number| !files.contains_key(number));
    let missing: Vec<String> = missing.map(|number| format!("{number}/{count}")).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let subject = match missing.len() {
        1 => "segment",
        _ => "segments",
    };
    Err(format!(
        "{subject} {} missing; without {} the load was a lower one: name all reports, or repeat the load",
        match missing.as_slice() {
            [one] => format!("{one} is"),
            many => format!("{} are", many.join(", ")),
        },
        if missing.len() == 1 { "it" } else { "them" }
    ))
}

/// Refuses generators whose clocks are not known well enough. Programs of one machine share a clock.
fn check_clocks(reports: &[(String, SegmentRecord)], most_ns: i64) -> Result<(), String> {
    let first = &reports[0].1;
    let is_one_machine = reports
        .iter()
        .all(|(_, record)| record.boot_id.is_some() && record.boot_id == first.boot_id);
    let reference = |record: &SegmentRecord| Some(record.clock.as_ref()?.reference.clone());
    for (name, record) in reports {
        let subject = || format!("{name}: segment {} on {}", record.segment, record.host);
        match &record.clock {
            None if is_one_machine => {}
            None => {
                return Err(format!(
                    "{}: its clock was not compared with those of the other machines; add --clock URL to each load",
                    subject()
                ));
            }
            Some(clock) => {
                if let Some(problem) = clock.problem(most_ns) {
                    return Err(format!(
                        "{}: {problem}; repeat the load, or accept more with --clock-bound",
                        subject()
                    ));
                }
            }
        }
        if !is_one_machine && reference(record) != reference(first) {
            return Err(format!(
                "{}: its clock was compared with another reference than that of segment {}; give each load the same --clock",
                subject(),
                first.segment
            ));
        }
    }
    Ok(())
}

fn node(record: &SegmentRecord) -> NodeRecord {
    let report = record.sums.report();
    NodeRecord {
        segment: record.segment,
        host: record.host.clone(),
        verdict: report.validity.as_ref().map(|judged| judged.verdict),
        reason: report.validity.and_then(|judged| judged.reason),
        interrupted: report.interrupted,
        sent: report.sent,
        requests: report.requests,
        rps: report.rps,
        elapsed_s: report.elapsed_s,
        clock: record.clock.clone(),
    }
}

/// The judgement of all generators: one that was limited itself limits the load.
fn with_nodes(judged: Judgement, nodes: &[NodeRecord]) -> Judgement {
    let mut limited = nodes
        .iter()
        .filter(|node| node.verdict == Some(Verdict::GeneratorLimited));
    let Some(first) = limited.next() else {
        return judged;
    };
    let name = |node: &NodeRecord| format!("segment {} on {}", node.segment, node.host);
    let mut reason = format!(
        "{}: {}",
        name(first),
        first.reason.as_deref().unwrap_or_default()
    );
    let others: Vec<String> = limited.map(name).collect();
    if !others.is_empty() {
        reason.push_str("; also limited: ");
        reason.push_str(&others.join(", "));
    }
    Judgement {
        verdict: Verdict::GeneratorLimited,
        reason: Some(reason),
        rules: judged.rules,
    }
}

#[cfg(test)]
mod tests;
