//! Plan of a run.

use std::path::PathBuf;
use std::time::Duration;

use dyno_client::{Protocol, Reroute};

use crate::arrival_process::{Arrivals, Rate};
use crate::requests::Requests;
use crate::termination::Termination;

/// The plan of a run: arrival process, termination and protocol are values that combine freely.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The requests to send.
    pub requests: Requests,
    /// The method that all requests were given, for the report.
    pub method: String,
    /// Connections, of all threads together.
    pub connections: usize,
    /// Requests at a time on one connection: 1 but for HTTP/2.
    pub streams: usize,
    /// Protocol of the connections.
    pub protocol: Protocol,
    /// Whether they are kept.
    pub keepalive: bool,
    /// The schedule of the open loop; without it requests are sent as answers come.
    pub pace: Option<(Rate, Arrivals)>,
    /// Over how long the connections of a closed loop begin, one after the other; none: all at once.
    pub ramp: Duration,
    /// When the run ends.
    pub termination: Termination,
    /// Longest time of a request from its beginning, over all stages.
    pub timeout: Duration,
    /// One thread is pinned to each; a single free one if there is none.
    pub cpus: Vec<usize>,
    /// Where connections go instead.
    pub reroute: Reroute,
    /// Whether certificates are not looked at.
    pub insecure: bool,
    /// Authorities that are trusted in addition to the system's.
    pub authorities: Option<PathBuf>,
    /// Where every request is written (CSV).
    pub samples: Option<PathBuf>,
    /// Where the histograms of each second are written (`HdrHistogram`'s log format, version 2).
    pub hdr_log: Option<PathBuf>,
}
