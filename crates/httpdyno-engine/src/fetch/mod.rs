//! `fetch`: the URLs of standard input, a row each on standard output.

mod arguments;
mod environment;
mod options;

use std::io::IsTerminal;

use anyhow::{Context, Result};
use dyno_load::fetch::{self, End, Options, Report};

pub use arguments::Arguments;
use options::options;

use crate::complaint::{Mistyped, complain};
use crate::progress;
use crate::report_file::ReportFile;

/// Exit status when a variable cannot be honoured, as the contract of clients has it.
const CANNOT_BE_HONOURED: u8 = 127;

/// Fetches until the list ends, or a signal comes.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let options = match options(arguments) {
        Ok(options) => options,
        Err(line) => {
            complain(line);
            return Ok(CANNOT_BE_HONOURED);
        }
    };
    let options = Options {
        progress: arguments.progress.map(progress::open).transpose()?,
        ..options
    };
    // Before a crawl of hours, not after it.
    let report = arguments
        .report
        .as_deref()
        .map(ReportFile::open)
        .transpose()?;
    if std::io::stdin().is_terminal() {
        complain("fetch reads URLs from standard input, one a line; end with Ctrl-D");
    }
    let input = rustix::io::dup(std::io::stdin()).context("standard input")?;
    let output = rustix::io::dup(std::io::stdout()).context("standard output")?;
    let ended = fetch::run(options, input, output).map_err(|error| {
        if error.is_mistake() {
            Mistyped::new(error).into()
        } else {
            anyhow::Error::from(error)
        }
    });
    match ended? {
        End::Finished(ended) => write(report, &ended).map(|()| 0),
        End::Interrupted(signal, ended) => {
            write(report, &ended)?;
            // As a shell says it of a process that a signal has ended.
            Ok(128 + u8::try_from(signal).unwrap_or(0))
        }
        End::ReaderGone => Ok(0),
    }
}

fn write(file: Option<ReportFile>, report: &Report) -> Result<()> {
    let Some(file) = file else { return Ok(()) };
    file.write(serde_json::to_string_pretty(report)?)
}
