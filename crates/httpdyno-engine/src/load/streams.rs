//! Outputs of `--samples` and `--hdr-log` that store nothing: pipes, terminals, devices.
//!
//! Their data is first written to an unnamed file, because the run is made from it as well.

use std::env;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fd::AsRawFd;
use rustix::fs::{Mode, OFlags, open};

use super::arguments::Arguments;
use crate::messages::UsageError;

/// An output, and the file that is written before it.
#[derive(Debug)]
struct Stream {
    option: &'static str,
    path: PathBuf,
    file: File,
}

/// The outputs of a load: the files that the generator writes, and the streams that they are copied to.
#[derive(Debug)]
pub struct Outputs {
    pub samples: Option<PathBuf>,
    pub hdr_log: Option<PathBuf>,
    streams: Vec<Stream>,
}

impl Outputs {
    /// Chooses the files of the generator.
    pub fn of(arguments: &Arguments) -> Result<Self> {
        let mut streams = Vec::new();
        let mut first = |option, path: &Option<PathBuf>| -> Result<Option<PathBuf>> {
            let Some(path) = path.as_ref().filter(|path| is_stream(path)) else {
                return Ok(path.clone());
            };
            if arguments.repeat > 1 {
                let path = path.display();
                return Err(UsageError::new(format_args!(
                    "{option} {path}: with --repeat each trial writes a file of its own; name a file"
                ))
                .into());
            }
            let file = nameless().context("a temporary file; set TMPDIR")?;
            let own = own_path(&file);
            streams.push(Stream {
                option,
                path: path.clone(),
                file,
            });
            Ok(Some(own))
        };
        Ok(Self {
            samples: first("--samples", &arguments.samples)?,
            hdr_log: first("--hdr-log", &arguments.hdr_log)?,
            streams,
        })
    }

    /// Copies the files to their streams; a reader that has closed is not an error.
    pub fn finish(&mut self) -> Result<()> {
        for stream in &mut self.streams {
            let copied = stream.copy();
            match copied {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                copied => copied
                    .with_context(|| format!("{} {}", stream.option, stream.path.display()))?,
            }
        }
        Ok(())
    }
}

impl Stream {
    fn copy(&mut self) -> io::Result<()> {
        self.file.rewind()?;
        // Not opened by name, because that would truncate a file to which standard output is redirected.
        match descriptor(&self.path) {
            Some(1) => {
                let mut out = io::stdout().lock();
                io::copy(&mut self.file, &mut out)?;
                out.flush()
            }
            Some(2) => io::copy(&mut self.file, &mut io::stderr().lock()).map(drop),
            number => {
                let path = number.map_or_else(
                    || self.path.clone(),
                    |number| PathBuf::from(format!("/proc/self/fd/{number}")),
                );
                let mut stream = File::options().append(true).open(path)?;
                io::copy(&mut self.file, &mut stream).map(drop)
            }
        }
    }
}

/// The file of each trial after the first has a number: `samples.csv`, `samples-2.csv`.
pub fn numbered(path: &Path, number: usize) -> PathBuf {
    if number == 0 {
        return path.to_owned();
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let suffix = path.extension().map_or_else(String::new, |suffix| {
        format!(".{}", suffix.to_string_lossy())
    });
    path.with_file_name(format!("{stem}-{}{suffix}", number + 1))
}

/// Whether a path is an open descriptor, or an existing file that stores nothing.
fn is_stream(path: &Path) -> bool {
    let kind = fs::metadata(path).map(|found| found.file_type());
    descriptor(path).is_some() || kind.is_ok_and(|kind| !kind.is_file() && !kind.is_dir())
}

/// The number of the descriptor that a path names, such as `/dev/stdout`.
fn descriptor(path: &Path) -> Option<u32> {
    let text = path.to_str()?;
    match text {
        "/dev/stdout" => return Some(1),
        "/dev/stderr" => return Some(2),
        _ => {}
    }
    let number = text
        .strip_prefix("/dev/fd/")
        .or_else(|| text.strip_prefix("/proc/self/fd/"))?;
    number.parse().ok()
}

fn own_path(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// A file below `$TMPDIR` that the kernel frees when this process ends.
fn nameless() -> io::Result<File> {
    let folder = env::temp_dir();
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    if let Ok(file) = open(&folder, flags, Mode::from_raw_mode(0o600)) {
        return Ok(file.into());
    }
    // The file system has no unnamed files.
    let path = folder.join(format!("httpdyno-{}", std::process::id()));
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)?;
    fs::remove_file(path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_a_descriptor_or_a_device() {
        for (path, expected) in [
            ("/dev/stdout", true),
            ("/dev/fd/3", true),
            ("/proc/self/fd/63", true),
            ("/dev/null", true),
            ("/dev", false),
            ("Cargo.toml", false),
            ("missing.csv", false),
        ] {
            assert_eq!(is_stream(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn each_trial_has_a_file_of_its_own() {
        for (path, number, expected) in [
            ("a/samples.csv", 0, "a/samples.csv"),
            ("a/samples.csv", 1, "a/samples-2.csv"),
            ("times", 2, "times-3"),
            ("a.b/x.tar.gz", 1, "a.b/x.tar-2.gz"),
        ] {
            assert_eq!(numbered(Path::new(path), number), Path::new(expected));
        }
    }
}
