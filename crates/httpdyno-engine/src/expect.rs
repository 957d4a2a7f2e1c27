//! `expect`: what a correct client must report for each URL of standard input.

use std::io::BufRead;

use anyhow::{Context, Result};
use clap::Args;
use dyno_web::{Expectation, Nanos, Outcome};
use serde::Serialize;

use crate::quantity;
use crate::web_source::WebArguments;

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    web: WebArguments,
    /// The client's timeout, in seconds (or with a unit: 800ms)
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = quantity::duration)]
    timeout: Nanos,
}

/// One row: absent is empty.
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
            Outcome::Status { status, length } => ("status", Some(status), Some(length.0), None),
            Outcome::Error { cause } => ("error", None, None, Some(cause)),
            Outcome::Either { status, length } => {
                ("either", Some(status), Some(length.0), Some("timeout"))
            }
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

/// Prints a row of CSV a line of input, in order; empty lines are no URLs.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let web = arguments.web.load()?;
    let mut output = csv::WriterBuilder::new()
        .buffer_capacity(1 << 16)
        .from_writer(std::io::stdout().lock());
    let mut input = std::io::stdin().lock();
    let mut line = Vec::new();
    loop {
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
            output.serialize(Row::new(url, web.expect(url, arguments.timeout)))?;
        }
    }
    output.flush()?;
    Ok(0)
}
