//! A load for another program: one trial, whose report that program reads.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use dyno_load::{Event, Live, Watch};
use serde_json::json;

use super::arguments::Arguments;
use super::{find, plan};
use crate::messages::{NOTHING_MEASURED, UsageError, print_message};
use crate::progress;
use crate::report_file::ReportFile;
use crate::stop::stop_at_signals;

/// Runs to the end or until a signal, and writes the report.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let plan = plan::plan(arguments).map_err(|error| UsageError::new(format_args!("{error:#}")))?;
    if let Some(line) = arguments.servers.proxy_line(plan.requests.proxies()) {
        print_message(line);
    }
    // Opened before a load of hours, so that a failure appears at once.
    let named = arguments.report.as_deref();
    let file = named
        .filter(|path| *path != Path::new("-"))
        .map(ReportFile::open)
        .transpose()?;
    let stop = stop_at_signals()?;
    let open = |descriptor| Progress::open(descriptor, stop.clone());
    let mut progress = arguments.progress.map(open).transpose()?;
    let is_frequent = progress.is_some();
    let mut observer = |event: Event<'_>| {
        if let (Some(progress), Event::Stretch(live)) = (&mut progress, event) {
            progress.write(live);
        }
    };
    let report = if let Some(objective) = &arguments.find {
        let mut show = |progress: find::Progress<'_>| {
            if let find::Progress::Event(event) = progress {
                observer(event);
            }
        };
        find::search(arguments, objective, &plan, &stop, &mut show)?
    } else {
        let watch = is_frequent.then_some(Watch {
            is_frequent,
            observer: &mut observer,
        });
        super::measure_part(arguments, plan, &stop, watch)?
    };
    let text = serde_json::to_string(&report)?;
    match file {
        Some(file) => file.write(text)?,
        None => writeln!(io::stdout(), "{text}").context("standard output")?,
    }
    Ok(if report.requests == 0 {
        NOTHING_MEASURED
    } else {
        0
    })
}

/// Progress as JSON lines, about five a second. If the reader closes, the load ends, because the program that started
/// it has ended.
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

    fn write(&mut self, live: &Live) {
        let Some(file) = &mut self.file else { return };
        let text = json!({
            "phase": if live.is_warm_up { "warm-up" } else { "load" },
            "elapsed_s": live.elapsed_s,
            "sent": live.sent,
            "requests": live.requests,
            "errors": live.errors,
            "rps": live.rps,
            "open": live.open,
            "response_p50_ns": live.response_p50_ns,
            "response_p99_ns": live.response_p99_ns,
        });
        if file.write_all(format!("{text}\n").as_bytes()).is_err() {
            self.file = None;
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}
