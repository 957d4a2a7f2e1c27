//! Servers as subjects: readiness, driver, end, and every failure.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Child;

use libtest_mimic::Failed;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::Test;
use crate::stage::{Stage, holds, processes_with, read_report, same, wait_until};

pub const TESTS: &[(&str, Test)] = &[
    (
        "a_server_is_driven_and_then_ended",
        a_server_is_driven_and_then_ended,
    ),
    (
        "the_driver_of_a_dead_server_receives_sigterm",
        the_driver_of_a_dead_server_receives_sigterm,
    ),
    (
        "a_driver_that_does_not_end_is_killed",
        a_driver_that_does_not_end_is_killed,
    ),
    (
        "a_server_that_never_listens_is_ended_without_a_drive",
        a_server_that_never_listens_is_ended_without_a_drive,
    ),
    (
        "a_driver_that_cannot_be_executed_ends_the_server",
        a_driver_that_cannot_be_executed_ends_the_server,
    ),
    (
        "an_interruption_ends_server_and_driver",
        an_interruption_ends_server_and_driver,
    ),
    (
        "killing_the_engine_leaves_neither_server_nor_driver",
        killing_the_engine_leaves_neither_server_nor_driver,
    ),
];

/// Start a server that ends when its driver makes a file of this name; the process that serves stays behind.
fn mortal(stage: &Stage, file: &Path) -> Vec<OsString> {
    let script = "\"$0\" subject greet 8080 & while ! [ -e \"$1\" ]; do sleep 0.02; done; exit 3";
    [
        "sh".into(),
        "-c".into(),
        script.into(),
        stage.program().into_os_string(),
        file.into(),
    ]
    .to_vec()
}

fn part<'r>(report: &'r Value, part: &str, keys: &[&str]) -> Vec<&'r Value> {
    keys.iter().map(|key| &report[part][key]).collect()
}

fn a_server_is_driven_and_then_ended(stage: &Stage) -> Result<(), Failed> {
    let driver = format!(
        "{} subject connect 198.18.0.2:8080; exit 5",
        stage.program().display()
    );
    let ended = stage.run(&["--driver", &driver], &stage.subject(&["greet", "8080"]))?;
    let report = &ended.report;
    same("output of the driver", ended.stdout(), "hello\n")?;
    same("status", ended.output.status.code(), Some(0))?;
    same("outcome", &report["outcome"], "ok")?;
    same("reason", &report["reason"], &Value::Null)?;
    same("the driver is no peer", &report["peer"], &Value::Null)?;
    same(
        "server",
        part(report, "server", &["address", "port", "state"]),
        [&json!("198.18.0.2"), &json!(8080), &json!("served")],
    )?;
    same(
        "driver",
        part(report, "driver", &["exit_code", "signal"]),
        [&json!(5), &Value::Null],
    )?;
    let number = |part: &str, key: &str| report[part][key].as_u64().unwrap_or(0);
    let (ready_ns, started_ns) = (number("server", "ready_ns"), number("driver", "started_ns"));
    holds("ready, then driven", 0 < ready_ns && ready_ns <= started_ns)?;
    holds(
        "driven, then ended",
        started_ns + number("driver", "wall_ns") <= number("subject", "wall_ns"),
    )?;
    let samples = report["server"]["descriptors"].as_array();
    holds(
        "descriptors",
        samples.is_some_and(|samples| !samples.is_empty()),
    )?;
    holds("a limit", number("server", "descriptor_limit") > 0)
}

fn the_driver_of_a_dead_server_receives_sigterm(stage: &Stage) -> Result<(), Failed> {
    let token = stage.token();
    let file = stage.path("driven");
    let driver = format!(
        "trap 'exit 7' TERM; {} subject sleep {token} & touch {}; wait",
        stage.program().display(),
        file.display()
    );
    let ended = stage.run(&["--driver", &driver], &mortal(stage, &file))?;
    let report = &ended.report;
    same("outcome", &report["outcome"], "died")?;
    same(
        "reason",
        &report["reason"],
        "the server ended by itself (exit code 3) while it was driven",
    )?;
    same("state", &report["server"]["state"], "died")?;
    same("exit code", &report["subject"]["exit_code"], 3)?;
    same("the driver's own end", &report["driver"]["exit_code"], 7)?;
    same("status", ended.output.status.code(), Some(0))?;
    same("processes", processes_with(&token), Vec::<i32>::new())
}

fn a_driver_that_does_not_end_is_killed(stage: &Stage) -> Result<(), Failed> {
    let file = stage.path("driven");
    let driver = format!(
        "trap '' TERM; touch {}; while :; do sleep 0.05; done",
        file.display()
    );
    let ended = stage.run(&["--driver", &driver], &mortal(stage, &file))?;
    same("outcome", &ended.report["outcome"], "died")?;
    same(
        "driver",
        part(&ended.report, "driver", &["exit_code", "signal"]),
        [&Value::Null, &json!(9)],
    )
}

fn a_server_that_never_listens_is_ended_without_a_drive(stage: &Stage) -> Result<(), Failed> {
    let token = stage.token();
    let ended = stage.run(
        &["--driver", "echo driven", "--ready-ms", "300"],
        &stage.subject(&["sleep", &token]),
    )?;
    let report = &ended.report;
    same("output", ended.stdout(), "")?;
    same("outcome", &report["outcome"], "never_listened")?;
    same(
        "reason",
        &report["reason"],
        "the server accepted no connection at 198.18.0.2:8080 within 300ms",
    )?;
    same(
        "server",
        part(report, "server", &["state", "ready_ns"]),
        [&json!("never_listened"), &Value::Null],
    )?;
    same("driver", &report["driver"], &Value::Null)?;
    same("processes", processes_with(&token), Vec::<i32>::new())
}

fn a_driver_that_cannot_be_executed_ends_the_server(stage: &Stage) -> Result<(), Failed> {
    let ended = stage.run(
        &["--driver-program", "/no/such"],
        &stage.subject(&["greet", "8080"]),
    )?;
    same("outcome", &ended.report["outcome"], "failed_to_start")?;
    let reason = ended.report["reason"].as_str().unwrap_or_default();
    holds(reason, reason.contains("/no/such"))?;
    same("status", ended.output.status.code(), Some(127))
}

fn an_interruption_ends_server_and_driver(stage: &Stage) -> Result<(), Failed> {
    let token = stage.token();
    let (mut engine, report) = start_driven(stage, &token)?;
    kill_process(Pid::from_child(&engine), Signal::TERM)?;
    same("status", engine.wait()?.code(), Some(130))?;
    let report = read_report(&report);
    same("outcome", &report["outcome"], "interrupted")?;
    same("the driver was asked", &report["driver"]["signal"], 15)?;
    same("processes", processes_with(&token), Vec::<i32>::new())
}

fn killing_the_engine_leaves_neither_server_nor_driver(stage: &Stage) -> Result<(), Failed> {
    let token = stage.token();
    let (mut engine, _) = start_driven(stage, &token)?;
    kill_process(Pid::from_child(&engine), Signal::KILL)?;
    engine.wait()?;
    wait_until("every process ends", || processes_with(&token).is_empty())
}

/// Start an engine and wait until its driver runs; server and driver have the token among their arguments.
fn start_driven(stage: &Stage, token: &str) -> Result<(Child, PathBuf), Failed> {
    let program = stage.program();
    let driver = format!("exec {} subject sleep {token}", program.display());
    let server = ["sh", "-c", "\"$0\" subject greet 8080; : $1"].map(OsString::from);
    let server = [&server[..], &[program.into_os_string(), token.into()]].concat();
    let started = stage.start(&["--driver", &driver], &server)?;
    wait_until("the driver runs", || {
        processes_with(token)
            .iter()
            .any(|pid| is_sleeper(*pid, token))
    })?;
    Ok(started)
}

fn is_sleeper(pid: i32, token: &str) -> bool {
    let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut arguments = arguments.split(|&byte| byte == 0).skip(1);
    [b"subject", b"sleep".as_slice(), token.as_bytes()]
        .iter()
        .all(|expected| arguments.next() == Some(expected))
}
