//! Where the rows of `fetch` go, and which forms of them there are.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;

use anyhow::{Context, Result, bail};
use rustix::fs::fstat;

use super::arguments::{Arguments, Format};
use super::parquet;
use crate::messages::UsageError;

/// Opens the file for the rows, or standard output.
///
/// Without `--resume` a file is emptied.
pub fn open(arguments: &Arguments) -> Result<OwnedFd> {
    check(arguments)?;
    parquet::check(arguments).map_err(UsageError::new)?;
    let Some(path) = &arguments.output else {
        return rustix::io::dup(std::io::stdout()).context("standard output");
    };
    if path.is_dir() {
        bail!(UsageError::new(format_args!(
            "--output {}: is a folder; name a file",
            path.display()
        )));
    }
    if arguments.format == Format::Parquet {
        if let Ok(file) = File::open(path) {
            refuse_list(&file, path)?;
        }
        let path = parquet::rows_of(path);
        let file = File::create(&path).with_context(|| path.display().to_string())?;
        return Ok(file.into());
    }
    // With a journal, the end of the rows is compared with it. A pipe opened to read has no reader to wait for.
    let is_read =
        arguments.resume.is_some() && path.metadata().map_or(true, |status| status.is_file());
    let file = File::options()
        .read(is_read)
        .append(true)
        .create(true)
        .open(path);
    let file = file.with_context(|| name(arguments))?;
    refuse_list(&file, path)?;
    if arguments.resume.is_none() {
        // A pipe has no content.
        file.set_len(0).ok();
    }
    Ok(file.into())
}

/// The name of the destination, for messages.
pub fn name(arguments: &Arguments) -> String {
    arguments.output.as_deref().map_or_else(
        || "standard output".to_owned(),
        |path| format!("--output {}", path.display()),
    )
}

/// Refuses what no format has.
fn check(arguments: &Arguments) -> Result<()> {
    match arguments.format {
        Format::Jsonl if arguments.column_names => bail!(UsageError::new(
            "--column-names conflicts with --format jsonl: its rows name their fields; leave out one of the two"
        )),
        Format::Contract if arguments.column_names => bail!(UsageError::new(
            "--column-names conflicts with --format contract: its rows have no header; use --format csv"
        )),
        _ => Ok(()),
    }
}

/// Refuses to overwrite the list that is read.
fn refuse_list(file: &File, path: &Path) -> Result<()> {
    let (Ok(list), Ok(rows)) = (fstat(std::io::stdin()), fstat(file)) else {
        return Ok(());
    };
    if list.st_size > 0 && (list.st_dev, list.st_ino) == (rows.st_dev, rows.st_ino) {
        bail!(UsageError::new(format_args!(
            "--output {}: is the list of URLs; name another file",
            path.display()
        )));
    }
    Ok(())
}
