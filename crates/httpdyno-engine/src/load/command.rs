//! The command: runs the trials and stores each as it ends, then prints the tables, the run's folder and the broken
//! limits.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use clap::ValueEnum as _;
use dyno_load::{Event, Plan, Watch};

use super::arguments::Arguments;
use super::find::{Progress, search, sentence};
use super::keep::{self, Run, StoreError, require_folder};
use super::limit::Limit;
use super::plan::plan;
use super::streams::{Outputs, numbered};
use super::tables::{missing_trials_note, tables};
use super::trial::Trial;
use super::watching::Observers;
use crate::messages::{NOTHING_MEASURED, UsageError, print_message};
use crate::stop::{received_signal, stop_at_signals};
use crate::table::{self, Format, Note, without_controls};

/// Exit status when a limit of `--fail-if` is broken.
pub(super) const LIMIT_BROKEN: u8 = 1;
/// Failures that a proxy's credentials cure.
const WANTS_CREDENTIALS: [&str; 4] = [
    "ProxyRefused: 407",
    "ProxyRefused: authentication_required",
    "ProxyRefused: authentication_failed",
    "ProxyRefused: no_acceptable_authentication",
];
/// Signal number to assume when it is unknown: Ctrl-C.
const SIGINT: u8 = 2;

/// Runs, stores and prints the load.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let format = format(arguments.format).map_err(UsageError::new)?;
    let limits = arguments.limits().map_err(UsageError::new)?;
    let plan = plan(arguments).map_err(|error| UsageError::new(format_args!("{error:#}")))?;
    for limit in &limits {
        let labels = plan.requests.labels().names();
        limit.check_label(labels).map_err(UsageError::new)?;
    }
    if arguments.dry_run {
        super::dry_run::show(&plan, arguments, format)?;
        return Ok(0);
    }
    let proxies = arguments.servers.proxy_line(plan.requests.proxies());
    if let Some(line) = proxies.filter(|_| !arguments.quiet) {
        print_message(line);
    }
    let mut outputs = Outputs::of(arguments)?;
    if !arguments.no_store
        && let Err(refused) = require_folder(&arguments.out)
    {
        return Ok(print_and_return(&refused.to_string(), refused.status));
    }
    let mut running_load = RunningLoad {
        arguments,
        format,
        outputs: &outputs,
        stop: stop_at_signals()?,
        trials: Vec::new(),
        run: None,
        store_error: None,
    };
    let sent = running_load.send(&plan);
    let result = running_load.end();
    if let Err(error) = sent {
        if !arguments.quiet {
            result.print_folder();
        }
        return Err(error);
    }
    if result.answered() > 0 {
        outputs.finish()?;
    }
    show(&result, usize::from(arguments.repeat), format)?;
    if !arguments.quiet {
        result.print_folder();
    }
    Ok(judge(&result, &limits, arguments))
}

/// The output format, from the option or the environment.
pub(super) fn format(given: Option<Format>) -> Result<Format, String> {
    if let Some(format) = given {
        return Ok(format);
    }
    let Some(value) = std::env::var_os("FORMAT").filter(|value| !value.is_empty()) else {
        return Ok(Format::Table);
    };
    let text = value.to_string_lossy();
    Format::from_str(&text, false).map_err(|_| {
        let known = "csv, json, markdown, ndjson, plain, table";
        format!("FORMAT (environment): {text:?} is unknown; choose from: {known}")
    })
}

/// A load in progress.
struct RunningLoad<'a> {
    arguments: &'a Arguments,
    format: Format,
    outputs: &'a Outputs,
    stop: Arc<AtomicBool>,
    trials: Vec<Trial>,
    run: Option<Run>,
    store_error: Option<StoreError>,
}

impl RunningLoad<'_> {
    /// Runs the trials; stops after the first without an answer, because the server is gone.
    fn send(&mut self, plan: &Plan) -> Result<()> {
        let repeat = usize::from(self.arguments.repeat);
        let mut observers = Observers::start(self.arguments, self.format, plan, &self.stop)?;
        for number in 0..repeat {
            if number > 0 && self.stop.load(Ordering::Relaxed) {
                break;
            }
            observers.begin(number, plan);
            let numbered =
                |path: &Option<PathBuf>| path.as_ref().map(|path| numbered(path, number));
            let plan = Plan {
                samples: numbered(&self.outputs.samples),
                hdr_log: numbered(&self.outputs.hdr_log),
                ..plan.clone()
            };
            let samples = plan.samples.clone();
            forget_peak_memory(number);
            let report = if let Some(objective) = &self.arguments.find {
                let mut show = |progress: Progress<'_>| observers.search(progress);
                search(self.arguments, objective, &plan, &self.stop, &mut show)
            } else {
                let is_frequent = observers.are_frequent();
                let is_watched = observers.are_any();
                let mut observer = |event: Event<'_>| observers.observe(event);
                let watch = is_watched.then_some(Watch {
                    is_frequent,
                    observer: &mut observer,
                });
                super::measure_part(self.arguments, plan, &self.stop, watch)
            }?;
            let trial = Trial::new(number, keep::target(self.arguments), report);
            let is_answered = trial.report.requests > 0;
            // A load without a single answer is not stored; after other trials, or of one of several generators, it is a
            // result.
            if is_answered || number > 0 || trial.report.segment.is_some() {
                self.keep(&trial, samples.as_deref());
            }
            self.trials.push(trial);
            if !is_answered {
                break;
            }
        }
        observers.finish()
    }

    /// Stores a trial; if that fails, the measurement continues.
    fn keep(&mut self, trial: &Trial, samples: Option<&Path>) {
        if self.arguments.no_store || self.store_error.is_some() {
            return;
        }
        if self.run.is_none() {
            match Run::begin(self.arguments, trial) {
                Ok(run) => self.run = Some(run),
                Err(error) => self.store_error = Some(error),
            }
        }
        if let Some(run) = &self.run {
            self.store_error = run.keep(trial, samples).err();
        }
    }

    /// Ends the run, complete or partial.
    fn end(self) -> LoadResult {
        let was_stopped = self.trials.iter().any(|trial| trial.report.interrupted);
        let are_answered = self.trials.iter().all(|trial| trial.report.requests > 0);
        let is_whole =
            self.trials.len() == usize::from(self.arguments.repeat) && are_answered && !was_stopped;
        let mut store_error = self.store_error;
        let is_complete = is_whole && store_error.is_none();
        let folder = self.run.and_then(|run| match run.close(is_complete) {
            Ok(folder) => Some(folder),
            Err(error) => {
                store_error.get_or_insert(error);
                None
            }
        });
        LoadResult {
            trials: self.trials,
            is_whole,
            folder,
            store_error,
        }
    }
}

/// A load that has ended.
struct LoadResult {
    trials: Vec<Trial>,
    /// Whether every trial ran to its end and had answers.
    is_whole: bool,
    folder: Option<PathBuf>,
    store_error: Option<StoreError>,
}

impl LoadResult {
    /// Number of trials with at least one answer.
    fn answered(&self) -> usize {
        let answered = self.trials.iter().filter(|trial| trial.report.requests > 0);
        answered.count()
    }

    /// The trial that ended the load because no answer came.
    fn unanswered(&self) -> Option<&Trial> {
        self.trials
            .last()
            .filter(|trial| trial.report.requests == 0)
    }

    fn print_folder(&self) {
        if let Some(folder) = &self.folder {
            let partial = if self.is_whole && self.store_error.is_none() {
                ""
            } else {
                " (partial)"
            };
            print_line(&format!("run: {}{partial}", folder.display()));
        }
    }
}

/// Prints the tables; for CSV, which has no notes, missing trials are reported on standard error.
fn show(result: &LoadResult, planned: usize, format: Format) -> Result<()> {
    if result.answered() == 0 {
        return Ok(());
    }
    let mut tables = tables(&result.trials, planned, format);
    if let Some(last) = tables.last_mut().filter(|_| !format.is_for_programs()) {
        let note = keep::options_note().map(|text| Note { text, row: None });
        last.notes.splice(..0, note);
    }
    match table::print(&tables, format) {
        // A reader that closes early does not change the exit status.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        printed => printed.context("standard output")?,
    }
    if let Some(missing) =
        missing_trials_note(result.answered(), planned).filter(|_| format == Format::Csv)
    {
        print_line(&missing);
    }
    Ok(())
}

/// Prints the broken limits; returns whether there are any.
pub(super) fn print_broken(trials: &[Trial], limits: &[Limit]) -> bool {
    let mut is_broken = false;
    for limit in limits {
        let found = limit.found(trials);
        if let Some(found) = found.filter(|found| limit.is_broken_by(*found)) {
            is_broken = true;
            print_line(&format!(
                "FAILED --fail-if '{}': {}",
                limit.text,
                limit.description(found)
            ));
        }
    }
    is_broken
}

/// Prints the broken limits and other failures; returns the exit status.
fn judge(result: &LoadResult, limits: &[Limit], arguments: &Arguments) -> u8 {
    let is_broken = print_broken(&result.trials, limits);
    let segments = result.trials.iter();
    for segment in segments.filter_map(|trial| trial.report.segment.as_ref()) {
        let most_ns = arguments.start.bound_ns();
        if let Some(problem) = segment
            .clock
            .as_ref()
            .and_then(|clock| clock.problem(most_ns))
        {
            return print_and_return(
                &format!(
                    "--clock: {problem}; load-merge refuses this report: repeat the load, or accept more with --clock-bound"
                ),
                NOTHING_MEASURED,
            );
        }
    }
    if let Some(error) = &result.store_error {
        return print_and_return(&error.to_string(), error.status);
    }
    if let Some(trial) = result.unanswered() {
        let status = received_signal().map_or(NOTHING_MEASURED, |signal| 128 + signal);
        return print_and_return(&no_answer_message(arguments, trial), status);
    }
    if !result.is_whole {
        return 128 + received_signal().unwrap_or(SIGINT);
    }
    if is_broken {
        return LIMIT_BROKEN;
    }
    let mut searches = result
        .trials
        .iter()
        .filter_map(|trial| trial.report.found.as_ref());
    if let Some(found) = searches.find(|found| found.found_per_s.is_none()) {
        return print_and_return(&sentence(found), NOTHING_MEASURED);
    }
    let unknown = limits
        .iter()
        .find(|limit| !limit.is_measured(&result.trials));
    unknown.map_or(0, |limit| {
        print_and_return(&unmeasured_message(limit, &result.trials), NOTHING_MEASURED)
    })
}

/// Message for a limit whose figure was not measured.
pub(super) fn unmeasured_message(limit: &Limit, trials: &[Trial]) -> String {
    let text = &limit.text;
    if limit.lacks_good_answers(trials) {
        return format!("--fail-if '{text}': not measured, because no answer was good");
    }
    let limited = trials.iter().find(|trial| trial.is_generator_limited());
    match limited.and_then(Trial::reason) {
        Some(reason) => {
            format!("--fail-if '{text}': the server was not measured, because {reason}")
        }
        None => format!(
            "--fail-if '{text}': not measured; remove it, or list the measured figures with: --format json"
        ),
    }
}

/// Message for a trial without a single answer.
fn no_answer_message(arguments: &Arguments, trial: &Trial) -> String {
    let number = match arguments.repeat {
        1 => String::new(),
        _ => format!("trial {}: ", trial.number),
    };
    let asked = match arguments.urls.as_slice() {
        [url] => format!("{}: ", keep::without_credentials(url)),
        _ => String::new(),
    };
    // Local test servers often have a self-signed certificate.
    let mut names = trial.report.errors.keys();
    let cure = if names.clone().any(|name| name.starts_with("Certificate")) {
        "; --cacert FILE trusts a certificate, --insecure any"
    } else if names.any(|name| *name == "TlsAlert: certificate_required") {
        "; --cert FILE and --key FILE identify this client"
    } else if WANTS_CREDENTIALS
        .iter()
        .any(|name| trial.report.errors.contains_key(name))
    {
        "; --proxy http://user:password@host:port identifies this client to the proxy"
    } else {
        ""
    };
    format!("{number}{asked}no answer came: {}{cure}", trial.fates())
}

/// Resets the kernel's peak memory of this process, so that each trial has its own.
fn forget_peak_memory(number: usize) {
    if number > 0 {
        // Without the reset, the value is the peak of all trials so far.
        let _: io::Result<()> = std::fs::write("/proc/self/clear_refs", "5");
    }
}

/// Prints a line, and returns the exit status.
pub(super) fn print_and_return(line: &str, status: u8) -> u8 {
    print_line(line);
    status
}

/// Prints a line without control characters, so that quoted text cannot control the terminal.
pub(super) fn print_line(line: &str) {
    print_message(without_controls(line));
}
