//! Progress of a crawl, as JSON lines for an observer.

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use serde::Serialize;

/// Interval between two lines.
pub(crate) const EVERY: Duration = Duration::from_millis(200);

/// Writes a line five times a second.
#[derive(Debug)]
pub(crate) struct Progress {
    file: Option<File>,
    start: Instant,
    last: (Instant, u64),
}

/// Figures of one progress line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Snapshot {
    pub done: u64,
    pub errors: u64,
    pub in_flight: usize,
    pub aside: usize,
}

#[derive(Debug, Serialize)]
struct Line {
    phase: &'static str,
    elapsed_s: f64,
    done: u64,
    errors: u64,
    in_flight: usize,
    aside: usize,
    urls_per_s: f64,
}

impl Progress {
    pub(crate) fn new(file: Option<File>, start: Instant) -> Self {
        Self {
            file,
            start,
            last: (start, 0),
        }
    }

    /// Whether there is an observer.
    pub(crate) const fn is_watched(&self) -> bool {
        self.file.is_some()
    }

    pub(crate) fn write(&mut self, snapshot: Snapshot, now: Instant) {
        let Some(file) = &mut self.file else { return };
        let (since, before) = std::mem::replace(&mut self.last, (now, snapshot.done));
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let done = (snapshot.done - before) as f64;
        let line = Line {
            phase: "fetch",
            elapsed_s: (now - self.start).as_secs_f64(),
            done: snapshot.done,
            errors: snapshot.errors,
            in_flight: snapshot.in_flight,
            aside: snapshot.aside,
            urls_per_s: done / (now - since).as_secs_f64().max(1e-3),
        };
        let mut text = serde_json::to_vec(&line).unwrap_or_default();
        text.push(b'\n');
        if file.write_all(&text).is_err() {
            // The observer has closed its end; the crawl continues.
            self.file = None;
        }
    }
}
