use dyno_http::HttpVersion;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::address_tally::AddressTallies;
use crate::labels::Labels;
use crate::measured::{Measured, PackedSecond};
use crate::records::{PlanRecord, Row, ThreadRecord, WireRecord};
use crate::segment::Segment;
use crate::segment_record::ClockRecord;
use crate::stage_tally::StageTallies;
use crate::stages::Stages;
use crate::tally::{Tally, Times};

const MS: i64 = 1_000_000;

/// One request: its second, its response time, and whether its answer is good.
type Request = (u64, u64, bool);

fn plan() -> PlanRecord {
    PlanRecord {
        urls: 1,
        connections: 2,
        streams: 1,
        http: "1.1",
        keepalive: true,
        unix_socket: None,
        dns_refresh_s: None,
        proxy: None,
        reconnect_after: None,
        opened_per_s: None,
        tls_resumption_percent: 0,
        rate_per_s: Some(100.0),
        rate_end_per_s: None,
        arrivals: Some("constant"),
        seed: None,
        duration_s: Some(3.0),
        requests: None,
        timeout_s: 5.0,
        method: "GET".to_owned(),
        cpus: Vec::new(),
    }
}

fn count(tally: &mut Tally, (_, time_ns, is_good): Request) {
    tally.counts.sent += 1;
    tally.answer(if is_good { 200 } else { 503 }, HttpVersion::Http11);
    let times = if is_good {
        &mut tally.response
    } else {
        &mut tally.failed_answers
    };
    times.record(time_ns);
    tally.service.record(time_ns / 2);
    tally.send_lag.record(time_ns % 1_000);
}

/// What a generator measures that sends these requests.
fn measured(requests: &[Request], busy_share: f64) -> Measured {
    let mut total = Tally::default();
    let mut stages = StageTallies::new(&Stages::parse("100/2s,100/1s").unwrap().rate());
    let mut addresses = AddressTallies::default();
    let mut seconds: BTreeMap<u64, Tally> = BTreeMap::new();
    for request in requests {
        count(&mut total, *request);
        count(seconds.entry(request.0).or_default(), *request);
        addresses.answer(0, request.2, request.1);
        let stage = stages.at(request.0 * 1_000_000_000);
        stage.sent += 1;
        if request.2 {
            stage.response.record(request.1);
        }
    }
    total
        .censored
        .record_many(7_000_000, requests.len() as u64 % 3);
    total
        .unsent
        .record_many(9_000_000, requests.len() as u64 % 2);
    let second = |(at_s, tally): (u64, Tally)| PackedSecond::new(Row::new(at_s, &tally, 1), &tally);
    Measured {
        started_unix_ns: 1_729_512_000_000_000_000,
        end_ns: 3_000_000_000,
        interrupted: false,
        plan: plan(),
        cpu_s: (0.3, 0.1, 0.2),
        peak_memory_bytes: Some(1 << 20),
        threads: vec![ThreadRecord {
            cpu: None,
            cpu_s: 0.3,
            busy_share,
            waiting_share: Some(0.0),
        }],
        data: None,
        expects_continue: false,
        is_checked: false,
        labels: Labels::default(),
        label_tallies: Vec::new(),
        addresses: Some(addresses.named(&["127.0.0.1:80".to_owned()], None)),
        wire: WireRecord {
            sent_bytes: 10,
            received_bytes: 20,
            content_bytes: 5,
        },
        replay: None,
        warm_up: None,
        stages: Some(stages),
        seconds: seconds.into_iter().map(second).collect(),
        tolerated: BTreeMap::from([("lf_line_end", requests.len() as u64)]),
        total,
        rows: Vec::new(),
        until: None,
        blocks: None,
    }
}

fn record(number: u64, count: u64, sums: Measured) -> SegmentRecord {
    SegmentRecord {
        segment: Segment::new(number - 1, count),
        version: "0".to_owned(),
        host: format!("node-{number}"),
        boot_id: Some("boot".to_owned()),
        plan_sha256: "plan".to_owned(),
        target: "http://127.0.0.1/".to_owned(),
        start_unix_ns: 1_729_512_000_000_000_000,
        clock: None,
        sums,
    }
}

fn three() -> Vec<(String, SegmentRecord)> {
    let one = |number| {
        let sums = measured(&[(0, 1_000_000, true), (1, 2_000_000, true)], 0.2);
        (format!("{number}.json"), record(number, 3, sums))
    };
    (1..=3).map(one).collect()
}

fn clock(bound_ns: Option<i64>, stepped_ns: i64) -> ClockRecord {
    ClockRecord {
        reference: "http://a:8090".to_owned(),
        ahead_ns: 40 * MS,
        drifted_ns: 0,
        stepped_ns,
        bound_ns,
    }
}

/// Changes one part of the second report.
type Change = fn(&mut Vec<(String, SegmentRecord)>);

#[test]
fn reports_that_do_not_belong_together_are_refused() {
    let cases: [(Change, &str); 12] = [
        (
            |reports| drop(reports.remove(1)),
            "segment 2/3 is missing; without it the load was a lower one",
        ),
        (
            |reports| reports.truncate(1),
            "segments 2/3, 3/3 are missing",
        ),
        (|reports| reports.clear(), "there is no report"),
        (
            |reports| reports[1].1.segment = reports[0].1.segment,
            "segment 1/3 is in 1.json and in 2.json",
        ),
        (
            |reports| reports[1].1.segment = Segment::new(1, 4),
            "1.json and 2.json are of different loads (segments 1/3 and 2/4)",
        ),
        (
            |reports| reports[1].1.plan_sha256 = "other".to_owned(),
            "1.json and 2.json are of different loads (other requests, rates or options)",
        ),
        (
            |reports| reports[1].1.start_unix_ns += 1,
            "another --start-at",
        ),
        (
            |reports| reports[1].1.boot_id = Some("other".to_owned()),
            "1.json: segment 1/3 on node-1: its clock was not compared",
        ),
        (
            |reports| {
                for (_, one) in &mut *reports {
                    one.clock = Some(clock(Some(MS), 0));
                }
                reports[1].1.clock = Some(clock(Some(MS + 1), 0));
            },
            "2.json: segment 2/3 on node-2: its clock is known within",
        ),
        (
            |reports| reports[1].1.clock = Some(clock(Some(5 * MS), 5 * MS)),
            "2.json: segment 2/3 on node-2: a clock was set by 5 ms during the load, here or at http://a:8090; repeat",
        ),
        (
            |reports| reports[1].1.clock = Some(clock(None, 0)),
            "the clock of http://a:8090 could not be read after the load",
        ),
        (
            |reports| {
                for (_, one) in &mut *reports {
                    (one.boot_id, one.clock) = (None, Some(clock(Some(0), 0)));
                }
                if let Some(clock) = &mut reports[1].1.clock {
                    clock.reference = "http://b:8090".to_owned();
                }
            },
            "segment 2/3 on node-2: its clock was compared with another reference than that of segment 1/3",
        ),
    ];
    assert!(merge(three(), MS).is_ok());
    for (change, expected) in cases {
        let mut reports = three();
        change(&mut reports);
        let refused = merge(reports, MS).unwrap_err();
        assert!(refused.contains(expected), "{expected}: {refused}");
    }
}

#[test]
fn a_clock_within_the_bound_is_stated() {
    let mut reports = three();
    for (_, record) in &mut reports {
        (record.boot_id, record.clock) = (None, Some(clock(Some(2 * MS), 0)));
    }
    assert!(merge(reports.clone(), MS).is_err());
    let nodes = merge(reports, 2 * MS).unwrap().nodes.unwrap();
    assert!(
        nodes
            .iter()
            .all(|node| node.clock == Some(clock(Some(2 * MS), 0)))
    );
}

#[test]
fn a_limited_generator_is_named() {
    let mut reports = three();
    reports[2].1.sums = measured(&[(0, 1_000_000, true)], 0.99);
    let report = merge(reports, MS).unwrap();
    let judged = report.validity.unwrap();
    assert_eq!(judged.verdict, Verdict::GeneratorLimited);
    let reason = judged.reason.unwrap();
    assert!(
        reason.starts_with("segment 3/3 on node-3: a thread of the generator was busy"),
        "{reason}"
    );
    let verdicts: Vec<_> = report
        .nodes
        .unwrap()
        .iter()
        .map(|node| node.verdict)
        .collect();
    let valid = Some(Verdict::Valid);
    assert_eq!(verdicts, [valid, valid, Some(Verdict::GeneratorLimited)]);
}

#[test]
fn a_stopped_generator_leaves_the_load_unjudged() {
    let mut reports = three();
    reports[1].1.sums.interrupted = true;
    let report = merge(reports, MS).unwrap();
    assert!(report.interrupted && report.validity.is_none());
    let stopped: Vec<bool> = report
        .nodes
        .unwrap()
        .iter()
        .map(|node| node.interrupted)
        .collect();
    assert_eq!(stopped, [false, true, false]);
}

#[test]
fn a_damaged_histogram_is_an_error() {
    let text = serde_json::to_string(&three()[0].1).unwrap();
    for (from, to) in [
        ("HISTFAAAA", "HISTGAAAA"),
        ("\"200\":", "\"20x\":"),
        ("\"1/3\"", "\"4/3\""),
    ] {
        assert!(text.contains(from), "{from}");
        let damaged = text.replacen(from, to, 1);
        assert!(
            serde_json::from_str::<SegmentRecord>(&damaged).is_err(),
            "{from}"
        );
    }
}

/// The report without the figures that differ between one generator and several.
fn figures(mut report: Report) -> Value {
    (report.nodes, report.validity) = (None, None);
    (report.cpu_s, report.cpu_user_s, report.cpu_system_s) = (0.0, 0.0, 0.0);
    report.threads.clear();
    report.plan.connections = 0;
    (report.censored.count, report.unsent) = (0, 0);
    report.wire = measured(&[], 0.0).wire;
    report.series.iter_mut().for_each(|row| row.open = 0);
    let mut figures = serde_json::to_value(report).unwrap();
    unpack(&mut figures);
    figures
}

/// Replaces each packed histogram by its values and counts: its text also has the size that it had grown to.
fn unpack(figures: &mut Value) {
    match figures {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field.as_str().filter(|_| name == "hdr") {
                    Some(text) => *field = counts(text),
                    None => unpack(field),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(unpack),
        _ => {}
    }
}

fn counts(text: &str) -> Value {
    let times = Times::unpacked(text).unwrap();
    let recorded = times.histogram().iter_recorded();
    let counts = recorded.map(|step| json!([step.value_iterated_to(), step.count_at_value()]));
    counts.collect()
}

proptest! {
    #[test]
    fn the_merge_equals_one_generator_without_loss(
        requests in proptest::collection::vec((0_u64..3, 1_000_u64..1 << 36, any::<bool>()), 1..80),
        count in 2_usize..5,
    ) {
        let whole = {
            let mut whole = measured(&requests, 0.2);
            (whole.total.censored, whole.total.unsent) = Default::default();
            whole.report()
        };
        let mut reports = Vec::new();
        for index in 0..count {
            let own: Vec<Request> = requests.iter().skip(index).step_by(count).copied().collect();
            let mut sums = measured(&own, 0.2);
            (sums.total.censored, sums.total.unsent) = Default::default();
            let text = serde_json::to_string(&record(index as u64 + 1, count as u64, sums)).unwrap();
            reports.push((index.to_string(), serde_json::from_str(&text).unwrap()));
        }
        reports.reverse();
        prop_assert_eq!(figures(merge(reports, MS).unwrap()), figures(whole));
    }

    #[test]
    fn requests_that_have_not_ended_add_up(count in 2_u64..5, own in 0_u64..9) {
        let parts = (1..=count).map(|number| {
            let requests: Vec<Request> = (0..own + number).map(|second| (second % 3, 5_000_000, true)).collect();
            (number.to_string(), record(number, count, measured(&requests, 0.2)))
        });
        let parts: Vec<_> = parts.collect();
        let sum = |read: fn(&Report) -> u64| -> u64 { parts.iter().map(|(_, one)| read(&one.sums.report())).sum() };
        let (censored, unsent) = (sum(|one| one.censored.count), sum(|one| one.unsent));
        let merged = merge(parts.clone(), MS).unwrap();
        prop_assert_eq!((merged.censored.count, merged.unsent), (censored, unsent));
        let all = merged.response_time_at_least.map_or(merged.response_time.count, |all| all.count);
        prop_assert_eq!(all, merged.response_time.count + censored + unsent);
    }
}
