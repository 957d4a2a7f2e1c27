//! Sums of the seconds of a load, for programs that read counters: they never fall.

use std::collections::BTreeMap;

use dyno_load::{Buckets, LabelCounts, Rate, Second};

/// Counters and histograms since a start. Warm-ups are not counted.
#[derive(Debug, Clone, Default)]
pub struct Sums {
    /// Upper ends of the buckets, in nanoseconds.
    bounds_ns: &'static [u64],
    /// The schedule; `None` in a closed loop.
    pub rate: Option<Rate>,
    pub sent: u64,
    pub statuses: BTreeMap<u16, u64>,
    pub errors: BTreeMap<&'static str, u64>,
    /// Answers that are not good.
    pub failed_answers: u64,
    pub content_bytes: u64,
    pub opened: u64,
    pub not_opened: u64,
    pub in_flight: u64,
    /// Seconds since the start of the trial or step.
    elapsed_s: f64,
    /// Response times of good answers.
    pub response: Buckets,
    /// Response times of the other answers.
    pub failed: Buckets,
    pub send_lag: Buckets,
    /// By label; empty where no labels are counted.
    pub labels: Vec<(String, LabelCounts)>,
}

impl Sums {
    /// Sums of nothing, with histograms of these bounds.
    pub fn new(bounds_ns: &'static [u64], rate: Option<Rate>) -> Self {
        Self {
            bounds_ns,
            rate,
            ..Self::default()
        }
    }

    /// Follows the schedule of a new trial or step.
    pub fn begin(&mut self, rate: Option<Rate>) {
        (self.rate, self.elapsed_s, self.in_flight) = (rate, 0.0, 0);
    }

    /// Adds a second, unless it is one of the warm-up.
    pub fn add(&mut self, second: &Second<'_>) {
        if second.is_warm_up {
            return;
        }
        let row = &second.row;
        self.sent += row.sent;
        for (status, count) in second.statuses() {
            *self.statuses.entry(status).or_default() += count;
        }
        for (kind, count) in second.errors() {
            *self.errors.entry(kind).or_default() += count;
        }
        self.failed_answers += second.failed_answers();
        self.content_bytes += row.content_bytes;
        self.opened += second.opened();
        self.not_opened += second.not_opened();
        self.in_flight = row.open;
        self.elapsed_s = second.end_s;
        self.response.add(&second.response_buckets(self.bounds_ns));
        self.failed.add(&second.failed_buckets(self.bounds_ns));
        self.send_lag.add(&second.send_lag_buckets(self.bounds_ns));
        for ((_, own), other) in self.labels.iter_mut().zip(second.labels()) {
            own.add(other);
        }
    }

    /// Rate of the schedule now, per second.
    pub fn target_rate(&self) -> Option<f64> {
        self.rate.as_ref().map(|rate| rate.at_s(self.elapsed_s))
    }
}
