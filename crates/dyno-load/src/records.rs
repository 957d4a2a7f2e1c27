//! The parts of a report. Their keys are those of docs/reference/load-report.md.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::check::{CheckExample, Checked};
use crate::find;
use crate::static_text;
use crate::tally::{Tally, Times};

/// A name that is kept for the life of the program. (A reference in a field would bind what is read to its text.)
pub type Name = &'static str;

/// The highest rate that meets an objective, in requests per second.
#[derive(Debug, Clone, Serialize)]
pub struct FoundRecord {
    /// The estimate; of a search that the generator limited, the highest rate that it confirmed.
    pub found_per_s: Option<f64>,
    /// The lower end of its 95 % interval.
    pub found_low_per_s: Option<f64>,
    /// The upper end; `None` if the server was not pushed to its limit.
    pub found_high_per_s: Option<f64>,
    /// The search.
    pub find: FindRecord,
}

/// A search.
#[derive(Debug, Clone, Serialize)]
pub struct FindRecord {
    /// The objective in its canonical form.
    pub objective: String,
    /// How the search ended.
    pub verdict: find::Verdict,
    /// The limit that is missed first above the rate: `p99`, `errors`.
    pub first_broken: Option<String>,
    /// Time of the search.
    pub duration_s: f64,
    /// The steps in their order.
    pub steps: Vec<FindStepRecord>,
}

/// A step of a search.
#[derive(Debug, Clone, Serialize)]
pub struct FindStepRecord {
    /// The rate of its schedule.
    pub rate_per_s: f64,
    /// Good answers per second.
    pub achieved_per_s: f64,
    /// Time whose requests were counted.
    pub duration_s: f64,
    /// Requests that were counted.
    pub requests: u64,
    /// Requests beyond each limit of the objective, in its order.
    pub over: Vec<u64>,
    /// Median response time of good answers.
    pub p50_ns: Option<u64>,
    /// Their 99th percentile.
    pub p99_ns: Option<u64>,
    /// Requests that failed.
    pub errors: u64,
    /// 99th percentile of the send lag.
    pub send_lag_p99_ns: Option<u64>,
    /// CPUs that the server used, if it runs on this machine.
    pub server_cpu: Option<f64>,
    /// Connections.
    pub connections: usize,
    /// Why the generator limited the step; `None` if it did not.
    pub limited_by: Option<String>,
}

/// Answers by the result of `--check`.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ChecksRecord {
    /// Their numbers.
    #[serde(flatten)]
    pub counts: Checked,
    /// The first wrong answer of each kind of check.
    pub examples: Vec<CheckExample>,
}

/// The plan of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanRecord {
    /// Number of requests in the list.
    pub urls: usize,
    /// Connections.
    pub connections: usize,
    /// Concurrent requests on each connection.
    pub streams: usize,
    /// Version of HTTP.
    #[serde(deserialize_with = "static_text::name")]
    pub http: Name,
    /// Whether connections are kept after a request.
    pub keepalive: bool,
    /// The Unix socket that they go to.
    pub unix_socket: Option<String>,
    /// Interval at which names are looked up again.
    pub dns_refresh_s: Option<f64>,
    /// The proxies that they go through, without credentials, each with the option or variable that names it.
    pub proxy: Option<String>,
    /// Requests after which a connection is replaced.
    pub reconnect_after: Option<NonZeroU64>,
    /// Connections opened a second, before the run.
    pub opened_per_s: Option<f64>,
    /// Share of the TLS handshakes that may resume a session, in per cent.
    pub tls_resumption_percent: u8,
    /// Rate of the schedule; of a ramp, at its start.
    pub rate_per_s: Option<f64>,
    /// Rate at the end of a ramp.
    pub rate_end_per_s: Option<f64>,
    /// Spacing of the requests.
    #[serde(deserialize_with = "static_text::optional")]
    pub arrivals: Option<Name>,
    /// Seed of random arrivals, rows and values.
    pub seed: Option<u64>,
    /// Time limit of sending.
    pub duration_s: Option<f64>,
    /// Number of requests to send.
    pub requests: Option<u64>,
    /// Timeout of a request.
    pub timeout_s: f64,
    /// Method of all requests.
    pub method: String,
    /// CPUs of the threads.
    pub cpus: Vec<usize>,
}

/// Answered requests with `Expect: 100-continue`, by what ended the wait before the body.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ExpectRecord {
    /// Status 100.
    pub continued: u64,
    /// A final answer; the body was not sent.
    pub answered: u64,
    /// Nothing for a second; the body was sent.
    pub silent: u64,
}

/// Requests of one label.
#[derive(Debug, Clone, Serialize)]
pub struct LabelRecord {
    /// The label.
    pub label: String,
    /// Labels that are counted together here; `None` for a single one.
    pub grouped: Option<u64>,
    /// Answers that came whole, whatever their status.
    pub requests: u64,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Failures by name.
    pub errors: BTreeMap<&'static str, u64>,
    /// Failures, all of them.
    pub errors_total: u64,
    /// Answers that are not good.
    pub failed_answers: u64,
    /// Response times of good answers that ended; `None` without any.
    pub response_time: Option<Summary>,
}

/// Connections to one address, and their requests.
#[derive(Debug, Clone, Serialize)]
pub struct AddressRecord {
    /// The address with its port.
    pub address: String,
    /// Addresses that are counted together here; `None` for a single one.
    pub grouped: Option<u64>,
    /// Opened connections.
    pub opened: u64,
    /// Failed attempts to connect.
    pub failed: u64,
    /// Answers that came whole, whatever their status.
    pub requests: u64,
    /// Those that are not good.
    pub failed_answers: u64,
    /// Requests that were sent and had no answer.
    pub errors: u64,
    /// Median response time of good answers; `None` without any, or beyond 100 addresses.
    pub response_p50_ns: Option<u64>,
    /// See above.
    pub response_p99_ns: Option<u64>,
}

/// Data of placeholders.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct DataRecord {
    /// Rows.
    pub rows: usize,
    /// How requests pick them.
    #[serde(deserialize_with = "static_text::name")]
    pub pick: Name,
    /// Whether the run ended because each row had been picked once.
    pub used_up: bool,
}

/// One thread.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ThreadRecord {
    /// The CPU to which it is pinned.
    pub cpu: Option<usize>,
    /// Its CPU time.
    pub cpu_s: f64,
    /// Share of the time in which it worked: on its CPU, and not spinning until a request was due.
    pub busy_share: f64,
    /// Share of the time in which it was ready to run while other programs had its CPU.
    pub waiting_share: Option<f64>,
}

/// Requests in flight when the run ended: connecting, or sent.
#[derive(Debug, Clone, Serialize)]
pub struct Censored {
    /// Number of these requests.
    pub count: u64,
    /// Age of the oldest.
    pub oldest_ns: Option<u64>,
    /// Their ages.
    pub ages: Option<Summary>,
}

/// Bytes on the wire.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct WireRecord {
    /// Bytes sent to the server.
    pub sent_bytes: u64,
    /// Bytes received from the server.
    pub received_bytes: u64,
    /// Bytes of content, before decoding.
    pub content_bytes: u64,
}

/// Connections.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct ConnectionsRecord {
    /// Opened connections.
    pub opened: u64,
    /// Failed attempts to connect.
    pub failed: u64,
    /// Full TLS handshakes.
    pub tls_full: u64,
    /// Resumed TLS handshakes.
    pub tls_resumed: u64,
    /// Requests on a connection that carried another before.
    pub reused_requests: u64,
}

/// Times of the phases of requests; `None` for a phase that no request had.
#[derive(Debug, Clone, Serialize)]
pub struct Phases {
    /// Looking up the address of a host.
    pub dns: Option<Summary>,
    /// Connecting.
    pub connect: Option<Summary>,
    /// TLS handshakes.
    pub tls: Option<Summary>,
    /// Waiting for the first byte of an answer.
    pub first_byte: Option<Summary>,
    /// Receiving the rest of the answer.
    pub content: Option<Summary>,
}

/// Statistics of a histogram, and the histogram itself.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// Number of values.
    pub count: u64,
    /// Smallest value.
    pub min_ns: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Standard deviation.
    pub stdev_ns: f64,
    /// Largest value.
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
    /// Points of the cumulative distribution: quantile and value.
    pub quantiles: Vec<(f64, u64)>,
    /// The whole histogram (`HdrHistogram` V2, base64).
    pub hdr: String,
}

/// A condition on the confidence interval of a response time, and the interval at the end.
#[derive(Debug, Clone, Serialize)]
pub struct UntilRecord {
    /// As it was given: `ci(p99) < 5%`.
    pub condition: String,
    /// Whether it ended the run.
    pub is_met: bool,
    /// The estimate; `None` where there was too little to tell, or batches depended on each other.
    pub estimate_ns: Option<f64>,
    /// The lower end of the interval.
    pub low_ns: Option<f64>,
    /// The upper end.
    pub high_ns: Option<f64>,
    /// Half of its width, as a share of the estimate.
    pub half_width_share: Option<f64>,
    /// Batches that it comes from.
    pub batches: usize,
}

/// The warm-up of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct WarmUpRecord {
    /// How long it was to take.
    pub duration_s: f64,
    /// Requests that were begun in it.
    pub requests: u64,
    /// Those that failed, by their error or status.
    pub failures: BTreeMap<String, u64>,
}

/// One stage of an open loop: the requests that were meant for it.
#[derive(Debug, Clone, Serialize)]
pub struct StageRecord {
    /// The stage as people write it: `0..1000/30s`.
    pub stage: String,
    /// When it begins, since the start.
    pub at_s: f64,
    /// How long it takes.
    pub duration_s: f64,
    /// The rate at its start.
    pub from_per_s: f64,
    /// The rate at its end.
    pub to_per_s: f64,
    /// The planned rate, on the average.
    pub planned_per_s: f64,
    /// Requests that were sent.
    pub sent: u64,
    /// Good answers.
    pub requests: u64,
    /// Good answers for each second of the stage; `None` where the run ended before it.
    pub rps: Option<f64>,
    /// Requests that failed: without an answer, or with one that is not good.
    pub errors: u64,
    /// Median response time of good answers, at least that with the requests that had not ended.
    pub response_p50_ns: Option<u64>,
    /// See above.
    pub response_p99_ns: Option<u64>,
}

/// One second of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Start of this second, since the start of the run.
    pub at_s: u64,
    /// Requests sent in this second.
    pub sent: u64,
    /// Answers that ended in this second.
    pub requests: u64,
    /// Requests that failed in this second.
    pub errors: u64,
    /// Content received in this second.
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
    /// Requests in flight at the end of this second.
    pub open: u64,
}

impl Summary {
    /// `None` if there are no values.
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
        let hdr = times.packed();
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
            hdr,
        }
    }

    /// The sum of histograms as `hdr` has them; `None` if there are no values.
    ///
    /// # Errors
    ///
    /// What is wrong with a histogram.
    pub fn of_packed<'t>(texts: impl Iterator<Item = &'t str>) -> Result<Option<Self>, String> {
        let mut all = Times::default();
        for text in texts {
            all.merge(&Times::unpacked(text)?);
        }
        Ok(Self::of_some(&all))
    }

    /// The summary, or `None` if there are no values.
    pub(crate) fn of_some(times: &Times) -> Option<Self> {
        (!times.histogram().is_empty()).then(|| Self::new(times))
    }
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
