//! `load`: sends requests to servers and measures how they are answered.

mod arguments;
mod plan;

use std::fs::File;
use std::io::{self, Write};
use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use dyno_load::load::{self, Live};
use serde_json::json;

pub use arguments::Arguments;

use crate::complaint::{USAGE, complain};
use crate::progress;
use crate::report_file::ReportFile;
use crate::stop::stop_at_signals;

/// Exit status when not one answer came.
const NOTHING_MEASURED: u8 = 3;

/// Runs to the end, or to SIGINT or SIGTERM, and reports.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let plan = plan::plan(arguments).unwrap_or_else(|error| {
        complain(format_args!("{error:#}"));
        exit(USAGE.into())
    });
    // Before a run of hours, not after it.
    let file = arguments
        .report
        .as_deref()
        .map(ReportFile::open)
        .transpose()?;
    let stop = stop_at_signals()?;
    let open = |descriptor| Progress::open(descriptor, stop.clone());
    let mut progress = arguments.progress.map(open).transpose()?;
    let mut tell = |live: &Live| {
        if let Some(progress) = &mut progress {
            progress.tell(live);
        }
    };
    let watch: Option<load::Watch<'_>> = match arguments.progress {
        Some(_) => Some(&mut tell),
        None => None,
    };
    let report = match load::run(plan, &stop, watch) {
        Err(error @ load::Error::Create { .. }) => {
            complain(format_args!("{:#}", anyhow::Error::from(error)));
            return Ok(USAGE);
        }
        ended => ended?,
    };
    let text = serde_json::to_string(&report)?;
    match file {
        Some(file) => file.write(text)?,
        None => writeln!(io::stdout(), "{text}").context("standard output")?,
    }
    Ok(if report.requests() == 0 {
        NOTHING_MEASURED
    } else {
        0
    })
}

/// JSON lines about five times a second. When nobody reads them any more, whoever asked for the run has gone: it ends.
struct Progress {
    file: Option<File>,
    stop: Arc<AtomicBool>,
}

impl Progress {
    fn open(descriptor: u32, stop: Arc<AtomicBool>) -> Result<Self> {
        Ok(Self {
            file: Some(progress::open(descriptor)?),
            stop,
        })
    }

    fn tell(&mut self, live: &Live) {
        let Some(file) = &mut self.file else { return };
        let told = json!({
            "phase": "load",
            "elapsed_s": live.elapsed_s,
            "sent": live.sent,
            "requests": live.requests,
            "errors": live.errors,
            "rps": live.rps,
            "open": live.open,
            "response_p50_ns": live.response_p50_ns,
            "response_p99_ns": live.response_p99_ns,
        });
        if file.write_all(format!("{told}\n").as_bytes()).is_err() {
            self.file = None;
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}
