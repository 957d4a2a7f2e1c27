//! `--format ndjson`: a line of JSON for each second, while the load runs.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use dyno_load::{Second, Summary};
use serde::Serialize;

/// Writes the lines to standard output.
///
/// A thread of its own does so: a reader that pauses does not delay the load, whose lines wait in memory then.
#[derive(Debug)]
pub struct Intervals {
    lines: Sender<String>,
    thread: JoinHandle<io::Result<()>>,
    trial: usize,
}

impl Intervals {
    /// Starts to write; sets `stop` when the reader closes.
    pub fn start(stop: Arc<AtomicBool>) -> io::Result<Self> {
        let (lines, written) = mpsc::channel::<String>();
        let thread = thread::Builder::new().name("intervals".to_owned());
        let thread = thread.spawn(move || {
            let mut out = io::stdout().lock();
            for line in written {
                let done = out.write_all(line.as_bytes()).and_then(|()| out.flush());
                if done.is_err() {
                    stop.store(true, Ordering::Relaxed);
                    return done;
                }
            }
            Ok(())
        })?;
        Ok(Self {
            lines,
            thread,
            trial: 0,
        })
    }

    /// Begins a trial, numbered from 0.
    pub const fn begin(&mut self, trial: usize) {
        self.trial = trial;
    }

    /// Writes a second.
    pub fn second(&self, second: &Second<'_>) {
        if let Ok(line) = serde_json::to_string(&Interval::new(self.trial, second)) {
            // After a failed write the thread is gone, and the load ends.
            let _ = self.lines.send(line + "\n");
        }
    }

    /// Waits until all lines are written.
    pub fn finish(self) -> io::Result<()> {
        drop(self.lines);
        match self.thread.join() {
            Ok(written) => written,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// The object of a second. Its names are those of `--format json`, its times milliseconds.
#[derive(Debug, Serialize)]
struct Interval<'s> {
    r#type: &'static str,
    trial: usize,
    phase: &'static str,
    start_s: u64,
    end_s: f64,
    sent: u64,
    requests: u64,
    rps: Option<f64>,
    errors: u64,
    mean: Option<f64>,
    p50: Option<f64>,
    p90: Option<f64>,
    p99: Option<f64>,
    p99_9: Option<f64>,
    max: Option<f64>,
    send_lag_p99: Option<f64>,
    content_bytes: u64,
    in_flight: u64,
    statuses: BTreeMap<u16, u64>,
    failures: &'s BTreeMap<&'static str, u64>,
    /// The histogram of the response times, as in the report.
    hdr: Option<String>,
}

impl<'s> Interval<'s> {
    #[expect(clippy::cast_precision_loss, reason = "counts and times of a second")]
    fn new(trial: usize, second: &'s Second<'_>) -> Self {
        let row = &second.row;
        let good = row.requests - second.failed_answers();
        let length_s = second.end_s - row.at_s as f64;
        let response = second.response();
        let time = |read: fn(&Summary) -> f64| response.as_ref().map(|times| read(times) * 1e-6);
        Self {
            r#type: "interval",
            trial,
            phase: if second.is_warm_up { "warm-up" } else { "load" },
            start_s: row.at_s,
            end_s: second.end_s,
            sent: row.sent,
            requests: row.requests,
            rps: (length_s > 0.0).then(|| good as f64 / length_s),
            errors: row.errors + second.failed_answers(),
            mean: time(|times| times.mean_ns),
            p50: time(|times| times.p50_ns as f64),
            p90: time(|times| times.p90_ns as f64),
            p99: time(|times| times.p99_ns as f64),
            p99_9: time(|times| times.p99_9_ns as f64),
            max: time(|times| times.max_ns as f64),
            send_lag_p99: row.send_lag_p99_ns.map(|time_ns| time_ns as f64 * 1e-6),
            content_bytes: row.content_bytes,
            in_flight: row.open,
            statuses: second.statuses(),
            failures: second.errors(),
            hdr: response.map(|times| times.hdr),
        }
    }
}
