//! Runs of the generator, with settings that tests change.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dyno_client::{Protocol, Proxies, Reroute, tls};
use dyno_load::jsonl::{self, Described};
use dyno_load::{
    Arrivals, PerSecond, Plan, Rate, Requests, Segment, Shape, Stages, Termination, run as run_plan,
};
use serde_json::Value;

/// Limit that only a hang exceeds.
const PATIENCE: Duration = Duration::from_secs(300);

/// A run whose settings can be changed.
pub struct Stage {
    pub plan: Plan,
    pub stop: Arc<AtomicBool>,
}

pub fn shape() -> Shape {
    Shape {
        method: None,
        headers: Vec::new(),
        body: None,
        path_as_is: false,
        keepalive: true,
        protocol: Protocol::Http1,
        proxies: Proxies::default(),
        checks: Arc::default(),
    }
}

/// Requests from lines of JSON.
pub fn described(lines: &str) -> Vec<Described> {
    let lines = jsonl::lines(lines.as_bytes());
    lines.map(|line| line.unwrap().1).collect()
}

/// GET over HTTP/1.1 with two connections, and a timeout that good requests never reach.
pub fn get(urls: &[String]) -> Stage {
    shaped(urls, &shape())
}

pub fn shaped(urls: &[String], shape: &Shape) -> Stage {
    let described = urls.iter().map(|url| Described {
        url: url.clone(),
        ..Described::default()
    });
    described_as(described, shape)
}

pub fn described_as(described: impl IntoIterator<Item = Described>, shape: &Shape) -> Stage {
    Stage {
        plan: Plan {
            requests: Requests::new(described, shape).unwrap(),
            method: "GET".to_owned(),
            connections: 2,
            streams: 1,
            protocol: shape.protocol,
            profile: dyno_client::http1::Profile::Tolerant,
            keepalive: shape.keepalive,
            reconnect_after: None,
            opened_per_s: None,
            segment: Segment::WHOLE,
            start_at: None,
            pace: None,
            replay: None,
            reports_stages: false,
            label_bounds_ns: None,
            ramp: Duration::ZERO,
            warm_up: Duration::ZERO,
            until: None,
            objective: None,
            termination: Termination {
                requests: None,
                duration_ns: None,
            },
            timeout: PATIENCE,
            cpus: Vec::new(),
            reroute: Reroute::default(),
            dns_refresh: None,
            sockets: Arc::default(),
            insecure: false,
            authorities: None,
            tls: tls::Settings::default(),
            samples: None,
            hdr_log: None,
        },
        stop: Arc::default(),
    }
}

impl Stage {
    pub fn requests(mut self, requests: u64) -> Self {
        self.plan.termination.requests = Some(requests);
        self
    }

    pub fn millis(mut self, millis: u64) -> Self {
        self.plan.termination.duration_ns = Some(millis * 1_000_000);
        self
    }

    /// Sets a duration so long that only another condition ends the run.
    pub fn endless(self) -> Self {
        self.millis(3_600_000)
    }

    pub fn connections(mut self, connections: usize) -> Self {
        self.plan.connections = connections;
        self
    }

    pub fn timeout_ms(mut self, millis: u64) -> Self {
        self.plan.timeout = Duration::from_millis(millis);
        self
    }

    pub fn rate(mut self, per_s: u64) -> Self {
        let rate = PerSecond::parse(&per_s.to_string()).unwrap();
        self.plan.pace = Some((Rate::constant(rate), Arrivals::Constant));
        self
    }

    pub fn stages(mut self, text: &str) -> Self {
        let stages = Stages::parse(text).unwrap();
        self.plan.pace = Some((stages.rate(), Arrivals::Constant));
        self.plan.reports_stages = true;
        self.plan.termination.duration_ns = Some(stages.duration_ns());
        self
    }

    pub fn warm_up_ms(mut self, millis: u64) -> Self {
        self.plan.warm_up = Duration::from_millis(millis);
        self
    }

    pub fn run(self) -> Value {
        serde_json::to_value(run_plan(self.plan, &self.stop, None).unwrap()).unwrap()
    }
}

/// Returns the report of the first of twenty runs in which no request failed. Whether the end of a connection crossed a
/// request is a matter of timing: on a busy machine a server may close too late in one run, but hardly in twenty.
pub fn without_failures(stage: impl Fn() -> Stage) -> Value {
    let mut reports = (0..20).map(|_| stage().run());
    let last = reports.find(|report| number(report, "/errors_total") == 0);
    last.expect("one of twenty runs has no failure")
}

/// Reads a number from a report.
pub fn number(report: &Value, pointer: &str) -> u64 {
    let value = report.pointer(pointer);
    value
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("{pointer} is {value:?}"))
}

/// Duration of a run.
pub fn elapsed_ns(report: &Value) -> u64 {
    let elapsed_s = report["elapsed_s"].as_f64().unwrap();
    u64::try_from(Duration::from_secs_f64(elapsed_s).as_nanos()).unwrap()
}

/// A CPU that this process may use.
pub fn cpu() -> usize {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    (0..rustix::thread::CpuSet::MAX_CPU)
        .find(|cpu| allowed.is_set(*cpu))
        .unwrap()
}

/// Number of requests with any outcome, including those without one.
pub fn accounted(report: &Value) -> u64 {
    ["/requests", "/errors_total", "/censored/count", "/unsent"]
        .iter()
        .map(|pointer| number(report, pointer))
        .sum()
}
