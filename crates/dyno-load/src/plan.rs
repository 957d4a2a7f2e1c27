//! Plan of a run.

use std::fmt::{self, Write};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dyno_client::http1::Profile;
use dyno_client::{Protocol, Reroute, Sockets, tls};
use sha2::{Digest, Sha256};

use crate::arrival_process::{Arrivals, PerSecond, Rate};
use crate::confidence::Goal;
use crate::find::Objective;
use crate::recording::Recording;
use crate::requests::Requests;
use crate::segment::Segment;
use crate::termination::Termination;

/// The plan of a run: arrival process, termination and protocol are values that combine freely.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The requests to send.
    pub requests: Requests,
    /// The method that was set for all requests, for the report.
    pub method: String,
    /// Number of connections of all threads together.
    pub connections: usize,
    /// Concurrent requests on one connection: 1, except for HTTP/2.
    pub streams: usize,
    /// Protocol of the connections.
    pub protocol: Protocol,
    /// What answers over HTTP/1.1 are accepted.
    pub profile: Profile,
    /// Whether connections are kept after a request.
    pub keepalive: bool,
    /// Requests after which a kept connection is replaced by a new one.
    pub reconnect_after: Option<NonZeroU64>,
    /// Connections that are opened a second before the run; none: all at once.
    pub opened_per_s: Option<PerSecond>,
    /// The part of the requests that this generator sends.
    pub segment: Segment,
    /// When it starts; `None`: at once.
    pub start_at: Option<Instant>,
    /// The schedule of the open loop, of all generators together; `None`: a closed loop.
    pub pace: Option<(Rate, Arrivals)>,
    /// The recording whose requests are sent; `None`: none.
    pub replay: Option<Arc<Recording>>,
    /// Whether each stage of the rate is reported.
    pub reports_stages: bool,
    /// Bounds of the buckets in which each second counts the times of each label; `None`: no observer reads them.
    pub label_bounds_ns: Option<&'static [u64]>,
    /// Time over which the connections of a closed loop start, one after another; zero: all at once.
    pub ramp: Duration,
    /// Time for which requests are sent first that count in nothing.
    pub warm_up: Duration,
    /// The interval that ends the run when it is narrow enough.
    pub until: Option<Goal>,
    /// The objective whose limits are counted per block of 50 ms, for a search.
    pub objective: Option<Objective>,
    /// When the run ends.
    pub termination: Termination,
    /// Timeout of a request, over all stages.
    pub timeout: Duration,
    /// CPUs to pin one thread each to; if empty, one thread runs on any CPU.
    pub cpus: Vec<usize>,
    /// Hosts and ports to connect to in place of others.
    pub reroute: Reroute,
    /// Interval at which names are looked up again; none: only after connections failed.
    pub dns_refresh: Option<Duration>,
    /// How the sockets of connections are made.
    pub sockets: Arc<Sockets>,
    /// Whether certificates are accepted unchecked.
    pub insecure: bool,
    /// File of authorities that are trusted in addition to the system's.
    pub authorities: Option<PathBuf>,
    /// What else is offered in handshakes of TLS.
    pub tls: tls::Settings,
    /// File for a line about each request (CSV).
    pub samples: Option<PathBuf>,
    /// File for the histograms of each second (`HdrHistogram`'s log format, version 2).
    pub hdr_log: Option<PathBuf>,
}

impl Plan {
    /// The SHA-256 of what all generators of one load have in common; `connections` is the number of all.
    #[must_use]
    pub fn digest(&self, connections: usize) -> String {
        let mut hashed = Hashed(Sha256::new());
        write!(
            hashed,
            "{:?}",
            (
                (
                    &self.requests,
                    &self.method,
                    self.streams,
                    self.protocol,
                    self.profile
                ),
                (
                    self.keepalive,
                    self.reconnect_after,
                    &self.pace,
                    &self.replay
                ),
                (
                    self.ramp,
                    self.warm_up,
                    self.termination,
                    self.timeout,
                    self.insecure
                ),
                (self.dns_refresh, self.reports_stages, connections),
            )
        )
        .expect("hashing takes every text");
        let digest = hashed.0.finalize();
        digest.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// How long it takes to open the connections, where they are opened at a rate.
    #[must_use]
    pub fn opening_time(&self) -> Duration {
        #[expect(clippy::cast_precision_loss, reason = "connections are few")]
        self.opened_per_s.map_or(Duration::ZERO, |rate| {
            Duration::try_from_secs_f64(self.connections as f64 / rate.get())
                .unwrap_or(Duration::MAX)
        })
    }

    /// The plan of its warm-up: the same requests over the same connections, at the rate of the beginning; `None`
    /// without one.
    pub(crate) fn warm_up(&self) -> Option<Self> {
        if self.warm_up.is_zero() {
            return None;
        }
        let pace = self.pace.as_ref().map(|(rate, arrivals)| {
            let arrivals = match *arrivals {
                // A recording begins after it; until then, its mean rate.
                Arrivals::Constant | Arrivals::Recorded(_) => Arrivals::Constant,
                // Those that are measured are others.
                Arrivals::Poisson { seed } => Arrivals::Poisson {
                    seed: seed.wrapping_add(1),
                },
            };
            (Rate::constant(rate.ends().0), arrivals)
        });
        Some(Self {
            requests: self.requests.with_other_values(),
            pace,
            reports_stages: false,
            label_bounds_ns: None,
            until: None,
            objective: None,
            termination: Termination {
                requests: None,
                duration_ns: Some(u64::try_from(self.warm_up.as_nanos()).unwrap_or(u64::MAX)),
            },
            samples: None,
            hdr_log: None,
            ..self.clone()
        })
    }
}

/// Hashes text as it is written.
struct Hashed(Sha256);

impl fmt::Write for Hashed {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text);
        Ok(())
    }
}
