//! Checks of the arguments before the room is entered: missing files, and descriptors that the command cannot open in it.

use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{MemfdFlags, memfd_create};

use super::arguments::Arguments;
use crate::messages::UsageError;

/// Folders of the file names that a shell passes for `<(...)`.
const DESCRIPTORS: [&str; 2] = ["/dev/fd/", "/proc/self/fd/"];

/// Refuses wrong arguments.
pub fn check(arguments: &Arguments) -> Result<(), UsageError> {
    for path in &arguments.trust_files {
        let cure = "name a file that the command reads its authorities from";
        let found = metadata("--trust-file", path, cure)?;
        if found.is_dir() {
            return Err(wrong("--trust-file", path, "is a folder", cure));
        }
    }
    if let Some(path) = &arguments.stdin {
        let cure = "name the file that the command is to read";
        // An unreadable file is refused here, too. A pipe is not tested, because it can be opened only once.
        let found = metadata("--stdin", path, cure)?;
        if found.is_dir() {
            return Err(wrong("--stdin", path, "is a folder", cure));
        }
        if found.is_file() {
            File::open(path).map_err(|error| wrong("--stdin", path, error, cure))?;
        }
    }
    // The room has folders of its own below /run.
    if let Some(path) = arguments
        .directory
        .as_ref()
        .filter(|path| !path.starts_with("/run"))
    {
        let cure = "name the folder that the command is to run in";
        if !metadata("--directory", path, cure)?.is_dir() {
            return Err(wrong("--directory", path, "is not a folder", cure));
        }
    }
    let outputs = [
        ("--report", &arguments.report),
        ("--arrivals", &arguments.arrivals),
        ("--transcripts", &arguments.scripts.transcripts),
    ];
    for (option, path) in outputs {
        if let Some(path) = path {
            check_output(option, path)?;
        }
    }
    match arguments.argv.iter().find_map(|word| descriptor(word)) {
        Some(typed) => Err(UsageError::new(format_args!(
            "room: {typed}: a command in a room has only standard input, output and error: write its input into a file, or pipe \
             it in"
        ))),
        None => Ok(()),
    }
}

fn metadata(option: &str, path: &Path, cure: &str) -> Result<Metadata, UsageError> {
    fs::metadata(path).map_err(|error| wrong(option, path, error, cure))
}

fn wrong(option: &str, path: &Path, what: impl Display, cure: &str) -> UsageError {
    UsageError::new(format_args!("{option} {}: {what}; {cure}", path.display()))
}

/// Checks that a file can be written after the command has ended; keeps its content.
fn check_output(option: &str, path: &Path) -> Result<(), UsageError> {
    // Opening and closing a pipe would end it for its reader.
    if fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo()) {
        return Ok(());
    }
    let is_new = !path.exists();
    File::options()
        .append(true)
        .create(true)
        .open(path)
        .map_err(|error| wrong(option, path, error, "name a file that can be written"))?;
    if is_new {
        // It is created again when the results are written.
        drop(fs::remove_file(path));
    }
    Ok(())
}

/// The word, if it names an open descriptor of the shell, alone or after `=` or `@`.
fn descriptor(word: &OsStr) -> Option<String> {
    let word = word.to_str()?;
    let path = word.rsplit(['=', '@']).next()?;
    let number = DESCRIPTORS
        .iter()
        .find_map(|folder| path.strip_prefix(folder))?;
    let number: u32 = number.parse().ok()?;
    // If the descriptor is closed, the command opens it itself.
    let is_open = Path::new("/proc/self/fd").join(number.to_string()).exists();
    (number > 2 && is_open).then(|| word.to_owned())
}

/// A path from which the lines of `--stdin` can be read several times: the file itself, or a copy of a pipe in memory.
pub fn rereadable(path: &Path) -> Result<(PathBuf, Option<OwnedFd>)> {
    let context = || format!("--stdin {}", path.display());
    let found = fs::metadata(path).with_context(context)?;
    if !found.file_type().is_fifo() {
        return Ok((path.to_owned(), None));
    }
    let memory = memfd_create("httpdyno-stdin", MemfdFlags::CLOEXEC).with_context(context)?;
    let mut copy = File::from(memory);
    File::open(path)
        .and_then(|mut pipe| io::copy(&mut pipe, &mut copy))
        .with_context(context)?;
    let again = PathBuf::from(format!("/proc/self/fd/{}", copy.as_raw_fd()));
    Ok((again, Some(copy.into())))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn only_open_descriptors_are_the_shells() {
        let memory = memfd_create("open", MemfdFlags::CLOEXEC).unwrap();
        let open = format!("/dev/fd/{}", memory.as_raw_fd());
        for word in [open.clone(), format!("--cacert={open}"), format!("@{open}")] {
            assert_eq!(descriptor(OsStr::new(&word)), Some(word.clone()));
        }
        for word in [
            "/dev/fd/1",
            "/dev/fd/987654",
            "cat /dev/fd/3",
            "/etc/fd/3",
            "",
        ] {
            assert_eq!(descriptor(OsStr::new(word)), None, "{word}");
        }
        assert_eq!(descriptor(OsStr::from_bytes(b"\xff")), None);
    }

    #[test]
    fn a_pipe_can_be_read_again() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"http://a.test/\n").unwrap();
        drop(writer);
        let pipe = format!("/proc/self/fd/{}", reader.as_raw_fd());
        let (path, _kept) = rereadable(Path::new(&pipe)).unwrap();
        for _ in 0..2 {
            assert_eq!(fs::read(&path).unwrap(), b"http://a.test/\n");
        }
    }
}
