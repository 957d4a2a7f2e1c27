//! What `load` is told on its command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, ValueEnum};
use dyno_load::load::{Check, PerSecond};
use dyno_room::CpuSet;

use crate::quantity;
use crate::servers::Servers;

/// Servers allow some hundred streams a connection; each one asked for costs memory.
const MOST_STREAMS: usize = 1024;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Where to send requests; several take turns
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,
    /// A file of URLs, one a line; - is the standard input
    #[arg(long = "urls", value_name = "FILE")]
    pub urls_file: Option<PathBuf>,
    /// A file of requests, one JSON object a line: url, method, headers, body or `body_base64`
    #[arg(long, value_name = "FILE")]
    pub requests_file: Option<PathBuf>,
    /// Connections to have open
    #[arg(long, short, default_value_t = 64, value_parser = at_least_one)]
    pub connections: usize,
    /// How long to send [default: 10s, unless --requests is given]
    #[arg(long, short, value_parser = quantity::standard_duration)]
    pub duration: Option<Duration>,
    /// How many requests to send
    #[arg(long, short = 'n')]
    pub requests: Option<u64>,
    /// Requests a second to send, whatever becomes of them, or a ramp from one rate to another
    #[arg(long, value_name = "RATE|RATE..RATE", value_parser = RateRange::parse)]
    pub rate: Option<RateRange>,
    /// Over how long the connections begin, one after the other, without --rate [default: all at once]
    #[arg(long, value_name = "TIME", default_value = "0s", hide_default_value = true, value_parser = quantity::standard_duration)]
    pub ramp: Duration,
    /// How requests keep to the rate [default: constant]
    #[arg(long)]
    pub arrivals: Option<ArrivalsName>,
    /// What Poisson arrivals are drawn from [default: 1]
    #[arg(long)]
    pub seed: Option<u64>,
    /// The method [default: GET, or POST with a body]
    #[arg(long, short = 'X')]
    pub method: Option<String>,
    /// A header field, as 'Name: value'
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE", value_parser = header)]
    pub headers: Vec<(String, String)>,
    /// The content of each request
    #[arg(long, value_name = "TEXT", conflicts_with = "body_file")]
    pub body: Option<String>,
    /// A file with the content of each request
    #[arg(long, value_name = "FILE")]
    pub body_file: Option<PathBuf>,
    /// Whether connections are kept
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub keepalive: bool,
    /// The version of HTTP to speak
    #[arg(long, default_value = "1.1")]
    pub http_version: HttpVersion,
    /// Requests at a time on each connection, with --http-version 2
    #[arg(long, default_value_t = 1, value_parser = streams)]
    pub streams: usize,
    #[command(flatten)]
    pub servers: Servers,
    /// How long a request may take, connecting included
    #[arg(long, default_value = "5s", value_parser = quantity::standard_duration)]
    pub timeout: Duration,
    /// CPUs to send with, one thread each
    #[arg(long, value_name = "CPUS")]
    pub cpus: Option<CpuSet>,
    /// What must hold of each answer: status=200, length=13, sha256=HEX or json=/pointer=value
    #[arg(long = "check", value_name = "CHECK", value_parser = Check::parse)]
    pub checks: Vec<Check>,
    /// Where to write every request (CSV)
    #[arg(long, value_name = "FILE")]
    pub samples: Option<PathBuf>,
    /// Where to write the report (JSON) [default: the standard output]
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Where to write the histograms of each second (`HdrHistogram` log, version 2)
    #[arg(long, value_name = "FILE")]
    pub hdr_log: Option<PathBuf>,
    /// An open file descriptor to write progress to (JSON lines)
    #[arg(long, value_name = "DESCRIPTOR")]
    pub progress: Option<u32>,
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

/// How requests keep to the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ArrivalsName {
    /// At equal distances
    Constant,
    /// At random ones, as of many independent users
    Poisson,
}

/// A rate, or two.
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
                    "{text:?} is no ramp: write both rates, as 100..5000"
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

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(_) => Err("must be a number".to_owned()),
    }
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
        _ => Err(format!("{text:?} is no header: write 'Name: value'")),
    }
}
