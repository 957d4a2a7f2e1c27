//! The load generator: starts it, waits for it, and ends it with the drive.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use dyno_room::ended_children_cpu_time;
use rustix::process::{Pid, Signal, kill_process_group};

use super::report::Generator;

/// Variable with the server's URL, set by a room for the drive, and by the drive for the generator.
pub const SERVER_URL: &str = "SERVER_URL";
/// Poll interval.
const PIECE: Duration = Duration::from_millis(5);
/// Time from SIGTERM to SIGKILL: the drive itself must end within a second.
const ENDING: Duration = Duration::from_millis(400);

/// Runs a program to its end, or until the drive is stopped; it inherits standard output and error.
pub fn run(argv: &[String], authority: &str, is_stopped: &dyn Fn() -> bool) -> Result<Generator> {
    let (program, arguments) = argv.split_first().context("no generator is named")?;
    let before = ended_children_cpu_time();
    let started_at = SystemTime::now().duration_since(UNIX_EPOCH);
    let begun = Instant::now();
    let mut child = Command::new(program)
        .args(arguments)
        .env(SERVER_URL, format!("http://{authority}"))
        // Its child processes are in the group, and are ended with it.
        .process_group(0)
        .spawn()
        .with_context(|| format!("{program}: the generator cannot be started"))?;
    let status = wait(&mut child, is_stopped).with_context(|| format!("waiting for {program}"))?;
    let after = ended_children_cpu_time();
    Ok(Generator {
        exit_code: status.code(),
        signal: status.signal(),
        started_at_ns: nanos(started_at.unwrap_or_default()),
        wall_ns: nanos(begun.elapsed()),
        cpu_user_ns: after.cpu_user_ns - before.cpu_user_ns,
        cpu_system_ns: after.cpu_system_ns - before.cpu_system_ns,
    })
}

fn wait(child: &mut Child, is_stopped: &dyn Fn() -> bool) -> std::io::Result<ExitStatus> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let signal = |signal| {
        if let Some(group) = group {
            // The whole group may have ended just now; the signal then does nothing.
            kill_process_group(group, signal).ok();
        }
    };
    let mut ends: Option<Instant> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        match ends {
            None if is_stopped() => {
                signal(Signal::TERM);
                ends = Some(Instant::now() + ENDING);
            }
            Some(end) if Instant::now() >= end => {
                signal(Signal::KILL);
                return child.wait();
            }
            _ => {}
        }
        thread::sleep(PIECE);
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
