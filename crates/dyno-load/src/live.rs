//! Figures of a running load, for an observer. No I/O.

use std::collections::BTreeMap;

use crate::label_counts::{Buckets, LabelCounts};
use crate::records::{Row, Summary};
use crate::tally::{Tally, Times};

/// Observer of a running load. It is called by the thread that adds up the measurements, and must not block.
pub struct Watch<'w> {
    /// Whether it also gets [`Event::Stretch`], five times a second.
    pub is_frequent: bool,
    /// Called with each event.
    pub observer: &'w mut dyn FnMut(Event<'_>),
}

/// Progress of a running load.
#[derive(Debug, Clone, Copy)]
pub enum Event<'e> {
    /// A stretch, a fifth of a second, has ended.
    Stretch(&'e Live),
    /// A second has ended.
    Second(Second<'e>),
}

/// Figures of a run in progress.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Live {
    /// Whether this is the warm-up.
    pub is_warm_up: bool,
    /// Seconds since the start.
    pub elapsed_s: f64,
    /// Requests sent so far.
    pub sent: u64,
    /// Complete answers so far.
    pub requests: u64,
    /// Requests without an answer so far.
    pub errors: u64,
    /// These by cause.
    pub errors_by_name: BTreeMap<&'static str, u64>,
    /// Answers so far that are not good.
    pub failed_answers: u64,
    /// Answers so far that a check refused.
    pub wrong: u64,
    /// Answers so far by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Connections opened so far.
    pub opened: u64,
    /// Failed attempts to connect so far.
    pub not_opened: u64,
    /// Answers per second in the last stretch.
    pub rps: f64,
    /// Requests in flight.
    pub open: u64,
    /// Median of the response times of the last stretch.
    pub response_p50_ns: Option<u64>,
    /// Their 99th percentile.
    pub response_p99_ns: Option<u64>,
}

/// A second of a run, and the sums so far.
#[derive(Debug, Clone, Copy)]
pub struct Second<'s> {
    /// Whether it is one of the warm-up.
    pub is_warm_up: bool,
    /// Figures of the second.
    pub row: Row,
    /// End of the second, since the start; the last one ends with the run.
    pub end_s: f64,
    pub(crate) tally: &'s Tally,
}

impl Second<'_> {
    /// Answers by status.
    #[must_use]
    pub fn statuses(&self) -> BTreeMap<u16, u64> {
        self.tally.statuses()
    }

    /// Requests without an answer by cause.
    #[must_use]
    pub const fn errors(&self) -> &BTreeMap<&'static str, u64> {
        self.tally.errors()
    }

    /// Answers that are not good.
    #[must_use]
    pub fn failed_answers(&self) -> u64 {
        self.tally.failed_answers.histogram().len()
    }

    /// Connections opened.
    #[must_use]
    pub const fn opened(&self) -> u64 {
        self.tally.counts.opened
    }

    /// Failed attempts to connect.
    #[must_use]
    pub const fn not_opened(&self) -> u64 {
        self.tally.counts.failed
    }

    /// Counts of the response times of good answers.
    #[must_use]
    pub fn response_buckets(&self, bounds_ns: &[u64]) -> Buckets {
        buckets(&self.tally.response, bounds_ns)
    }

    /// Counts of the response times of the other answers.
    #[must_use]
    pub fn failed_buckets(&self, bounds_ns: &[u64]) -> Buckets {
        buckets(&self.tally.failed_answers, bounds_ns)
    }

    /// Counts of the send lags.
    #[must_use]
    pub fn send_lag_buckets(&self, bounds_ns: &[u64]) -> Buckets {
        buckets(&self.tally.send_lag, bounds_ns)
    }

    /// Counts of the first labels, up to the last that had a request; none unless the plan has bounds for their times.
    #[must_use]
    pub fn labels(&self) -> &[LabelCounts] {
        &self.tally.labels
    }

    /// Response times of good answers, with their histogram; `None` without any.
    #[must_use]
    pub fn response(&self) -> Option<Summary> {
        Summary::of_some(&self.tally.response)
    }
}

/// Counts times in buckets.
#[expect(clippy::cast_precision_loss, reason = "a sum for a mean")]
fn buckets(times: &Times, bounds_ns: &[u64]) -> Buckets {
    let times = times.histogram();
    let mut counts = vec![0; bounds_ns.len() + 1];
    for step in times.iter_recorded() {
        let place = bounds_ns.partition_point(|bound_ns| *bound_ns < step.value_iterated_to());
        counts[place] += step.count_at_value();
    }
    Buckets {
        counts,
        sum_s: times.mean() * times.len() as f64 / 1e9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_first_bucket_that_reaches_it() {
        let mut times = Times::default();
        for time_ns in [1, 10, 11, 100, 100, 101] {
            times.record(time_ns);
        }
        let mut buckets = super::buckets(&times, &[10, 100]);
        assert_eq!(buckets.counts, [2, 3, 1]);
        assert!((buckets.sum_s * 1e9 - 323.0).abs() < 1e-6);
        buckets.add(&buckets.clone());
        assert_eq!(buckets.counts, [4, 6, 2]);
        let mut none = Buckets::default();
        none.add(&buckets);
        assert_eq!(none, buckets);
    }
}
