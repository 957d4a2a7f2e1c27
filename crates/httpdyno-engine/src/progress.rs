//! Progress of a trial as JSON lines, about five a second.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use crate::messages::UsageError;

const EVERY: Duration = Duration::from_millis(200);

/// Work of the origin so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counters {
    /// Requests answered.
    pub requests: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
}

/// Phase of a trial.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Phase {
    Preparing,
    Running,
    Done,
}

#[derive(Debug, Serialize)]
struct Line {
    phase: Phase,
    elapsed_ns: u64,
    requests: u64,
    requests_expected: Option<u64>,
    sent_bytes: u64,
}

/// Opens the descriptor that the caller has passed for progress.
pub fn open(descriptor: u32) -> Result<File> {
    // Opened by name, because safe Rust cannot take ownership of a bare number. If it is a file, lines are appended.
    let opened = File::options()
        .append(true)
        .open(format!("/proc/self/fd/{descriptor}"));
    match opened {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!(UsageError::new(format_args!(
            "--progress {descriptor}: this descriptor is not open; open it, as in {descriptor}>progress.jsonl"
        ))),
        opened => opened.with_context(|| format!("--progress {descriptor}: cannot write to it")),
    }
}

/// The channel of progress; without a reader nothing is written, which is not an error.
pub struct Progress {
    file: Option<File>,
    requests_expected: Option<u64>,
}

impl Progress {
    /// Opens the descriptor that the caller has passed.
    pub fn new(descriptor: Option<u32>) -> Result<Self> {
        Ok(Self {
            file: descriptor.map(open).transpose()?,
            requests_expected: None,
        })
    }

    /// Sets the number of requests of the whole trial, once it is known.
    pub fn expect(&mut self, requests: Option<u64>) {
        self.requests_expected = requests;
    }

    /// Reports that the room is being prepared.
    pub fn preparing(&mut self) {
        self.write(Phase::Preparing, Duration::ZERO, Counters::default());
    }

    /// Reports `counters` five times a second, until [`Watch::end`].
    pub fn watch(self, counters: impl Fn() -> Counters + Send + 'static) -> Watch {
        let (end, ended) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            let (mut progress, start) = (self, Instant::now());
            while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                progress.write(Phase::Running, start.elapsed(), counters());
            }
            progress.write(Phase::Done, start.elapsed(), counters());
        });
        Watch { end, thread }
    }

    fn write(&mut self, phase: Phase, elapsed: Duration, counters: Counters) {
        let Some(file) = &mut self.file else { return };
        let line = Line {
            phase,
            elapsed_ns: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
            requests: counters.requests,
            requests_expected: self.requests_expected,
            sent_bytes: counters.sent_bytes,
        };
        let mut text = serde_json::to_string(&line).unwrap_or_default();
        text.push('\n');
        if file.write_all(text.as_bytes()).is_err() {
            // The reader has closed; the trial continues.
            self.file = None;
        }
    }
}

/// A thread that reports progress.
pub struct Watch {
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl Watch {
    /// Writes the last line and ends the watch.
    pub fn end(self) {
        drop(self.end);
        // The thread writes and returns; if it panicked, the panic has been printed already.
        let _ = self.thread.join();
    }
}
