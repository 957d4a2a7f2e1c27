//! Remote control of an origin: its identity, its clock, the beginning and the end of a trial.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use dyno_origin::{CONTROL_PATH, KEY_EXCHANGE_GROUPS, Record, Running};
use dyno_room::{CpuSet, MachineSnapshot};
use dyno_web::Web;
use serde_json::{Value, json};

use super::message::{ControlRequest, ControlResponse, PROTOCOL};
use crate::clock_setting::Setting;
use crate::web_identity;

/// A machine that controls the origin, by its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visitor {
    /// The number of the connection.
    pub number: u64,
    /// The address of the machine.
    pub from: SocketAddr,
}

/// Answers control requests for an origin.
#[derive(Debug)]
pub struct ControlService {
    web: Arc<Web>,
    running: Weak<Running>,
    cpus: CpuSet,
    trial: Mutex<Option<Trial>>,
}

/// A trial in progress: the visitor that began it holds the origin until its connection ends.
#[derive(Debug)]
struct Trial {
    holder: Visitor,
    since: Instant,
    before: MachineSnapshot,
}

impl ControlService {
    /// Control of an origin that serves on these CPUs.
    pub fn new(web: Arc<Web>, running: &Arc<Running>, cpus: CpuSet) -> Self {
        Self {
            web,
            running: Arc::downgrade(running),
            cpus,
            trial: Mutex::new(None),
        }
    }

    /// Answers one request.
    pub fn answer(&self, visitor: Visitor, request: &ControlRequest) -> ControlResponse {
        let path = request.target.split('?').next().unwrap_or_default();
        let Some(running) = self.running.upgrade() else {
            return refusal(503, "the origin is ending");
        };
        match (request.method.as_str(), path.strip_prefix(CONTROL_PATH)) {
            ("GET", Some("identity")) => success(&self.identity()),
            ("GET", Some("clock")) => clock_answer(),
            ("GET", Some("progress")) => success(&json!(running.snapshot())),
            ("POST", Some("begin")) => self.begin(visitor, &running),
            ("POST", Some("end")) => self.end(visitor, &running),
            ("GET" | "POST", _) => refusal(404, "unknown control path"),
            _ => refusal(405, "use GET or POST"),
        }
    }

    /// Ends the visitor's trial, if it has one, after its connection has ended.
    pub fn leave(&self, visitor: Visitor) {
        let mut trial = self.trial();
        if trial.as_ref().is_some_and(|trial| trial.holder == visitor) {
            *trial = None;
            if let Some(running) = self.running.upgrade() {
                drop(running.end_trial());
            }
        }
    }

    fn trial(&self) -> MutexGuard<'_, Option<Trial>> {
        // The value is valid at all times, even after a panic.
        self.trial.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn identity(&self) -> Value {
        json!({
            "protocol": PROTOCOL,
            "version": env!("CARGO_PKG_VERSION"),
            "web": web_identity::identity(&self.web),
            "cpus": self.cpus.to_string(),
        })
    }

    fn begin(&self, visitor: Visitor, running: &Running) -> ControlResponse {
        let mut trial = self.trial();
        if let Some(other) = trial.as_ref().filter(|trial| trial.holder != visitor) {
            let (from, seconds) = (other.holder.from.ip().to_canonical(), other.since.elapsed());
            let reason = format!(
                "is busy with a trial from {from}, for {} s so far; wait until that has ended",
                seconds.as_secs()
            );
            return refusal(409, &reason);
        }
        running.begin_anew();
        *trial = Some(Trial {
            holder: visitor,
            since: Instant::now(),
            before: MachineSnapshot::take(),
        });
        success(&json!({}))
    }

    fn end(&self, visitor: Visitor, running: &Running) -> ControlResponse {
        let mut trial = self.trial();
        let Some(ended) = trial.take_if(|trial| trial.holder == visitor) else {
            return refusal(409, "no trial of this connection is under way");
        };
        let after = MachineSnapshot::take();
        let record = running.end_trial();
        // Now another visitor may begin.
        drop(trial);
        match self.record(&ended.before, &after, &record) {
            Ok(content) => ControlResponse {
                status: 200,
                content,
            },
            Err(error) => refusal(500, &error.to_string()),
        }
    }

    /// A line of JSON, then the arrivals as CSV.
    fn record(
        &self,
        before: &MachineSnapshot,
        after: &MachineSnapshot,
        record: &Record,
    ) -> std::io::Result<Vec<u8>> {
        let no_cpus = CpuSet::from([]);
        let report = json!({
            "web": web_identity::identity(&self.web),
            "origin": record.report,
            "throughput": record.throughput,
            "engine": after.engine_since(before),
            "cpus": after.cpus_since(before, &self.cpus, &no_cpus),
            "throttled_ns": after.throttled_since(before),
            "transport": {
                "origin_congestion_control": Running::congestion_control(),
                "key_exchange_groups": KEY_EXCHANGE_GROUPS,
            },
        });
        let mut content = format!("{report}\n").into_bytes();
        record.arrivals.write_csv(&mut content)?;
        Ok(content)
    }
}

/// The time of day, and how it differs from the time since boot. The request is read and answered within microseconds
/// of it.
pub fn clock_answer() -> ControlResponse {
    let setting = Setting::now();
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let unix_ns = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
    success(&json!({"unix_ns": unix_ns, "setting": setting}))
}

fn success(value: &Value) -> ControlResponse {
    ControlResponse {
        status: 200,
        content: value.to_string().into_bytes(),
    }
}

/// A refusal with its reason.
pub fn refusal(status: u16, reason: &str) -> ControlResponse {
    ControlResponse {
        status,
        content: json!({ "error": reason }).to_string().into_bytes(),
    }
}
