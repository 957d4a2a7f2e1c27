//! Record of a calibrator: the true times with which a load generator's figures are compared.

use hdrhistogram::Histogram;
use serde::Serialize;

/// The longest time that the histogram can hold: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;
/// Significant digits of a histogram: its relative error is below one in a thousand.
const DIGITS: u8 = 3;

/// Events by the server's own clock. Times count from the end of a request's arrival.
#[derive(Debug, Clone, Serialize)]
pub struct Record {
    /// Requests that arrived completely.
    pub requests: u64,
    /// Answers that were passed to the kernel.
    pub answers: u64,
    /// Requests whose peer closed the connection before the answer was due.
    pub given_up: u64,
    /// Connections accepted.
    pub connections: u64,
    /// Time from the first arrival to the last answer.
    pub answers_span_ns: u64,
    /// Requests that arrived during a stall.
    pub arrived_in_stall: u64,
    /// Requests that were refused: answered with 429 or 503 at once. They are in every time but `drawn`.
    pub refused: u64,
    /// Time between two arrivals.
    pub gaps: Distribution,
    /// Time of service without waiting.
    pub drawn: Distribution,
    /// Time until the answer was sent.
    pub service: Distribution,
    /// Time until the answer was due.
    pub planned: Distribution,
    /// Time between when an answer was due and when it was sent.
    pub lateness: Distribution,
    /// Time in which the server did not run although it was not asleep: another program had its CPU, or, unless it may sleep, the host
    /// of a virtual machine.
    pub waiting_ns: u64,
    /// Each request, if the calibrator keeps them.
    #[serde(skip)]
    pub requests_kept: Vec<Kept>,
}

/// One request. Times are nanoseconds from the first arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// End of its arrival.
    pub arrived_ns: u64,
    /// Time of service without waiting; 0 for a request that was refused.
    pub service_ns: u64,
    /// When its answer was due.
    pub due_ns: u64,
    /// When its answer was passed to the kernel; None if its peer closed the connection before.
    pub sent_ns: Option<u64>,
    /// Status of the answer.
    pub status: u16,
}

/// A distribution of times: quantiles, and every step.
#[derive(Debug, Clone, Serialize)]
pub struct Distribution {
    /// Number of times; if 0, all other fields are 0.
    pub count: u64,
    /// The shortest time.
    pub min_ns: u64,
    /// The mean.
    pub mean_ns: f64,
    /// The median.
    pub p50_ns: u64,
    /// The 90th percentile.
    pub p90_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The 99.9th percentile.
    pub p99_9_ns: u64,
    /// The longest time.
    pub max_ns: u64,
    /// For each time that occurred, in ascending order: the time, and the number of times that are not longer.
    pub steps: Vec<(u64, u64)>,
}

impl From<&Times> for Distribution {
    fn from(times: &Times) -> Self {
        let Times { histogram, sum_ns } = times;
        let steps = histogram.iter_recorded().map(|step| {
            let time_ns = histogram.median_equivalent(step.value_iterated_to());
            (time_ns, step.count_since_last_iteration())
        });
        let ascending = steps.scan(0, |total, (time_ns, count)| {
            *total += count;
            Some((time_ns, *total))
        });
        #[expect(clippy::cast_precision_loss, reason = "53 bits suffice for a mean")]
        let mean_ns = *sum_ns as f64 / histogram.len().max(1) as f64;
        Self {
            count: histogram.len(),
            min_ns: histogram.min(),
            mean_ns,
            p50_ns: histogram.value_at_quantile(0.5),
            p90_ns: histogram.value_at_quantile(0.9),
            p99_ns: histogram.value_at_quantile(0.99),
            p99_9_ns: histogram.value_at_quantile(0.999),
            max_ns: histogram.max(),
            steps: ascending.collect(),
        }
    }
}

/// Times while they are recorded.
#[derive(Debug)]
pub(super) struct Times {
    histogram: Histogram<u64>,
    /// Exact, while the histogram rounds.
    sum_ns: u128,
}

impl Times {
    pub(super) fn new() -> Self {
        let histogram = Histogram::new_with_max(LONGEST_NS, DIGITS);
        Self {
            histogram: histogram.expect("bounds and digits are in range"),
            sum_ns: 0,
        }
    }

    pub(super) fn add(&mut self, time_ns: u64) {
        self.histogram.saturating_record(time_ns);
        self.sum_ns += u128::from(time_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_count_up_to_all() {
        let mut times = Times::new();
        for time_ns in [3_000, 1_000, 1_000, 2_000_000] {
            times.add(time_ns);
        }
        let distribution = Distribution::from(&times);
        let counts: Vec<u64> = distribution.steps.iter().map(|step| step.1).collect();
        assert_eq!(counts, [2, 3, 4]);
        assert_eq!(distribution.count, 4);
        assert!((distribution.mean_ns - 501_250.0).abs() < 1e-6);
        for (step, expected) in distribution.steps.iter().zip([1_000_u64, 3_000, 2_000_000]) {
            assert!(step.0.abs_diff(expected) * 1_000 <= expected, "{step:?}");
        }
    }

    #[test]
    fn nothing_is_a_distribution_of_nothing() {
        let distribution = Distribution::from(&Times::new());
        assert_eq!((distribution.count, distribution.max_ns), (0, 0));
        assert!(distribution.steps.is_empty());
    }
}
