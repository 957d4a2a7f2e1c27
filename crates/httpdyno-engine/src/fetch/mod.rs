//! `fetch`: fetches the URLs on standard input and prints a row for each.

mod arguments;
mod environment;
mod options;

use std::io::IsTerminal;

use anyhow::{Context, Result};
use dyno_fetch::{End, Options, Report};

pub use arguments::Arguments;
use options::options;

use crate::messages::{UsageError, print_message};
use crate::progress;
use crate::report_file::ReportFile;

/// Exit status for a variable that is not supported, as defined by the contract of clients.
const NOT_SUPPORTED: u8 = 127;

/// Fetches until the list ends, or a signal arrives.
pub fn run(arguments: &Arguments) -> Result<u8> {
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
        ..options
    };
    if let Some(names) = options.proxies.names() {
        print_message(format_args!("proxy: {names}"));
    }
    // Opened before a crawl of hours, so that a failure appears at once.
    let report = arguments
        .report
        .as_deref()
        .map(ReportFile::open)
        .transpose()?;
    if std::io::stdin().is_terminal() {
        print_message("fetch reads URLs from standard input, one a line; end with Ctrl-D");
    }
    let input = rustix::io::dup(std::io::stdin()).context("standard input")?;
    let output = rustix::io::dup(std::io::stdout()).context("standard output")?;
    let ended = dyno_fetch::run(options, input, output).map_err(|error| {
        if error.is_mistake() {
            UsageError::new(error).into()
        } else {
            anyhow::Error::from(error)
        }
    });
    match ended? {
        End::Finished(ended) => write(report, &ended).map(|()| 0),
        End::Interrupted(signal, ended) => {
            write(report, &ended)?;
            // The status that a shell reports for a process ended by a signal.
            Ok(128 + u8::try_from(signal).unwrap_or(0))
        }
        End::ReaderGone => Ok(0),
    }
}

fn write(file: Option<ReportFile>, report: &Report) -> Result<()> {
    let Some(file) = file else { return Ok(()) };
    file.write(serde_json::to_string_pretty(report)?)
}
