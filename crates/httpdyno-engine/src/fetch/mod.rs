//! `fetch`: the URLs of standard input, a row each on standard output.

mod arguments;
mod environment;
mod options;
mod report;

use std::fs::{File, OpenOptions};

use anyhow::{Context, Result};
use dyno_load::fetch::{self, End, Options, Report};

pub use arguments::Arguments;
use options::options;
use report::ReportFile;

use crate::complaint::complain;

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
        progress: arguments.progress.map(descriptor).transpose()?,
        ..options
    };
    // Before a crawl of hours, not after it.
    let report = arguments
        .report
        .as_deref()
        .map(ReportFile::open)
        .transpose()?;
    let input = rustix::io::dup(std::io::stdin()).context("standard input")?;
    let output = rustix::io::dup(std::io::stdout()).context("standard output")?;
    match fetch::run(options, input, output)? {
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
    file.map_or(Ok(()), |file| file.write(report))
}

/// The file of a descriptor that was inherited.
fn descriptor(number: u32) -> Result<File> {
    let opened = OpenOptions::new()
        .append(true)
        .open(format!("/proc/self/fd/{number}"));
    opened.with_context(|| format!("--progress {number}"))
}
