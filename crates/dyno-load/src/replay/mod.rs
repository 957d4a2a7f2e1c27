//! Recorded traffic that is sent again: logs, HAR and JSONL are parsed line by line into requests with times.
//!
//! Different requests are prepared once. Each line then takes 12 bytes: its time, and the place of its request.

mod access_log;
mod har;
mod hosts;
mod json_log;
mod time;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, Cursor, Read};
use std::sync::Arc;

use dyno_io::list;
use sha2::{Digest, Sha256};

pub use hosts::{Destination, Hosts, Origin};

use crate::arrival_process::PerSecond;
use crate::jsonl::{self, Described, on_one_line};
use crate::prepared::Shape;
use crate::recorded_times::RecordedTimes;
pub use crate::recording::{Format, HostRecord, Recording, ReplayRecord};
use crate::recording::{skipped_text, thousands};
use crate::requests::{Preparation, Requests};
use time::At;

/// Different requests that a replay may have: several gigabytes.
const MOST_DIFFERENT: usize = 4_000_000;
/// A longer line is malformed; this bounds the memory for a line without an end.
const LONGEST_LINE: u64 = 64 << 20;
/// Bytes from which the format is recognised.
const HEAD_BYTES: u64 = 64 << 10;
/// Lines after which a file without a single valid line is given up.
const HOPELESS: u64 = 1000;
/// Hosts that are listed.
const LISTED_HOSTS: usize = 1000;
/// Hosts that a message lists.
const NAMED_HOSTS: usize = 3;
const SECOND_NS: i64 = 1_000_000_000;

/// How a recording is replayed.
pub struct Options<'o> {
    /// The server for requests whose host is not recorded or not mapped.
    pub base: Option<Origin>,
    /// Where the requests of recorded hosts go.
    pub hosts: Hosts,
    /// Whether connections to a host and port go to an address of the user's choice.
    pub is_rerouted: &'o dyn Fn(&str, u16) -> bool,
    /// Speed in thousandths of a per cent.
    pub speed: u64,
    /// Whether the recording begins again at its end.
    pub is_loop: bool,
}

/// A recording that is ready to be sent.
#[derive(Debug)]
pub struct Replay {
    /// Its requests, in order.
    pub requests: Requests,
    /// Their times.
    pub times: Arc<RecordedTimes>,
    /// Mean rate of a pass.
    pub mean: PerSecond,
    /// What it has.
    pub recording: Recording,
}

/// A line of a recording.
#[derive(Debug, Clone, PartialEq)]
enum Line {
    Request(Box<Recorded>),
    /// Not sent, for this reason.
    Skipped(String),
}

/// A recorded request.
#[derive(Debug, Clone, PartialEq)]
struct Recorded {
    at: At,
    target: Target,
    /// Method, headers and body; the URL is filled in later.
    described: Described,
}

/// Where a recorded request went.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    /// A path with its query, and the host if it is recorded.
    Path {
        path: String,
        host: Option<String>,
    },
    Url(String),
}

impl Format {
    /// Recognises the format by the first lines.
    fn recognise(head: &[u8]) -> Self {
        let head = content(head);
        let Some(object) = head.strip_prefix(b"{") else {
            return Self::AccessLog;
        };
        let value = object.trim_ascii_start().strip_prefix(b"\"log\"");
        let value = value.and_then(|rest| rest.trim_ascii_start().strip_prefix(b":"));
        if value.is_some_and(|value| value.trim_ascii_start().starts_with(b"{")) {
            return Self::Har;
        }
        let line = head.split(|byte| *byte == b'\n').next().unwrap_or_default();
        match serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line) {
            Ok(keys) if keys.contains_key("at") || keys.contains_key("url") => Self::Jsonl,
            _ => Self::JsonLog,
        }
    }
}

/// Reads a recording; `name` is that of its file.
///
/// # Errors
///
/// In one line: what is wrong, and what to do.
pub fn read(
    mut reader: impl BufRead,
    name: &str,
    options: &Options<'_>,
    shape: &Shape,
) -> Result<Replay, String> {
    let unreadable = |error: io::Error| {
        let text = error.to_string();
        let reason = text.split(" (os error").next().unwrap_or_default();
        format!("cannot be read: {reason}; name another file")
    };
    let head = head(&mut reader).map_err(unreadable)?;
    if content(&head).is_empty() {
        return Err("the file is empty; name a log, a HAR file or JSONL".to_owned());
    }
    let format = Format::recognise(&head);
    let mut collector = Collector::new(format, options, shape);
    let reader = Cursor::new(head).chain(reader);
    if format == Format::Har {
        har::read(reader, |line| collector.take(line))?;
    } else {
        let mut lines = Lines::new(reader);
        let mut compiled = jsonl::Compiled::default();
        while let Some(line) = lines.next().map_err(unreadable)? {
            let parsed = match format {
                _ if line.is_too_long => Err("it is longer than 64 MiB".to_owned()),
                Format::AccessLog => access_log::line(line.bytes),
                Format::JsonLog => json_log::line(line.bytes),
                _ => jsonl_line(line.bytes, &mut compiled),
            };
            collector.number = line.number;
            collector.take(parsed)?;
        }
    }
    collector.finish(name)
}

/// The text after a byte order mark, blank lines and comments.
fn content(head: &[u8]) -> &[u8] {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let mut rest = head.trim_ascii_start();
    while rest.starts_with(b"#") {
        let end = rest.iter().position(|byte| *byte == b'\n');
        rest = end.map_or(&[][..], |end| rest[end..].trim_ascii_start());
    }
    rest
}

/// The first lines: the first that is not blank, and after a lone brace the next.
fn head(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    loop {
        let left = HEAD_BYTES.saturating_sub(head.len() as u64);
        let read = reader.take(left).read_until(b'\n', &mut head)?;
        let seen = content(&head).trim_ascii_end();
        if read == 0 || !matches!(seen, b"" | b"{" | b"{\"log\":" | b"{ \"log\":") {
            return Ok(head);
        }
    }
}

/// The lines of a file, each in the same memory; blank lines and comments are skipped.
struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    number: u64,
}

struct RawLine<'b> {
    number: u64,
    bytes: &'b [u8],
    is_too_long: bool,
}

impl<R: BufRead> Lines<R> {
    const fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            number: 0,
        }
    }

    fn next(&mut self) -> io::Result<Option<RawLine<'_>>> {
        let is_too_long = loop {
            self.buffer.clear();
            let mut limited = self.reader.by_ref().take(LONGEST_LINE);
            if limited.read_until(b'\n', &mut self.buffer)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            let is_ended = self.buffer.ends_with(b"\n");
            let is_too_long = !is_ended && self.buffer.len() as u64 == LONGEST_LINE;
            if is_too_long {
                self.reader.skip_until(b'\n')?;
            }
            if is_ended {
                self.buffer.pop();
            }
            if list::entry(&self.buffer, self.number).is_some() {
                break is_too_long;
            }
        };
        Ok(Some(RawLine {
            number: self.number,
            bytes: list::entry(&self.buffer, self.number).unwrap_or_default(),
            is_too_long,
        }))
    }
}

/// Parses a line of our own format with its time.
fn jsonl_line(bytes: &[u8], compiled: &mut jsonl::Compiled) -> Result<Line, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("byte {} is not UTF-8", error.valid_up_to() + 1))?;
    let (at, described) = jsonl::timed_line(text, compiled)?;
    if described.body_file.is_some() {
        return Err("body_file: only --requests-file has it; write the content as body".to_owned());
    }
    if described.form.is_some() {
        return Err(
            "form: only --requests-file has it; write it as body, with its Content-Type".to_owned(),
        );
    }
    let Some(at) = at else {
        return Err(
            "at is missing: write its time, as \"at\": 2.5 (seconds from the start)".to_owned(),
        );
    };
    let at = match &at {
        serde_json::Value::Number(number) => At::since_start(number),
        serde_json::Value::String(text) => At::from_text(text),
        _ => None,
    }
    .ok_or_else(|| {
        format!("at: {at} is not a time: write seconds from the start, as 2.5, or 2024-10-21T12:00:00.5Z")
    })?;
    if described.weight.is_some() {
        return Err("weight: a replay sends each line once; leave it out".to_owned());
    }
    Ok(Line::Request(Box::new(Recorded {
        at,
        target: Target::Url(described.url.clone()),
        described,
    })))
}

/// Collects the requests of a recording.
struct Collector<'c, 's> {
    format: Format,
    options: &'c Options<'c>,
    shape: &'s Shape,
    all: Preparation<'s>,
    /// Places of the requests, by their digest.
    known: HashMap<[u8; 16], u32>,
    moments: Vec<(i64, u32)>,
    finest_ns: i64,
    is_relative: Option<bool>,
    number: u64,
    lines: u64,
    skipped: BTreeMap<String, u64>,
    malformed: u64,
    first_malformed: Option<String>,
    hosts: BTreeMap<(Option<String>, String), u64>,
    unmapped: BTreeMap<String, u64>,
}

impl<'c, 's> Collector<'c, 's> {
    fn new(format: Format, options: &'c Options<'c>, shape: &'s Shape) -> Self {
        Self {
            format,
            options,
            shape,
            all: Preparation::new(shape),
            known: HashMap::new(),
            moments: Vec::new(),
            finest_ns: SECOND_NS,
            is_relative: None,
            number: 0,
            lines: 0,
            skipped: BTreeMap::new(),
            malformed: 0,
            first_malformed: None,
            hosts: BTreeMap::new(),
            unmapped: BTreeMap::new(),
        }
    }

    /// Takes the next line; an error ends the reading.
    fn take(&mut self, line: Result<Line, String>) -> Result<(), String> {
        self.lines += 1;
        if self.format == Format::Har {
            self.number = self.lines;
        }
        match line {
            Ok(Line::Request(recorded)) => match self.add(*recorded) {
                Ok(()) => {}
                Err(Refusal::Line(reason)) => self.malformed(&reason),
                Err(Refusal::Recording(reason)) => return Err(reason),
            },
            Ok(Line::Skipped(reason)) => self.skip(reason),
            Err(reason) => self.malformed(&reason),
        }
        if self.lines == HOPELESS && self.malformed == HOPELESS {
            return Err(self.hopeless());
        }
        Ok(())
    }

    fn skip(&mut self, reason: String) {
        *self.skipped.entry(reason).or_default() += 1;
    }

    fn malformed(&mut self, reason: &str) {
        self.malformed += 1;
        if self.first_malformed.is_none() {
            let (unit, number) = (self.format.unit(), self.number);
            self.first_malformed = Some(format!("{unit} {number}: {}", on_one_line(reason)));
        }
    }

    fn add(&mut self, recorded: Recorded) -> Result<(), Refusal> {
        let Recorded {
            at,
            target,
            mut described,
        } = recorded;
        if *self.is_relative.get_or_insert(at.is_relative) != at.is_relative {
            return Err(Refusal::Recording(format!(
                "line {}: at: the lines before count seconds from the start, or have times of day, and this one does not; write all in one way",
                self.number
            )));
        }
        let destination = hosts::destination(&target, self.options).map_err(Refusal::Line)?;
        let (host, to, url) = match destination {
            Destination::Send { host, to, url } => (host, to, url),
            Destination::Skip => {
                self.skip("left out by --hosts".to_owned());
                return Ok(());
            }
            Destination::Unmapped(host) => {
                if self.unmapped.len() < LISTED_HOSTS || self.unmapped.contains_key(&host) {
                    *self.unmapped.entry(host).or_default() += 1;
                }
                return Ok(());
            }
            Destination::NoServer => {
                return Err(Refusal::Recording(format!(
                    "the {} has paths without hosts; name the server to send them to: httpdyno load http://127.0.0.1:8080 --replay FILE",
                    self.format.name()
                )));
            }
        };
        described.url = url;
        if let (Target::Path { .. }, Some(host)) = (&target, &host)
            && self.options.hosts.of(host, None).is_none()
        {
            described.headers.push(("Host".to_owned(), host.clone()));
        }
        let is_given = |name: &str| {
            let mut given = self.shape.headers.iter();
            given.any(|(given, _)| given.eq_ignore_ascii_case(name))
        };
        described.headers.retain(|(name, _)| !is_given(name));
        let digest = digest(&described);
        let place = if let Some(place) = self.known.get(&digest) {
            *place
        } else {
            if self.known.len() == MOST_DIFFERENT {
                return Err(Refusal::Recording(format!(
                    "line {}: more than {MOST_DIFFERENT} different requests do not fit into memory; replay a part: head -n {} FILE | httpdyno load URL --replay -",
                    self.number,
                    self.number - 1
                )));
            }
            let name = label_of(crate::marks::path(&described.url));
            let added = self.all.add_recorded(described, &name);
            let place = added.map_err(|error| Refusal::Line(error.to_string()))?;
            self.known.insert(digest, place);
            place
        };
        if self.moments.len() == u32::MAX as usize {
            return Err(Refusal::Recording(
                "it has more than 4,294,967,295 requests; replay a part of it".to_owned(),
            ));
        }
        self.finest_ns = self.finest_ns.min(at.precision_ns);
        self.moments.push((at.ns, place));
        if self.hosts.len() < LISTED_HOSTS || self.hosts.contains_key(&(host.clone(), to.clone())) {
            *self.hosts.entry((host, to)).or_default() += 1;
        }
        Ok(())
    }

    /// Message for a file most of whose lines are malformed.
    fn hopeless(&self) -> String {
        let first = self.first_malformed.as_deref().unwrap_or_default();
        let (malformed, lines, unit) = (self.malformed, self.lines, self.format.unit());
        format!(
            "{malformed} of {lines} {unit}s are malformed (read as {}), the first: {first}; supported: access logs (common, combined), JSON logs of nginx and Caddy, HAR, JSONL with \"at\"",
            self.format.name()
        )
    }

    fn finish(mut self, name: &str) -> Result<Replay, String> {
        if self.malformed * 2 > self.lines {
            return Err(self.hopeless());
        }
        if !self.unmapped.is_empty() {
            return Err(unmapped(&self.unmapped));
        }
        if self.malformed > 0 {
            self.skipped.insert("malformed".to_owned(), self.malformed);
        }
        if self.moments.is_empty() {
            return Err(format!(
                "it has no request to send: {}; name a log with GET requests, or HAR or JSONL, which have bodies",
                skipped_text(self.lines, &self.skipped, self.format)
            ));
        }
        let is_log = matches!(self.format, Format::AccessLog | Format::JsonLog);
        let has_seconds = is_log && self.finest_ns == SECOND_NS;
        let origin_ns = (self.is_relative == Some(true)).then_some(0);
        let timeline = timeline(self.moments, has_seconds, origin_ns);
        let scaled = |time_ns: u64| scale(time_ns, self.options.speed);
        let times_ns: Box<[u64]> = timeline.times_ns.iter().map(|ns| scaled(*ns)).collect();
        let period_ns = scaled(timeline.period_ns);
        if self.options.is_loop && period_ns == 0 {
            return Err(
                "--loop: all requests have the same time, so that a pass takes no time; remove it"
                    .to_owned(),
            );
        }
        let duration_ns = times_ns.last().copied().unwrap_or_default();
        let mean = mean(times_ns.len() as u64, period_ns);
        let times = RecordedTimes::new(times_ns, self.options.is_loop.then_some(period_ns));
        let requests = self.all.finish_in_order(timeline.order);
        let requests = requests.map_err(|error| error.to_string())?;
        let hosts = self.hosts.into_iter();
        let hosts = hosts.map(|((host, to), requests)| HostRecord { host, to, requests });
        #[expect(clippy::cast_precision_loss, reason = "shown as seconds and per cent")]
        let recording = Recording {
            file: name.to_owned(),
            format: self.format,
            lines: self.lines,
            requests: times.times_ns().len() as u64,
            different: requests.len() as u64,
            skipped: self.skipped,
            first_malformed: self.first_malformed,
            hosts: hosts.collect(),
            speed_percent: self.options.speed as f64 / 1000.0,
            is_loop: self.options.is_loop,
            duration_s: duration_ns as f64 / 1e9,
            mean_per_s: mean.get(),
            peak_per_s: times.peak_per_s(),
        };
        Ok(Replay {
            requests,
            times: Arc::new(times),
            mean,
            recording,
        })
    }
}

/// Why a line is not sent.
enum Refusal {
    /// The line is malformed.
    Line(String),
    /// The recording cannot be replayed.
    Recording(String),
}

/// Times since the start, in order, and the place of the request at each.
#[derive(Debug, PartialEq, Eq)]
struct Timeline {
    times_ns: Box<[u64]>,
    order: Box<[u32]>,
    /// Duration of a pass; 0 if all have one time.
    period_ns: u64,
}

/// Sorts requests by time: those of one time stay in order. Of times in whole seconds, the requests of one second are
/// spread evenly over it. The start is the origin, or the first request.
fn timeline(mut moments: Vec<(i64, u32)>, has_seconds: bool, origin_ns: Option<i64>) -> Timeline {
    moments.sort_by_key(|(time_ns, _)| *time_ns);
    let first_ns = moments.first().map_or(0, |(time_ns, _)| *time_ns);
    let origin_ns = origin_ns.unwrap_or(first_ns);
    let since = |time_ns: i64| time_ns.saturating_sub(origin_ns).max(0).unsigned_abs();
    let mut times_ns: Vec<u64> = moments.iter().map(|(time_ns, _)| since(*time_ns)).collect();
    let order = moments.iter().map(|(_, place)| *place).collect();
    drop(moments);
    let last_ns = times_ns.last().copied().unwrap_or_default();
    let mut period_ns = match times_ns.len() as u64 {
        0 | 1 => last_ns,
        count => last_ns.saturating_add(last_ns / (count - 1)),
    };
    if has_seconds {
        let second_ns = SECOND_NS.unsigned_abs();
        period_ns = last_ns + second_ns;
        for second in times_ns.chunk_by_mut(|one, other| one == other) {
            let count = second.len() as u64;
            for (number, time_ns) in (0..).zip(second) {
                // Below 2^32 requests of at most 10^9 ns fit.
                *time_ns += number * second_ns / count;
            }
        }
    }
    Timeline {
        times_ns: times_ns.into(),
        order,
        period_ns,
    }
}

/// A time at a speed, in thousandths of a per cent.
fn scale(time_ns: u64, speed: u64) -> u64 {
    u64::try_from(u128::from(time_ns) * 100_000 / u128::from(speed)).unwrap_or(u64::MAX)
}

/// The mean rate; a pass without a duration counts as one second.
fn mean(requests: u64, period_ns: u64) -> PerSecond {
    let period_ns = if period_ns == 0 {
        SECOND_NS.unsigned_abs()
    } else {
        period_ns
    };
    let millionths = u128::from(requests) * 1_000_000 * u128::from(SECOND_NS.unsigned_abs())
        / u128::from(period_ns);
    PerSecond::of_millionths(millionths)
}

/// A digest of everything that makes a request different from others.
fn digest(described: &Described) -> [u8; 16] {
    let mut hasher = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    };
    part(described.method.as_deref().unwrap_or_default().as_bytes());
    part(described.url.as_bytes());
    for (name, value) in &described.headers {
        part(name.as_bytes());
        part(value.as_bytes());
    }
    part(b"");
    part(described.body.as_deref().unwrap_or_default());
    part(&[u8::from(described.body.is_some())]);
    part(described.label.as_deref().unwrap_or_default().as_bytes());
    if !described.checks.is_empty() {
        part(format!("{:?}", described.checks).as_bytes());
    }
    let digest: [u8; 32] = hasher.finalize().into();
    std::array::from_fn(|place| digest[place])
}

/// The label of a path: segments that are numbers, UUIDs or long hexadecimal numbers become `{}`.
fn label_of(path: &str) -> String {
    let is_id = |segment: &str| {
        let is_number = !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
        let is_hex = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
        is_number || segment.len() >= 16 && segment.bytes().all(is_hex)
    };
    let segments = path.split('/');
    let segments = segments.map(|segment| if is_id(segment) { "{}" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}

/// The line of a request of a log.
fn log_request(
    at: At,
    method: &str,
    target: &[u8],
    host: Option<String>,
    headers: Vec<(String, String)>,
    body: Option<String>,
) -> Line {
    let skipped = |reason: &str| Line::Skipped(reason.to_owned());
    if body.is_none() && !matches!(method, "GET" | "HEAD" | "OPTIONS") {
        let known = [
            "POST", "PUT", "PATCH", "DELETE", "CONNECT", "TRACE", "PROPFIND",
        ];
        let name = known.iter().find(|known| **known == method);
        let name = name.copied().unwrap_or("of other methods");
        return skipped(&format!("{name} (no body is recorded)"));
    }
    let Some((path, absolute)) = path_of(target) else {
        return skipped(if target == b"*" {
            "OPTIONS *"
        } else {
            NO_REQUEST
        });
    };
    Line::Request(Box::new(Recorded {
        at,
        target: Target::Path {
            path,
            host: absolute.or(host),
        },
        described: Described {
            method: Some(method.to_owned()),
            headers,
            body: body.map(Into::into),
            ..Described::default()
        },
    }))
}

const NO_REQUEST: &str = "not requests";

/// The path and query of a request's target, with bytes escaped that cannot be in one; and the host of an absolute
/// target.
fn path_of(target: &[u8]) -> Option<(String, Option<String>)> {
    let mut path = target;
    let mut host = None;
    if !target.starts_with(b"/") {
        let text = std::str::from_utf8(target).ok()?;
        let (scheme, rest) = text.split_once("://")?;
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return None;
        }
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        host = hosts::recorded(&rest[..end]);
        host.as_ref()?;
        path = &rest.as_bytes()[end..];
    }
    let mut escaped = String::with_capacity(path.len() + 1);
    if !path.starts_with(b"/") {
        escaped.push('/');
    }
    for byte in path {
        if byte.is_ascii_graphic() && *byte != b'#' {
            escaped.push((*byte).into());
        } else {
            use std::fmt::Write as _;
            let _ = write!(escaped, "%{byte:02X}");
        }
    }
    Some((escaped, host))
}

/// Method and target of a request line such as `GET / HTTP/1.1`; `None` for anything else.
fn request_line(text: &[u8]) -> Option<(&str, &[u8])> {
    let space = text.iter().position(|byte| *byte == b' ')?;
    let (method, rest) = (&text[..space], &text[space + 1..]);
    let method = std::str::from_utf8(method).ok()?;
    let is_method = (1..=20).contains(&method.len())
        && method
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    // The target of a broken client may have spaces; HTTP/0.9 has no version.
    let version = rest.windows(6).rposition(|window| window == b" HTTP/");
    let target = &rest[..version.unwrap_or(rest.len())];
    (is_method && !target.is_empty()).then_some((method, target))
}

/// Whether a recorded header is sent: not those about the connection and the framing, which are made anew.
fn is_kept(name: &str) -> bool {
    let dropped = [
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "keep-alive",
        "proxy-connection",
        "upgrade",
        "te",
        "expect",
        "http2-settings",
    ];
    let is_dropped = dropped.iter().any(|one| name.eq_ignore_ascii_case(one));
    !name.is_empty() && !name.starts_with(':') && !is_dropped
}

fn unmapped(hosts: &BTreeMap<String, u64>) -> String {
    let mut all: Vec<(&String, &u64)> = hosts.iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let named = all.iter().take(NAMED_HOSTS);
    let named: Vec<String> = named
        .map(|(host, count)| format!("{host} ({})", thousands(**count)))
        .collect();
    let more = match all.len().saturating_sub(NAMED_HOSTS) {
        0 => String::new(),
        more => format!(" and {} more", thousands(more as u64)),
    };
    let first = all.first().map_or("", |(host, _)| host.as_str());
    format!(
        "nothing is sent to recorded hosts unless you say where: {}{more}; map each: --hosts {first}=http://127.0.0.1:8080, leave it out: --hosts {first}=skip, or all others: --hosts '*=...'",
        named.join(", ")
    )
}

#[cfg(test)]
mod tests;
