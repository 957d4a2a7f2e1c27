//! `load`: sends requests to servers, measures the answers, prints the results and stores them as a run.

mod arguments;
mod body;
mod chart;
mod command;
pub mod display;
mod dry_run;
mod find;
mod find_nodes;
mod intervals;
mod keep;
mod limit;
mod line;
mod merge;
mod merge_seconds;
mod otlp;
mod plan;
mod prometheus;
mod replay;
pub mod screen;
mod segment;
mod server_cpu;
mod single;
mod start;
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
pub use merge::{Arguments as MergeArguments, run as run_merge};

use start::NotStarted;

use crate::messages::{NOTHING_MEASURED, UsageError, one_line, print_message};

/// Runs to the end, or until a signal.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let ran = if arguments.report.is_some() || arguments.progress.is_some() {
        single::run(arguments)
    } else {
        command::run(arguments)
    };
    match ran {
        Err(error) if error.is::<NotStarted>() => {
            print_message(error);
            Ok(NOTHING_MEASURED)
        }
        ran => ran,
    }
}

/// Sends one load, which may be that of one of several generators.
fn measure_part(
    arguments: &Arguments,
    mut plan: Plan,
    stop: &Arc<AtomicBool>,
    watch: Option<Watch<'_>>,
) -> Result<Report> {
    let Some(moment) = arguments.start.start_at else {
        return measure(plan, stop, watch);
    };
    let part = segment::Part::of(arguments, &plan);
    let started = start::wait(&arguments.start, moment, &plan, stop)?;
    plan.start_at = Some(started.moment);
    let ran = measure(plan, stop, watch);
    let mut report = ran.map_err(start::explain_late)?;
    report.segment = part.zip(report.sums.take()).map(|(part, sums)| {
        let record = part.record(*sums, moment, started.clock(&arguments.start));
        Box::new(record)
    });
    Ok(report)
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
