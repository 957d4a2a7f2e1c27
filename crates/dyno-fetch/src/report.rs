//! Report of a crawl, as JSON.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::row::Timestamp;
use crate::shard::{Selected, Selection};
use crate::shared::Shared;
use crate::tally::Phases;

/// Counts and times of a finished crawl.
#[derive(Debug, Serialize)]
pub struct Report {
    version: u32,
    started: String,
    /// Time from the start to the end.
    pub elapsed_s: f64,
    /// The proxies, without credentials, each with the option or variable that names it.
    proxy: Option<String>,
    /// Whether a signal ended the crawl.
    pub interrupted: bool,
    /// The lines of the shard; `null` without one, or if the list was not read to its end.
    pub shard: Option<Selected>,
    /// Finished URLs.
    pub urls: u64,
    /// Lines of the list that earlier runs finished, under `--resume`.
    pub skipped: u64,
    /// Finished URLs per second.
    pub urls_per_s: f64,
    cpu_s: f64,
    /// Finished URLs by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Finished URLs by error.
    pub errors: BTreeMap<&'static str, u64>,
    /// Number of errors.
    pub errors_total: u64,
    requests: u64,
    /// Answers that are not well-formed, by what was tolerated.
    tolerated: BTreeMap<&'static str, u64>,
    /// Contents with an unknown coding, which were saved undecoded.
    not_decoded: u64,
    /// URLs with a redirect from https to http.
    left_https: u64,
    /// Contents after which TLS ended without `close_notify`.
    no_close_notify: u64,
    /// Contents that were cut short or too long, and kept under `--keep-partial`.
    partial: u64,
    /// Requests sent again on a new connection, because the old one was closed while the request was on its way.
    resent: u64,
    /// Retries under `--retries`.
    retried: u64,
    /// Hosts that were not tried for a minute, because connections to them failed.
    dead_hosts: u64,
    retry_after: RetryAfter,
    /// `null` without `--robots`.
    robots: Option<Robots>,
    wire: WireBytes,
    connections: Connections,
    dns: Dns,
    /// Times in nanoseconds; `null` if nothing was measured.
    phases: Option<BTreeMap<&'static str, Phase>>,
}

#[derive(Debug, Serialize)]
#[expect(
    clippy::struct_field_names,
    reason = "names of a report carry their unit"
)]
struct WireBytes {
    sent_bytes: u64,
    received_bytes: u64,
    encoded_content_bytes: u64,
    content_bytes: u64,
}

/// Answers with `Retry-After` that held up their hosts, the pauses of hosts, and their time, added up over the hosts.
#[derive(Debug, Serialize)]
struct RetryAfter {
    answers: u64,
    pauses: u64,
    paused_s: f64,
}

/// Origins (scheme, host, port) whose `robots.txt` was requested, origins without that file, origins whose file could not be
/// read, and URLs that a file forbids.
#[derive(Debug, Serialize)]
struct Robots {
    asked: u64,
    absent: u64,
    unreachable: u64,
    disallowed_urls: u64,
}

#[derive(Debug, Serialize)]
struct Connections {
    opened: u64,
    failed: u64,
    tls_full: u64,
    tls_resumed: u64,
    reused_requests: u64,
}

#[derive(Debug, Serialize)]
struct Dns {
    queries: u64,
    cached: u64,
    shared: u64,
}

#[derive(Debug, Serialize)]
struct Phase {
    count: u64,
    mean_ns: f64,
    p50_ns: u64,
    p90_ns: u64,
    p99_ns: u64,
    max_ns: u64,
}

impl Phase {
    fn new(histogram: &Histogram<u64>) -> Self {
        Self {
            count: histogram.len(),
            mean_ns: histogram.mean(),
            p50_ns: histogram.value_at_quantile(0.5),
            p90_ns: histogram.value_at_quantile(0.9),
            p99_ns: histogram.value_at_quantile(0.99),
            max_ns: histogram.max(),
        }
    }
}

impl Report {
    /// Bytes received, TLS included.
    #[must_use]
    pub const fn received_bytes(&self) -> u64 {
        self.wire.received_bytes
    }

    pub(crate) fn new(
        shared: &Shared,
        started: SystemTime,
        elapsed: Duration,
        interrupted: bool,
    ) -> Self {
        let (tally, dns) = (shared.tally.borrow(), shared.resolver.counts());
        let elapsed_s = elapsed.as_secs_f64();
        let cpu_s = dyno_io::process_cpu_time().as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
        let urls = tally.done as f64;
        let phases = tally.phases.as_deref().map(named);
        Self {
            version: 1,
            started: Timestamp(started).to_string(),
            elapsed_s,
            proxy: shared.options.proxies.names(),
            interrupted,
            shard: tally
                .selection
                .as_ref()
                .filter(|_| !interrupted)
                .map(Selection::selected),
            urls: tally.done,
            skipped: tally.skipped,
            urls_per_s: urls / elapsed_s.max(1e-9),
            cpu_s,
            statuses: tally.statuses.clone(),
            errors_total: tally.errors.values().sum(),
            errors: tally.errors.clone(),
            requests: tally.requests,
            tolerated: tally.tolerated.by_name(),
            not_decoded: tally.not_decoded,
            left_https: tally.left_https,
            no_close_notify: tally.no_close_notify,
            partial: tally.partial,
            resent: tally.resent,
            retried: tally.retried,
            dead_hosts: tally.dead_hosts,
            retry_after: RetryAfter {
                answers: tally.pausing_answers,
                pauses: tally.pauses,
                paused_s: tally.paused.as_secs_f64(),
            },
            robots: shared.permissions.is_some().then(|| Robots {
                asked: tally.robots_requested,
                absent: tally.robots_absent,
                unreachable: tally.robots_unreachable,
                disallowed_urls: tally.errors.get("Disallowed").copied().unwrap_or_default(),
            }),
            wire: WireBytes {
                sent_bytes: shared.traffic.sent_bytes(),
                received_bytes: shared.traffic.received_bytes(),
                encoded_content_bytes: tally.encoded_bytes,
                content_bytes: tally.content_bytes,
            },
            connections: Connections {
                opened: tally.connections_opened,
                failed: tally.connections_failed,
                tls_full: tally.tls_full,
                tls_resumed: tally.tls_resumed,
                reused_requests: tally.reused,
            },
            dns: Dns {
                queries: dns.queries,
                cached: dns.cached,
                shared: dns.shared,
            },
            phases,
        }
    }
}

/// The phases by name.
fn named(phases: &Phases) -> BTreeMap<&'static str, Phase> {
    [
        ("dns", &phases.dns),
        ("connect", &phases.connect),
        ("tls", &phases.tls),
        ("first_byte", &phases.first_byte),
        ("content", &phases.content),
        ("total", &phases.total),
    ]
    .into_iter()
    .map(|(name, histogram)| (name, Phase::new(histogram)))
    .collect()
}
