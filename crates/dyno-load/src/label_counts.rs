//! Counts by label while a load runs, with times in buckets, for an observer. No I/O.

use std::collections::BTreeMap;

use dyno_client::Failure;

/// Times counted in buckets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Buckets {
    /// Times above the bound before and up to its own, for each bound; then those above the last.
    pub counts: Vec<u64>,
    /// Sum of the times in seconds.
    pub sum_s: f64,
}

impl Buckets {
    /// Counts one time.
    #[expect(clippy::cast_precision_loss, reason = "a sum for a mean")]
    pub(crate) fn count(&mut self, time_ns: u64, bounds_ns: &[u64]) {
        self.counts.resize(bounds_ns.len() + 1, 0);
        let place = bounds_ns.partition_point(|bound_ns| *bound_ns < time_ns);
        self.counts[place] += 1;
        self.sum_s += time_ns as f64 / 1e9;
    }

    /// Adds others of the same bounds.
    pub fn add(&mut self, other: &Self) {
        let length = self.counts.len().max(other.counts.len());
        self.counts.resize(length, 0);
        for (own, other) in self.counts.iter_mut().zip(&other.counts) {
            *own += other;
        }
        self.sum_s += other.sum_s;
    }
}

/// Counts of a label's requests while a load runs, with its times in buckets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LabelCounts {
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests without an answer by cause.
    pub errors: BTreeMap<&'static str, u64>,
    /// Answers that are not good.
    pub failed_answers: u64,
    /// Response times of good answers.
    pub response: Buckets,
}

impl LabelCounts {
    /// Adds others, with the same bounds of buckets.
    pub fn add(&mut self, other: &Self) {
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        for (name, count) in &other.errors {
            *self.errors.entry(name).or_default() += count;
        }
        self.failed_answers += other.failed_answers;
        self.response.add(&other.response);
    }

    /// Counts a request of one of these labels: its status, or why it has none.
    pub(crate) fn count(
        all: &mut Vec<Self>,
        label: usize,
        ending: Result<u16, Failure>,
        good_time_ns: Option<u64>,
        bounds_ns: &[u64],
    ) {
        if all.len() <= label {
            all.resize_with(label + 1, Self::default);
        }
        let own = &mut all[label];
        match ending {
            Ok(status) => {
                *own.statuses.entry(status).or_default() += 1;
                own.failed_answers += u64::from(good_time_ns.is_none());
            }
            Err(failure) => *own.errors.entry(failure.full_name()).or_default() += 1,
        }
        if let Some(time_ns) = good_time_ns {
            own.response.count(time_ns, bounds_ns);
        }
    }
}
