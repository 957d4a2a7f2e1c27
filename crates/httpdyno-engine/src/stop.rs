//! A stop flag set by SIGINT, SIGTERM and SIGHUP, for verbs that write results before they end.

use std::io;
use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread;

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::terminal;

/// The first signal received; 0: none.
static FIRST_SIGNAL: AtomicU8 = AtomicU8::new(0);

const HANGUP: u8 = 1;
const INTERRUPT: u8 = 2;
const TERMINATE: u8 = 15;

/// Returns a flag that SIGINT, SIGTERM and SIGHUP set; a second signal ends the process.
///
/// A signal that the parent process ignores (nohup) stays ignored.
pub fn stop_at_signals() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()
        .context("starting")?;
    let (mut terminate, mut interrupt, mut hangup) = {
        let _context = runtime.enter();
        (listen(TERMINATE)?, listen(INTERRUPT)?, listen(HANGUP)?)
    };
    let flag = stop.clone();
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            let mut wait = || {
                runtime.block_on(async {
                    tokio::select! {
                        () = next(&mut terminate) => TERMINATE,
                        () = next(&mut interrupt) => INTERRUPT,
                        () = next(&mut hangup) => HANGUP,
                    }
                })
            };
            FIRST_SIGNAL.store(wait(), Ordering::Relaxed);
            flag.store(true, Ordering::Relaxed);
            let second = wait();
            terminal::restore();
            exit(128 + i32::from(second));
        })
        .context("starting a thread")?;
    Ok(stop)
}

/// The number of the first signal received.
pub fn received_signal() -> Option<u8> {
    match FIRST_SIGNAL.load(Ordering::Relaxed) {
        0 => None,
        number => Some(number),
    }
}

/// Listens for a signal from now on, in the runtime of the caller; `None` if this process ignores it.
pub fn listen(number: u8) -> io::Result<Option<Signal>> {
    let is_ignored = ignored_signals() & (1 << (number - 1)) != 0;
    (!is_ignored)
        .then(|| signal(SignalKind::from_raw(number.into())))
        .transpose()
}

/// Waits for a signal; forever for one that is ignored.
pub async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// The signals that this process ignores, as a bit mask with signal 1 in the lowest bit; 0 if the kernel does not
/// report it.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}
