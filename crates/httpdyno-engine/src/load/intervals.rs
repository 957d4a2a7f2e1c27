//! `--format ndjson`: a line of JSON for each second, while the load runs.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use dyno_load::{Rate, Second, Summary};
use serde::Serialize;

/// Writes the lines to standard output.
///
/// A thread of its own does so: a reader that pauses does not delay the load, whose lines wait in memory then.
#[derive(Debug)]
pub struct Intervals {
    lines: Sender<String>,
    thread: JoinHandle<io::Result<()>>,
    began: Instant,
    part: Part,
}

/// The part of a load that seconds belong to.
#[derive(Debug, Default)]
pub struct Part {
    /// Number of the trial, from 0.
    pub trial: usize,
    pub step: Step,
    /// The schedule; `None` in a closed loop.
    pub rate: Option<Rate>,
}

/// The step of a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Step {
    /// The load is no search, or its first step has not begun.
    #[default]
    None,
    /// Number of the step, from 1.
    Number(usize),
    /// A slow load between two steps, until the server answers as before.
    Recovery,
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
            began: Instant::now(),
            part: Part::default(),
        })
    }

    /// Begins a trial or step.
    pub fn begin(&mut self, part: Part) {
        self.part = part;
    }

    /// Writes a second.
    pub fn second(&self, second: &Second<'_>) {
        if let Ok(line) = serde_json::to_string(&Interval::new(
            &self.part,
            self.began.elapsed().as_secs_f64(),
            second,
        )) {
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
    step: Option<usize>,
    phase: &'static str,
    start_s: u64,
    end_s: f64,
    since_start_s: f64,
    target_rps: Option<f64>,
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
    fn new(part: &Part, since_start_s: f64, second: &'s Second<'_>) -> Self {
        let row = &second.row;
        let good = row.requests - second.failed_answers();
        let length_s = second.end_s - row.at_s as f64;
        let response = second.response();
        let time = |read: fn(&Summary) -> f64| response.as_ref().map(|times| read(times) * 1e-6);
        Self {
            r#type: "interval",
            trial: part.trial,
            step: match part.step {
                Step::Number(number) => Some(number),
                Step::None | Step::Recovery => None,
            },
            phase: match part.step {
                Step::Recovery => "recovery",
                _ if second.is_warm_up => "warm-up",
                _ => "load",
            },
            start_s: row.at_s,
            end_s: second.end_s,
            since_start_s: (since_start_s * 1e3).round() / 1e3,
            target_rps: part.rate.as_ref().map(|rate| {
                // A warm-up has the rate of the beginning.
                rate.at_s(if second.is_warm_up { 0.0 } else { second.end_s })
            }),
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
