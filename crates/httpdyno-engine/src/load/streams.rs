//! Files of `--samples` and `--hdr-log` that keep nothing: pipes, terminals, devices.
//!
//! What goes there is written to a file without a name first, since the run is made of it, too.

use std::env;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fd::AsRawFd;
use rustix::fs::{Mode, OFlags, open};

use super::arguments::Arguments;
use crate::complaint::Mistyped;

/// An output, and the file that it is written to first.
#[derive(Debug)]
struct Stream {
    option: &'static str,
    path: PathBuf,
    file: File,
}

/// The outputs of a load: the files that the generator writes, and the streams that these are copied to.
#[derive(Debug)]
pub struct Outputs {
    pub samples: Option<PathBuf>,
    pub hdr_log: Option<PathBuf>,
    streams: Vec<Stream>,
}

impl Outputs {
    /// Decides where the generator writes.
    pub fn of(arguments: &Arguments) -> Result<Self> {
        let mut streams = Vec::new();
        let mut first = |option, path: &Option<PathBuf>| -> Result<Option<PathBuf>> {
            let Some(path) = path.as_ref().filter(|path| is_stream(path)) else {
                return Ok(path.clone());
            };
            if arguments.repeat > 1 {
                let path = path.display();
                return Err(Mistyped::new(format_args!(
                    "{option} {path}: with --repeat each trial has a file of its own; name a file"
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

    /// Copies what was written to where it was meant to go; a reader that has gone is no error.
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
        // Not by its name, which would begin a file anew that standard output goes to.
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

/// A file of its own for each trial behind the first: `samples.csv`, `samples-2.csv`.
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

/// Whether a path is an open descriptor, or a file that is there and keeps nothing.
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
    // A file system that cannot do that.
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
