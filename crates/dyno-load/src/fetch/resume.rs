//! Which lines of a list are done: a journal that a later run continues.
//!
//! One line of the journal is the number of a line of the list, a tab, and the URL. It is written after the row was
//! printed: a run that is killed in between fetches that URL once more, and never leaves one out.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a list cannot be continued.
#[derive(Debug, Error)]
pub enum Error {
    /// The file cannot be read or written.
    #[error("--resume {path}: {error}")]
    Io {
        /// The journal.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The file is something else.
    #[error(
        "--resume {path}: line {line} is not of a journal (a number, a tab, a URL); give a file of its own"
    )]
    NoJournal {
        /// The journal.
        path: PathBuf,
        /// Where.
        line: u64,
    },
    /// The list is another one.
    #[error(
        "--resume {path}: line {line} of the list was {was} when it was done; give the same list, or another file"
    )]
    AnotherList {
        /// The journal.
        path: PathBuf,
        /// Which line.
        line: u64,
        /// What is said of it.
        was: &'static str,
    },
}

/// The journal of one list.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// For each line of the list 0 while it is not done, else a check of its URL: two bytes a line.
    done: Vec<u16>,
}

impl Journal {
    /// Opens a journal, or begins one. A last line without an end, as a killed run leaves it, is taken away.
    ///
    /// # Errors
    ///
    /// If it cannot be read, written, or is no journal.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let failed = |error| Error::Io {
            path: path.to_owned(),
            error,
        };
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(failed)?;
        let mut reader = BufReader::new(file);
        let (mut done, mut whole, mut number, mut line) = (Vec::new(), 0_u64, 0_u64, Vec::new());
        loop {
            line.clear();
            let bytes = reader.read_until(b'\n', &mut line).map_err(failed)?;
            if line.last() != Some(&b'\n') {
                break;
            }
            number += 1;
            let Some((place, url)) = entry(&line[..bytes - 1]) else {
                return Err(Error::NoJournal {
                    path: path.to_owned(),
                    line: number,
                });
            };
            if done.len() <= place {
                done.resize(place + 1, 0);
            }
            done[place] = check(url);
            whole += bytes as u64;
        }
        let mut file = reader.into_inner();
        file.set_len(whole)
            .and_then(|()| file.seek(SeekFrom::End(0)))
            .map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            done,
        })
    }

    /// Whether line `number` of the list (the first is 1) is done.
    ///
    /// # Errors
    ///
    /// If another URL was done under that number: then the list is another one.
    pub fn is_done(&self, number: u64, url: &[u8]) -> Result<bool, Error> {
        let found = usize::try_from(number)
            .ok()
            .and_then(|place| self.done.get(place));
        match found {
            None | Some(0) => Ok(false),
            Some(&before) if before == check(url) => Ok(true),
            Some(_) => Err(Error::AnotherList {
                path: self.path.clone(),
                line: number,
                was: "another URL",
            }),
        }
    }

    /// Appends the line of a URL that is done to what will be written.
    pub fn note(number: u64, url: &[u8], out: &mut Vec<u8>) {
        write!(out, "{number}\t").expect("a vector takes all bytes");
        out.extend_from_slice(url);
        out.push(b'\n');
    }

    /// Writes what was noted.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn write(&mut self, noted: &[u8]) -> Result<(), Error> {
        self.file.write_all(noted).map_err(|error| Error::Io {
            path: self.path.clone(),
            error,
        })
    }
}

/// Number and URL of a line. More lines than a list can have are no list's.
fn entry(line: &[u8]) -> Option<(usize, &[u8])> {
    const MOST_LINES: usize = 1 << 32;
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let number: usize = std::str::from_utf8(&line[..tab]).ok()?.parse().ok()?;
    (1..MOST_LINES)
        .contains(&number)
        .then_some((number, &line[tab + 1..]))
}

/// A number other than 0 that two URLs seldom share (FNV-1a, folded).
fn check(url: &[u8]) -> u16 {
    let hash = url.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    u16::try_from(hash % 65_535).map_or(1, |folded| folded + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("dyno-load-{name}-{}", std::process::id()));
        drop(std::fs::remove_file(&path));
        path
    }

    #[test]
    fn a_journal_remembers_across_a_kill() {
        let path = scratch("journal");
        let mut noted = Vec::new();
        Journal::note(2, b"https://b.test/", &mut noted);
        Journal::note(4, b"https://d.test/\xff", &mut noted);
        Journal::open(&path).unwrap().write(&noted).unwrap();
        // Killed in the midst of a write, at each byte of the last line.
        let whole = std::fs::read(&path).unwrap();
        for cut in 0..=whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let mut journal = Journal::open(&path).unwrap();
            let lines = whole[..cut].split(|byte| *byte == b'\n').count() - 1;
            assert!(!journal.is_done(1, b"https://a.test/").unwrap());
            assert_eq!(
                journal.is_done(2, b"https://b.test/").unwrap(),
                lines > 0,
                "{cut}"
            );
            assert_eq!(
                journal.is_done(4, b"https://d.test/\xff").unwrap(),
                lines > 1,
                "{cut}"
            );
            let mut more = Vec::new();
            Journal::note(1, b"https://a.test/", &mut more);
            journal.write(&more).unwrap();
            let again = Journal::open(&path).unwrap();
            assert!(again.is_done(1, b"https://a.test/").unwrap());
            assert_eq!(again.is_done(2, b"https://b.test/").unwrap(), lines > 0);
        }
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn another_list_and_another_file_are_refused() {
        let path = scratch("others");
        std::fs::write(&path, "1\thttps://a.test/\n").unwrap();
        let journal = Journal::open(&path).unwrap();
        let told = journal
            .is_done(1, b"https://z.test/")
            .unwrap_err()
            .to_string();
        assert!(told.contains("line 1 of the list"), "{told}");
        for text in [
            "https://a.test/\n",
            "0\tx\n",
            "9999999999999\tx\n",
            "-1\tx\n",
            "1\ta\nx\n",
        ] {
            std::fs::write(&path, text).unwrap();
            assert!(
                matches!(Journal::open(&path), Err(Error::NoJournal { .. })),
                "{text:?}"
            );
        }
        std::fs::remove_file(path).unwrap();
    }
}
