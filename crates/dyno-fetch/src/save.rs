//! Contents kept in a folder: each under the hash of its URL, with an index.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::Serialize;
use sha2::{Digest, Sha256};
use thiserror::Error;

/// How each line of an index begins.
const BEGINNING: &[u8] = b"{\"url\":\"";

/// Why contents cannot be kept.
#[derive(Debug, Error)]
pub enum Error {
    /// The folder cannot be read or written.
    #[error("--save {path}: {error}")]
    Io {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// Its index is something else.
    #[error(
        "--save {path}: line {line} of its index.jsonl is not of an index, and the file was not changed; name a new folder"
    )]
    NoIndex {
        /// The folder.
        path: PathBuf,
        /// Where.
        line: u64,
    },
    /// Another process writes to it.
    #[error(
        "--save {path}: another httpdyno fetch uses it; wait for its end, or name another folder"
    )]
    InUse {
        /// The folder.
        path: PathBuf,
    },
}

impl Error {
    /// Whether the command line named the wrong folder.
    #[must_use]
    pub const fn is_mistake(&self) -> bool {
        !matches!(self, Self::Io { .. })
    }
}

/// The folder: `ab/abcdef...` for each content, `index.jsonl` with a line for each URL that has one.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    index: File,
    next: u64,
}

/// A row of the index.
#[derive(Debug, Serialize)]
pub struct Entry<'a> {
    /// The line of the list.
    pub url: &'a str,
    /// Where its redirects ended.
    pub final_url: &'a str,
    /// The status of the answer.
    pub status: u16,
    /// The answer's `Content-Type`.
    pub content_type: Option<&'a str>,
    /// The codings that it still has, as they are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_encoding: Option<&'a str>,
    /// A redirect led from https to http.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub left_https: bool,
    /// Bytes of the file.
    pub bytes: u64,
    /// When the URL took its slot.
    pub start_time: &'a str,
}

/// A line of the index: what is said, and the file within the folder.
#[derive(Debug, Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    entry: &'a Entry<'a>,
    file: &'a str,
}

/// A content on its way to the disk. Dropped before it is whole, it leaves nothing behind.
#[derive(Debug)]
pub struct Saving {
    file: File,
    path: Option<PathBuf>,
}

impl Folder {
    /// Makes the folder, or continues one: an index line without an end, as a killed run leaves it, is taken away.
    ///
    /// # Errors
    ///
    /// If it cannot be made or written, has an index of another program, or is in use.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let failed = |error| Error::Io {
            path: path.to_owned(),
            error,
        };
        let open = || -> io::Result<File> {
            fs::create_dir_all(path)?;
            OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .open(path.join("index.jsonl"))
        };
        let index = open().map_err(failed)?;
        if flock(&index, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
            return Err(Error::InUse {
                path: path.to_owned(),
            });
        }
        let mut reader = BufReader::new(index);
        match whole_bytes(&mut reader).map_err(failed)? {
            Ok(whole) => {
                let index = reader.into_inner();
                index.set_len(whole).map_err(failed)?;
                Ok(Self {
                    path: path.to_owned(),
                    index,
                    next: 0,
                })
            }
            Err(line) => Err(Error::NoIndex {
                path: path.to_owned(),
                line,
            }),
        }
    }

    /// A file on the disk that contents are on.
    ///
    /// # Errors
    ///
    /// If no more files can be open.
    pub fn on_disk(&self) -> Result<OwnedFd, Error> {
        let copy = self.index.try_clone().map_err(|error| self.failed(error))?;
        Ok(copy.into())
    }

    /// Begins to keep a content.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn begin(&mut self) -> Result<Saving, Error> {
        self.next += 1;
        let path = self
            .path
            .join(format!(".{}-{}.part", std::process::id(), self.next));
        let file = File::create(&path).map_err(|error| self.failed(error))?;
        Ok(Saving {
            file,
            path: Some(path),
        })
    }

    /// Puts a whole content in its place, in one step, and its line into the index.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn finish(&mut self, mut saving: Saving, entry: &Entry<'_>) -> Result<(), Error> {
        let mut name = String::with_capacity(64);
        for byte in Sha256::digest(entry.url) {
            write!(name, "{byte:02x}").expect("a string takes all text");
        }
        let file = format!("{}/{name}", &name[..2]);
        let mut finish = || -> io::Result<()> {
            let from = saving.path.as_ref().expect("it is finished once");
            fs::create_dir_all(self.path.join(&name[..2]))?;
            fs::rename(from, self.path.join(&file))?;
            saving.path = None;
            let mut line = serde_json::to_vec(&Line { entry, file: &file })?;
            line.push(b'\n');
            (&self.index).write_all(&line)
        };
        finish().map_err(|error| self.failed(error))
    }

    /// The error of this folder that an error of the system is.
    #[must_use]
    pub fn failed(&self, error: io::Error) -> Error {
        Error::Io {
            path: self.path.clone(),
            error,
        }
    }
}

impl Saving {
    /// Keeps a piece.
    ///
    /// # Errors
    ///
    /// The system's error: mostly a full disk.
    pub fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece)
    }
}

impl Drop for Saving {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // A file that cannot be removed is at least not in the index.
            drop(fs::remove_file(path));
        }
    }
}

/// How many bytes of an index are whole lines; else the line that is none of an index.
fn whole_bytes(reader: &mut impl BufRead) -> io::Result<Result<u64, u64>> {
    let (mut whole, mut number, mut line) = (0, 0, Vec::new());
    loop {
        line.clear();
        let bytes = reader.read_until(b'\n', &mut line)? as u64;
        number += 1;
        match line.strip_suffix(b"\n") {
            Some(text) if text.starts_with(BEGINNING) && text.ends_with(b"}") => whole += bytes,
            // Torn, or the end.
            None if bytes == 0
                || line.starts_with(BEGINNING)
                || (whole > 0 && BEGINNING.starts_with(&line)) =>
            {
                return Ok(Ok(whole));
            }
            _ => return Ok(Err(number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_appear_whole_or_not_at_all() {
        let root = std::env::temp_dir().join(format!("dyno-fetch-save-{}", std::process::id()));
        let mut folder = Folder::open(&root).unwrap();
        let mut whole = folder.begin().unwrap();
        whole.take(b"con").unwrap();
        whole.take(b"tent").unwrap();
        let mut broken = folder.begin().unwrap();
        broken.take(b"x").unwrap();
        drop(broken);
        let entry = Entry {
            url: "https://a.test/../../etc/passwd",
            final_url: "https://a.test/",
            status: 200,
            content_type: None,
            content_encoding: None,
            left_https: false,
            bytes: 7,
            start_time: "2026-01-01T00:00:00.000000Z",
        };
        folder.finish(whole, &entry).unwrap();
        let index = fs::read_to_string(root.join("index.jsonl")).unwrap();
        let line: serde_json::Value = serde_json::from_str(&index).unwrap();
        let file = line["file"].as_str().unwrap();
        assert_eq!((file.len(), &file[2..3]), (67, "/"));
        assert_eq!(fs::read(root.join(file)).unwrap(), b"content");
        assert_eq!(
            fs::read_dir(&root).unwrap().count(),
            2,
            "a content, the index, and nothing half"
        );
        // Two processes would take each other's last lines for torn ones.
        assert!(matches!(Folder::open(&root), Err(Error::InUse { .. })));
        drop(folder);
        let index_file = root.join("index.jsonl");
        for torn in ["", "{", "{\"url\":", "{\"url\":\"https://b.test"] {
            fs::write(&index_file, format!("{index}{torn}")).unwrap();
            Folder::open(&root).unwrap();
            assert_eq!(fs::read_to_string(&index_file).unwrap(), index);
        }
        for other in ["{\"a\": 1}", "{\"a\": 1}\n", "x", "{", "\n"] {
            fs::write(&index_file, other).unwrap();
            let error = Folder::open(&root).unwrap_err();
            assert!(error.is_mistake(), "{error}");
            assert_eq!(fs::read_to_string(&index_file).unwrap(), other);
        }
        fs::remove_dir_all(root).unwrap();
    }
}
