//! The record of a trial against another machine's origin.

use std::net::SocketAddr;

use dyno_room::{CpuAccount, CpuRole, Ending};
use dyno_web::OneOrigin;
use serde::Serialize;
use serde_json::{Value, json};

use super::arrivals;
use super::clock::{ClockReport, OtherClock, Reading};
use super::error::AgainstError;

/// Round-trip times of exchanges with an origin.
#[derive(Debug, Clone)]
pub struct RoundTrips {
    connect_ns: u64,
    exchanges_ns: Vec<i64>,
}

/// Their distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct RoundTripReport {
    /// Time of the TCP connect.
    pub connect_ns: u64,
    /// Number of exchanges.
    pub count: usize,
    /// Minimum.
    pub min_ns: i64,
    /// Median.
    pub p50_ns: i64,
    /// Maximum.
    pub max_ns: i64,
}

impl RoundTrips {
    pub fn new(connect_ns: u64, exchanges_ns: Vec<i64>) -> Self {
        Self {
            connect_ns,
            exchanges_ns,
        }
    }

    pub fn add(&mut self, exchanges_ns: Vec<i64>) {
        self.exchanges_ns.extend(exchanges_ns);
    }

    /// The distribution; at least one exchange is needed.
    pub fn report(&self) -> RoundTripReport {
        let mut ordered = self.exchanges_ns.clone();
        ordered.sort_unstable();
        let at = |place: usize| ordered.get(place).copied().unwrap_or_default();
        RoundTripReport {
            connect_ns: self.connect_ns,
            count: ordered.len(),
            min_ns: at(0),
            p50_ns: at(ordered.len() / 2),
            max_ns: at(ordered.len().saturating_sub(1)),
        }
    }
}

/// The record of an origin, its arrivals on this machine's clock.
#[derive(Debug)]
pub struct OriginRecord {
    report: Value,
    arrivals: Vec<u8>,
    clock: ClockReport,
}

impl OriginRecord {
    pub fn new(report: Value, arrivals_there: &[u8], first: Reading, last: Reading) -> Self {
        let clock = OtherClock::new(first, last);
        Self {
            report,
            arrivals: arrivals::to_local_clock(arrivals_there, &clock),
            clock: clock.report(),
        }
    }
}

/// The record of a trial against another machine's origin.
#[derive(Debug)]
pub struct AgainstRecord {
    pub(super) origin: OneOrigin,
    pub(super) address: SocketAddr,
    pub(super) round_trips: RoundTrips,
    pub(super) record: Result<OriginRecord, AgainstError>,
}

impl AgainstRecord {
    /// Why the origin's record is lost.
    pub fn lost(&self) -> Option<&AgainstError> {
        self.record.as_ref().err()
    }

    /// The arrivals as CSV.
    pub fn arrivals(&self) -> &[u8] {
        self.record.as_ref().map_or(&[], |record| &record.arrivals)
    }

    /// Adds the origin's record to the report of a room: its CPU time instead of the engine's, its CPUs after the subject's.
    pub fn complete(&self, report: &mut Value, ending: &Ending) {
        report["against"] = json!({
            "url": self.origin.to_string(),
            "address": self.address.to_string(),
            "rtt": self.round_trips.report(),
            "clock": self.record.as_ref().ok().map(|record| record.clock),
        });
        if let Some(error) = self.lost() {
            report["outcome"] = json!("origin_lost");
            report["reason"] = json!(error.to_string());
        }
        let own = |cpu: &&CpuAccount| cpu.role != CpuRole::Engine;
        let mut cpus: Vec<Value> = ending
            .cpus
            .iter()
            .filter(own)
            .map(|cpu| json!(cpu))
            .collect();
        for cpu in &mut cpus {
            cpu["role"] = json!(CpuRole::Subject);
        }
        let Ok(OriginRecord { report: theirs, .. }) = &self.record else {
            report["cpus"] = json!(cpus);
            return;
        };
        cpus.extend(theirs["cpus"].as_array().into_iter().flatten().cloned());
        report["cpus"] = json!(cpus);
        for part in ["web", "origin", "throughput"] {
            report[part] = theirs[part].clone();
        }
        for part in ["cpu_user_ns", "cpu_system_ns"] {
            report["engine"][part] = theirs["engine"][part].clone();
        }
        for part in ["origin_congestion_control", "key_exchange_groups"] {
            report["transport"][part] = theirs["transport"][part].clone();
        }
        // A quota on either machine stops the trial's programs.
        if let Some(there) = theirs["throttled_ns"].as_u64() {
            report["throttled_ns"] = json!(ending.throttled_ns.unwrap_or(0) + there);
        }
    }
}
