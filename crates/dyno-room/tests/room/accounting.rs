//! Accounts of subjects: CPU time of a whole tree, memory, memory limits.

use std::time::Duration;

use libtest_mimic::Failed;
use serde_json::Value;

use crate::Test;
use crate::stage::{Stage, control_groups_of, holds, in_some_time, read_report, same};

const MEBIBYTE: u64 = 1024 * 1024;

pub const TESTS: &[(&str, Test)] = &[
    ("cpu_time_is_the_subjects_own", cpu_time_is_the_subjects_own),
    (
        "cpu_time_of_abandoned_children_is_included",
        cpu_time_of_abandoned_children_is_included,
    ),
    (
        "children_reaped_by_the_kernel_count_in_control_groups",
        children_reaped_by_the_kernel_count_in_control_groups,
    ),
    ("memory_is_sampled", memory_is_sampled),
    (
        "a_short_peak_of_memory_is_seen",
        a_short_peak_of_memory_is_seen,
    ),
    (
        "cpu_time_is_sampled_over_the_trial",
        cpu_time_is_sampled_over_the_trial,
    ),
    (
        "a_memory_limit_is_enforced_or_the_report_says_why_not",
        a_memory_limit_is_enforced_or_the_report_says_why_not,
    ),
    (
        "times_and_windows_are_consistent",
        times_and_windows_are_consistent,
    ),
];

/// Tests that require root.
pub const ROOT_TESTS: &[(&str, Test)] = &[(
    "version_2_of_control_groups_accounts_too",
    version_2_of_control_groups_accounts_too,
)];

fn cpu_ns(report: &Value) -> u64 {
    ["cpu_user_ns", "cpu_system_ns"]
        .iter()
        .filter_map(|part| report["subject"][part].as_u64())
        .sum()
}

/// Durations of a subject's work: with a longer one, its fixed costs, such as its start, matter less.
const TIMES_MS: [u64; 3] = [200, 2_000, 20_000];

fn cpu_time_is_the_subjects_own(stage: &Stage) -> Result<(), Failed> {
    in_some_time(&TIMES_MS, |time_ms| {
        let ended = stage.run(&[], &stage.subject(&["burn", &time_ms.to_string()]))?;
        let burned: u64 = ended.stdout().trim().parse()?;
        let counted = cpu_ns(&ended.report);
        // The subject's start and end count, too, but no other process's work.
        holds(
            &format!("{counted} of {burned}"),
            counted >= burned && counted < 2 * burned,
        )
    })
}

fn cpu_time_of_abandoned_children_is_included(stage: &Stage) -> Result<(), Failed> {
    let ended = stage.run(&[], &stage.subject(&["abandon", "100"]))?;
    let burned: u64 = ended.stdout().trim().parse()?;
    let counted = cpu_ns(&ended.report);
    holds(&format!("{counted} of {burned}"), counted >= burned)
}

/// If a program ignores SIGCHLD, the kernel reaps its children, and `wait4` never returns their CPU time.
fn children_reaped_by_the_kernel_count_in_control_groups(stage: &Stage) -> Result<(), Failed> {
    in_some_time(&TIMES_MS, |time_ms| {
        let subject = stage.subject(&["ignore", &time_ms.to_string()]);
        let ended = stage.run(&[], &subject)?;
        let burned: u64 = ended.stdout().trim().parse()?;
        let counted = cpu_ns(&ended.report);
        same(
            &format!("{counted} of {burned} are all"),
            counted >= burned,
            ended.report["subject"]["accounting"] != "rusage",
        )
    })
}

/// The memory is released before the second sample, often before the first.
fn a_short_peak_of_memory_is_seen(stage: &Stage) -> Result<(), Failed> {
    let ended = stage.run(&[], &stage.subject(&["hold", "256", "0"]))?;
    let peak = ended.report["subject"]["peak_memory_bytes"].as_u64();
    holds(
        &format!("peak {peak:?}"),
        peak.is_some_and(|peak| (256 * MEBIBYTE..320 * MEBIBYTE).contains(&peak)),
    )
}

fn memory_is_sampled(stage: &Stage) -> Result<(), Failed> {
    in_some_time(&TIMES_MS, |time_ms| memory_is_sampled_in(stage, time_ms))
}

fn memory_is_sampled_in(stage: &Stage, time_ms: u64) -> Result<(), Failed> {
    let ended = stage.run(&[], &stage.subject(&["hold", "64", &time_ms.to_string()]))?;
    let peak = ended.report["subject"]["peak_memory_bytes"]
        .as_u64()
        .unwrap_or(0);
    holds(
        &format!("peak {peak}"),
        (64 * MEBIBYTE..128 * MEBIBYTE).contains(&peak),
    )?;
    let samples = ended.report["subject"]["memory"]
        .as_array()
        .ok_or("no samples")?;
    let instants: Vec<u64> = samples
        .iter()
        .filter_map(|sample| sample[0].as_u64())
        .collect();
    holds("samples ascend", instants.is_sorted() && instants.len() > 2)
}

fn cpu_time_is_sampled_over_the_trial(stage: &Stage) -> Result<(), Failed> {
    in_some_time(&TIMES_MS, |time_ms| points_in(stage, time_ms))
}

fn points_in(stage: &Stage, time_ms: u64) -> Result<(), Failed> {
    let ended = stage.run(&[], &stage.subject(&["burn", &time_ms.to_string()]))?;
    let burned: u64 = ended.stdout().trim().parse()?;
    let subject = &ended.report["subject"];
    let points: Vec<[u64; 3]> = serde_json::from_value(subject["cpu"].clone())?;
    if subject["accounting"] == "rusage" {
        return same("points where no group accounts", points.len(), 0);
    }
    for column in 0..3 {
        holds(
            "no number goes back",
            points.is_sorted_by_key(|point| point[column]),
        )?;
    }
    holds(&format!("{} points", points.len()), points.len() > 10)?;
    let last = points.last().map_or(0, |&[_, user, system]| user + system);
    holds(
        &format!("{burned} <= {last} <= {}", cpu_ns(&ended.report)),
        burned <= last && last <= cpu_ns(&ended.report),
    )
}

fn a_memory_limit_is_enforced_or_the_report_says_why_not(stage: &Stage) -> Result<(), Failed> {
    let limit = 64 * MEBIBYTE;
    let ended = stage.run(
        &["--memory", &limit.to_string()],
        &stage.subject(&["hold", "256", "50"]),
    )?;
    let subject = &ended.report["subject"];
    same(
        "the requested limit",
        subject["memory_limit_bytes"].as_u64(),
        Some(limit),
    )?;
    if subject["memory_limit_enforced_by"].is_null() {
        eprintln!(
            "no limit as {}: {}",
            stage.user(),
            subject["memory_limit_reason"]
        );
        holds("a reason", subject["memory_limit_reason"].is_string())?;
        return same("outcome", ended.report["outcome"].as_str(), Some("exited"));
    }
    same("reason", &subject["memory_limit_reason"], &Value::Null)?;
    same(
        "out of memory",
        subject["out_of_memory"].as_bool(),
        Some(true),
    )?;
    same(
        "outcome",
        ended.report["outcome"].as_str(),
        Some("signaled"),
    )?;
    same("signal", subject["signal"].as_i64(), Some(9))?;
    same("status", ended.output.status.code(), Some(137))?;
    let reason = ended.report["reason"].as_str().unwrap_or_default();
    holds(reason, reason.contains("out of memory"))
}

/// Removes the hierarchies of version 1 in a mount namespace of the test.
fn version_2_of_control_groups_accounts_too(stage: &Stage) -> Result<(), Failed> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo")?;
    if !mounts.contains(" - cgroup2 ") {
        eprintln!("control groups of version 2 are not mounted: not tested");
        return Ok(());
    }
    let program = stage.program();
    let report = stage.path("report.json");
    let mut command = std::process::Command::new(&program);
    command.args(["subject", "version-2-only"]).arg(&program);
    command
        .args(["engine", "--memory", "1073741824", "--report"])
        .arg(&report);
    command.arg("--").args(stage.subject(&["burn", "100"]));
    let engine = command.stdout(std::process::Stdio::piped()).spawn()?;
    let number = engine.id();
    let output = engine.wait_with_output()?;
    let burned: u64 = String::from_utf8(output.stdout)?.trim().parse()?;
    let report = read_report(&report);
    let subject = &report["subject"];
    same(
        "accounting",
        subject["accounting"].as_str(),
        Some("cgroup-v2"),
    )?;
    let counted = cpu_ns(&report);
    holds(
        &format!("{counted} of {burned}"),
        counted >= burned && counted < 2 * burned,
    )?;
    let enforced = subject["memory_limit_enforced_by"].is_string();
    holds(
        "a limit or a reason",
        enforced != subject["memory_limit_reason"].is_string(),
    )?;
    same(
        "control groups",
        control_groups_of(number),
        Vec::<std::path::PathBuf>::new(),
    )
}

fn times_and_windows_are_consistent(stage: &Stage) -> Result<(), Failed> {
    in_some_time(&TIMES_MS, |time_ms| times_are_consistent(stage, time_ms))
}

fn times_are_consistent(stage: &Stage, time_ms: u64) -> Result<(), Failed> {
    let time = Duration::from_millis(time_ms).as_secs_f64().to_string();
    let ended = stage.run(&[], &["sleep", &time])?;
    let subject = &ended.report["subject"];
    let number = |key: &str| subject[key].as_u64().unwrap_or(0);
    let wall = number("wall_ns");
    let distance = number("ended_at_ns").saturating_sub(number("started_at_ns"));
    holds(
        "the wall time covers the sleep",
        wall >= time_ms * 1_000_000,
    )?;
    // Two clocks are read one after the other: the time between the readings does not grow with the duration.
    holds(
        &format!("{wall} and {distance}"),
        wall.abs_diff(distance) < wall / 4,
    )?;
    for cpu in ended.report["cpus"].as_array().ok_or("no CPUs")? {
        let window = cpu["window_ns"].as_u64().unwrap_or(0);
        holds("the window covers the trial", window >= wall)?;
    }
    Ok(())
}
