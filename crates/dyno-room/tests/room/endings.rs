//! Ends of a trial: deadlines, interruptions, daemons left behind.

use std::cell::RefCell;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use libtest_mimic::Failed;
use rustix::process::{Pid, Signal, kill_process};

use crate::Test;
use crate::stage::{
    Ended, Stage, control_groups_of, holds, in_some_time, processes_with, read_report, same,
    wait_until,
};

pub const TESTS: &[(&str, Test)] = &[
    (
        "a_deadline_sends_sigterm_first",
        a_deadline_sends_sigterm_first,
    ),
    (
        "a_deadline_kills_a_subject_that_ignores_sigterm",
        a_deadline_kills_a_subject_that_ignores_sigterm,
    ),
    (
        "a_deadline_ends_a_stopped_subject",
        a_deadline_ends_a_stopped_subject,
    ),
    (
        "a_signal_from_outside_the_room_is_reported",
        a_signal_from_outside_the_room_is_reported,
    ),
    (
        "an_interruption_ends_the_subject_and_reports",
        an_interruption_ends_the_subject_and_reports,
    ),
    (
        "an_interruption_while_preparing_ends_the_subject",
        an_interruption_while_preparing_ends_the_subject,
    ),
    (
        "a_daemon_ends_with_its_subject",
        a_daemon_ends_with_its_subject,
    ),
    ("a_stopped_peer_cleans_up", a_stopped_peer_cleans_up),
    (
        "a_peer_that_stays_stopped_does_not_block_the_end",
        a_peer_that_stays_stopped_does_not_block_the_end,
    ),
    ("two_rooms_do_not_meet", two_rooms_do_not_meet),
    (
        "a_running_subject_owns_the_terminal",
        a_running_subject_owns_the_terminal,
    ),
];

/// Deadlines, from short to long: a subject must be ready before its deadline.
const DEADLINES_MS: [u64; 3] = [300, 3_000, 30_000];

fn a_deadline_sends_sigterm_first(stage: &Stage) -> Result<(), Failed> {
    in_some_time(&DEADLINES_MS, |deadline_ms| {
        sends_sigterm_first(stage, deadline_ms)
    })
}

fn sends_sigterm_first(stage: &Stage, deadline_ms: u64) -> Result<(), Failed> {
    let script = "trap 'echo asked; exit 3' TERM; while :; do sleep 0.01; done";
    let deadline = deadline_ms.to_string();
    let ended = stage.run(&["--deadline-ms", &deadline], &["sh", "-c", script])?;
    same("output", ended.stdout(), "asked\n")?;
    same(
        "outcome",
        ended.report["outcome"].as_str(),
        Some("deadline"),
    )?;
    same(
        "its own exit code",
        ended.report["subject"]["exit_code"].as_i64(),
        Some(3),
    )?;
    same("status", ended.output.status.code(), Some(124))
}

fn a_deadline_kills_a_subject_that_ignores_sigterm(stage: &Stage) -> Result<(), Failed> {
    in_some_time(&DEADLINES_MS, |deadline_ms| {
        kills_a_subject_that_ignores_sigterm(stage, deadline_ms)
    })
}

fn kills_a_subject_that_ignores_sigterm(stage: &Stage, deadline_ms: u64) -> Result<(), Failed> {
    let script = "trap '' TERM; while :; do sleep 0.05; done";
    let deadline = deadline_ms.to_string();
    let ended = stage.run(&["--deadline-ms", &deadline], &["sh", "-c", script])?;
    same(
        "outcome",
        ended.report["outcome"].as_str(),
        Some("deadline"),
    )?;
    same(
        "signal",
        ended.report["subject"]["signal"].as_i64(),
        Some(9),
    )?;
    let wall_ns = ended.report["subject"]["wall_ns"].as_u64().unwrap_or(0);
    let least_ns = (deadline_ms + 2_000) * 1_000_000;
    holds("it had its two seconds", wall_ns >= least_ns)
}

fn a_deadline_ends_a_stopped_subject(stage: &Stage) -> Result<(), Failed> {
    let ended = stage.run(&["--deadline-ms", "100"], &["sh", "-c", "kill -STOP $$"])?;
    same(
        "outcome",
        ended.report["outcome"].as_str(),
        Some("deadline"),
    )?;
    same(
        "signal",
        ended.report["subject"]["signal"].as_i64(),
        Some(15),
    )
}

fn a_signal_from_outside_the_room_is_reported(stage: &Stage) -> Result<(), Failed> {
    let ended = stage.run(&[], &["sh", "-c", "kill -SEGV $$"])?;
    same(
        "outcome",
        ended.report["outcome"].as_str(),
        Some("signaled"),
    )?;
    same(
        "reason",
        ended.report["reason"].as_str(),
        Some("ended by signal 11"),
    )?;
    same("status", ended.output.status.code(), Some(128 + 11))
}

fn an_interruption_ends_the_subject_and_reports(stage: &Stage) -> Result<(), Failed> {
    for signal in [Signal::TERM, Signal::INT] {
        let token = stage.token();
        let (mut engine, report) = stage.start(&[], &stage.subject(&["sleep", &token]))?;
        wait_until("the subject runs", || {
            processes_with(&token).iter().any(|pid| is_subject(*pid))
        })?;
        kill_process(Pid::from_child(&engine), signal)?;
        same("status", engine.wait()?.code(), Some(130))?;
        let report = read_report(&report);
        same("outcome", report["outcome"].as_str(), Some("interrupted"))?;
        same("signal", report["subject"]["signal"].as_i64(), Some(15))?;
        same("processes", processes_with(&token), Vec::<i32>::new())?;
        same(
            "control groups",
            control_groups_of(engine.id()),
            Vec::<std::path::PathBuf>::new(),
        )?;
    }
    Ok(())
}

/// The engine's arguments include the subject's.
fn is_subject(pid: i32) -> bool {
    let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    arguments.split(|&byte| byte == 0).nth(1) == Some(b"subject")
}

fn an_interruption_while_preparing_ends_the_subject(stage: &Stage) -> Result<(), Failed> {
    let token = stage.token();
    let subject = stage.subject(&["sleep", &token]);
    let signal_file = stage.path("go-on");
    let file = signal_file.to_str().ok_or("a folder that is not UTF-8")?;
    let (mut engine, report) = stage.start(&["--pause-until", file], &subject)?;
    // The first process shows that the engine has entered its room, where signals stay pending until they are read.
    wait_until("the room has a first process", || {
        processes_with(&token).len() == 2
    })?;
    kill_process(Pid::from_child(&engine), Signal::TERM)?;
    std::fs::write(&signal_file, "")?;
    same("status", engine.wait()?.code(), Some(130))?;
    same(
        "outcome",
        read_report(&report)["outcome"].as_str(),
        Some("interrupted"),
    )
}

fn a_daemon_ends_with_its_subject(stage: &Stage) -> Result<(), Failed> {
    let token = stage.token();
    let ended = stage.run(&[], &stage.subject(&["daemon", &token]))?;
    same("outcome", ended.report["outcome"].as_str(), Some("exited"))?;
    same("processes", processes_with(&token), Vec::<i32>::new())
}

/// A subject may stop every other process of its room, including the peer's keeper.
fn a_stopped_peer_cleans_up(stage: &Stage) -> Result<(), Failed> {
    let file = stage.path("temporary");
    let name = file.display();
    let peer = format!("trap 'rm {name}; exit 3' TERM; touch {name}; while :; do sleep 0.02; done");
    let subject =
        format!("until [ -e {name} ]; do sleep 0.02; done; echo stopping; kill -s STOP -- -1");
    let ended = ends(stage, &["--peer", &peer], &["sh", "-c", &subject])?;
    same("output", ended.stdout(), "stopping\n")?;
    same("status", ended.output.status.code(), Some(0))?;
    same("outcome", &ended.report["outcome"], "exited")?;
    holds("nothing is left", !file.exists())
}

fn a_peer_that_stays_stopped_does_not_block_the_end(stage: &Stage) -> Result<(), Failed> {
    let peer = "trap '' TERM; while :; do sleep 0.02; done";
    // The remaining processes only stop others.
    let subject = "kill -s STOP -- -1; (while kill -0 $$; do :; done; while :; do kill -s STOP -- -1; done) & exit 5";
    let ended = ends(stage, &["--peer", peer], &["sh", "-c", subject])?;
    same("status", ended.output.status.code(), Some(5))?;
    same("outcome", &ended.report["outcome"], "exited")
}

/// Run an engine that must end by itself.
fn ends(stage: &Stage, options: &[&str], subject: &[&str]) -> Result<Ended, Failed> {
    let (engine, report) = stage.start(options, subject)?;
    let engine = RefCell::new(engine);
    wait_until("the engine ends", || {
        matches!(engine.borrow_mut().try_wait(), Ok(Some(_)))
    })?;
    Ok(Ended {
        output: engine.into_inner().wait_with_output()?,
        report: read_report(&report),
    })
}

fn two_rooms_do_not_meet(stage: &Stage) -> Result<(), Failed> {
    // Both must have written their files before either reads; a folder outside of the rooms synchronizes them.
    let script = "echo $0 > /run/httpdyno/who; : > $1/$0; until [ -e $1/$2 ]; do sleep 0.02; done; \
                  cat /run/httpdyno/who; set -- /proc/[0-9]*; echo $#";
    let outside = stage.path("");
    let outside = outside.to_str().ok_or("a folder that is not UTF-8")?;
    let start = |own, other| stage.start(&[], &["sh", "-c", script, own, outside, other]);
    let (mut first, _) = start("first", "second")?;
    let (mut second, _) = start("second", "first")?;
    for (engine, name) in [(&mut first, "first"), (&mut second, "second")] {
        let mut text = String::new();
        let output = engine.stdout.as_mut().ok_or("no output")?;
        output.read_to_string(&mut text)?;
        holds("the engine ends well", engine.wait()?.success())?;
        let mut lines = text.lines();
        same("own folder", lines.next(), Some(name))?;
        // The room's first process and the shell.
        same("processes in sight", lines.next(), Some("2"))?;
    }
    Ok(())
}

/// The subject reads the terminal. Ctrl-Z stops it and the engine until the shell continues them. Ctrl-C ends only the subject. The shell
/// then reads the terminal again.
fn a_running_subject_owns_the_terminal(stage: &Stage) -> Result<(), Failed> {
    let (near, far) = terminal()?;
    let program = stage.program();
    let script = "set -m; \"$0\" engine -- sh -c 'read word; echo subject has $word; read word; echo then $word; exec sleep 600'; echo stopped $?; fg; echo status $?; read word; echo shell has $word";
    let mut command = Command::new("bash");
    command.args(["-c", script]).arg(&program);
    command
        .stdin(far.try_clone()?)
        .stdout(far.try_clone()?)
        .stderr(far);
    // SAFETY: between fork and exec only two system calls are made.
    unsafe {
        command.pre_exec(|| {
            rustix::process::setsid()?;
            rustix::process::ioctl_tiocsctty(std::io::stdin())?;
            Ok(())
        });
    }
    stage.become_user(&mut command);
    let mut shell = command.spawn()?;
    // The command owns the shell's copies of the terminal.
    drop(command);
    let mut dialogue = std::fs::File::from(near);
    let mut heard = String::new();
    for (words, awaited) in [
        ("one\n", "subject has one"),
        ("\x1a", "stopped 148"),
        ("more\n", "then more"),
        ("\x03", "status 130"),
        ("two\n", "shell has two"),
    ] {
        dialogue.write_all(words.as_bytes())?;
        while !heard.contains(awaited) {
            let mut buffer = [0; 1024];
            let length = dialogue
                .read(&mut buffer)
                .map_err(|error| format!("{heard}: {error}"))?;
            heard.push_str(&String::from_utf8_lossy(&buffer[..length]));
        }
    }
    holds("the shell ends well", shell.wait()?.success())
}

/// Open a terminal; return our end and the programs' end.
fn terminal() -> Result<(OwnedFd, OwnedFd), Failed> {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&near)?;
    unlockpt(&near)?;
    let name = ptsname(&near, Vec::new())?;
    let far = std::fs::File::options()
        .read(true)
        .write(true)
        .open(name.to_str()?)?;
    Ok((near, far.into()))
}
