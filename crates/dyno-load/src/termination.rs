//! When a run ends. No clock, no I/O.

/// Conditions that end a run; the first one to hold ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Termination {
    /// After this many requests have ended.
    pub requests: Option<u64>,
    /// After this long.
    pub duration_ns: Option<u64>,
}

impl Termination {
    /// Whether a request with this number, counted from 0, is sent at all.
    #[must_use]
    pub fn admits(&self, index: u64) -> bool {
        self.requests.is_none_or(|requests| index < requests)
    }

    /// When the run is over, if not by its requests.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.duration_ns.unwrap_or(u64::MAX)
    }
}
