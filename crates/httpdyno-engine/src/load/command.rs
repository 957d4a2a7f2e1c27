//! The command: trials one after the other, each kept as it ends; then the tables, where the run is, which limits are broken.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use clap::ValueEnum as _;
use dyno_load::load::{Plan, Report};

use super::arguments::Arguments;
use super::keep::{self, NotKept, Run, require_folder};
use super::limit::Limit;
use super::line::Line;
use super::plan::plan;
use super::streams::{Outputs, numbered};
use super::tables::{not_whole, tables};
use super::trial::Trial;
use crate::complaint::{Mistyped, NOTHING_MEASURED, complain};
use crate::stop::{signal_that_came, stop_at_signals};
use crate::table::{self, Format, without_controls};

/// Exit status when a limit is broken.
const LIMIT_BROKEN: u8 = 1;
/// A signal whose number is not known counts as that of Ctrl-C.
const SIGINT: u8 = 2;

/// Sends the load, shows how it went, and keeps it.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let format = format(arguments).map_err(Mistyped::new)?;
    let limits = arguments.limits().map_err(Mistyped::new)?;
    let plan = plan(arguments).map_err(|error| Mistyped::new(format_args!("{error:#}")))?;
    let mut outputs = Outputs::of(arguments)?;
    if !arguments.no_store
        && let Err(refused) = require_folder(&arguments.out)
    {
        return Ok(say(&refused.to_string(), refused.status));
    }
    let mut measuring = Measuring {
        arguments,
        outputs: &outputs,
        stop: stop_at_signals()?,
        trials: Vec::new(),
        run: None,
        not_kept: None,
    };
    let sent = measuring.send(&plan);
    let ended = measuring.end();
    if let Err(failed) = sent {
        ended.tell_folder();
        return failed.status();
    }
    outputs.finish()?;
    show(&ended, usize::from(arguments.repeat), format)?;
    ended.tell_folder();
    Ok(judge(&ended, &limits))
}

/// The format that was asked for, by the option or the environment.
fn format(arguments: &Arguments) -> Result<Format, String> {
    if let Some(format) = arguments.format {
        return Ok(format);
    }
    let Some(value) = std::env::var_os("FORMAT").filter(|value| !value.is_empty()) else {
        return Ok(Format::Table);
    };
    let text = value.to_string_lossy();
    Format::from_str(&text, false).map_err(|_| {
        let known = "csv, json, markdown, plain, table";
        format!("FORMAT (environment): {text:?} is not known; known are: {known}")
    })
}

/// Why a load ends before its trials do.
enum Failed {
    /// Not one answer came.
    NothingMeasured(String),
    Other(anyhow::Error),
}

impl From<anyhow::Error> for Failed {
    fn from(error: anyhow::Error) -> Self {
        Self::Other(error)
    }
}

impl Failed {
    fn status(self) -> Result<u8> {
        match self {
            Self::NothingMeasured(line) => {
                let status = signal_that_came().map_or(NOTHING_MEASURED, |signal| 128 + signal);
                Ok(say(&line, status))
            }
            Self::Other(error) => Err(error),
        }
    }
}

/// A load under way.
struct Measuring<'a> {
    arguments: &'a Arguments,
    outputs: &'a Outputs,
    stop: Arc<AtomicBool>,
    trials: Vec<Trial>,
    run: Option<Run>,
    not_kept: Option<NotKept>,
}

impl Measuring<'_> {
    fn send(&mut self, plan: &Plan) -> Result<(), Failed> {
        let repeat = usize::from(self.arguments.repeat);
        let mut line = Line::on_terminal(repeat);
        for number in 0..repeat {
            if number > 0 && self.stop.load(Ordering::Relaxed) {
                break;
            }
            if let Some(line) = &mut line {
                line.begin(number);
            }
            let numbered =
                |path: &Option<PathBuf>| path.as_ref().map(|path| numbered(path, number));
            let plan = Plan {
                samples: numbered(&self.outputs.samples),
                hdr_log: numbered(&self.outputs.hdr_log),
                ..plan.clone()
            };
            let samples = plan.samples.clone();
            forget_peak_memory(number);
            let report = match &mut line {
                Some(line) => {
                    let mut show = |live: &_| line.show(live);
                    super::measure(plan, &self.stop, Some(&mut show))
                }
                None => super::measure(plan, &self.stop, None),
            }?;
            if report.requests == 0 {
                drop(line);
                return Err(Failed::NothingMeasured(no_answer(self.arguments, &report)));
            }
            let trial = Trial::new(number, keep::target(self.arguments), report);
            self.keep(&trial, samples.as_deref());
            self.trials.push(trial);
        }
        Ok(())
    }

    /// Keeps a trial; that it cannot be kept takes nothing from what was measured.
    fn keep(&mut self, trial: &Trial, samples: Option<&Path>) {
        if self.arguments.no_store || self.not_kept.is_some() {
            return;
        }
        if self.run.is_none() {
            match Run::begin(self.arguments, trial) {
                Ok(run) => self.run = Some(run),
                Err(error) => self.not_kept = Some(error),
            }
        }
        if let Some(run) = &self.run {
            self.not_kept = run.keep(trial, samples).err();
        }
    }

    /// Ends the run, whole or in part.
    fn end(self) -> Ended {
        let was_stopped = self.trials.iter().any(|trial| trial.report.interrupted);
        let is_whole = self.trials.len() == usize::from(self.arguments.repeat) && !was_stopped;
        let mut not_kept = self.not_kept;
        let is_complete = is_whole && not_kept.is_none();
        let folder = self.run.and_then(|run| match run.close(is_complete) {
            Ok(folder) => Some(folder),
            Err(error) => {
                not_kept.get_or_insert(error);
                None
            }
        });
        Ended {
            trials: self.trials,
            is_whole,
            folder,
            not_kept,
        }
    }
}

/// A load that has ended.
struct Ended {
    trials: Vec<Trial>,
    /// Whether every trial was sent to its end.
    is_whole: bool,
    folder: Option<PathBuf>,
    not_kept: Option<NotKept>,
}

impl Ended {
    fn tell_folder(&self) {
        if let Some(folder) = &self.folder {
            let partial = if self.is_whole && self.not_kept.is_none() {
                ""
            } else {
                " (partial)"
            };
            tell(&format!("run: {}{partial}", folder.display()));
        }
    }
}

/// Prints the tables; CSV has no place for the note that trials are missing.
fn show(ended: &Ended, planned: usize, format: Format) -> Result<()> {
    if ended.trials.is_empty() {
        return Ok(());
    }
    match table::print(&tables(&ended.trials, planned, format), format) {
        // The reader may leave before the end: that takes nothing from the exit status.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        printed => printed.context("standard output")?,
    }
    if let Some(missing) = not_whole(ended.trials.len(), planned).filter(|_| format == Format::Csv)
    {
        tell(&missing);
    }
    Ok(())
}

/// Says which limits are broken; gives the exit status.
fn judge(ended: &Ended, limits: &[Limit]) -> u8 {
    let mut is_broken = false;
    for limit in limits {
        let found = limit
            .found(&ended.trials)
            .filter(|found| limit.holds(*found));
        if let Some(found) = found {
            is_broken = true;
            tell(&format!(
                "FAILED --fail-if '{}': {}",
                limit.text,
                limit.words(found)
            ));
        }
    }
    if let Some(error) = &ended.not_kept {
        return say(&error.to_string(), error.status);
    }
    if !ended.is_whole {
        return 128 + signal_that_came().unwrap_or(SIGINT);
    }
    if is_broken {
        return LIMIT_BROKEN;
    }
    let unknown = limits
        .iter()
        .find(|limit| limit.found(&ended.trials).is_none());
    unknown.map_or(0, |limit| {
        say(&unmeasured(limit, &ended.trials), NOTHING_MEASURED)
    })
}

/// Why nothing can be compared with a limit.
fn unmeasured(limit: &Limit, trials: &[Trial]) -> String {
    let text = &limit.text;
    let limited = trials.iter().find(|trial| trial.is_generator_limited());
    match limited.and_then(Trial::reason) {
        Some(reason) => {
            format!("--fail-if '{text}': nothing can be said of the server, for {reason}")
        }
        None => format!(
            "--fail-if '{text}': nothing of the kind was measured; leave it out, or see which figures there are with: --format json"
        ),
    }
}

/// What a load ended with that has not one answer.
fn no_answer(arguments: &Arguments, report: &Report) -> String {
    let mut errors: Vec<(&str, u64)> = report
        .errors
        .iter()
        .map(|(name, count)| (*name, *count))
        .collect();
    errors.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut counts: Vec<String> = errors
        .iter()
        .map(|(name, count)| format!("{} x {name}", table::thousands(*count)))
        .collect();
    for (count, words) in [
        (report.censored.count, "still open at the end"),
        (report.unsent, "due and never sent"),
    ] {
        if count > 0 {
            counts.push(format!("{} {words}", table::thousands(count)));
        }
    }
    if counts.is_empty() {
        counts.push("nothing was sent".to_owned());
    }
    let asked = match arguments.urls.as_slice() {
        [url] => format!("{}: ", keep::without_credentials(url)),
        _ => String::new(),
    };
    // A server of one's own often has a certificate of its own, too.
    let is_refused = errors
        .iter()
        .any(|(name, _)| name.starts_with("Certificate"));
    let cure = if is_refused {
        "; --cacert FILE trusts a certificate, --insecure any"
    } else {
        ""
    };
    format!("{asked}no answer came: {}{cure}", counts.join(", "))
}

/// Has the kernel forget the peak memory of trials before, so that each has its own.
fn forget_peak_memory(number: usize) {
    if number > 0 {
        // A kernel that cannot counts that of all so far.
        let _: io::Result<()> = std::fs::write("/proc/self/clear_refs", "5");
    }
}

/// Says a line, and gives the status to end with.
fn say(line: &str, status: u8) -> u8 {
    tell(line);
    status
}

/// Says a line; what it quotes cannot steer the terminal.
fn tell(line: &str) {
    complain(without_controls(line));
}
