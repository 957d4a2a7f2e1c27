//! What a run is to do.

use std::path::PathBuf;
use std::time::Duration;

use super::pacer::{Arrivals, Rate};
use super::requests::Requests;
use super::termination::Termination;
use crate::transport::Reroute;

/// A run, as asked for: pacer, termination and transport are values, which all go with one another.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What is sent.
    pub requests: Requests,
    /// The method that all requests were given, for the report.
    pub method: String,
    /// Connections, of all threads together.
    pub connections: usize,
    /// Requests at a time on one connection: 1 but for HTTP/2.
    pub streams: usize,
    /// Whether connections speak HTTP/2.
    pub http2: bool,
    /// Whether they are kept.
    pub keepalive: bool,
    /// The schedule of the open loop; without it requests are sent as answers come.
    pub pace: Option<(Rate, Arrivals)>,
    /// Over how long the connections of a closed loop begin, one after the other; none: all at once.
    pub ramp: Duration,
    /// When the run ends.
    pub termination: Termination,
    /// What a request may take from when it is begun, over all stages.
    pub timeout: Duration,
    /// One thread is pinned to each; a single free one if there is none.
    pub cpus: Vec<usize>,
    /// Where connections go instead.
    pub reroute: Reroute,
    /// Whether certificates are not looked at.
    pub insecure: bool,
    /// Authorities that are trusted beside the system's.
    pub authorities: Option<PathBuf>,
    /// Where every request is written (CSV).
    pub samples: Option<PathBuf>,
    /// Where the histograms of each second are written (`HdrHistogram`'s log format, version 2).
    pub hdr_log: Option<PathBuf>,
}
