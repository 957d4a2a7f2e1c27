//! Saves contents in a folder: each under the hash of its URL, with an index.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use dyno_client::ContentFile;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};
use thiserror::Error;
use url::Url;

/// First bytes of each line of an index.
const BEGINNING: &[u8] = b"{\"url\":\"";

/// Reason why contents cannot be saved.
#[derive(Debug, Error)]
pub enum Error {
    /// The folder cannot be read or written.
    #[error("--save {path}: {error}")]
    Io {
        /// Path of the folder.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// The folder's `index.jsonl` is not an index of `fetch`.
    #[error(
        "--save {path}: line {line} of its index.jsonl is not an index entry; the file was not changed; name a new folder"
    )]
    NoIndex {
        /// Path of the folder.
        path: PathBuf,
        /// Number of the line that is not an entry.
        line: u64,
    },
    /// Another process is writing to the folder.
    #[error(
        "--save {path}: another httpdyno fetch uses it; wait for its end, or name another folder"
    )]
    InUse {
        /// Path of the folder.
        path: PathBuf,
    },
}

impl Error {
    /// Whether the command line named a wrong folder.
    #[must_use]
    pub const fn is_mistake(&self) -> bool {
        !matches!(self, Self::Io { .. })
    }
}

/// The folder: a file `ab/abcdef...` for each content, and `index.jsonl` with a line for each saved URL.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    index: File,
    next: u64,
}

/// A redirect that was followed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hop {
    /// The URL that answered with it, without a user's name.
    #[serde(serialize_with = "as_text")]
    pub url: Url,
    /// Its status.
    pub status: u16,
}

fn as_text<S: Serializer>(url: &Url, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(url.as_str())
}

/// An entry of the index.
#[derive(Debug, Serialize)]
pub struct Entry<'a> {
    /// The URL as in the list.
    pub url: &'a str,
    /// The URL after all redirects.
    pub final_url: &'a str,
    /// The redirects before it.
    #[serde(skip_serializing_if = "<[Hop]>::is_empty")]
    pub redirects: &'a [Hop],
    /// The status of the answer.
    pub status: u16,
    /// The answer's `Content-Type`.
    pub content_type: Option<&'a str>,
    /// The codings that were not decoded, because they are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_encoding: Option<&'a str>,
    /// Whether a redirect led from https to http.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub left_https: bool,
    /// Whether TLS ended without `close_notify`: the end of a content without a length may be wrong.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_close_notify: bool,
    /// Whether the content was cut short or too long.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The error that ended a partial content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
    /// Length of the file.
    pub bytes: u64,
    /// When the URL started.
    pub start_time: &'a str,
}

/// A line of the index: the entry, and the path of the file within the folder.
#[derive(Debug, Serialize)]
struct Line<'a> {
    #[serde(flatten)]
    entry: &'a Entry<'a>,
    file: &'a str,
}

/// A content that is being written. If it is dropped before it is complete, its file is removed.
#[derive(Debug)]
pub struct Saving {
    file: File,
    path: Option<PathBuf>,
}

impl Folder {
    /// Creates the folder, or continues one: removes an incomplete last line of the index, which a killed run leaves.
    ///
    /// # Errors
    ///
    /// If the folder cannot be created or written, has an index of another program, or is in use.
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

    /// Opens a file on the disk that holds the contents.
    ///
    /// # Errors
    ///
    /// If no more files can be opened.
    pub fn on_disk(&self) -> Result<OwnedFd, Error> {
        let copy = self.index.try_clone().map_err(|error| self.failed(error))?;
        Ok(copy.into())
    }

    /// Begins to save a content.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn begin(&mut self) -> Result<Saving, Error> {
        self.next += 1;
        let path = self
            .path
            .join(format!(".{}-{}.part", std::process::id(), self.next));
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(true);
        let file = options.open(&path).map_err(|error| self.failed(error))?;
        Ok(Saving {
            file,
            path: Some(path),
        })
    }

    /// Moves a complete content to its place, atomically, and adds its entry to the index.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn finish(&mut self, mut saving: Saving, entry: &Entry<'_>) -> Result<(), Error> {
        let file = file_name(entry.url.as_bytes());
        let mut finish = || -> io::Result<()> {
            let from = saving.path.as_ref().expect("it is finished once");
            let (folder, _) = file.split_once('/').expect("a name has a folder");
            fs::create_dir_all(self.path.join(folder))?;
            fs::rename(from, self.path.join(&file))?;
            saving.path = None;
            Ok(())
        };
        finish().map_err(|error| self.failed(error))?;
        self.note(entry, &file)
    }

    /// Adds the entry of a content that is at `file` to the index.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn note(&mut self, entry: &Entry<'_>, file: &str) -> Result<(), Error> {
        let note = || -> io::Result<()> {
            let mut line = serde_json::to_vec(&Line { entry, file })?;
            line.push(b'\n');
            (&self.index).write_all(&line)
        };
        note().map_err(|error| self.failed(error))
    }

    /// Converts an error of the system into an error of this folder.
    #[must_use]
    pub fn failed(&self, error: io::Error) -> Error {
        Error::Io {
            path: self.path.clone(),
            error,
        }
    }
}

impl Saving {
    /// Writes a piece of the content.
    ///
    /// # Errors
    ///
    /// The system's error, usually a full disk.
    pub fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece)
    }

    /// Opens the content that was written.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn content(&self) -> io::Result<ContentFile> {
        ContentFile::new(self.file.try_clone()?)
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

/// Returns the name of a URL's content: `ab/abcdef...`, the SHA-256 of the URL.
#[must_use]
pub fn file_name(url: &[u8]) -> String {
    let digest = HEXLOWER.encode(&Sha256::digest(url));
    format!("{}/{digest}", &digest[..2])
}

/// The length of all complete lines of an index, or the number of the line that is not an entry.
fn whole_bytes(reader: &mut impl BufRead) -> io::Result<Result<u64, u64>> {
    let (mut whole, mut number, mut line) = (0, 0, Vec::new());
    loop {
        line.clear();
        let bytes = reader.read_until(b'\n', &mut line)? as u64;
        number += 1;
        match line.strip_suffix(b"\n") {
            Some(text) if text.starts_with(BEGINNING) && text.ends_with(b"}") => whole += bytes,
            // An incomplete line, or the end.
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
            redirects: &[],
            status: 200,
            content_type: None,
            content_encoding: None,
            left_https: false,
            no_close_notify: false,
            partial: false,
            error: None,
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
        // Two processes would take each other's last lines for incomplete ones.
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
