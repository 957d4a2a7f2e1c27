//! The records of one of several generators: what a merge needs of it, and its row in the merged report.

use serde::{Deserialize, Serialize};

use crate::judgement::Verdict;
use crate::measured::Measured;
use crate::segment::Segment;
use crate::time_text::format_time;

/// The report of a generator, as far as a merge needs it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SegmentRecord {
    /// The part of the load that it sent.
    pub segment: Segment,
    /// Version of the program.
    pub version: String,
    /// Name of its machine.
    pub host: String,
    /// Identity of a running machine, whose programs share a clock; `None` if the kernel has none.
    pub boot_id: Option<String>,
    /// SHA-256 of the plan of all generators.
    pub plan_sha256: String,
    /// The target in a few words.
    pub target: String,
    /// When it started by the clock of the reference, in Unix time.
    pub start_unix_ns: i64,
    /// Its clock compared with the reference; `None` without one.
    pub clock: Option<ClockRecord>,
    /// What it has measured.
    pub sums: Measured,
}

/// A clock compared with a reference, before and after a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockRecord {
    /// URL of the reference.
    pub reference: String,
    /// Time by which the reference was ahead before the load. The start is corrected by it.
    pub ahead_ns: i64,
    /// Change of that until the end.
    pub drifted_ns: i64,
    /// Time by which a clock, here or there, was set during the load; 0: not set.
    pub stepped_ns: i64,
    /// Maximum error of a time of this generator on the clock of the reference; `None` if the reference was lost.
    pub bound_ns: Option<i64>,
}

/// A generator of a merged report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeRecord {
    /// The part of the load that it sent: `1/3`.
    pub segment: Segment,
    /// Name of its machine.
    pub host: String,
    /// Its own verdict; `None` if it was stopped early or no answer came.
    pub verdict: Option<Verdict>,
    /// Why its load is not valid.
    pub reason: Option<String>,
    /// Whether it was stopped early.
    pub interrupted: bool,
    /// Requests that it sent.
    pub sent: u64,
    /// Complete answers.
    pub requests: u64,
    /// Good answers per second.
    pub rps: f64,
    /// Time from its first request to its end.
    pub elapsed_s: f64,
    /// Its clock; `None` on one machine.
    pub clock: Option<ClockRecord>,
}

impl ClockRecord {
    /// Why times of this generator cannot be compared with those of others; `None` if they can.
    #[must_use]
    pub fn problem(&self, most_ns: i64) -> Option<String> {
        let time = |time_ns: i64| {
            #[expect(clippy::cast_precision_loss, reason = "shown to people")]
            format_time(time_ns as f64)
        };
        let reference = &self.reference;
        match self.bound_ns {
            None => Some(format!(
                "the clock of {reference} could not be read after the load"
            )),
            Some(bound_ns) if bound_ns <= most_ns => None,
            Some(_) if self.stepped_ns != 0 => Some(format!(
                "a clock was set by {} during the load, here or at {reference}",
                time(self.stepped_ns)
            )),
            Some(bound_ns) => Some(format!(
                "its clock is known within {} of that of {reference} (at most {})",
                time(bound_ns),
                time(most_ns)
            )),
        }
    }
}
