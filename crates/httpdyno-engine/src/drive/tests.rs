//! Servers that keep the contract and servers that do not, driven over real connections.

mod stage;

use std::net::{Ipv4Addr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::{Value, json};

use super::*;
use stage::{Mistake, Stage};

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

/// Drives a server; the report as it is written.
fn driven(mistake: Mistake, more: &[&str], generator: &[&str]) -> Value {
    let url = Stage::open(mistake);
    driven_at(&url, more, generator, &|| false)
}

fn driven_at(
    url: &str,
    more: &[&str],
    generator: &[&str],
    given_up: &(dyn Fn() -> bool + Sync),
) -> Value {
    let always = "drive --report /dev/null --workloads-ms 40,80 --every 5ms --patience 2s --server";
    let line: Vec<&str> = always
        .split(' ')
        .chain([url])
        .chain(more.iter().copied())
        .chain(["--"])
        .chain(generator.iter().copied())
        .collect();
    let Line { arguments } = Line::try_parse_from(line).unwrap();
    let server = locate(&named(&arguments).unwrap()).unwrap();
    let report = drive(&arguments, &server, &contract(&arguments), given_up).unwrap();
    serde_json::to_value(report).unwrap()
}

/// The checks that were not passed, with their evidence.
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
    let report = driven(Mistake::Nothing, &[], &["sh", "-c", "sleep 1; exit 7"]);
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
    // How the generator ends is told, and is no matter of the server's.
    assert_eq!(report["generator"]["exit_code"], 7);
    assert!(report["generator"]["wall_ns"].as_u64() >= Some(900_000_000));
}

#[test]
fn a_server_of_documents_is_asked_for_nothing_else() {
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
                let report = driven(mistake, &[], &["false"]);
                assert_eq!(report["verdict"], "wrong", "{report}");
                assert_eq!(report["generator"], Value::Null, "{report}");
                let found = failed(&report["before"]);
                let either = |(name, said): &(String, String)| {
                    // Whose text is mixed up depends on who came last.
                    (name == check || mistake == Mistake::MixesTexts) && said.contains(evidence)
                };
                assert!(found.iter().any(either), "{mistake:?}: {found:?}");
            });
        }
    });
}

#[test]
fn a_server_that_is_not_there_has_not_answered() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let report = driven_at(&url, &[], &["false"], &|| false);
    assert_eq!(report["verdict"], "unanswered", "{report}");
    let (_, evidence) = &failed(&report["before"])[0];
    assert_eq!(evidence, "no connection: connection refused");
}

#[test]
fn what_is_wrong_only_under_load_is_seen() {
    let expect = ["--expect", "json"];
    let wrong = Mistake::WrongNumberFrom(5);
    let report = driven(wrong, &expect, &["sleep", "0.5"]);
    assert_eq!(report["verdict"], "wrong", "{report}");
    assert_eq!(failed(&report["before"]), []);
    let during = &report["during"];
    assert!(during["wrong"].as_u64() > Some(0), "{during}");
    let evidence = during["evidence"][0].as_str().unwrap();
    assert!(evidence.starts_with("/json, asked 0."), "{evidence}");
    assert!(evidence.ends_with("321321 instead of 123123"), "{evidence}");
}

#[test]
fn a_server_that_dies_under_load_has_not_answered() {
    let expect = ["--expect", "plain"];
    let report = driven(Mistake::DiesAfter(4), &expect, &["sleep", "0.5"]);
    assert_eq!(report["verdict"], "unanswered", "{report}");
    assert_eq!(failed(&report["after"])[0].0, "plain");
    assert!(report["during"]["failed"].as_u64() > Some(0), "{report}");
    assert_eq!(report["generator"]["exit_code"], 0);
}

#[test]
fn a_drive_that_is_stopped_stops_its_generator() {
    let url = Stage::open(Mistake::Nothing);
    let expect = ["--expect", "plain"];
    for generator in ["exec sleep 60", "trap '' TERM; sleep 60; sleep 60"] {
        let begun = Instant::now();
        let stopped = || begun.elapsed() > Duration::from_millis(700);
        let report = driven_at(&url, &expect, &["sh", "-c", generator], &stopped);
        assert_eq!(report["interrupted"], true);
        assert_eq!(report["verdict"], "unanswered", "{report}");
        assert!(report["generator"]["signal"].is_i64(), "{report}");
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
