//! `drive`: a load generator against a server that is proved right before, watched meanwhile, and proved again after.

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
use contract::{BESIDE, Contract, Endpoint};
use exchange::Server;
use generator::SERVER_URL;
use proof::Proof;
use report::{During, Report};
use watch::Watch;

/// Exit status when the server did not keep its contract.
const NOT_RIGHT: u8 = 1;
/// The longest wait, and the longest timeout, that a server can be told.
const MOST_MS: u64 = 600_000;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Where to write the report (JSON)
    #[arg(long, value_name = "FILE")]
    report: PathBuf,
    /// The server [default: what the environment has as `SERVER_URL`, as in a room]
    #[arg(long, value_name = "URL", value_parser = OneOrigin::parse)]
    server: Option<OneOrigin>,
    /// The endpoints that it has
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "plain,json,workloads"
    )]
    expect: Vec<Endpoint>,
    /// The waits that it was told to run
    #[arg(
        long,
        value_name = "MS",
        value_delimiter = ',',
        default_value = "500,1000,2000",
        value_parser = clap::value_parser!(u64).range(..=MOST_MS)
    )]
    workloads_ms: Vec<u64>,
    /// The timeout that it was told to keep
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=MOST_MS))]
    timeout_ms: Option<u64>,
    /// How often to ask beside the load
    #[arg(long, value_name = "TIME", default_value = "250ms", value_parser = quantity::standard_duration)]
    every: Duration,
    /// How long to wait for an answer beside the load, and after it
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = quantity::standard_duration)]
    patience: Duration,
    /// The load generator and its arguments
    #[arg(last = true, required = true, value_name = "GENERATOR")]
    generator: Vec<String>,
}

/// Runs all of it; the status says whether the server kept its contract.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let server = locate(&named(arguments)?)?;
    let contract = contract(arguments);
    let stop = stop_at_signals()?;
    let given_up = || stop.load(Ordering::Relaxed);
    let report = drive(arguments, &server, &contract, &given_up)?;
    let text = serde_json::to_string(&report)? + "\n";
    std::fs::write(&arguments.report, text)
        .with_context(|| format!("--report {}", arguments.report.display()))?;
    Ok(if report.is_right() { 0 } else { NOT_RIGHT })
}

fn drive(
    arguments: &Arguments,
    server: &Server,
    contract: &Contract,
    given_up: &(dyn Fn() -> bool + Sync),
) -> Result<Report> {
    let proof = Proof {
        server,
        contract,
        given_up,
    };
    let before = proof.whole();
    if given_up() || before.iter().any(|check| !check.passed) {
        let (during, after) = (During::default(), Vec::new());
        return Ok(Report::new(before, during, after, None, given_up()));
    }
    let watch = Watch::begin(server, contract, arguments.every, arguments.patience);
    let generator = generator::run(&arguments.generator, &server.authority, given_up);
    let during = watch.end();
    let generator = Some(generator?);
    let after = if given_up() {
        Vec::new()
    } else {
        proof.again(arguments.patience)
    };
    Ok(Report::new(before, during, after, generator, given_up()))
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
        beside: BESIDE,
    }
}

fn named(arguments: &Arguments) -> Result<OneOrigin> {
    if let Some(server) = &arguments.server {
        return Ok(server.clone());
    }
    let url = std::env::var(SERVER_URL).map_err(|_| {
        anyhow!("no server: give its --server http://HOST:PORT, or set {SERVER_URL}")
    })?;
    OneOrigin::parse(&url).with_context(|| SERVER_URL.to_owned())
}

fn locate(url: &OneOrigin) -> Result<Server> {
    let authority = url.authority();
    let addresses = (url.host(), url.port()).to_socket_addrs();
    let address = addresses
        .ok()
        .and_then(|mut found| found.next())
        .ok_or_else(|| anyhow!("--server http://{authority}: there is no such host"))?;
    Ok(Server { address, authority })
}
