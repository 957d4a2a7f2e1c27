//! The report of a run: one JSON object, version 1. Its keys are those of docs/reference/load-report.md.

use std::collections::BTreeMap;

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use serde::Serialize;

use crate::check::Checked;
use crate::judgement::Judgement;
use crate::tally::{Tally, Times};

/// The version of the report's shape.
pub(crate) const VERSION: u32 = 1;

/// All that is known of a run when it is over.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The version of its shape.
    pub version: u32,
    /// When it started, as RFC 3339 has it.
    pub started: String,
    /// From the first request to the end.
    pub elapsed_s: f64,
    /// Whether it was stopped early.
    pub interrupted: bool,
    /// Whether its figures represent the server; `None` if it was stopped early or no answer came.
    pub validity: Option<Judgement>,
    /// The request and the schedule.
    pub plan: PlanRecord,
    /// Requests that were sent.
    pub sent: u64,
    /// Answers that came whole, whatever their status.
    pub requests: u64,
    /// Good answers a second.
    pub rps: f64,
    /// CPU time of the generator.
    pub cpu_s: f64,
    /// In user mode.
    pub cpu_user_s: f64,
    /// In the kernel.
    pub cpu_system_s: f64,
    /// Most memory that the generator used.
    pub peak_memory_bytes: Option<u64>,
    /// Each thread of the generator.
    pub threads: Vec<ThreadRecord>,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Failures by name.
    pub errors: BTreeMap<&'static str, u64>,
    /// Failures, all of them.
    pub errors_total: u64,
    /// Answers that are not good: neither 2xx nor 3xx, or wrong by a check.
    pub failed_answers: u64,
    /// Requests sent again: the server closed their connection before it can have seen them.
    pub resent: u64,
    /// Answers by what `--check` found; `None` without a check.
    pub checks: Option<Checked>,
    /// Requests that had not ended.
    pub censored: Censored,
    /// Requests that were due and never sent.
    pub unsent: u64,
    /// Bytes on the wire.
    pub wire: WireRecord,
    /// Connections.
    pub connections: ConnectionsRecord,
    /// Answers by the version of HTTP.
    pub versions: BTreeMap<&'static str, u64>,
    /// From when a request was due to the end of its answer, as all times of good answers.
    pub response_time: Summary,
    /// The same, with requests that had not ended as long as they had waited.
    pub response_time_at_least: Option<Summary>,
    /// Response times of all answers, at least those with the requests that had not ended; `None` where all answers are good.
    pub response_time_all: Option<Summary>,
    /// From when a request was sent to the end of its answer.
    pub service_time: Summary,
    /// How much later than it could the generator sent; `None` in a closed loop.
    pub send_lag: Option<Summary>,
    /// Parts of the time.
    pub phases: Phases,
    /// Second by second.
    pub series: Vec<Row>,
}

/// The plan of the run.
#[derive(Debug, Clone, Serialize)]
pub struct PlanRecord {
    /// Requests in turn.
    pub urls: usize,
    /// Connections.
    pub connections: usize,
    /// Requests at a time on each.
    pub streams: usize,
    /// The version of HTTP.
    pub http: &'static str,
    /// Whether connections are kept.
    pub keepalive: bool,
    /// Rate of the schedule, at its start where it is a ramp.
    pub rate_per_s: Option<f64>,
    /// Rate at the end of a ramp.
    pub rate_end_per_s: Option<f64>,
    /// How requests keep to the rate.
    pub arrivals: Option<&'static str>,
    /// Seed of random arrivals.
    pub seed: Option<u64>,
    /// How long to send.
    pub duration_s: Option<f64>,
    /// How many requests to send.
    pub requests: Option<u64>,
    /// Timeout of a request.
    pub timeout_s: f64,
    /// The method of all requests.
    pub method: String,
    /// CPUs of the threads.
    pub cpus: Vec<usize>,
}

/// One thread.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ThreadRecord {
    /// The CPU that it is pinned to.
    pub cpu: Option<usize>,
    /// Its CPU time.
    pub cpu_s: f64,
    /// Share of the time that it was at work: on its CPU, and not spinning until a moment came.
    pub busy_share: f64,
    /// Share of the time in which it was ready to run, and others had its CPU.
    pub waiting_share: Option<f64>,
}

/// Requests that were under way when the run ended: connecting, or sent.
#[derive(Debug, Clone, Serialize)]
pub struct Censored {
    /// How many.
    pub count: u64,
    /// Age of the oldest.
    pub oldest_ns: Option<u64>,
    /// Their ages.
    pub ages: Option<Summary>,
}

/// Bytes.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct WireRecord {
    /// To the server.
    pub sent_bytes: u64,
    /// From the server.
    pub received_bytes: u64,
    /// Content of the answers, as it was sent.
    pub content_bytes: u64,
}

/// Connections.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ConnectionsRecord {
    /// Made.
    pub opened: u64,
    /// That could not be made.
    pub failed: u64,
    /// Full TLS handshakes.
    pub tls_full: u64,
    /// Resumed TLS handshakes.
    pub tls_resumed: u64,
    /// Requests on a connection that had carried one before.
    pub reused_requests: u64,
}

/// Parts of the time that requests took; absent what none of them did.
#[derive(Debug, Clone, Serialize)]
pub struct Phases {
    /// To find the address of a host.
    pub dns: Option<Summary>,
    /// To make a connection.
    pub connect: Option<Summary>,
    /// Of a TLS handshake.
    pub tls: Option<Summary>,
    /// Until the first byte of an answer.
    pub first_byte: Option<Summary>,
    /// From there to its last byte.
    pub content: Option<Summary>,
}

/// A histogram in figures, and whole.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// How many were counted.
    pub count: u64,
    /// The shortest.
    pub min_ns: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub stdev_ns: f64,
    /// The longest.
    pub max_ns: u64,
    /// Median.
    pub p50_ns: u64,
    /// 75th percentile.
    pub p75_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p99_9_ns: u64,
    /// 99.99th percentile.
    pub p99_99_ns: u64,
    /// Steps of the cumulative distribution.
    pub quantiles: Vec<(f64, u64)>,
    /// The whole histogram (`HdrHistogram` V2, base64).
    pub hdr: String,
}

/// One second of the run.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Row {
    /// When it began, since the start.
    pub at_s: u64,
    /// Requests sent in it.
    pub sent: u64,
    /// Answers that ended in it.
    pub requests: u64,
    /// Requests that failed in it.
    pub errors: u64,
    /// Content that came in it.
    pub content_bytes: u64,
    /// Median response time.
    pub response_p50_ns: Option<u64>,
    /// 99th percentile of the response time.
    pub response_p99_ns: Option<u64>,
    /// Longest response time.
    pub response_max_ns: Option<u64>,
    /// 99th percentile of the service time.
    pub service_p99_ns: Option<u64>,
    /// 99th percentile of the send lag.
    pub send_lag_p99_ns: Option<u64>,
    /// Requests without an answer at its end.
    pub open: u64,
}

impl Report {
    /// Response times of what has ended, but nothing less than is known of all requests.
    ///
    /// A request that had not ended takes longer than it has waited. Counted so, many of them make a percentile longer; few
    /// young ones, as a closed loop has at its end, would make it shorter, and do not count. `None` where nothing has ended.
    #[must_use]
    pub fn response(&self) -> Option<Summary> {
        let ended = self.response_time.some()?;
        let all = self.response_time_at_least.as_ref().and_then(Summary::some);
        Some(all.map_or_else(|| ended.clone(), |all| ended.at_least(all)))
    }

    /// Requests that failed: without an answer, or with one that is not good.
    #[must_use]
    pub const fn failed(&self) -> u64 {
        self.errors_total + self.failed_answers
    }

    /// Requests that ended, with an answer or without.
    #[must_use]
    pub const fn ended(&self) -> u64 {
        self.requests + self.errors_total
    }

    /// Share of the time in which the busiest thread was busy.
    #[must_use]
    pub fn busy_share(&self) -> Option<f64> {
        self.threads
            .iter()
            .map(|thread| thread.busy_share)
            .reduce(f64::max)
    }

    /// Share of the time in which others had the CPU of the thread that waited longest for it.
    #[must_use]
    pub fn waiting_share(&self) -> Option<f64> {
        self.threads
            .iter()
            .filter_map(|thread| thread.waiting_share)
            .reduce(f64::max)
    }
}

impl Summary {
    /// `None` where nothing was counted.
    #[must_use]
    pub fn some(&self) -> Option<&Self> {
        (self.count > 0).then_some(self)
    }

    pub(crate) fn at_least(&self, all: &Self) -> Self {
        Self {
            mean_ns: self.mean_ns.max(all.mean_ns),
            max_ns: self.max_ns.max(all.max_ns),
            p50_ns: self.p50_ns.max(all.p50_ns),
            p75_ns: self.p75_ns.max(all.p75_ns),
            p90_ns: self.p90_ns.max(all.p90_ns),
            p95_ns: self.p95_ns.max(all.p95_ns),
            p99_ns: self.p99_ns.max(all.p99_ns),
            p99_9_ns: self.p99_9_ns.max(all.p99_9_ns),
            p99_99_ns: self.p99_99_ns.max(all.p99_99_ns),
            ..self.clone()
        }
    }

    pub(crate) fn new(times: &Times) -> Self {
        let times = times.histogram();
        let at = |quantile| times.value_at_quantile(quantile);
        Self {
            count: times.len(),
            min_ns: times.min(),
            mean_ns: times.mean(),
            stdev_ns: times.stdev(),
            max_ns: times.max(),
            p50_ns: at(0.5),
            p75_ns: at(0.75),
            p90_ns: at(0.9),
            p95_ns: at(0.95),
            p99_ns: at(0.99),
            p99_9_ns: at(0.999),
            p99_99_ns: at(0.9999),
            quantiles: times
                .iter_quantiles(5)
                .map(|step| (step.quantile(), step.value_iterated_to()))
                .collect(),
            hdr: compressed(times),
        }
    }

    /// `None` where nothing was measured.
    pub(crate) fn of_some(times: &Times) -> Option<Self> {
        (!times.histogram().is_empty()).then(|| Self::new(times))
    }
}

fn compressed(times: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(times, &mut bytes)
        .expect("memory takes what is written");
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

impl Row {
    pub(crate) fn new(at_s: u64, tally: &Tally, open: u64) -> Self {
        let at = |times: &Times, quantile| {
            let times = times.histogram();
            (!times.is_empty()).then(|| times.value_at_quantile(quantile))
        };
        Self {
            at_s,
            sent: tally.counts.sent,
            requests: tally.counts.requests,
            errors: tally.errors_total(),
            content_bytes: tally.counts.content_bytes,
            response_p50_ns: at(&tally.response, 0.5),
            response_p99_ns: at(&tally.response, 0.99),
            response_max_ns: at(&tally.response, 1.0),
            service_p99_ns: at(&tally.service, 0.99),
            send_lag_p99_ns: at(&tally.send_lag, 0.99),
            open,
        }
    }
}
