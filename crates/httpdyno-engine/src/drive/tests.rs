//! Servers that keep the contract and servers that do not, driven over real connections.

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

/// Ends when a file is there.
const UNTIL: [&str; 3] = ["sh", "-c", "until [ -e \"$0\" ]; do sleep 0.02; done"];
/// What a busy machine may make a right server take beside the waits.
const FOR_ANYTHING: Duration = Duration::from_secs(120);

/// Drives a server; the report as it is written.
fn driven(mistake: Mistake, more: &[&str], generator: &[&str]) -> Value {
    let url = Stage::open(mistake);
    driven_at(&url, FOR_ANYTHING, more, generator, &|| false)
}

/// Drives a server until it has answered so many requests, or has refused two.
fn driven_until(enough: u32, mistake: Mistake, more: &[&str], generator: [&str; 3]) -> Value {
    let file = scratch();
    let url = Stage::open_for(mistake, enough, &file);
    let [shell, option, script] = generator;
    let generator = [shell, option, script, file.to_str().unwrap()];
    let report = driven_at(&url, FOR_ANYTHING, more, &generator, &|| false);
    std::fs::remove_file(file).unwrap();
    report
}

fn driven_at(
    url: &str,
    beside: Duration,
    more: &[&str],
    generator: &[&str],
    given_up: &(dyn Fn() -> bool + Sync),
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
    let server = locate(&named(&arguments).unwrap()).unwrap();
    let contract = Contract {
        beside,
        ..contract(&arguments)
    };
    let report = drive(&arguments, &server, &contract, given_up).unwrap();
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
    let [shell, option, script] = UNTIL;
    let exits = format!("{script}; sleep 0.1; exit 7");
    // Before the load it answers 14; the sixth of those beside it is answered when the fifth is noted.
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
    // How the generator ends is told, and is no matter of the server's.
    assert_eq!(report["generator"]["exit_code"], 7);
    assert!(report["generator"]["wall_ns"].as_u64() >= Some(100_000_000));
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
                // Who does not wait is early for any wait, but on a busy machine not for a short one.
                let waits = match mistake {
                    Mistake::NeverWaits => "40,60000",
                    _ => "40,80",
                };
                let url = Stage::open(mistake);
                let more = ["--workloads-ms", waits];
                let report = driven_at(&url, BESIDE, &more, &["false"], &|| false);
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
    // The port is taken, so that nobody else gets it, and does not listen.
    let taken = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&taken, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let address = SocketAddr::try_from(getsockname(&taken).unwrap()).unwrap();
    let report = driven_at(
        &format!("http://{address}"),
        BESIDE,
        &[],
        &["false"],
        &|| false,
    );
    assert_eq!(report["verdict"], "unanswered", "{report}");
    let (_, evidence) = &failed(&report["before"])[0];
    assert_eq!(evidence, "no connection: connection refused");
}

#[test]
fn what_is_wrong_only_under_load_is_seen() {
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
fn a_drive_that_is_stopped_stops_its_generator() {
    let url = Stage::open(Mistake::Nothing);
    let expect = ["--expect", "plain"];
    for generator in [
        ": > \"$0\"; exec sleep 600",
        "trap '' TERM; : > \"$0\"; sleep 600; sleep 600",
    ] {
        let file = scratch();
        let generator = ["sh", "-c", generator, file.to_str().unwrap()];
        let report = driven_at(&url, FOR_ANYTHING, &expect, &generator, &|| file.exists());
        std::fs::remove_file(&file).unwrap();
        assert_eq!(report["interrupted"], true);
        assert_eq!(report["verdict"], "unanswered", "{report}");
        // It did not come to its own end.
        assert!(report["generator"]["signal"].is_i64(), "{report}");
    }
}
