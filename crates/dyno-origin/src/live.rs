//! State of a running origin that can be read from outside: progress, and the number of requests in flight.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dyno_io::Count;
use serde::Serialize;

/// The state of a running origin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// Requests with a complete head.
    pub requests: u64,
    /// Answers whose last byte was passed to the kernel.
    pub answers: u64,
    /// Requests whose answer is not complete.
    pub in_flight: u64,
    /// Bytes passed to the kernel.
    pub sent_bytes: u64,
    /// Bytes received from the kernel.
    pub received_bytes: u64,
}

/// A count that one thread writes and any thread may read. It has a cache line to itself, and the next one, which the
/// processor prefetches.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Live {
    pub(crate) requests: Count,
    pub(crate) answers: Count,
    pub(crate) sent_bytes: Count,
    pub(crate) received_bytes: Count,
}

/// State that all threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) live: Vec<Live>,
    start: Instant,
    /// Start of the trial, in nanoseconds after `start`.
    began_ns: AtomicU64,
    flight: Flight,
    /// Number of requests for each host and target of the hosts that count them, in this trial.
    counted: Mutex<HashMap<(String, String), u32>>,
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Flight {
    now: AtomicU64,
    peak: AtomicU64,
}

impl Snapshot {
    /// Returns the counts since an earlier reading.
    #[must_use]
    pub(crate) fn since(self, earlier: &Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(earlier.requests),
            answers: self.answers.saturating_sub(earlier.answers),
            in_flight: self.in_flight,
            sent_bytes: self.sent_bytes.saturating_sub(earlier.sent_bytes),
            received_bytes: self.received_bytes.saturating_sub(earlier.received_bytes),
        }
    }
}

impl Shared {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            live: (0..threads).map(|_| Live::default()).collect(),
            start: Instant::now(),
            began_ns: AtomicU64::new(0),
            flight: Flight::default(),
            counted: Mutex::default(),
        }
    }

    /// Counts a request; returns the number of earlier ones for the same target in this trial.
    pub(crate) fn count(&self, host: &str, target: &str) -> u32 {
        let mut counted = self.counted();
        let count = counted
            .entry((host.to_owned(), target.to_owned()))
            .or_default();
        let earlier = *count;
        *count = count.saturating_add(1);
        earlier
    }

    fn counted(&self) -> MutexGuard<'_, HashMap<(String, String), u32>> {
        // Each count is stored at once, so a panic leaves nothing inconsistent.
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the trial: elapsed time and the peak count from now on.
    pub(crate) fn begin(&self) {
        self.counted().clear();
        let now = self.flight.now.load(Ordering::Relaxed);
        self.flight.peak.store(now, Ordering::Relaxed);
        self.began_ns
            .store(nanos(self.start, Instant::now()), Ordering::Relaxed);
    }

    /// Nanoseconds from the start of the trial to `moment`; 0 before the start.
    pub(crate) fn elapsed_ns(&self, moment: Instant) -> u64 {
        nanos(self.start, moment).saturating_sub(self.began_ns.load(Ordering::Relaxed))
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let sum = |count: fn(&Live) -> &Count| self.live.iter().map(|live| count(live).get()).sum();
        Snapshot {
            requests: sum(|live| &live.requests),
            answers: sum(|live| &live.answers),
            in_flight: self.flight.now.load(Ordering::Relaxed),
            sent_bytes: sum(|live| &live.sent_bytes),
            received_bytes: sum(|live| &live.received_bytes),
        }
    }

    pub(crate) fn peak(&self) -> u64 {
        self.flight.peak.load(Ordering::Relaxed)
    }

    /// Counts a request as in flight until the returned value is dropped.
    pub(crate) fn in_flight(&self) -> InFlight<'_> {
        self.depart();
        InFlight(self)
    }

    /// Like [`Shared::in_flight`], for a caller that calls [`Shared::land`] itself.
    pub(crate) fn depart(&self) {
        let now = self.flight.now.fetch_add(1, Ordering::Relaxed) + 1;
        if now > self.flight.peak.load(Ordering::Relaxed) {
            self.flight.peak.fetch_max(now, Ordering::Relaxed);
        }
    }

    /// Notes that a request is no longer in flight.
    pub(crate) fn land(&self) {
        self.flight.now.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A request in flight.
#[derive(Debug)]
pub(crate) struct InFlight<'s>(&'s Shared);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.land();
    }
}

/// Nanoseconds from `start` to `end`; 0 if `end` is not later.
pub(crate) fn nanos(start: Instant, end: Instant) -> u64 {
    u64::try_from(end.saturating_duration_since(start).as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_is_what_was_in_flight_at_once() {
        let shared = Shared::new(1);
        let first = shared.in_flight();
        drop(shared.in_flight());
        drop(first);
        drop(shared.in_flight());
        assert_eq!((shared.peak(), shared.snapshot().in_flight), (2, 0));
    }
}
