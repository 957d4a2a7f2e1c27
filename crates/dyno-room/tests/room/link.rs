//! A room with an emulated link between its two sides.

use std::cell::RefCell;
use std::collections::BTreeSet;

use libtest_mimic::Failed;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::Test;
use crate::stage::{
    Ended, Stage, descendants, holds, in_some_time, processes_with, read_report, same, wait_until,
};

pub const TESTS: &[(&str, Test)] = &[
    (
        "a_link_is_measured_before_anything_is_started",
        a_link_is_measured_before_anything_is_started,
    ),
    (
        "an_impossible_link_is_refused_and_reported",
        an_impossible_link_is_refused_and_reported,
    ),
    (
        "everything_in_a_room_is_reached_over_a_link",
        everything_in_a_room_is_reached_over_a_link,
    ),
    (
        "packets_before_a_drive_are_not_charged_to_the_engine",
        packets_before_a_drive_are_not_charged_to_the_engine,
    ),
    (
        "the_same_seed_loses_the_same_packets",
        the_same_seed_loses_the_same_packets,
    ),
    (
        "a_long_check_can_be_interrupted",
        a_long_check_can_be_interrupted,
    ),
    (
        "a_link_that_is_killed_leaves_nothing",
        a_link_that_is_killed_leaves_nothing,
    ),
];

/// Tests that need an otherwise idle machine, run with `--ignored` like tests with `#[ignore]`.
pub const MEASUREMENTS: &[(&str, Test)] =
    &[("a_link_matches_its_settings", a_link_matches_its_settings)];

pub const ROOT_TESTS: &[(&str, Test)] = &[(
    "a_machine_without_tun_devices_names_the_remedy",
    a_machine_without_tun_devices_names_the_remedy,
)];

fn number(ended: &Ended, path: &str) -> Option<u64> {
    ended.report.pointer(path).and_then(Value::as_u64)
}

/// Run a check of a link and verify what holds in any case. On a busy machine the link may miss its settings, and then reports that.
fn checked(stage: &Stage) -> Result<Ended, Failed> {
    let link = "up.delay=150ms,down.delay=50ms,rate=50mbit";
    let ended = stage.run(&["--link", link, "--link-check", "on"], &["true"])?;
    let said = ended.stderr();
    same("rtt", number(&ended, "/link/rtt_ns"), Some(200_000_000))?;
    let measured = number(&ended, "/link/measured/rtt_ns/p50");
    // No packet is ever early.
    holds(
        &said,
        measured.is_none_or(|measured| measured >= 200_000_000),
    )?;
    holds(&said, said.contains("link: asked rtt 200 ms, "))?;
    // The packets of the check are not the subject's.
    for counter in ["/link/up/packets", "/link/down/packets"] {
        same(counter, number(&ended, counter), Some(0))?;
    }
    Ok(ended)
}

fn a_link_is_measured_before_anything_is_started(stage: &Stage) -> Result<(), Failed> {
    let ended = checked(stage)?;
    if ended.output.status.code() == Some(125) {
        same("verdict", &ended.report["link"]["verdict"], "missed")?;
        return same("outcome", &ended.report["outcome"], "link_limited");
    }
    same("status", ended.output.status.code(), Some(0))?;
    same("verdict", &ended.report["link"]["verdict"], "held")?;
    // The check sent a quarter of a megabyte each way.
    for counter in ["/subject/sent_bytes", "/subject/received_bytes"] {
        same(counter, number(&ended, counter), Some(0))?;
    }
    Ok(())
}

fn a_link_matches_its_settings(stage: &Stage) -> Result<(), Failed> {
    let ended = checked(stage)?;
    same(
        &ended.stderr(),
        &ended.report["link"]["verdict"],
        &Value::from("held"),
    )
}

fn an_impossible_link_is_refused_and_reported(stage: &Stage) -> Result<(), Failed> {
    let ended = stage.run(
        &["--link", "rate=1tbit", "--link-check", "on"],
        &["echo", "started"],
    )?;
    same("status", ended.output.status.code(), Some(125))?;
    same("the subject's output", ended.stdout(), "")?;
    same("outcome", &ended.report["outcome"], "link_limited")?;
    same("verdict", &ended.report["link"]["verdict"], "missed")?;
    let reason = ended.report["reason"].as_str().unwrap_or_default();
    holds(reason, reason.starts_with("the link is not as requested: "))
}

fn everything_in_a_room_is_reached_over_a_link(stage: &Stage) -> Result<(), Failed> {
    let table = [
        ("10.0.0.1:80", "10.0.0.1"),
        ("[2001:db8:ffff::9]:80", "2001:db8:ffff::9"),
        ("198.18.0.1:80", "198.18.0.1"),
        ("[2001:2::1]:80", "2001:2::1"),
        ("10.67.0.1:80", "ConnectionRefused"),
        ("[2001:db8:67::1]:80", "ConnectionRefused"),
        ("silent:10.66.0.1:80", "TimedOut"),
        ("1.1.1.1:80", "NetworkUnreachable"),
    ];
    for link in ["rtt=4ms", "rate=20mbit,mtu=1280", "rtt=1ms,loss=1%"] {
        let subject: Vec<&str> = ["connect"]
            .into_iter()
            .chain(table.map(|(address, _)| address))
            .collect();
        let ended = stage.run(&["--link", link], &stage.subject(&subject))?;
        let found: Vec<String> = ended.stdout().lines().map(str::to_owned).collect();
        same(link, found, table.map(|(_, outcome)| outcome))
            .map_err(|_| format!("{link}: {}{}", ended.stdout(), ended.stderr()))?;
    }
    Ok(())
}

/// The packets before the driver's start change no figure of the drive.
fn packets_before_a_drive_are_not_charged_to_the_engine(stage: &Stage) -> Result<(), Failed> {
    let program = stage.program();
    let server = "\"$0\" subject datagrams 50000 0; exec \"$0\" subject greet 8080";
    let server = [
        "sh".into(),
        "-c".into(),
        server.into(),
        program.clone().into_os_string(),
    ];
    // The engine greets in the peer's network, where the driver runs: work without the link.
    let driver = format!(
        "{} subject connect {}",
        program.display(),
        "127.0.0.1:80 ".repeat(500)
    );
    let ended = stage.run(&["--link", "rtt=1ms", "--driver", &driver], &server)?;
    same("outcome", &ended.report["outcome"], "ok")?;
    same("greetings", ended.stdout(), "127.0.0.1\n".repeat(500))?;
    let of = |path| number(&ended, path).unwrap_or(0);
    // Packets beyond its queue are lost before it.
    let carried = of("/link/up/packets");
    holds(
        &format!("the link carried {carried} packets"),
        carried >= 5_000,
    )?;
    let engine = of("/engine/cpu_user_ns") + of("/engine/cpu_system_ns");
    holds(&format!("the engine took {engine} ns"), engine > 0)
}

fn the_same_seed_loses_the_same_packets(stage: &Stage) -> Result<(), Failed> {
    // With short pauses the emulator on a busy machine may not have read all packets when their sender ends.
    in_some_time(&[1, 10, 100], |pause_ms| {
        same_packets_are_lost(stage, &pause_ms.to_string())
    })
}

fn same_packets_are_lost(stage: &Stage, pause_ms: &str) -> Result<(), Failed> {
    let lost = |seed: &str| -> Result<u64, Failed> {
        let link = ["--link", "up.loss=10%,mtu=1400", "--link-seed", seed];
        let ended = stage.run(&link, &stage.subject(&["datagrams", "2000", pause_ms]))?;
        let of = |path| number(&ended, path).ok_or_else(|| ended.stderr());
        same("packets", of("/link/up/packets")?, 2000_u64)?;
        same("super-packets", of("/link/up/super_packets")?, 0_u64)?;
        Ok(of("/link/up/lost")?)
    };
    let first = lost("7")?;
    same("lost", lost("7")?, first)?;
    // Of 2000, 200 are expected, with a standard deviation of 13.4: tolerance of five.
    holds(&format!("{first} lost"), (133..=267).contains(&first))?;
    let others: BTreeSet<u64> = ["8", "9", "10"]
        .into_iter()
        .map(lost)
        .collect::<Result<_, _>>()?;
    holds(
        "another seed loses other packets",
        others != BTreeSet::from([first]),
    )
}

fn a_long_check_can_be_interrupted(stage: &Stage) -> Result<(), Failed> {
    let token = stage.token();
    let (engine, report) = stage.start(
        &["--link", "rtt=600s,rate=1gbit", "--link-check", "on"],
        &["sh", "-c", "sleep 600", &token],
    )?;
    let engine = RefCell::new(engine);
    let pid = Pid::from_child(&engine.borrow());
    // The first process shows that the engine has entered its room, where signals stay pending until they are read.
    wait_until("the room has a first process", || {
        processes_with(&token).len() == 2
    })?;
    kill_process(pid, Signal::INT)?;
    // Without the interruption, the check takes more than ten minutes.
    wait_until("the engine ends", || {
        matches!(engine.borrow_mut().try_wait(), Ok(Some(_)))
    })?;
    let output = engine.into_inner().wait_with_output()?;
    same("status", output.status.code(), Some(130))?;
    same("outcome", &read_report(&report)["outcome"], "interrupted")?;
    wait_until("every process of the room ends", || {
        processes_with(&token).is_empty()
    })
}

fn a_link_that_is_killed_leaves_nothing(stage: &Stage) -> Result<(), Failed> {
    let token = stage.token();
    let subject = stage.subject(&["sleep", &token]);
    let (mut engine, _) = stage.start(&["--link", "rtt=10ms,rate=100mbit"], &subject)?;
    wait_until("the subject starts", || {
        processes_with(&token).iter().any(|&pid| is_subject(pid))
    })?;
    let namespaces = namespaces_of(&processes_with(&token));
    let pid = i32::try_from(engine.id())?;
    kill_process(Pid::from_raw(pid).ok_or("a process number")?, Signal::KILL)?;
    engine.wait()?;
    // The devices end with their namespaces, and those with their last process.
    wait_until("every process of the room ends", || {
        let mut left = descendants().into_iter();
        processes_with(&token).is_empty()
            && !left
                .any(|pid| namespace(&pid.to_string()).is_some_and(|of| namespaces.contains(&of)))
    })
}

fn is_subject(pid: i32) -> bool {
    let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    arguments.split(|&byte| byte == 0).nth(1) == Some(b"subject")
}

/// Return the network namespaces of these processes, except this one's.
fn namespaces_of(pids: &[i32]) -> BTreeSet<String> {
    let own = namespace("self");
    pids.iter()
        .filter_map(|pid| namespace(&pid.to_string()))
        .filter(|found| Some(found) != own.as_ref())
        .collect()
}

fn namespace(process: &str) -> Option<String> {
    let link = std::fs::read_link(format!("/proc/{process}/ns/net")).ok()?;
    Some(link.to_string_lossy().into_owned())
}

fn a_machine_without_tun_devices_names_the_remedy(stage: &Stage) -> Result<(), Failed> {
    let program = stage.program();
    let program = program.to_str().ok_or("a path that is not UTF-8")?;
    let mut command = std::process::Command::new(program);
    command.args(["subject", "without-tun", program, "engine"]);
    command.args(["--link", "rtt=1ms", "--", "true"]);
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    same("status", output.status.code(), Some(125)).map_err(|_| text.to_string())?;
    same("lines", text.lines().count(), 1)?;
    holds(
        &text,
        text.contains("opening /dev/net/tun, which an emulated link needs")
            && text.contains("modprobe tun"),
    )
}
