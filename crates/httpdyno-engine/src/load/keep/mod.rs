//! Stores the trials of a load as a run: a folder with its manifest, the report of each trial, and samples on request.
//!
//! The folder is published once it has its manifest, marked `partial`; each trial is stored as soon as it has ended.
//! Python converts the reports into records when it first reads the folder.

mod credentials;
mod folder;
mod identity;
mod machine;
mod manifest;
mod options;
mod samples;
mod whole_file;

use std::fmt::{self, Display};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use serde::Serialize as _;

pub use credentials::{without_credentials, without_credentials_of_words};

use self::folder::Folder;
use self::manifest::{Manifest, State};
use super::arguments::Arguments;
use super::trial::Trial;
use crate::messages::{FULL, NOTHING_MEASURED, system_message};

/// A failure to store results.
#[derive(Debug)]
pub struct StoreError {
    line: String,
    /// Exit status of the command.
    pub status: u8,
}

impl StoreError {
    /// Creates the error; `cure` is the advice in its message.
    fn new(folder: &Path, error: &io::Error, cure: &str) -> Self {
        let is_full = matches!(
            error.kind(),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded
        );
        let reason = system_message(error);
        let room = if is_full { "make room or " } else { "" };
        Self {
            line: format!(
                "{}: results cannot be written: {reason}; {room}{cure}",
                folder.display()
            ),
            status: if is_full { FULL } else { NOTHING_MEASURED },
        }
    }
}

impl Display for StoreError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.line)
    }
}

impl std::error::Error for StoreError {}

/// Creates the folder of runs before anything is sent; refuses a folder that is not writable.
pub fn require_folder(runs: &Path) -> Result<(), StoreError> {
    let made = std::fs::create_dir_all(runs)
        .and_then(|()| access(runs, Access::WRITE_OK | Access::EXEC_OK).map_err(io::Error::from));
    made.map_err(|error| {
        StoreError::new(
            runs,
            &error,
            "name another with --out DIR, or keep nothing with --no-store",
        )
    })
}

/// Describes the target in a few words: the URL, the first of several, or the file of URLs.
pub fn target(arguments: &Arguments) -> String {
    if let Some(file) = &arguments.replay.replay {
        return format!("replay of {}", file_name(file));
    }
    if let Some(file) = &arguments.requests_file {
        return format!("requests of {}", file.display());
    }
    let method = match arguments.method.as_deref() {
        None | Some("GET") => String::new(),
        Some(method) => format!("{method} "),
    };
    let listed = arguments.urls_file.as_deref().map(file_name);
    let Some(first) = arguments.urls.first() else {
        return format!("{method}URLs of {}", listed.unwrap_or_default());
    };
    let more = match arguments.urls.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let also = listed.map_or_else(String::new, |file| format!(" and those of {file}"));
    format!("{method}{}{more}{also}", without_credentials(first))
}

/// The options that no title and no figure shows: `options: --no-delay off`.
pub fn options_note() -> Option<String> {
    options::note(&options::options(&manifest::words()))
}

fn file_name(file: &Path) -> String {
    if file == Path::new("-") {
        return "standard input".to_owned();
    }
    file.display().to_string()
}

/// A run in progress.
#[derive(Debug)]
pub struct Run {
    folder: Folder,
    manifest: Manifest,
}

impl Run {
    /// Creates the folder of a run whose first trial has ended.
    pub fn begin(arguments: &Arguments, first: &Trial) -> Result<Self, StoreError> {
        let runs = &arguments.out;
        let manifest = Manifest::new(arguments, first);
        let begun = manifest
            .text()
            .and_then(|text| Folder::create(runs, &manifest.folder_name(), &text));
        let folder = begun.map_err(|error| StoreError::of(runs, &error))?;
        Ok(Self { folder, manifest })
    }

    /// The path of the folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Stores a trial that has ended, with its samples.
    pub fn keep(&self, trial: &Trial, samples: Option<&Path>) -> Result<(), StoreError> {
        let number = trial.number;
        let kept = samples
            .map_or(Ok(()), |file| {
                // Samples are written before the report, so that a stored report implies stored samples.
                whole_file::write(
                    self.folder(),
                    &format!("samples-{number:06}.csv.gz"),
                    |to| samples::copy(file, to),
                )
            })
            .and_then(|()| {
                let name = format!("load-{number:06}.json");
                whole_file::write(self.folder(), &name, |to| {
                    let mut writer = serde_json::Serializer::new(io::BufWriter::new(to));
                    trial.report.serialize(&mut writer)?;
                    let mut file = writer.into_inner();
                    io::Write::write_all(&mut file, b"\n")?;
                    io::Write::flush(&mut file)
                })
            });
        kept.map_err(|error| StoreError::of(self.folder(), &error))
    }

    /// Ends the run and returns its folder; a stopped run stays `partial`.
    pub fn close(mut self, is_complete: bool) -> Result<PathBuf, StoreError> {
        let state = if is_complete {
            State::Complete
        } else {
            State::Partial
        };
        self.manifest.end(state);
        let ended = self.manifest.text().and_then(|text| {
            whole_file::write(self.folder(), manifest::NAME, |to| {
                io::Write::write_all(to, text.as_bytes())
            })
        });
        ended.map_err(|error| StoreError::of(self.folder(), &error))?;
        Ok(self.folder.release(is_complete))
    }
}

impl StoreError {
    fn of(folder: &Path, error: &io::Error) -> Self {
        Self::new(folder, error, "choose another folder with --out DIR")
    }
}
