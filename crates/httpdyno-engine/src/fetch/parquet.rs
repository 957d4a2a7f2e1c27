//! Rows as Parquet: the engine writes rows as JSON next to the file, and httpdyno converts them after the crawl.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use super::arguments::{Arguments, Format};

/// The Python program that `httpdyno fetch` runs in; the engine on its own has none.
const PYTHON: &str = "HTTPDYNO_PYTHON";
/// The module that converts.
const MODULE: &str = "httpdyno.store.fetch_rows";
/// The command that converts rows as JSON without httpdyno.
const COMMAND: &str = "python -c \"import polars; \
    polars.read_ndjson('rows.jsonl', infer_schema_length=None).write_parquet('rows.parquet')\"";

/// A conversion that follows the crawl.
#[derive(Debug)]
pub struct Conversion {
    python: OsString,
    file: PathBuf,
}

/// Refuses options that Parquet does not have; the error is the line to print.
pub fn check(arguments: &Arguments) -> Result<(), String> {
    if arguments.format != Format::Parquet {
        return Ok(());
    }
    if arguments.column_names {
        return Err("--column-names conflicts with --format parquet: it has the names of its columns; leave out one of the two".to_owned());
    }
    if arguments.resume.is_some() {
        return Err(format!(
            "--resume conflicts with --format parquet: such a file is written once; use --format jsonl, and convert the rows at the end: {COMMAND}"
        ));
    }
    let Some(file) = &arguments.output else {
        return Err(
            "--format parquet: rows go to a file, not to standard output; add -o rows.parquet"
                .to_owned(),
        );
    };
    if file.exists() && !file.is_file() {
        return Err(format!(
            "--output {}: Parquet needs a file on a disk; name one, such as rows.parquet",
            file.display()
        ));
    }
    if env::var_os(PYTHON).is_none() {
        return Err(format!(
            "--format parquet: the engine cannot convert rows; use the command httpdyno fetch, or write jsonl and convert it: {COMMAND}"
        ));
    }
    Ok(())
}

/// The file of rows as JSON from which a Parquet file is made.
pub fn rows_of(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(".jsonl");
    name.into()
}

impl Conversion {
    /// Returns `None` for rows in another format.
    pub fn of(arguments: &Arguments) -> Option<Self> {
        let file = arguments.output.as_ref()?;
        let python = env::var_os(PYTHON).filter(|_| arguments.format == Format::Parquet)?;
        Some(Self {
            python,
            file: file.clone(),
        })
    }

    /// Converts the rows, and removes them as JSON.
    pub fn run(&self) -> Result<()> {
        let rows = rows_of(&self.file);
        // -P: a file in the current folder does not replace a module.
        let ended = Command::new(&self.python)
            .args(["-P", "-m", MODULE])
            .args([&rows, &self.file])
            .stdin(Stdio::null())
            .status()
            .with_context(|| format!("{}: the rows are in {}", self.name(), rows.display()))?;
        if !ended.success() {
            bail!(
                "{}: the rows could not be converted; they are in {}",
                self.name(),
                rows.display()
            );
        }
        fs::remove_file(&rows).with_context(|| rows.display().to_string())
    }

    fn name(&self) -> String {
        format!("--output {}", self.file.display())
    }
}
