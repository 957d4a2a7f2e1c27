//! `fetch`: fetches the URLs on standard input and prints a row for each.

mod arguments;
mod environment;
mod options;
mod output;
mod parquet;
mod screen;
mod shard;
mod watching;

use std::io::IsTerminal;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use dyno_client::Failure;
use dyno_client::resolve::{NameServer, explain};
use dyno_fetch::{End, Error, Options, Report, ResumeError, RowFormat};
use rustix::termios::tcgetwinsize;

pub use arguments::Arguments;
use options::{check_together, cookies, options};

use crate::messages::{UsageError, print_message, program_name};
use crate::progress;
use crate::report_file::ReportFile;

/// Exit status for a variable that is not supported, as defined by the contract of clients.
const NOT_SUPPORTED: u8 = 127;

/// Fetches until the list ends, or a signal arrives; a shard that is done is not fetched again.
pub fn run(mut arguments: Arguments) -> Result<u8> {
    arguments.check().map_err(UsageError::new)?;
    arguments.split_bucket().map_err(UsageError::new)?;
    let Some(mut shard) = shard::begin(&mut arguments)? else {
        return Ok(0);
    };
    let arguments = &arguments;
    if let Some((folder, of)) = shard
        .folder
        .take_if(|_| arguments.divide.is_some())
        .zip(arguments.divide)
    {
        return folder.divide(of, arguments.save.as_deref(), arguments.quiet);
    }
    let options = match options(arguments) {
        Ok(options) => options,
        Err(line) => {
            print_message(line);
            return Ok(NOT_SUPPORTED);
        }
    };
    let options = Options {
        progress: arguments.progress.map(progress::open).transpose()?,
        sockets: arguments.servers.sockets().map_err(UsageError::new)?.into(),
        tls: arguments.servers.tls().map_err(UsageError::new)?,
        proxies: arguments.servers.proxies().map_err(UsageError::new)?,
        cookies: cookies(arguments).map_err(UsageError::new)?,
        share: shard.share,
        ..options
    };
    check_together(&options).map_err(UsageError::new)?;
    if let Some(names) = options.proxies.names() {
        print_message(format_args!("proxy: {names}"));
    }
    // Opened before a crawl of hours, so that a failure appears at once.
    let report = arguments
        .report
        .as_deref()
        .map(ReportFile::open)
        .transpose()?;
    let input = match shard.list {
        Some(list) => list,
        None => standard_input()?,
    };
    let output = output::open(arguments)?;
    let convert =
        || parquet::Conversion::of(arguments).map_or(Ok(()), |conversion| conversion.run());
    // A client under the contract prints no messages.
    let is_quiet = arguments.quiet || options.rows == RowFormat::Contract;
    let has_screen = arguments.output.is_some() || !std::io::stdout().is_terminal();
    let options = Options {
        observer: (!is_quiet).then(|| watching::observer(&input, has_screen)),
        on_name_server_failure: match options.rows {
            RowFormat::Contract => None,
            _ if !is_quiet && watching::draws(has_screen) => Some(keep_failure),
            _ => Some(|server, failure| print_message(explain(server, failure))),
        },
        ..options
    };
    let ended = dyno_fetch::run(options, input, output).map_err(|error| match error {
        error if error.is_mistake() => {
            if let Some(file) = &report {
                file.discard();
            }
            match (&error, &shard.folder) {
                (Error::Resume(ResumeError::AnotherList { .. }), Some(folder)) => {
                    folder.another_list()
                }
                _ => UsageError::new(error),
            }
            .into()
        }
        Error::Output(error) => anyhow::Error::from(error).context(output::name(arguments)),
        error => anyhow::Error::from(error),
    });
    match ended? {
        End::Finished(ended) => {
            summarise(is_quiet, &ended);
            write(report, &ended)?;
            if let Some(folder) = shard.folder {
                folder.publish(&ended, arguments.save.as_deref(), is_quiet)?;
            }
            convert().map(|()| 0)
        }
        End::Interrupted(signal, ended) => {
            summarise(is_quiet, &ended);
            write(report, &ended)?;
            convert()?;
            // The status that a shell reports for a process ended by a signal.
            Ok(128 + u8::try_from(signal).unwrap_or(0))
        }
        End::ReaderGone => Ok(0),
    }
}

fn standard_input() -> Result<OwnedFd> {
    if std::io::stdin().is_terminal() {
        print_message("fetch reads URLs from standard input, one a line; end with Ctrl-D");
    }
    rustix::io::dup(std::io::stdin()).context("standard input")
}

/// Failures of name servers during a crawl whose screen would be overwritten by them; printed before the summary.
static KEPT_FAILURES: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn keep_failure(server: &NameServer, failure: Failure) {
    let mut kept = KEPT_FAILURES.lock().unwrap_or_else(PoisonError::into_inner);
    kept.push(explain(server, failure));
}

fn summarise(is_quiet: bool, report: &Report) {
    let mut kept = KEPT_FAILURES.lock().unwrap_or_else(PoisonError::into_inner);
    kept.drain(..).for_each(print_message);
    if !is_quiet {
        let size = tcgetwinsize(std::io::stderr()).ok();
        let columns = size.map_or(0, |size| size.ws_col.into());
        // Neither a file nor a terminal without a size has lines that are too long.
        let columns = if columns == 0 { usize::MAX } else { columns };
        for line in screen::summary(report) {
            let line = format!("{}: {line}", program_name());
            for part in screen::broken(&line, columns) {
                eprintln!("{part}");
            }
        }
    }
}

fn write(file: Option<ReportFile>, report: &Report) -> Result<()> {
    let Some(file) = file else { return Ok(()) };
    file.write(serde_json::to_string_pretty(report)?)
}
