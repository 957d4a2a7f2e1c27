//! Observations of an origin in a trial: the `origin` part of the report.

use std::collections::BTreeMap;

use serde::Serialize;

/// The counters of one trial.
///
/// Bytes are those of HTTP connections as the kernel took and gave them, TLS included, TCP headers and DNS not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct OriginReport {
    /// Connections accepted.
    pub connections: u64,
    /// Handshakes completed with a certificate.
    pub handshakes_full: u64,
    /// Handshakes completed by a session ticket.
    pub handshakes_resumed: u64,
    /// Handshakes begun by a hello (or something else than one) and not completed before the connection ended.
    pub handshakes_failed: u64,
    /// Completed handshakes by version, `1.2` or `1.3`.
    pub tls_versions: BTreeMap<&'static str, u64>,
    /// Requests by version: `1.0`, `1.1`, `2`.
    pub http_versions: BTreeMap<&'static str, u64>,
    /// Requests whose head was complete and well-formed.
    pub requests: u64,
    /// Those that were not the first of their connection.
    pub reused: u64,
    /// Those whose URL (scheme, authority, target) had been requested before.
    pub repeated: u64,
    /// Most requests at once between the end of their head and the last byte of their answer.
    pub peak_concurrency: u64,
    /// Well-formed DNS queries, over UDP and TCP.
    pub dns_queries: u64,
    /// Queries whose name and type had come before.
    pub dns_repeated: u64,
    /// Counts that a long-running origin dropped: `connections` that were too many, `idle_connections`, and `dns_queries`
    /// whose answers were delayed; absent where there was nothing.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub let_go: BTreeMap<&'static str, u64>,
    /// Answers by final status; refusals of malformed requests are among them.
    pub statuses: BTreeMap<String, u64>,
    /// Answers by the content coding they were sent in.
    pub codings: BTreeMap<&'static str, u64>,
    /// How often each fault was injected.
    pub faults: BTreeMap<&'static str, u64>,
    /// Requests by `User-Agent`: the first 16 distinct ones.
    pub user_agents: BTreeMap<String, u64>,
    /// Bytes given to the kernel.
    pub sent_bytes: u64,
    /// Bytes taken from the kernel.
    pub received_bytes: u64,
    /// From the planned first byte of an answer to its actual handing over to the kernel.
    pub lateness_ns: Lateness,
    /// Time in which threads of the origin were ready to run but something else had their CPUs, from the beginning of
    /// the trial, summed over them; absent where the kernel does not count it.
    pub waiting_ns: Option<u64>,
}

/// A distribution of how late answers began, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Lateness {
    /// How many answers.
    pub count: u64,
    /// Mean; 0 when there was none.
    pub mean: u64,
    /// Median; 0 when there was none.
    pub p50: u64,
    /// 99th percentile; 0 when there was none.
    pub p99: u64,
    /// The latest; 0 when there was none.
    pub max: u64,
}
