//! When a run ends. No clock, no I/O.

/// Conditions that end a run; the first to be met ends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Termination {
    /// Number of requests after which the run ends.
    pub requests: Option<u64>,
    /// Time after which the run ends.
    pub duration_ns: Option<u64>,
}

impl Termination {
    /// Whether the request with this number, counted from 0, is sent.
    #[must_use]
    pub fn admits(&self, index: u64) -> bool {
        self.requests.is_none_or(|requests| index < requests)
    }

    /// Time limit of the run; `u64::MAX` without one.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.duration_ns.unwrap_or(u64::MAX)
    }
}
