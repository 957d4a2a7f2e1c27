//! The options of `load`, in one list.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use dyno_load::find::Objective;
use dyno_load::{Check, Goal, PerSecond, Pick, Segment, Stages};
use dyno_room::CpuSet;

use super::body::{TypedField, form_field};
use super::find_nodes::Descriptors;
use super::limit::Limit;
use super::prometheus::{ScrapeAddress, scrape_address};
use super::replay::ReplayOptions;
use super::start::StartOptions;
use crate::quantity;
use crate::servers::Servers;
use crate::table::Format;
use crate::usage::{HELP, needs_python};

/// Servers allow some hundred streams per connection; each stream costs memory.
const MOST_STREAMS: usize = 1024;

const PACE: &str = "Amount and rate";
const REPLAY: &str = "Replay";
const SEVERAL: &str = "Several generators";
const TARGET: &str = "Requests";
const CONNECTIONS: &str = "Connections";
const RESULTS: &str = "Results";

/// Printed before the options.
const EXAMPLE: &str =
    "Example: httpdyno load http://localhost:8080/ -c 64 -d 10s   as fast as possible";
/// Printed after the options.
const MORE: &str = "\
Response time counts from when a request was due, service time from when it was sent: a stall of the server lengthens the response \
time of every request that was due during it. Each load is stored as a run: httpdyno report prints it again and writes its page, \
httpdyno compare compares two.

Placeholders in URLs, headers and bodies get a value for each request: a column of --data, {{seq}} (the number of the request, from 1), \
{{uuid}}, {{random 1 100}}, {{now}} (milliseconds since 1970). In URLs values are percent-encoded. {{{{ stands for two braces.

Exit status: 0 done, 1 a --fail-if holds, 2 an option is wrong, 3 nothing was measured, 4 a disk is full, 128 + N ended by signal N.

More examples
    httpdyno load http://localhost:8080/ --rate 2000   open loop: 2,000 per second, however slow the answers
    httpdyno load http://localhost:8080/ --rate 500 --until 'ci(p99) < 5%' -d 10m   as long as it takes to know p99
    httpdyno load http://localhost:8080/ --find 'p99 < 50ms, errors < 0.1%'   the highest rate that meets this
    httpdyno load http://localhost:8080/ --warm-up 10s -d 30s   leave out the first 10 s
    httpdyno load http://localhost:8080/ --stages '0..1000/30s,1000/2m,0/10s'   open loop: up, level, down
    httpdyno load http://localhost:8080/ --rate 500 --fail-if 'p99 > 50ms'   for CI: exit code 1
    httpdyno load --requests-file mixed.jsonl --check status=200   check every answer
    httpdyno load http://localhost:8080/ --multipart a=b --multipart f=@sea.jpg   a form with a file
    httpdyno load http://app.example/ --unix-socket /run/app.sock   over a Unix socket; the URL has the Host
    httpdyno load http://app.example/ --dns-refresh 10s   follow a name whose addresses change
    httpdyno load https://api.example/ --proxy http://me:secret@10.0.0.3:3128   through a proxy
    httpdyno load http://localhost:8080/ --reconnect-after 100 --connections-rate 500/s   connections that come and go
    httpdyno load https://localhost:8443/ --cert client.pem --tls-resumption 50%   mutual TLS; every second handshake may resume
    httpdyno load 'http://localhost:8080/users/{{user}}' --data users.csv   a user of the file for each request
    httpdyno load --requests-file mixed.jsonl --fail-if 'checkout.p99 > 200ms'   of the requests with that label
    httpdyno load http://localhost:8080 --replay access.log --speed 200%   the requests of a log, twice as fast
    httpdyno load http://10.0.0.5:8080/ --rate 9000 --segment 1/3 --start-at 2030-01-01T12:00:00Z --clock http://10.0.0.5:8090   one of three generators
    httpdyno load --replay site.har --hosts 'www.example=http://localhost:8080' --hosts '*=skip' --dry-run   look first";

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[command(help_template = HELP, before_help = EXAMPLE, after_help = MORE, args_override_self = true)]
pub struct Arguments {
    /// URLs to send requests to, in turn; or use --urls or --requests-file
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,
    /// Connections to keep open [default: 64; with --find as many as the objective needs]
    #[arg(help_heading = PACE, long, short, value_name = "N", value_parser = at_least_one)]
    pub connections: Option<usize>,
    /// Length of the load: seconds, or with a unit (500ms, 5m) [default: 10s, unless --requests is given]
    #[arg(help_heading = PACE, long, short, value_name = "TIME", value_parser = quantity::standard_duration)]
    pub duration: Option<Duration>,
    /// Maximum number of requests to send
    #[arg(help_heading = PACE, long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,
    /// Open loop: requests per second regardless of the server, or a ramp such as 100..5000 [default: closed loop: the next request follows an answer]
    #[arg(help_heading = PACE, long, short, value_name = "RATE", value_parser = RateRange::parse, allow_hyphen_values = true)]
    pub rate: Option<RateRange>,
    /// Open loop whose rate goes through stages, RATE/TIME or RATE..RATE/TIME: '0..1000/30s,1000/2m,0/10s'; they set the duration
    #[arg(help_heading = PACE, long, value_name = "STAGES", value_parser = Stages::parse, conflicts_with = "rate", allow_hyphen_values = true)]
    pub stages: Option<Stages>,
    #[command(flatten, next_help_heading = REPLAY)]
    pub replay: ReplayOptions,
    /// Closed loop: open the connections one after the other over this time [default: all at once]
    #[arg(help_heading = PACE, long, value_name = "TIME", default_value = "0s", hide_default_value = true, value_parser = quantity::standard_duration)]
    pub ramp: Duration,
    /// End when the 95 % confidence interval of a response time is narrow enough: 'ci(p99) < 5%', mean or p50 to p99.9; at the latest after --duration [default then: 5m]
    #[arg(help_heading = PACE, long, value_name = "CONDITION", value_parser = Goal::parse)]
    pub until: Option<Goal>,
    /// Find the highest rate that the server holds while this is met: 'p99 < 50ms, errors < 0.1%'; percentiles of the response time and the share of failed requests
    #[arg(help_heading = PACE, long, value_name = "OBJECTIVE", value_parser = Objective::parse)]
    pub find: Option<Objective>,
    /// Time of the search [default: 60s, or longer if rare requests need it]
    #[arg(help_heading = PACE, long, value_name = "TIME", value_parser = quantity::standard_duration)]
    pub find_for: Option<Duration>,
    /// First rate of the search, in requests per second [default: 100]
    #[arg(help_heading = PACE, long, value_name = "RATE", value_parser = PerSecond::parse)]
    pub find_from: Option<PerSecond>,
    /// Send requests for this time first, which count in nothing; --duration begins after it [default: none]
    #[arg(help_heading = PACE, long, value_name = "TIME", default_value = "0s", hide_default_value = true, value_parser = quantity::standard_duration)]
    pub warm_up: Duration,
    /// Open loop: constant (evenly spaced) or poisson (like many independent users) [default: constant, with --find poisson]
    #[arg(help_heading = PACE, long, value_name = "LAW", hide_possible_values = true)]
    pub arrivals: Option<ArrivalsName>,
    /// Seed of random arrivals, rows and values [default: 1]
    #[arg(help_heading = PACE, long, value_name = "N")]
    pub seed: Option<u64>,
    /// Times to repeat the load; httpdyno compare separates differences from chance by the repeats
    #[arg(help_heading = PACE, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub repeat: u16,
    /// Send part i of N of the load: requests i, i+N, i+2N ... of its schedule, and an Nth of the connections; httpdyno load-merge adds up the N reports
    #[arg(help_heading = SEVERAL, long, value_name = "i/N", default_value = "1/1", hide_default_value = true, value_parser = Segment::parse)]
    pub segment: Segment,
    #[command(flatten, next_help_heading = SEVERAL)]
    pub start: StartOptions,
    /// Send a segment from each node of this Ray cluster, and merge the reports; local:N starts N nodes here (needs pip install 'httpdyno[ray]')
    #[arg(help_heading = SEVERAL, long, value_name = "auto|ADDRESS|local:N", value_parser = needs_python)]
    cluster: Option<String>,
    /// Method [default: GET, or POST with a body]
    #[arg(help_heading = TARGET, long, short = 'X', value_name = "METHOD")]
    pub method: Option<String>,
    /// Header field; may be repeated
    #[arg(help_heading = TARGET, long = "header", short = 'H', value_name = "NAME: VALUE", value_parser = header, allow_hyphen_values = true)]
    pub headers: Vec<(String, String)>,
    /// Content of each request
    #[arg(help_heading = TARGET, long, value_name = "TEXT", conflicts_with_all = ["body_file", "form", "multipart"], allow_hyphen_values = true)]
    pub body: Option<String>,
    /// File with the content of each request; one above 1 MiB is read while it is sent; - reads standard input
    #[arg(help_heading = TARGET, long, value_name = "FILE|-", conflicts_with_all = ["form", "multipart"])]
    pub body_file: Option<PathBuf>,
    /// Field of a form as the content (application/x-www-form-urlencoded); may be repeated
    #[arg(help_heading = TARGET, long, value_name = "NAME=VALUE", conflicts_with = "multipart", value_parser = form_field, allow_hyphen_values = true)]
    pub form: Vec<(String, String)>,
    /// Field of a multipart form as the content: name=value or name=@file, with ;type=... and ;filename=... behind it; may be repeated
    #[arg(help_heading = TARGET, long, value_name = "FIELD", value_parser = TypedField::parse, allow_hyphen_values = true)]
    pub multipart: Vec<TypedField>,
    /// Send each content only after the server's answer 100 (Expect: 100-continue), or a second of silence
    #[arg(help_heading = TARGET, long)]
    pub expect_continue: bool,
    /// File of requests, one a line, sent in turn: {"url": ..., "method": ..., "headers": {...}, "body": ..., "check": [...], "label": ..., "weight": ...}
    #[arg(help_heading = TARGET, long, value_name = "FILE")]
    pub requests_file: Option<PathBuf>,
    /// File of URLs, one a line; - reads standard input
    #[arg(help_heading = TARGET, long = "urls", value_name = "FILE|-")]
    pub urls_file: Option<PathBuf>,
    /// Rows for placeholders: CSV whose first line names the columns, or a JSON object a line; {{user}} is the column user
    #[arg(help_heading = TARGET, long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Rows of --data: sequence (in turn), random, or unique (each once, then the load ends) [default: sequence]
    #[arg(help_heading = TARGET, long, value_name = "ORDER", hide_possible_values = true, requires = "data")]
    pub pick: Option<PickName>,
    /// Check each answer: status=200, header='NAME: VALUE' (or header=NAME), length=N (as sent); of its decoded content: sha256=HEX, contains=TEXT, regex=PATTERN, json=POINTER=VALUE; may be repeated
    #[arg(help_heading = TARGET, long = "check", value_name = "CHECK", value_parser = TypedCheck::parse)]
    pub checks: Vec<TypedCheck>,
    /// Send the paths of URLs as they are, with . and .. in them
    #[arg(help_heading = TARGET, long)]
    pub path_as_is: bool,
    /// Reuse connections (the default)
    #[arg(help_heading = CONNECTIONS, long, overrides_with = "no_keepalive")]
    keepalive: bool,
    /// Open a connection for each request
    #[arg(help_heading = CONNECTIONS, long, overrides_with = "keepalive")]
    no_keepalive: bool,
    /// Close each connection after N requests and open another, as servers do
    #[arg(help_heading = CONNECTIONS, long, value_name = "N", conflicts_with = "no_keepalive", value_parser = positive)]
    pub reconnect_after: Option<NonZeroU64>,
    /// Open the connections one after the other before the load begins, at this rate: 500/s [default: all at once]
    #[arg(help_heading = CONNECTIONS, long, value_name = "N/s", conflicts_with = "no_keepalive", value_parser = connections_rate)]
    pub connections_rate: Option<PerSecond>,
    /// HTTP version: 1.1, or 2 (by ALPN, for http:// by prior knowledge) [default: 1.1]
    #[arg(help_heading = CONNECTIONS, long, value_name = "VERSION", hide_possible_values = true)]
    http_version: Option<HttpVersion>,
    /// The same as --http-version 2
    #[arg(help_heading = CONNECTIONS, long, conflicts_with = "http_version")]
    http2: bool,
    /// Refuse answers over HTTP/1.1 that are not well-formed, instead of reading them as browsers do and naming what is odd
    #[arg(help_heading = CONNECTIONS, long)]
    pub strict: bool,
    /// HTTP/2: requests in flight on each connection
    #[arg(help_heading = CONNECTIONS, long, value_name = "N", default_value_t = 1, value_parser = streams)]
    pub streams: usize,
    /// Timeout of a request, connecting included
    #[arg(help_heading = CONNECTIONS, long, value_name = "TIME", default_value = "5s", value_parser = quantity::standard_duration)]
    pub timeout: Duration,
    #[command(flatten, next_help_heading = CONNECTIONS)]
    pub servers: Servers,
    /// Look up names again at this interval, and close connections to addresses that are no longer in the answer [default: only after a connection failed]
    #[arg(help_heading = CONNECTIONS, long, value_name = "TIME", conflicts_with = "unix_socket", value_parser = quantity::standard_duration)]
    pub dns_refresh: Option<Duration>,
    /// CPUs of the generator, a thread on each: 0 or 2-3
    #[arg(help_heading = CONNECTIONS, long, value_name = "LIST")]
    pub cpus: Option<CpuSet>,
    /// Exit with 1 when this holds of the good answers: 'p99 > 50ms', 'errors > 0.1%', 'rps < 1000', of a label 'cart.p99 > 50ms'; may be repeated
    #[arg(help_heading = RESULTS, long, value_name = "LIMIT")]
    pub fail_if: Vec<String>,
    /// Write a line for each request here (CSV)
    #[arg(help_heading = RESULTS, long, value_name = "FILE")]
    pub samples: Option<PathBuf>,
    #[arg(help = "Write the histograms of each second here (HdrHistogram V2)", help_heading = RESULTS, long, value_name = "FILE")]
    pub hdr_log: Option<PathBuf>,
    /// table, plain, json, csv, markdown, or ndjson: a line per second while it runs, then the report [environment: FORMAT] [default: table]
    #[arg(help_heading = RESULTS, long, value_name = "FORMAT", hide_possible_values = true)]
    pub format: Option<Format>,
    /// Serve the counters of the running load at /metrics, for Prometheus; :9900 listens on all addresses
    #[arg(help_heading = RESULTS, long, value_name = "ADDRESS:PORT", value_parser = scrape_address)]
    pub prometheus: Option<ScrapeAddress>,
    #[arg(help = "Push the metrics of the running load here, in OTLP over HTTP, every 10 s and at the end: http://127.0.0.1:4318", help_heading = RESULTS, long, value_name = "URL", conflicts_with_all = ["dry_run", "report"])]
    pub otlp: Option<String>,
    /// Folder of runs; each run gets a folder of its own in it
    #[arg(help_heading = RESULTS, long, value_name = "DIR", default_value = "runs")]
    pub out: PathBuf,
    /// Print what would be sent, and send nothing
    #[arg(help_heading = RESULTS, long, conflicts_with = "report")]
    pub dry_run: bool,
    /// Do not store the run
    #[arg(help_heading = RESULTS, long)]
    pub no_store: bool,
    /// Print the results alone: no progress, and not the run's folder; errors are printed
    #[arg(help_heading = RESULTS, long, short)]
    pub quiet: bool,
    /// Understand the command line of wrk, hey, oha or ab after --, and print its translation: --as wrk -- -t4 -c64 -d10s URL
    #[arg(help_heading = RESULTS, long = "as", value_name = "TOOL", value_parser = untranslated)]
    other_tool: Option<String>,
    /// Write the report here, without table and run; - is standard output
    #[arg(long, value_name = "FILE", hide = true, conflicts_with_all = ["repeat", "fail_if", "format"])]
    pub report: Option<PathBuf>,
    /// Propose the steps of --find to OUT, and read the names of their generators' reports from IN: open file descriptors (JSON lines)
    #[arg(long, value_name = "OUT:IN", hide = true, requires = "find", value_parser = Descriptors::parse)]
    pub find_steps: Option<Descriptors>,
    /// Count the requests of a step of --find for this objective, in the report of a segment
    #[arg(long, value_name = "OBJECTIVE", hide = true, conflicts_with = "find", value_parser = Objective::parse)]
    pub count_for: Option<Objective>,
    /// An open file descriptor to write progress to (JSON lines)
    #[arg(long, value_name = "DESCRIPTOR", hide = true)]
    pub progress: Option<u32>,
}

impl Arguments {
    /// Whether connections are reused.
    pub const fn keepalive(&self) -> bool {
        !self.no_keepalive
    }

    /// Whether connections use HTTP/2.
    pub fn http2(&self) -> bool {
        self.http2 || self.http_version == Some(HttpVersion::Two)
    }

    /// The objective for which requests are counted.
    pub fn objective(&self) -> Option<&Objective> {
        self.find.as_ref().or(self.count_for.as_ref())
    }

    /// Parses the limits of `--fail-if`.
    pub fn limits(&self) -> Result<Vec<Limit>, String> {
        let is_open_loop = self.rate.is_some()
            || self.stages.is_some()
            || self.find.is_some()
            || self.replay.replay.is_some();
        let texts = self.fail_if.iter();
        texts.map(|text| Limit::parse(text, is_open_loop)).collect()
    }
}

/// A check and its text.
#[derive(Debug, Clone)]
pub struct TypedCheck {
    pub text: String,
    pub check: Check,
}

impl TypedCheck {
    fn parse(text: &str) -> Result<Self, String> {
        Ok(Self {
            text: text.to_owned(),
            check: Check::parse(text)?,
        })
    }
}

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HttpVersion {
    /// HTTP/1.1
    #[value(name = "1.1")]
    One,
    /// HTTP/2
    #[value(name = "2")]
    Two,
}

/// Order of the rows of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PickName {
    /// In turn
    Sequence,
    /// Any row for each request
    Random,
    /// Each row once
    Unique,
}

impl From<PickName> for Pick {
    fn from(name: PickName) -> Self {
        match name {
            PickName::Sequence => Self::Sequence,
            PickName::Random => Self::Random,
            PickName::Unique => Self::Unique,
        }
    }
}

/// Spacing of requests at a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ArrivalsName {
    /// Evenly spaced
    Constant,
    /// At random, like many independent users
    Poisson,
}

/// A rate, or the two rates of a ramp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateRange {
    pub from: PerSecond,
    pub to: Option<PerSecond>,
}

impl RateRange {
    fn parse(text: &str) -> Result<Self, String> {
        let (from, to) = match text.split_once("..") {
            Some((from, to)) if from.is_empty() || to.is_empty() => {
                return Err(format!(
                    "{text:?} is not a ramp: write both rates, as 100..5000"
                ));
            }
            Some((from, to)) => (from, Some(PerSecond::parse(to)?)),
            None => (text, None),
        };
        Ok(Self {
            from: PerSecond::parse(from)?,
            to,
        })
    }
}

/// Refuses the command line of another tool, which is translated before it is parsed.
fn untranslated(_: &str) -> Result<String, String> {
    Err("the command line after -- is not UTF-8".to_owned())
}

fn at_least_one(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number >= 1);
    number.ok_or_else(|| format!("{text:?} is not a whole number of 1 or more"))
}

fn positive(text: &str) -> Result<NonZeroU64, String> {
    let number = text.parse();
    number.map_err(|_| format!("{text:?} is not a whole number of 1 or more"))
}

fn connections_rate(text: &str) -> Result<PerSecond, String> {
    PerSecond::parse(text.strip_suffix("/s").unwrap_or(text)).map_err(|_| {
        format!("{text:?} is not a rate: write connections a second, as 500/s or 0.5/s")
    })
}

fn streams(text: &str) -> Result<usize, String> {
    match at_least_one(text)? {
        number if number > MOST_STREAMS => Err(format!("must be at most {MOST_STREAMS}")),
        number => Ok(number),
    }
}

fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.trim().to_owned())),
        _ => Err(format!("{text:?} is not a header: write 'Name: value'")),
    }
}
