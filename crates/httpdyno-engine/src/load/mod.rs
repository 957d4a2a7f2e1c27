//! `load`: sends requests to servers, measures how they are answered, prints it and keeps it as a run.

mod arguments;
mod command;
mod keep;
mod limit;
mod line;
mod plan;
mod single;
mod streams;
mod tables;
mod trial;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use dyno_load::load::{self, Plan, Report, Watch};

pub use arguments::Arguments;

use crate::complaint::{Mistyped, one_line};

/// Runs to the end, or to a signal.
pub fn run(arguments: &Arguments) -> Result<u8> {
    if arguments.report.is_some() || arguments.progress.is_some() {
        single::run(arguments)
    } else {
        command::run(arguments)
    }
}

/// Sends one load; a file that cannot be made is a mistake in what was typed.
fn measure(plan: Plan, stop: &Arc<AtomicBool>, watch: Option<Watch<'_>>) -> Result<Report> {
    load::run(plan, stop, watch).map_err(|error| match error {
        error @ load::Error::Create { .. } => Mistyped::new(one_line(&error)).into(),
        error => error.into(),
    })
}
