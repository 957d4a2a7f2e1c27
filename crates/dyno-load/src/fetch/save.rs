//! Contents kept in a folder: each under the hash of its URL, with an index.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};
use thiserror::Error;

/// Why contents cannot be kept.
#[derive(Debug, Error)]
#[error("--save {path}: {error}")]
pub struct Error {
    path: PathBuf,
    error: io::Error,
}

/// The folder: `ab/abcdef...` for each content, `index.jsonl` with a line for each URL that has one.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    index: File,
    next: u64,
}

/// What the index says of a content.
#[derive(Debug, Serialize)]
pub struct Entry<'a> {
    /// The line of the list.
    pub url: &'a str,
    /// Where its redirects ended.
    pub final_url: &'a str,
    /// The status of the answer.
    pub status: u16,
    /// What the answer says its content is.
    pub content_type: Option<&'a str>,
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
    /// If it cannot be made or written.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let open = || -> io::Result<File> {
            fs::create_dir_all(path)?;
            let file = OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .open(path.join("index.jsonl"))?;
            let (mut reader, mut whole, mut line) = (BufReader::new(file), 0, Vec::new());
            while reader.read_until(b'\n', &mut line)? > 0 && line.last() == Some(&b'\n') {
                whole += line.len() as u64;
                line.clear();
            }
            let mut file = reader.into_inner();
            file.set_len(whole)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        let index = open().map_err(|error| Error {
            path: path.to_owned(),
            error,
        })?;
        Ok(Self {
            path: path.to_owned(),
            index,
            next: 0,
        })
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
        finish().map_err(|error| Error {
            path: self.path.clone(),
            error,
        })
    }

    fn failed(&self, error: io::Error) -> Error {
        Error {
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
    /// What the system said: a full disk, mostly.
    pub fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece)
    }
}

impl Drop for Saving {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // What cannot be removed is at least not in the index.
            drop(fs::remove_file(path));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_appear_whole_or_not_at_all() {
        let root = std::env::temp_dir().join(format!("dyno-load-save-{}", std::process::id()));
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
        // A torn line of the index goes.
        fs::write(root.join("index.jsonl"), format!("{index}{{\"url\":")).unwrap();
        Folder::open(&root).unwrap();
        assert_eq!(fs::read_to_string(root.join("index.jsonl")).unwrap(), index);
        fs::remove_dir_all(root).unwrap();
    }
}
