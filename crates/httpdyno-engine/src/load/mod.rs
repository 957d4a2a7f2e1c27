//! `load`: sends requests to servers, measures the answers, prints the results and stores them as a run.

mod arguments;
mod body;
mod chart;
mod command;
pub mod display;
mod dry_run;
mod find;
mod intervals;
mod keep;
mod limit;
mod line;
mod otlp;
mod plan;
mod prometheus;
mod replay;
pub mod screen;
mod server_cpu;
mod single;
mod streams;
mod sums;
mod tables;
pub mod trial;
mod watching;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use dyno_load::{Plan, Report, Watch};

pub use arguments::Arguments;

use crate::messages::{UsageError, one_line};

/// Runs to the end, or until a signal.
pub fn run(arguments: &Arguments) -> Result<u8> {
    if arguments.report.is_some() || arguments.progress.is_some() {
        single::run(arguments)
    } else {
        command::run(arguments)
    }
}

/// Sends one load; an output file that cannot be created is a usage error.
fn measure(plan: Plan, stop: &Arc<AtomicBool>, watch: Option<Watch<'_>>) -> Result<Report> {
    let mut report = dyno_load::run(plan, stop, watch).map_err(|error| match error {
        error @ dyno_load::Error::Create { .. } => {
            anyhow::Error::from(UsageError::new(one_line(&error)))
        }
        error => error.into(),
    })?;
    // The start of an answer may have credentials.
    let checks = report.checks.iter_mut();
    for example in checks.flat_map(|checks| &mut checks.examples) {
        example.got = keep::without_credentials(&example.got);
    }
    Ok(report)
}
