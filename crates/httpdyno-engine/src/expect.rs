//! `expect`: the correct result of each URL on standard input.

use std::io::{BufRead, Write};
use std::num::NonZero;
use std::thread;

use anyhow::{Context, Result, anyhow};
use clap::{Args, ValueEnum};
use dyno_web::{
    Capabilities, Capability, Check, Expectation, HttpVersion, Nanos, OneOrigin, Outcome, Terms,
};
use serde::Serialize;

use crate::quantity;
use crate::web_source::WebArguments;

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    web: WebArguments,
    /// Timeout of the client, in seconds (or with a unit: 800ms)
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = quantity::duration)]
    timeout: Nanos,
    /// URL of the one origin that serves the web on a real machine; a redirect away from it is an error
    #[arg(long, value_name = "URL", value_parser = OneOrigin::parse)]
    against: Option<OneOrigin>,
    /// Content check of the client: with json, anything but the right JSON document is an error
    #[arg(long, value_enum)]
    check: Option<CheckName>,
    /// HTTP version of the client: with 2, a host without HTTP/2 is an error
    #[arg(long, value_enum, value_name = "VERSION")]
    http_version: Option<VersionName>,
    /// Follow the links of each URL within its host, as a recursive fetch does: a row for each URL that it meets
    #[arg(long)]
    links: bool,
    /// Capabilities of the client, separated by commas, or all but robots; an answer that needs others is undecided
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = capabilities)]
    capable: Vec<Capabilities>,
}

/// Parses a capability, or `all`: those that get more answers. A client with `robots` gets fewer.
fn capabilities(text: &str) -> Result<Capabilities, String> {
    let is_meant = |capability: &&Capability| {
        capability.name() == text || text == "all" && **capability != Capability::Robots
    };
    let chosen: Vec<Capability> = Capability::ALL.iter().filter(is_meant).copied().collect();
    if chosen.is_empty() {
        let names: Vec<&str> = Capability::ALL.iter().map(|known| known.name()).collect();
        return Err(format!("there are {}, or all", names.join(", ")));
    }
    Ok(chosen.into_iter().collect())
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CheckName {
    Json,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum VersionName {
    #[value(name = "1.1")]
    Http1,
    #[value(name = "2")]
    Http2,
}

/// The columns, in the order of [`Row`].
const COLUMNS: [&str; 9] = [
    "url",
    "outcome",
    "status",
    "length",
    "cause",
    "arrives",
    "request_url",
    "requests",
    "planned_ms",
];

/// One row; an absent value is empty.
#[derive(Debug, Serialize)]
struct Row<'u> {
    url: &'u str,
    outcome: &'static str,
    status: Option<u16>,
    length: Option<u64>,
    cause: Option<&'static str>,
    arrives: u8,
    request_url: Option<String>,
    requests: u32,
    planned_ms: Option<String>,
}

impl<'u> Row<'u> {
    fn new(url: &'u str, expectation: Expectation) -> Self {
        let (outcome, status, length, cause) = match expectation.outcome {
            Outcome::Status { status, length } => {
                ("status", Some(status), Some(length.0), expectation.hazard)
            }
            Outcome::Error { cause } => ("error", None, None, Some(cause)),
            Outcome::Either {
                status,
                length,
                cause,
            } => ("either", Some(status), Some(length.0), Some(cause)),
        };
        let micros = expectation.planned.map(|planned| planned.0 / 1_000);
        Self {
            url,
            outcome,
            status,
            length,
            cause,
            arrives: u8::from(expectation.arrives),
            request_url: expectation.request_url,
            requests: expectation.requests,
            planned_ms: micros.map(|micros| format!("{}.{:03}", micros / 1_000, micros % 1_000)),
        }
    }
}

/// Lines of one thread's batch: at most a second of work and a few MiB of output.
const BATCH: usize = 20_000;

/// Prints a CSV row for each line of input, in order; empty lines are skipped.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let web = arguments.web.load()?;
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    let terms = Terms {
        timeout: arguments.timeout,
        check: arguments.check.map(|CheckName::Json| Check::Json),
        version: arguments.http_version.map(|version| match version {
            VersionName::Http1 => HttpVersion::Http11,
            VersionName::Http2 => HttpVersion::Http2,
        }),
        capabilities: arguments.capable.iter().copied().collect(),
        origin: arguments.against.as_ref(),
    };
    let expect = |url: &str| {
        if arguments.links {
            web.crawl(&terms, url)
        } else {
            vec![(url.to_owned(), web.expect_on(&terms, url))]
        }
    };
    output.write_all(&table(&[], &expect, true)?)?;
    loop {
        let mut batches = Vec::with_capacity(threads);
        while batches.len() < threads {
            match read_batch(&mut input)? {
                batch if batch.is_empty() => break,
                batch => batches.push(batch),
            }
        }
        if batches.is_empty() {
            output.flush()?;
            return Ok(0);
        }
        let tables = thread::scope(|scope| {
            let expect = &expect;
            let start = |batch| scope.spawn(move || table(batch, expect, false));
            let running: Vec<_> = batches
                .iter()
                .map(|batch: &Vec<String>| start(batch.as_slice()))
                .collect();
            running
                .into_iter()
                .map(|thread| thread.join().expect("expecting a URL never panics"))
                .collect::<Vec<_>>()
        });
        for table in tables {
            output.write_all(&table?)?;
        }
    }
}

/// The next lines with a URL, without line ends; empty at the end of the input.
fn read_batch(input: &mut impl BufRead) -> Result<Vec<String>> {
    let mut batch = Vec::with_capacity(BATCH);
    let mut line = Vec::new();
    while batch.len() < BATCH {
        line.clear();
        if input
            .read_until(b'\n', &mut line)
            .context("reading standard input")?
            == 0
        {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        let url = text.trim_end_matches(['\n', '\r']);
        if !url.trim().is_empty() {
            batch.push(url.to_owned());
        }
    }
    Ok(batch)
}

fn table(
    urls: &[String],
    expect: &impl Fn(&str) -> Vec<(String, Expectation)>,
    header: bool,
) -> Result<Vec<u8>> {
    let mut table = csv::WriterBuilder::new()
        .has_headers(false)
        .from_writer(Vec::new());
    if header {
        table.write_record(COLUMNS)?;
    }
    for url in urls {
        for (url, expectation) in expect(url) {
            table.serialize(Row::new(&url, expectation))?;
        }
    }
    table.into_inner().map_err(|error| anyhow!("{error}"))
}
