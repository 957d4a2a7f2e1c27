//! The manifest of a run: command, machine, settings, and whether the run is complete.

use std::io;
use std::time::SystemTime;

use dyno_load::Goal;
use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::machine::Machine;
use super::options::{Options, options};
use super::{identity, target, without_credentials, without_credentials_of_words};
use crate::load::arguments::Arguments;
use crate::load::trial::Trial;
use crate::messages::program_name;
use crate::usage::translation;

pub const NAME: &str = "manifest.json";
/// The version of the records, shared with the Python side.
const RECORD_VERSION: u32 = 2;
/// The subject of every load: the same name for all, so that runs against different addresses can be compared.
const SERVER: &str = "server";
/// Number of characters of a request's body that are stored.
const KEPT_OF_BODY: usize = 200;

/// Whether a run has all of its trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Partial,
    Complete,
}

/// The content of `manifest.json`, in the order of its keys.
#[derive(Debug, Serialize)]
pub struct Manifest {
    experiment: &'static str,
    command: Vec<String>,
    version: &'static str,
    started_at: String,
    machine: Machine,
    trials_planned: u16,
    ended_at: Option<String>,
    state: State,
    record_version: u32,
    /// Always absent: the engine's digest identifies the program.
    git: Option<()>,
    webs: [(); 0],
    subjects: [Subject; 1],
    settings: Settings,
    engine: Engine,
    urls: Option<()>,
    resumed_at: [(); 0],
}

#[derive(Debug, Serialize)]
struct Subject {
    id: &'static str,
    language: &'static str,
    method: String,
    version: Option<()>,
    lockfiles: Nothing,
    unavailable: Option<()>,
    concurrency: Option<()>,
    folder: Option<()>,
    http: [(); 0],
    fingerprint: Option<()>,
}

/// An empty object.
#[derive(Debug, Serialize)]
struct Nothing {}

#[derive(Debug, Serialize)]
struct Engine {
    version: &'static str,
    sha256: String,
}

/// What the options mean, and those that have no other setting.
#[derive(Debug, Serialize)]
struct Settings {
    target: String,
    urls: usize,
    /// Absent if a search chose it, as the rate and the duration.
    connections: Option<usize>,
    streams: usize,
    http: &'static str,
    keepalive: bool,
    rate_per_s: Option<f64>,
    rate_end_per_s: Option<f64>,
    arrivals: Option<&'static str>,
    seed: Option<u64>,
    until: Option<String>,
    warm_up_s: Option<f64>,
    stages: Option<String>,
    replay_speed_percent: Option<f64>,
    duration_s: Option<f64>,
    requests: Option<u64>,
    timeout_s: f64,
    proxy: Option<String>,
    method: String,
    headers: String,
    body: Option<String>,
    checks: String,
    data: Option<String>,
    pick: Option<&'static str>,
    insecure: bool,
    cpus: String,
    repeat: u16,
    #[serde(flatten)]
    options: Options,
}

impl Manifest {
    /// Describes a run whose first trial has ended.
    pub fn new(arguments: &Arguments, first: &Trial) -> Self {
        let typed = words();
        let words = without_credentials_of_words(&typed).into_iter();
        Self {
            experiment: "load",
            command: std::iter::once(program_name().to_owned())
                .chain(words)
                .collect(),
            version: env!("CARGO_PKG_VERSION"),
            started_at: microseconds(&first.report.started),
            machine: Machine::here(),
            trials_planned: arguments.repeat,
            ended_at: None,
            state: State::Partial,
            record_version: RECORD_VERSION,
            git: None,
            webs: [],
            subjects: [Subject::new(target(arguments))],
            settings: settings(arguments, first, options(&typed)),
            engine: Engine {
                version: env!("CARGO_PKG_VERSION"),
                sha256: identity::own_digest(),
            },
            urls: None,
            resumed_at: [],
        }
    }

    /// `<utc time>-load`.
    pub fn folder_name(&self) -> String {
        let second = self.started_at.get(..19).unwrap_or(&self.started_at);
        let digits: String = second
            .chars()
            .filter(|letter| !"-:".contains(*letter))
            .collect();
        format!("{digits}Z-load")
    }

    /// Records the end of the run.
    pub fn end(&mut self, state: State) {
        self.state = state;
        let now = OffsetDateTime::from(SystemTime::now()).format(&Rfc3339);
        self.ended_at = now.ok().map(|text| microseconds(&text));
    }

    /// Indented JSON with a line feed at the end.
    pub fn text(&self) -> io::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

impl Subject {
    fn new(method: String) -> Self {
        Self {
            id: SERVER,
            language: "",
            method,
            version: None,
            lockfiles: Nothing {},
            unavailable: None,
            concurrency: None,
            folder: None,
            http: [],
            fingerprint: None,
        }
    }
}

/// The words of the command line from the verb on, in place of those of another tool.
pub fn words() -> Vec<String> {
    let typed = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let mut words = match translation() {
        Ok(Some(translated)) => translated.words,
        _ => typed.collect(),
    };
    words.drain(..1);
    words
}

fn settings(arguments: &Arguments, first: &Trial, options: Options) -> Settings {
    let plan = &first.report.plan;
    let is_search = arguments.find.is_some();
    let given = |rate: Option<f64>| rate.filter(|_| !is_search);
    let headers: Vec<String> = arguments
        .headers
        .iter()
        .map(|(name, value)| without_credentials(&format!("{name}: {value}")))
        .collect();
    let checks: Vec<String> = arguments
        .checks
        .iter()
        .map(|check| without_credentials(&check.text))
        .collect();
    let body = arguments.body.as_deref().map(|body| {
        let safe = without_credentials(body);
        safe.chars().take(KEPT_OF_BODY).collect()
    });
    let body_file = || Some(arguments.body_file.as_ref()?.display().to_string());
    Settings {
        target: target(arguments),
        urls: plan.urls,
        connections: arguments
            .connections
            .or((!is_search).then_some(plan.connections)),
        streams: plan.streams,
        http: plan.http,
        keepalive: plan.keepalive,
        rate_per_s: given(plan.rate_per_s),
        rate_end_per_s: given(plan.rate_end_per_s),
        arrivals: plan.arrivals,
        seed: plan.seed,
        until: arguments.until.map(Goal::text),
        warm_up_s: (!arguments.warm_up.is_zero()).then_some(arguments.warm_up.as_secs_f64()),
        stages: arguments.stages.as_ref().map(ToString::to_string),
        replay_speed_percent: first
            .report
            .replay
            .as_ref()
            .map(|replay| replay.recording.speed_percent),
        duration_s: given(plan.duration_s),
        requests: plan.requests,
        timeout_s: plan.timeout_s,
        proxy: plan.proxy.clone(),
        method: plan.method.clone(),
        headers: headers.join("\n"),
        body: body.or_else(body_file),
        checks: checks.join(", "),
        data: arguments
            .data
            .as_ref()
            .map(|path| path.display().to_string()),
        pick: first.report.data.map(|data| data.pick),
        insecure: arguments.servers.insecure,
        cpus: arguments
            .cpus
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        repeat: arguments.repeat,
        options,
    }
}

/// A time of RFC 3339 with at most six decimals, which Python can parse.
fn microseconds(text: &str) -> String {
    let Some((second, rest)) = text.split_once('.') else {
        return text.to_owned();
    };
    let end = rest.find(|letter: char| !letter.is_ascii_digit());
    let (fraction, zone) = rest.split_at(end.unwrap_or(rest.len()));
    format!("{second}.{fraction:0<6.6}{zone}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_microseconds() {
        for (text, expected) in [
            (
                "2026-01-31T12:00:00.123456789Z",
                "2026-01-31T12:00:00.123456Z",
            ),
            ("2026-01-31T12:00:00.5Z", "2026-01-31T12:00:00.500000Z"),
            ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
        ] {
            assert_eq!(microseconds(text), expected);
        }
    }
}
