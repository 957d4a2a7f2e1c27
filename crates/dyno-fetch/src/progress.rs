//! Progress of a crawl: JSON lines for another program, figures for an observer in this one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use serde::Serialize;

/// Interval between two lines.
pub(crate) const EVERY: Duration = Duration::from_millis(200);

/// Figures of a running crawl.
#[derive(Debug, Clone, Copy)]
pub struct Figures<'t> {
    /// Since the start.
    pub elapsed: Duration,
    /// Finished URLs.
    pub done: u64,
    /// Lines that an earlier run had finished.
    pub skipped: u64,
    /// Finished URLs by error.
    pub errors: &'t BTreeMap<&'static str, u64>,
    /// URLs in flight, and their hosts.
    pub in_flight: usize,
    /// See [`Figures::in_flight`].
    pub hosts: usize,
    /// URLs that wait for their hosts.
    pub aside: usize,
    /// Bytes received, TLS included.
    pub received_bytes: u64,
    /// Lines taken from the list, and their bytes.
    pub lines: u64,
    /// See [`Figures::lines`].
    pub list_bytes: u64,
}

/// An observer of a crawl, which gets its figures five times a second.
pub struct Observer(pub Box<dyn FnMut(Figures<'_>) + Send>);

impl std::fmt::Debug for Observer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Observer").finish_non_exhaustive()
    }
}

/// Writes a line five times a second, and calls the observer.
#[derive(Debug)]
pub(crate) struct Progress {
    file: Option<File>,
    observer: Option<Observer>,
    start: Instant,
    last: (Instant, u64),
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
    pub(crate) fn new(file: Option<File>, observer: Option<Observer>, start: Instant) -> Self {
        Self {
            file,
            observer,
            start,
            last: (start, 0),
        }
    }

    /// Whether there is an observer.
    pub(crate) const fn is_watched(&self) -> bool {
        self.file.is_some() || self.observer.is_some()
    }

    /// Whether an observer counts the hosts in flight.
    pub(crate) const fn counts_hosts(&self) -> bool {
        self.observer.is_some()
    }

    /// Time since the start.
    pub(crate) fn elapsed(&self, now: Instant) -> Duration {
        now - self.start
    }

    pub(crate) fn write(&mut self, figures: Figures<'_>, now: Instant) {
        if let Some(Observer(observe)) = &mut self.observer {
            observe(figures);
        }
        let Some(file) = &mut self.file else { return };
        let (since, before) = std::mem::replace(&mut self.last, (now, figures.done));
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let done = (figures.done - before) as f64;
        let line = Line {
            phase: "fetch",
            elapsed_s: figures.elapsed.as_secs_f64(),
            done: figures.done,
            errors: figures.errors.values().sum(),
            in_flight: figures.in_flight,
            aside: figures.aside,
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
