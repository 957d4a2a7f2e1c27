//! Requests of a step, counted per block of 50 ms of their intended time.

use serde::{Deserialize, Serialize};

use super::{BLOCK_NS, BLOCK_S, Objective};

/// Counts of a step: in each block the requests, those beyond each limit, and the sum of the response times.
///
/// A request is beyond a limit of time if it failed or took longer, and beyond `errors` if it failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepCounts {
    limits_ns: Vec<Option<u64>>,
    /// Requests per block.
    pub(crate) requests: Vec<u64>,
    /// Requests beyond each limit, per block.
    pub(crate) over: Vec<Vec<u64>>,
    /// Sum of the response times per block, of requests that had not ended the time that they had waited.
    pub(crate) sum_ns: Vec<u64>,
    /// Requests of all blocks that were beyond any limit of time after they were sent, so not only by waiting for a connection.
    pub slow_in_service: u64,
}

impl StepCounts {
    /// Counts of no request.
    #[must_use]
    pub fn new(objective: &Objective) -> Self {
        let limits_ns: Vec<_> = objective.bounds().iter().map(|one| one.time_ns).collect();
        Self {
            over: vec![Vec::new(); limits_ns.len()],
            limits_ns,
            ..Self::default()
        }
    }

    /// Counts requests that were due at a moment: `time_ns` is their response time, or for requests that have not ended the time
    /// that they have waited.
    pub fn add(&mut self, intended_ns: u64, time_ns: u64, has_failed: bool, count: u64) {
        let block = usize::try_from(intended_ns / BLOCK_NS).unwrap_or(usize::MAX);
        if block >= self.requests.len() {
            self.extend(block + 1);
        }
        self.requests[block] += count;
        self.sum_ns[block] = self.sum_ns[block].saturating_add(time_ns.saturating_mul(count));
        for (limit, over) in self.limits_ns.iter().zip(&mut self.over) {
            if has_failed || limit.is_some_and(|limit_ns| time_ns > limit_ns) {
                over[block] += count;
            }
        }
    }

    /// Notes a good answer that was slow from when it was sent, by any limit of time.
    pub fn note_service(&mut self, service_ns: u64) {
        let is_over = |limit: &Option<u64>| limit.is_some_and(|limit_ns| service_ns > limit_ns);
        self.slow_in_service += u64::from(self.limits_ns.iter().any(is_over));
    }

    fn extend(&mut self, blocks: usize) {
        self.requests.resize(blocks, 0);
        self.sum_ns.resize(blocks, 0);
        self.over.iter_mut().for_each(|over| over.resize(blocks, 0));
    }

    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: &Self) {
        if other.requests.len() > self.requests.len() {
            self.extend(other.requests.len());
        }
        let add = |own: &mut Vec<u64>, other: &[u64]| {
            own.iter_mut()
                .zip(other)
                .for_each(|(own, other)| *own += other);
        };
        add(&mut self.requests, &other.requests);
        add(&mut self.sum_ns, &other.sum_ns);
        for (own, other) in self.over.iter_mut().zip(&other.over) {
            add(own, other);
        }
        self.slow_in_service += other.slow_in_service;
    }

    /// Adds the counts of another generator; of blocks that one of the two has not ended, nothing is kept.
    pub(crate) fn merge_generator(&mut self, other: &Self) {
        let blocks = self.requests.len().min(other.requests.len());
        self.merge(other);
        self.truncate(blocks as u64 * BLOCK_NS);
    }

    /// Keeps the blocks whose requests have all ended or are beyond their limits: those that ended by `end_ns`.
    pub fn truncate(&mut self, end_ns: u64) {
        let blocks = usize::try_from(end_ns / BLOCK_NS).unwrap_or(usize::MAX);
        self.requests.truncate(blocks);
        self.sum_ns.truncate(blocks);
        self.over.iter_mut().for_each(|over| over.truncate(blocks));
        if blocks < usize::MAX {
            // A block without a request is a block as well.
            self.extend(blocks);
        }
    }

    /// Length of all blocks, in seconds.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "few blocks")]
    pub fn duration_s(&self) -> f64 {
        self.requests.len() as f64 * BLOCK_S
    }

    /// Requests of all blocks.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.requests.iter().sum()
    }

    /// The largest mean response time of a block, in nanoseconds; 0 without requests.
    #[expect(clippy::cast_precision_loss, reason = "counts and times")]
    pub(crate) fn largest_mean_ns(&self) -> f64 {
        let blocks = self.requests.iter().zip(&self.sum_ns);
        let means = blocks.map(|(requests, sum_ns)| *sum_ns as f64 / (*requests).max(1) as f64);
        means.fold(0.0, f64::max)
    }

    /// Requests beyond each limit.
    #[must_use]
    pub fn over(&self) -> Vec<u64> {
        self.over.iter().map(|over| over.iter().sum()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_in_the_block_of_their_intended_time() {
        let objective = Objective::parse("p99 < 5ms, errors < 1%").unwrap();
        let mut counts = StepCounts::new(&objective);
        counts.add(0, 5_000_000, false, 1);
        counts.add(49_999_999, 5_000_001, false, 1);
        counts.add(120_000_000, 1, true, 2);
        let mut twice = StepCounts::new(&objective);
        twice.add(0, 1, false, 1);
        twice.merge(&counts);
        twice.truncate(250_000_000);
        assert_eq!(twice.requests, [3, 0, 2, 0, 0]);
        assert_eq!(twice.over, [vec![1, 0, 2, 0, 0], vec![0, 0, 2, 0, 0]]);
        assert_eq!((twice.total(), twice.over()), (5, vec![3, 2]));
        assert!((twice.largest_mean_ns() - 10_000_002.0 / 3.0).abs() < 1e-6);
        let mut both = twice.clone();
        both.merge_generator(&counts);
        assert_eq!(
            (both.requests, both.over),
            (vec![5, 0, 4], vec![vec![2, 0, 4], vec![0, 0, 4]])
        );
        twice.truncate(99_000_000);
        assert_eq!((twice.total(), twice.over()), (3, vec![1, 0]));
    }
}
