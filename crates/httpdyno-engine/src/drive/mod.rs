//! `drive`: verifies a server, runs a load generator against it and watches it meanwhile, then verifies it again.

mod contract;
mod exchange;
mod generator;
mod proof;
mod report;
mod watch;

#[cfg(test)]
mod tests;

use std::net::ToSocketAddrs;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use dyno_web::OneOrigin;

use crate::quantity;
use crate::stop::stop_at_signals;
use contract::{Contract, Endpoint, OVERHEAD};
use exchange::Server;
use generator::SERVER_URL;
use proof::Proof;
use report::{LoadResults, Report};
use watch::Watch;

/// Exit status when the server violated its contract.
const NOT_RIGHT: u8 = 1;
/// Longest wait and longest timeout of a server.
const MOST_MS: u64 = 600_000;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Write the report here (JSON)
    #[arg(long, value_name = "FILE")]
    report: PathBuf,
    /// URL of the server [default: the variable `SERVER_URL`, as in a room]
    #[arg(long, value_name = "URL", value_parser = OneOrigin::parse)]
    server: Option<OneOrigin>,
    /// Endpoints of the server
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "plain,json,workloads"
    )]
    expect: Vec<Endpoint>,
    /// Waits that the server is configured with
    #[arg(
        long,
        value_name = "MS",
        value_delimiter = ',',
        default_value = "500,1000,2000",
        value_parser = clap::value_parser!(u64).range(..=MOST_MS)
    )]
    workloads_ms: Vec<u64>,
    /// Timeout that the server is configured with
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=MOST_MS))]
    timeout_ms: Option<u64>,
    /// Interval of the requests that watch the server under load
    #[arg(long, value_name = "TIME", default_value = "250ms", value_parser = quantity::standard_duration)]
    every: Duration,
    /// Timeout of an answer under load and after it
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = quantity::standard_duration)]
    patience: Duration,
    /// Load generator with its arguments
    #[arg(last = true, required = true, value_name = "GENERATOR")]
    generator: Vec<String>,
}

/// Runs the drive; the status is 0 if the server kept its contract.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let server = locate(&server_url(arguments)?)?;
    let contract = contract(arguments);
    let stop = stop_at_signals()?;
    let is_stopped = || stop.load(Ordering::Relaxed);
    let report = drive(arguments, &server, &contract, &is_stopped)?;
    let text = serde_json::to_string(&report)? + "\n";
    std::fs::write(&arguments.report, text)
        .with_context(|| format!("--report {}", arguments.report.display()))?;
    Ok(if report.is_right() { 0 } else { NOT_RIGHT })
}

fn drive(
    arguments: &Arguments,
    server: &Server,
    contract: &Contract,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<Report> {
    let proof = Proof {
        server,
        contract,
        is_stopped,
    };
    let before = proof.check_all();
    if is_stopped() || before.iter().any(|check| !check.passed) {
        let (during, after) = (LoadResults::default(), Vec::new());
        return Ok(Report::new(before, during, after, None, is_stopped()));
    }
    let watch = Watch::begin(server, contract, arguments.every, arguments.patience);
    let generator = generator::run(&arguments.generator, &server.authority, is_stopped);
    let during = watch.end();
    let generator = Some(generator?);
    let after = if is_stopped() {
        Vec::new()
    } else {
        proof.check_again(arguments.patience)
    };
    Ok(Report::new(before, during, after, generator, is_stopped()))
}

fn contract(arguments: &Arguments) -> Contract {
    Contract {
        endpoints: arguments.expect.clone(),
        workloads: arguments
            .workloads_ms
            .iter()
            .map(|ms| Duration::from_millis(*ms))
            .collect(),
        timeout: arguments.timeout_ms.map(Duration::from_millis),
        overhead: OVERHEAD,
    }
}

fn server_url(arguments: &Arguments) -> Result<OneOrigin> {
    if let Some(server) = &arguments.server {
        return Ok(server.clone());
    }
    let url = std::env::var(SERVER_URL)
        .map_err(|_| anyhow!("no server: add --server http://HOST:PORT, or set {SERVER_URL}"))?;
    OneOrigin::parse(&url).with_context(|| SERVER_URL.to_owned())
}

fn locate(url: &OneOrigin) -> Result<Server> {
    let authority = url.authority();
    let addresses = (url.host(), url.port()).to_socket_addrs();
    let address = addresses
        .ok()
        .and_then(|mut found| found.next())
        .ok_or_else(|| anyhow!("--server http://{authority}: unknown host"))?;
    Ok(Server { address, authority })
}
