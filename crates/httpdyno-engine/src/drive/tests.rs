//! Drives of right and wrong servers over real connections.

mod stage;

use std::net::{Ipv4Addr, SocketAddr};
use std::thread;

use clap::Parser;
use serde_json::{Value, json};

use super::*;
use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
use stage::{Mistake, Stage, scratch};

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

/// A generator that ends when a file exists.
const UNTIL: [&str; 3] = ["sh", "-c", "until [ -e \"$0\" ]; do sleep 0.02; done"];
/// Generous overhead, for a right server on a busy machine.
const LONG_OVERHEAD: Duration = Duration::from_secs(120);

/// Drives a server; returns the report.
fn driven(mistake: Mistake, more: &[&str], generator: &[&str]) -> Value {
    let url = Stage::open(mistake);
    driven_at(&url, LONG_OVERHEAD, more, generator, &|| false)
}

/// Drives a server until it has answered `enough` requests, or has refused two.
fn driven_until(enough: u32, mistake: Mistake, more: &[&str], generator: [&str; 3]) -> Value {
    let file = scratch();
    let url = Stage::open_for(mistake, enough, &file);
    let [shell, option, script] = generator;
    let generator = [shell, option, script, file.to_str().unwrap()];
    let report = driven_at(&url, LONG_OVERHEAD, more, &generator, &|| false);
    std::fs::remove_file(file).unwrap();
    report
}

fn driven_at(
    url: &str,
    overhead: Duration,
    more: &[&str],
    generator: &[&str],
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Value {
    let mut line = vec!["drive", "--report", "/dev/null", "--every", "5ms"];
    line.extend(["--patience", "300s", "--server", url]);
    if !more.contains(&"--workloads-ms") {
        line.extend(["--workloads-ms", "40,80"]);
    }
    line.extend(more);
    line.push("--");
    line.extend(generator);
    let Line { arguments } = Line::try_parse_from(line).unwrap();
    let server = locate(&server_url(&arguments).unwrap()).unwrap();
    let contract = Contract {
        overhead,
        ..contract(&arguments)
    };
    let report = drive(&arguments, &server, &contract, is_stopped).unwrap();
    serde_json::to_value(report).unwrap()
}

/// The failed checks with their evidence.
fn failed(checks: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    checks
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["passed"] == false)
        .map(|check| (text(&check["check"]), text(&check["evidence"])))
        .collect()
}

#[test]
fn a_server_that_keeps_its_contract_is_right() {
    let [shell, option, script] = UNTIL;
    let exits = format!("{script}; sleep 0.1; exit 7");
    // 14 requests come before the load; the sixth under load is answered after the fifth is recorded.
    let report = driven_until(20, Mistake::Nothing, &[], [shell, option, &exits]);
    assert_eq!(report["verdict"], "right", "{report}");
    let names: Vec<&str> = report["before"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| check["check"].as_str().unwrap())
        .collect();
    let due = [
        "plain",
        "json",
        "workloads",
        "workloads_by_get",
        "workloads_at_once",
        "malformed",
        "count_below_1",
    ];
    assert_eq!(names, due);
    assert_eq!(report["after"].as_array().unwrap().len(), 3);
    let during = &report["during"];
    assert!(during["right"].as_u64() > Some(2), "{during}");
    assert_eq!(
        (&during["wrong"], &during["failed"]),
        (&json!(0), &json!(0))
    );
    assert!(
        during["slowest_ns"].as_u64() >= Some(60_000_000),
        "{during}"
    );
    // The exit code of the generator is reported, and does not affect the verdict.
    assert_eq!(report["generator"]["exit_code"], 7);
    assert!(report["generator"]["wall_ns"].as_u64() >= Some(100_000_000));
}

#[test]
fn a_server_without_workloads_is_checked_for_documents_only() {
    let expect = ["--expect", "plain,json"];
    let report = driven(Mistake::NeverWaits, &expect, &["sleep", "0.1"]);
    assert_eq!(report["verdict"], "right", "{report}");
    assert_eq!(report["before"].as_array().unwrap().len(), 2);
}

#[test]
fn the_generator_is_not_started_against_a_wrong_server() {
    let cases = [
        (Mistake::WrongNumber, "json", "321321 instead of 123123"),
        (Mistake::MixesTexts, "workloads_at_once", "text 1 is"),
        (Mistake::AcceptsAnything, "malformed", "200 instead of 400"),
        (Mistake::WaitsInTurn, "workloads", "not in parallel"),
        (Mistake::NeverWaits, "workloads", "before the longest wait"),
        (Mistake::Babbles, "plain", "no HTTP"),
    ];
    thread::scope(|scope| {
        for (mistake, check, evidence) in cases {
            scope.spawn(move || {
                // A server that never waits is certainly too early for a long wait; on a busy machine it may be late
                // enough for a short one.
                let waits = match mistake {
                    Mistake::NeverWaits => "40,60000",
                    _ => "40,80",
                };
                let url = Stage::open(mistake);
                let more = ["--workloads-ms", waits];
                let report = driven_at(&url, OVERHEAD, &more, &["false"], &|| false);
                assert_eq!(report["verdict"], "wrong", "{report}");
                assert_eq!(report["generator"], Value::Null, "{report}");
                let found = failed(&report["before"]);
                let either = |(name, text): &(String, String)| {
                    // The mixed-up text may be that of either request.
                    (name == check || mistake == Mistake::MixesTexts) && text.contains(evidence)
                };
                assert!(found.iter().any(either), "{mistake:?}: {found:?}");
            });
        }
    });
}

#[test]
fn a_missing_server_has_not_answered() {
    // The port is bound, so that no other process takes it, and does not listen.
    let taken = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&taken, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let address = SocketAddr::try_from(getsockname(&taken).unwrap()).unwrap();
    let report = driven_at(
        &format!("http://{address}"),
        OVERHEAD,
        &[],
        &["false"],
        &|| false,
    );
    assert_eq!(report["verdict"], "unanswered", "{report}");
    let (_, evidence) = &failed(&report["before"])[0];
    assert_eq!(evidence, "no connection: connection refused");
}

#[test]
fn an_answer_that_is_wrong_only_under_load_is_detected() {
    let expect = ["--expect", "json"];
    let wrong = Mistake::WrongNumberFrom(5);
    let report = driven_until(10, wrong, &expect, UNTIL);
    assert_eq!(report["verdict"], "wrong", "{report}");
    assert_eq!(failed(&report["before"]), []);
    let during = &report["during"];
    assert!(during["wrong"].as_u64() > Some(0), "{during}");
    let evidence = during["evidence"][0].as_str().unwrap();
    assert!(evidence.starts_with("/json, asked "), "{evidence}");
    assert!(evidence.ends_with("321321 instead of 123123"), "{evidence}");
}

#[test]
fn a_server_that_dies_under_load_has_not_answered() {
    let expect = ["--expect", "plain"];
    let report = driven_until(u32::MAX, Mistake::DiesAfter(4), &expect, UNTIL);
    assert_eq!(report["verdict"], "unanswered", "{report}");
    assert_eq!(failed(&report["after"])[0].0, "plain");
    assert!(report["during"]["failed"].as_u64() > Some(0), "{report}");
    assert_eq!(report["generator"]["exit_code"], 0);
}

#[test]
fn a_stopped_drive_stops_its_generator() {
    let url = Stage::open(Mistake::Nothing);
    let expect = ["--expect", "plain"];
    for generator in [
        ": > \"$0\"; exec sleep 600",
        "trap '' TERM; : > \"$0\"; sleep 600; sleep 600",
    ] {
        let file = scratch();
        let generator = ["sh", "-c", generator, file.to_str().unwrap()];
        let report = driven_at(&url, LONG_OVERHEAD, &expect, &generator, &|| file.exists());
        std::fs::remove_file(&file).unwrap();
        assert_eq!(report["interrupted"], true);
        assert_eq!(report["verdict"], "unanswered", "{report}");
        // A signal ended it.
        assert!(report["generator"]["signal"].is_i64(), "{report}");
    }
}
