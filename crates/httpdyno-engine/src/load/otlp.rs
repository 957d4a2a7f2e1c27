//! `--otlp URL`: pushes the sums of a running load to a receiver of OTLP, over HTTP with protobuf.
//!
//! <https://opentelemetry.io/docs/specs/otlp/>

mod message;
mod post;

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use dyno_client::Failure;
use dyno_load::{Plan, Rate, Second};
use percent_encoding::percent_decode_str;
use prost::Message as _;
use tokio::runtime::LocalOptions;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout_at};
use url::Url;

use self::message::{Attribute, ExportResponse, bounds_ns, text, whole};
use self::post::{Answer, Post};
use super::intervals::Step;
use super::sums::Sums;
use crate::table::without_controls;

/// Time between two pushes, unless `OTEL_METRIC_EXPORT_INTERVAL` is set.
const INTERVAL: Duration = Duration::from_secs(10);
/// Timeout of a push with its repetitions; of the last one, for which the command waits.
const TIMEOUT: Duration = Duration::from_secs(10);
const LAST_TIMEOUT: Duration = Duration::from_secs(5);
/// Attempts of a push, and the pause after the first, which doubles.
const ATTEMPTS: u32 = 4;
const PAUSE: Duration = Duration::from_secs(1);

/// Reads the URL of a receiver; without a path, the path is that of metrics. The error does not repeat a password.
fn receiver(text: &str) -> Result<Receiver, String> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return Err("the URL holds a user's name; send it with the environment variable OTEL_EXPORTER_OTLP_HEADERS='Authorization=...'".to_owned());
    }
    if scheme.is_empty() {
        return Err(format!(
            "{text:?} has no scheme; write http://127.0.0.1:4318"
        ));
    }
    if !matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https") {
        return Err(format!(
            "{text:?} is not of HTTP, which alone is supported; write http://127.0.0.1:4318 or https://..."
        ));
    }
    let mut url = Url::parse(text)
        .map_err(|error| format!("{text:?}: {error}; write http://127.0.0.1:4318"))?;
    if url.path() == "/" {
        url.set_path("/v1/metrics");
    }
    Ok(Receiver(url))
}

/// The URL of a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Receiver(Url);

impl fmt::Display for Receiver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A query may hold a key.
        let end = self.0.query().map_or(self.0.as_str().len(), |query| {
            self.0.as_str().len() - query.len() - 1
        });
        formatter.write_str(self.0.as_str().get(..end).unwrap_or_default())
    }
}

/// The settings of the environment.
#[derive(Debug, PartialEq, Eq)]
struct Settings {
    interval: Duration,
    headers: Vec<(String, String)>,
    resource: Vec<(String, String)>,
    authorities: Option<PathBuf>,
}

impl Settings {
    /// Reads the variables; the error names the variable.
    fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let interval = variable("OTEL_METRIC_EXPORT_INTERVAL").map_or(Ok(INTERVAL), |text| {
            let milliseconds = text.parse().ok().filter(|number| *number > 0);
            milliseconds.map(Duration::from_millis).ok_or_else(|| {
                format!("OTEL_METRIC_EXPORT_INTERVAL (environment): {text:?} is not a time in milliseconds; write 10000 for 10 s")
            })
        })?;
        let pairs = |name: &str| {
            let text = variable(name).unwrap_or_default();
            // The text may hold a key: it is not repeated.
            pairs(&text).ok_or_else(|| {
                format!("{name} (environment): not a list of pairs; write name=value,name=value, with values percent-encoded")
            })
        };
        let headers = pairs("OTEL_EXPORTER_OTLP_HEADERS")?;
        if !headers.iter().all(|(name, value)| is_header(name, value)) {
            return Err("OTEL_EXPORTER_OTLP_HEADERS (environment): a name or a value has a character that headers cannot have; write name=value,name=value".to_owned());
        }
        let mut resource = pairs("OTEL_RESOURCE_ATTRIBUTES")?;
        if let Some(name) = variable("OTEL_SERVICE_NAME") {
            resource.retain(|(key, _)| key != "service.name");
            resource.push(("service.name".to_owned(), name));
        }
        Ok(Self {
            interval,
            headers,
            resource,
            authorities: variable("OTEL_EXPORTER_OTLP_CERTIFICATE").map(PathBuf::from),
        })
    }
}

/// Reads `name=value,name=value`, whose values are percent-encoded.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let all = text
        .split(',')
        .map(str::trim)
        .filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
        let name = name.trim();
        (!name.is_empty()).then(|| (name.to_owned(), value.into_owned()))
    };
    all.map(pair).collect()
}

fn is_header(name: &str, value: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    name.bytes().all(is_token) && !value.chars().any(char::is_control)
}

/// A trial, or a step of a search, with attributes of its own.
#[derive(Debug, Clone)]
pub struct Part {
    /// Number of the trial, from 0; only where there are several.
    trial: Option<usize>,
    step: Step,
    began: SystemTime,
    ended: Option<SystemTime>,
    sums: Sums,
}

impl Part {
    fn attributes(&self) -> Vec<Attribute> {
        let trial = self.trial.map(|trial| whole("httpdyno.trial", trial));
        let step = match self.step {
            Step::None => None,
            Step::Number(number) => Some(whole("httpdyno.step", number)),
            Step::Recovery => Some(text("httpdyno.phase", "recovery")),
        };
        trial.into_iter().chain(step).collect()
    }

    /// Whether nothing was sent in it.
    const fn is_empty(&self) -> bool {
        self.sums.sent == 0 && self.sums.not_opened == 0
    }
}

/// Pushes sums, in a thread of its own.
#[derive(Debug)]
pub struct Pusher {
    shared: Arc<Shared>,
    over: watch::Sender<bool>,
    thread: JoinHandle<Option<String>>,
    has_trials: bool,
}

#[derive(Debug)]
struct Shared {
    parts: Mutex<Parts>,
    receiver: Receiver,
}

/// The parts of the load that the receiver does not have in full.
#[derive(Debug, Default)]
struct Parts {
    /// The last is the one that runs.
    all: Vec<Part>,
    /// A line for people.
    message: Option<String>,
}

impl Shared {
    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pusher {
    /// Starts to push to this URL. `methods_differ` says whether requests have several methods.
    pub fn start(
        url: &str,
        plan: &Plan,
        methods_differ: bool,
        repeat: usize,
    ) -> Result<Self, String> {
        let receiver = receiver(url).map_err(|reason| format!("--otlp: {reason}"))?;
        let settings = Settings::read(|name| {
            let value = env::var_os(name)?.to_string_lossy().into_owned();
            (!value.is_empty()).then_some(value)
        })?;
        let authorities = settings.authorities.as_deref();
        let post = Post::new(&receiver.0, &settings.headers, authorities).map_err(|error| {
            let file = authorities.unwrap_or(Path::new("")).display();
            format!(
                "OTEL_EXPORTER_OTLP_CERTIFICATE (environment): {file}: {error}; write the name of a PEM file"
            )
        })?;
        let shared = Arc::new(Shared {
            parts: Mutex::default(),
            receiver,
        });
        let (over, is_over) = watch::channel(false);
        let mut pushing = Pushing {
            post,
            shared: shared.clone(),
            over: is_over,
            interval: settings.interval,
            resource: resource(&settings.resource),
            target: target(plan, methods_differ),
            pushes: 0,
            failed: 0,
            is_failing: false,
        };
        let thread = thread::Builder::new().name("otlp".to_owned());
        let thread = thread.spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            match runtime.enable_all().build_local(LocalOptions::default()) {
                Ok(runtime) => runtime.block_on(pushing.run()),
                Err(error) => Some(format!("--otlp: nothing was pushed: {error}")),
            }
        });
        Ok(Self {
            shared,
            over,
            thread: thread.map_err(|error| format!("--otlp: starting a thread: {error}"))?,
            has_trials: repeat > 1,
        })
    }

    /// Begins a trial or a step.
    pub fn begin(&self, trial: usize, step: Step, rate: Option<Rate>) {
        let now = SystemTime::now();
        let mut parts = self.shared.parts();
        if parts.all.last().is_some_and(Part::is_empty) {
            parts.all.pop();
        }
        if let Some(last) = parts.all.last_mut() {
            last.ended = Some(now);
        }
        parts.all.push(Part {
            trial: self.has_trials.then_some(trial),
            step,
            began: now,
            ended: None,
            sums: Sums::new(bounds_ns(), rate),
        });
    }

    /// Counts a second; returns a line for people, if there is one.
    pub fn second(&self, second: &Second<'_>) -> Option<String> {
        let mut parts = self.shared.parts();
        if let Some(part) = parts.all.last_mut() {
            part.sums.add(second);
        }
        parts.message.take()
    }

    /// Pushes the last time; returns a line for people if pushes failed.
    pub fn finish(self) -> Option<String> {
        self.over.send_replace(true);
        match self.thread.join() {
            Ok(message) => message,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// The attributes of this program.
fn resource(given: &[(String, String)]) -> Vec<Attribute> {
    let own = [
        ("service.name", "httpdyno".to_owned()),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("service.instance.id", instance()),
    ];
    let own = own
        .into_iter()
        .filter(|(key, _)| given.iter().all(|(other, _)| other != key));
    let given = given.iter().map(|(key, value)| text(key, value));
    own.map(|(key, value)| text(key, value))
        .chain(given)
        .collect()
}

/// A name that no other load has: several may push to one receiver.
fn instance() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let name = rustix::system::uname();
    let host = name.nodename().to_string_lossy();
    format!(
        "{host}-{}-{}",
        std::process::id(),
        since.unwrap_or_default().as_millis()
    )
}

/// The attributes of the requests that all have in common.
fn target(plan: &Plan, methods_differ: bool) -> Vec<Attribute> {
    // https://opentelemetry.io/docs/specs/semconv/http/http-metrics/
    let method = if methods_differ {
        "_OTHER"
    } else {
        &plan.method
    };
    let mut target = vec![text("http.request.method", method)];
    if let [server] = plan.requests.servers() {
        let scheme = if server.is_tls { "https" } else { "http" };
        target.push(text("server.address", server.host.as_str()));
        target.push(whole("server.port", server.port));
        target.push(text("url.scheme", scheme));
    }
    target
}

/// The thread that pushes.
struct Pushing {
    post: Post,
    shared: Arc<Shared>,
    over: watch::Receiver<bool>,
    interval: Duration,
    resource: Vec<Attribute>,
    target: Vec<Attribute>,
    pushes: u64,
    failed: u64,
    /// Whether the last push failed.
    is_failing: bool,
}

impl Pushing {
    /// Pushes until the load is over, then once more; returns a line for people if pushes failed.
    async fn run(&mut self) -> Option<String> {
        let mut over = self.over.clone();
        let mut ticks = interval_at(Instant::now() + self.interval, self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            tokio::select! {
                biased;
                // If the sender is gone, so is the load.
                _ = over.wait_for(|is_over| *is_over) => break,
                _ = ticks.tick() => {}
            }
            let mut ending = self.over.clone();
            let ended = tokio::select! {
                biased;
                // The last push has everything that this one has.
                _ = ending.wait_for(|is_over| *is_over) => break,
                ended = self.push(Instant::now() + TIMEOUT, ATTEMPTS) => ended,
            };
            let is_first = self.failed == 0;
            if let Err(reason) = self.count(ended)
                && is_first
            {
                let line = format!(
                    "--otlp {}: {reason}; the load continues, and so do the pushes",
                    self.shared.receiver
                );
                self.shared.parts().message = Some(line);
            }
        }
        // The command does not wait twice for a receiver that is down.
        let attempts = if self.is_failing { 1 } else { ATTEMPTS };
        let ended = self.push(Instant::now() + LAST_TIMEOUT, attempts).await;
        let ended = self.count(ended);
        (self.failed > 0).then(|| {
            let last = ended.map_or_else(
                |reason| format!(", also the last: {reason}; the receiver lacks the latest values"),
                |()| "; the last one did not, so the receiver has all values".to_owned(),
            );
            format!(
                "--otlp {}: {} of {} pushes failed{last}",
                self.shared.receiver, self.failed, self.pushes
            )
        })
    }

    fn count(&mut self, ended: Result<(), String>) -> Result<(), String> {
        self.pushes += 1;
        self.failed += u64::from(ended.is_err());
        self.is_failing = ended.is_err();
        ended
    }

    /// Pushes what the receiver lacks; returns why that failed.
    async fn push(&self, deadline: Instant, attempts: u32) -> Result<(), String> {
        let parts = self.shared.parts().all.clone();
        let message = message::request(&self.resource, &self.target, &parts, SystemTime::now());
        let message = message.encode_to_vec();
        let mut pause = PAUSE;
        for attempt in 1.. {
            let answer = match timeout_at(deadline, self.post.send(&message)).await {
                Ok(answer) => answer.map_err(Failure::full_name),
                Err(_) => return Err("no answer in time".to_owned()),
            };
            let (reason, after) = match verdict(answer) {
                Verdict::Done => break,
                Verdict::Failed(reason) => return Err(reason),
                Verdict::Again(reason, after) => (reason, after),
            };
            let wait = after.unwrap_or_else(|| pause.mul_f64(jitter()));
            if attempt >= attempts || Instant::now() + wait >= deadline {
                return Err(reason);
            }
            sleep(wait).await;
            pause *= 2;
        }
        // Parts that have ended and arrived never change.
        let ended = parts.iter().filter(|part| part.ended.is_some()).count();
        self.shared.parts().all.drain(..ended);
        Ok(())
    }
}

/// A factor from 0.5 to 1.5, so that several loads do not repeat at the same moment.
fn jitter() -> f64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    0.5 + f64::from(since.unwrap_or_default().subsec_nanos() % 1_000_000) / 1e6
}

/// What an answer means for a push.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Done,
    Failed(String),
    /// The same message may be accepted later, after the time that the receiver names.
    Again(String, Option<Duration>),
}

/// Judges an answer, or the failure in its place, by the rules of OTLP.
fn verdict(answer: Result<Answer, &'static str>) -> Verdict {
    let answer = match answer {
        Ok(answer) => answer,
        Err(failure) => return Verdict::Again(failure.to_owned(), None),
    };
    let status = answer.status;
    match status {
        200..=299 => {
            let response = ExportResponse::decode(&*answer.content).unwrap_or_default();
            let partial = response.partial_success.unwrap_or_default();
            if partial.rejected == 0 {
                return Verdict::Done;
            }
            let said = without_controls(&partial.message);
            Verdict::Failed(format!(
                "the receiver refused {} values: {said}",
                partial.rejected
            ))
        }
        429 | 502 | 503 | 504 => Verdict::Again(format!("status {status}"), answer.retry_after),
        _ => Verdict::Failed(format!("status {status}")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::message::PartialSuccess;
    use super::*;

    #[test]
    fn a_url_without_a_path_gets_that_of_metrics() {
        for (text, expected) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/metrics"),
            ("HTTPS://a.example/", "https://a.example/v1/metrics"),
            ("http://a.example/own?key=1", "http://a.example/own"),
            ("http://[::1]:4318", "http://[::1]:4318/v1/metrics"),
        ] {
            assert_eq!(receiver(text).unwrap().to_string(), expected);
        }
        for wrong in [
            "",
            "localhost:4318",
            "grpc://localhost:4317",
            "http://",
            "http://a.example:99999",
            "https://me:secret@a.example",
        ] {
            let refused = receiver(wrong).unwrap_err();
            assert!(refused.contains("; "), "{refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }

    fn settings(variables: &[(&str, &str)]) -> Result<Settings, String> {
        let variables: HashMap<_, _> = variables.iter().copied().collect();
        Settings::read(|name| variables.get(name).map(|value| (*value).to_owned()))
    }

    #[test]
    fn settings_are_those_of_the_environment() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let nothing = settings(&[]).unwrap();
        assert_eq!((nothing.interval, nothing.headers), (INTERVAL, Vec::new()));
        let read = settings(&[
            ("OTEL_METRIC_EXPORT_INTERVAL", "2500"),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "Authorization=Basic%20eA==, b = c ,",
            ),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a,team=b%2Cc"),
            ("OTEL_SERVICE_NAME", "cart"),
        ])
        .unwrap();
        assert_eq!(read.interval, Duration::from_millis(2500));
        assert_eq!(
            read.headers,
            [pair("Authorization", "Basic eA=="), pair("b", "c")]
        );
        assert_eq!(
            read.resource,
            [pair("team", "b,c"), pair("service.name", "cart")]
        );
    }

    #[test]
    fn a_wrong_variable_is_named_without_its_secret() {
        for (name, value) in [
            ("OTEL_METRIC_EXPORT_INTERVAL", "10s"),
            ("OTEL_METRIC_EXPORT_INTERVAL", "0"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "secret"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=secret%0D%0Ab: c"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a b=secret"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=%FFsecret"),
            ("OTEL_RESOURCE_ATTRIBUTES", "=secret"),
        ] {
            let refused = settings(&[(name, value)]).unwrap_err();
            assert!(
                refused.starts_with(&format!("{name} (environment): ")),
                "{refused}"
            );
            assert!(!refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn answers_are_judged_as_the_protocol_says() {
        let answer = |status, after: Option<u64>, rejected| {
            let response = ExportResponse {
                partial_success: Some(PartialSuccess {
                    rejected,
                    message: "too\nmany".to_owned(),
                }),
            };
            Ok(Answer {
                status,
                retry_after: after.map(Duration::from_secs),
                content: response.encode_to_vec(),
            })
        };
        let again = |reason: &str, after| Verdict::Again(reason.to_owned(), after);
        for (answer, expected) in [
            (answer(200, None, 0), Verdict::Done),
            (
                answer(429, Some(3), 0),
                again("status 429", Some(Duration::from_secs(3))),
            ),
            (answer(503, None, 0), again("status 503", None)),
            (
                answer(400, None, 0),
                Verdict::Failed("status 400".to_owned()),
            ),
            (
                answer(301, None, 0),
                Verdict::Failed("status 301".to_owned()),
            ),
            (Err("ConnectionRefused"), again("ConnectionRefused", None)),
        ] {
            assert_eq!(verdict(answer), expected);
        }
        let Verdict::Failed(reason) = verdict(answer(200, None, 2)) else {
            panic!("two values were refused");
        };
        assert!(
            reason.starts_with("the receiver refused 2 values: "),
            "{reason}"
        );
        assert!(!reason.contains('\n'));
    }
}
