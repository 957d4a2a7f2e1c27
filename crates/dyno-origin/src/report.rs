//! Observations of an origin during a trial: the `origin` part of the report.

use std::collections::BTreeMap;

use serde::Serialize;

/// The counters of one trial.
///
/// Bytes are those of HTTP connections as passed to and from the kernel: with TLS, without TCP headers and DNS.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct OriginReport {
    /// Connections accepted.
    pub connections: u64,
    /// Full handshakes, with a certificate.
    pub handshakes_full: u64,
    /// Handshakes resumed with a session ticket.
    pub handshakes_resumed: u64,
    /// Handshakes that began with any bytes and were not completed before the connection ended.
    pub handshakes_failed: u64,
    /// Completed handshakes by version, `1.2` or `1.3`.
    pub tls_versions: BTreeMap<&'static str, u64>,
    /// Requests by version: `1.0`, `1.1`, `2`.
    pub http_versions: BTreeMap<&'static str, u64>,
    /// Requests whose head was complete and well-formed.
    pub requests: u64,
    /// Requests that were not the first of their connection.
    pub reused: u64,
    /// Requests whose URL (scheme, authority, target) came before.
    pub repeated: u64,
    /// Peak number of requests between the end of their head and the last byte of their answer.
    pub peak_concurrency: u64,
    /// Well-formed DNS queries, over UDP and TCP.
    pub dns_queries: u64,
    /// Queries with the name and type of an earlier one.
    pub dns_repeated: u64,
    /// Numbers of what a long-running origin dropped because of its limits: `connections`, `idle_connections`, and
    /// `dns_queries` with delayed answers; without the zeros.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub let_go: BTreeMap<&'static str, u64>,
    /// Answers by final status, including refusals of malformed requests.
    pub statuses: BTreeMap<String, u64>,
    /// Answers by content coding.
    pub codings: BTreeMap<&'static str, u64>,
    /// Injected faults by name.
    pub faults: BTreeMap<&'static str, u64>,
    /// Requests by `User-Agent`: the first 16 distinct ones.
    pub user_agents: BTreeMap<String, u64>,
    /// Bytes passed to the kernel.
    pub sent_bytes: u64,
    /// Bytes received from the kernel.
    pub received_bytes: u64,
    /// Time from the planned first byte of an answer to passing it to the kernel.
    pub lateness_ns: Lateness,
    /// Time since the start of the trial in which threads of the origin were ready to run while something else had
    /// their CPUs, summed over all threads; absent if the kernel does not count it.
    pub waiting_ns: Option<u64>,
}

/// Distribution of the lateness of answers, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Lateness {
    /// Number of answers.
    pub count: u64,
    /// Mean; 0 without answers.
    pub mean: u64,
    /// Median; 0 without answers.
    pub p50: u64,
    /// 99th percentile; 0 without answers.
    pub p99: u64,
    /// Maximum; 0 without answers.
    pub max: u64,
}
