//! The report of a run: one JSON object, version 1. Its keys are those of docs/reference/load-report.md.

use std::collections::BTreeMap;

use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use serde::Serialize;

use super::check::Checked;
use super::tally::{Tally, Times};

/// The version of the report's shape.
pub(super) const VERSION: u32 = 1;

/// All that is known of a run when it is over.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub(super) version: u32,
    /// When it started, as RFC 3339 has it.
    pub(super) started: String,
    pub(super) elapsed_s: f64,
    /// Whether it was told to end early.
    pub(super) interrupted: bool,
    pub(super) plan: PlanRecord,
    pub(super) sent: u64,
    pub(super) requests: u64,
    pub(super) rps: f64,
    pub(super) cpu_s: f64,
    pub(super) cpu_user_s: f64,
    pub(super) cpu_system_s: f64,
    pub(super) peak_memory_bytes: Option<u64>,
    pub(super) threads: Vec<ThreadRecord>,
    pub(super) statuses: BTreeMap<u16, u64>,
    pub(super) errors: BTreeMap<&'static str, u64>,
    pub(super) errors_total: u64,
    /// Requests sent again: the server closed their connection before it can have seen them.
    pub(super) resent: u64,
    pub(super) checks: Option<Checked>,
    pub(super) censored: Censored,
    pub(super) unsent: u64,
    pub(super) wire: WireRecord,
    pub(super) connections: ConnectionsRecord,
    pub(super) versions: BTreeMap<&'static str, u64>,
    pub(super) response_time: Summary,
    pub(super) response_time_at_least: Option<Summary>,
    pub(super) service_time: Summary,
    pub(super) send_lag: Option<Summary>,
    pub(super) phases: Phases,
    pub(super) series: Vec<Row>,
}

/// What the run was to do.
#[derive(Debug, Clone, Serialize)]
pub(super) struct PlanRecord {
    pub(super) urls: usize,
    pub(super) connections: usize,
    pub(super) streams: usize,
    pub(super) http: &'static str,
    pub(super) keepalive: bool,
    pub(super) rate_per_s: Option<f64>,
    pub(super) rate_end_per_s: Option<f64>,
    pub(super) arrivals: Option<&'static str>,
    pub(super) seed: Option<u64>,
    pub(super) duration_s: Option<f64>,
    pub(super) requests: Option<u64>,
    pub(super) timeout_s: f64,
    pub(super) method: String,
    pub(super) cpus: Vec<usize>,
}

/// One thread.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct ThreadRecord {
    pub(super) cpu: Option<usize>,
    pub(super) cpu_s: f64,
    /// Share of the time that it was at work: on its CPU, and not spinning until a moment came.
    pub(super) busy_share: f64,
    /// Share of the time in which it was ready to run, and others had its CPU.
    pub(super) waiting_share: Option<f64>,
}

/// Requests that were under way when the run ended: connecting, or sent.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Censored {
    pub(super) count: u64,
    pub(super) oldest_ns: Option<u64>,
    pub(super) ages: Option<Summary>,
}

/// Bytes.
#[derive(Debug, Clone, Copy, Serialize)]
#[expect(
    clippy::struct_field_names,
    reason = "the unit stands in the report's names"
)]
pub(super) struct WireRecord {
    pub(super) sent_bytes: u64,
    pub(super) received_bytes: u64,
    pub(super) content_bytes: u64,
}

/// Connections.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct ConnectionsRecord {
    pub(super) opened: u64,
    pub(super) failed: u64,
    pub(super) tls_full: u64,
    pub(super) tls_resumed: u64,
    pub(super) reused_requests: u64,
}

/// Parts of the time that requests took; absent what none of them did.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Phases {
    pub(super) dns: Option<Summary>,
    pub(super) connect: Option<Summary>,
    pub(super) tls: Option<Summary>,
    pub(super) first_byte: Option<Summary>,
    pub(super) content: Option<Summary>,
}

/// A histogram in figures, and whole.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Summary {
    count: u64,
    min_ns: u64,
    mean_ns: f64,
    stdev_ns: f64,
    max_ns: u64,
    p50_ns: u64,
    p75_ns: u64,
    p90_ns: u64,
    p95_ns: u64,
    p99_ns: u64,
    p99_9_ns: u64,
    p99_99_ns: u64,
    quantiles: Vec<(f64, u64)>,
    hdr: String,
}

/// One second of the run.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Row {
    pub(super) at_s: u64,
    pub(super) sent: u64,
    pub(super) requests: u64,
    pub(super) errors: u64,
    pub(super) content_bytes: u64,
    pub(super) response_p50_ns: Option<u64>,
    pub(super) response_p99_ns: Option<u64>,
    pub(super) response_max_ns: Option<u64>,
    pub(super) service_p99_ns: Option<u64>,
    pub(super) send_lag_p99_ns: Option<u64>,
    pub(super) open: u64,
}

impl Report {
    /// Answers that came whole.
    #[must_use]
    pub const fn requests(&self) -> u64 {
        self.requests
    }
}

impl Summary {
    pub(super) fn new(times: &Times) -> Self {
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
    pub(super) fn of_some(times: &Times) -> Option<Self> {
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
    pub(super) fn new(at_s: u64, tally: &Tally, open: u64) -> Self {
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
