//! Journal of the finished lines of a list, with which a later run continues.
//!
//! The first line of a journal identifies it and its list: [`HEADER`], a tab, the first line of the list. Each further
//! line is the number of a line of the list, a tab, and that line. It is written after the row was printed: a run that
//! is killed in between fetches that URL once more, and never skips one. Version 0.1.0 wrote no first line; its
//! journals are continued.
//!
//! Nothing is written to a file before all of it was read and recognised as a journal.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock, syncfs};
use rustix::io::Errno;
use thiserror::Error;

/// First bytes of a journal.
const HEADER: &[u8] = b"httpdyno-fetch-journal 2";
/// Limit on the number of a line, larger than any list.
const MAX_LINES: usize = 1 << 32;

/// Why a list cannot be continued.
#[derive(Debug, Error)]
pub enum Error {
    /// The file cannot be read or written.
    #[error("--resume {path}: {error}")]
    Io {
        /// Path of the journal.
        path: PathBuf,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// The file is not a journal.
    #[error(
        "--resume {path}: line {line} is not a journal entry; the file was not changed; name a new file"
    )]
    NoJournal {
        /// Path of the journal.
        path: PathBuf,
        /// Number of the line that is not an entry.
        line: u64,
    },
    /// Another process is writing to the journal.
    #[error(
        "--resume {path}: another httpdyno fetch uses it; wait for its end, or name another file"
    )]
    InUse {
        /// Path of the journal.
        path: PathBuf,
    },
    /// The list differs from the list of the journal.
    #[error(
        "--resume {path}: line {line} of the list was {was} when the journal was written; give the same list, or name another file"
    )]
    AnotherList {
        /// Path of the journal.
        path: PathBuf,
        /// Number of the line that differs.
        line: u64,
        /// The line in the journal.
        was: String,
    },
}

impl Error {
    /// Whether the command line named a wrong file or list.
    #[must_use]
    pub const fn is_mistake(&self) -> bool {
        !matches!(self, Self::Io { .. })
    }
}

/// The finished lines of a list.
#[derive(Debug)]
pub struct Done {
    path: PathBuf,
    /// For each line of the list: 0 if it is not finished, else a checksum of its URL. Two bytes per line.
    checks: Vec<u16>,
    /// The first line of the list, from the journal or from the list.
    first: Option<Vec<u8>>,
    /// Whether the current list begins with this line.
    is_same: bool,
}

/// A journal's file.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// What must be written before new lines.
    begins: Begins,
    /// Files on the disks that hold finished results, which are synchronised; `None`: nothing is synchronised.
    synced: Option<Vec<OwnedFd>>,
}

/// State of a journal when it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begins {
    /// The file is empty.
    Empty,
    /// Version 0.1.0: no first line that identifies it. The number is the length of all complete lines.
    Unnamed(u64),
    /// The number is the length of all complete lines; an incomplete line of a killed run follows, and is removed.
    Named(u64),
    /// The first line is written.
    Written,
}

/// Opens a journal, or creates its file.
///
/// `synced` are files on the disks that hold the results of finished lines. Those disks are synchronised before the
/// lines are written, and the journal after it. `None`: nothing is synchronised.
///
/// # Errors
///
/// If the journal cannot be read or written, is not a journal, or is in use.
pub fn open(path: &Path, synced: Option<Vec<OwnedFd>>) -> Result<(Done, Journal), Error> {
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
    lock(&file, path)?;
    let mut done = Done {
        path: path.to_owned(),
        checks: Vec::new(),
        first: None,
        is_same: false,
    };
    let mut reader = BufReader::new(file);
    let begins = done.read(&mut reader)?;
    Ok((
        done,
        Journal {
            path: path.to_owned(),
            file: reader.into_inner(),
            begins,
            synced,
        },
    ))
}

impl Done {
    fn read(&mut self, reader: &mut impl BufRead) -> Result<Begins, Error> {
        let (mut whole, mut number, mut line) = (0_u64, 0_u64, Vec::new());
        loop {
            line.clear();
            let bytes = reader
                .read_until(b'\n', &mut line)
                .map_err(|error| Error::Io {
                    path: self.path.clone(),
                    error,
                })?;
            number += 1;
            let Some((b'\n', text)) = line.split_last() else {
                break;
            };
            whole += bytes as u64;
            if let (1, Some(first)) = (number, after_header(text)) {
                self.first = Some(first.to_owned());
                continue;
            }
            let (place, url) = entry(text).ok_or_else(|| self.no_journal(number))?;
            if self.checks.len() <= place {
                self.checks.resize(place + 1, 0);
            }
            // Each line of a list is finished once; in another kind of file, a number may occur twice.
            if std::mem::replace(&mut self.checks[place], check(url)) != 0 {
                return Err(self.no_journal(number));
            }
        }
        match (whole, line.is_empty()) {
            (0, true) => Ok(Begins::Empty),
            // The run was killed while it wrote the first line.
            (0, false) if after_header(&line).is_some() => Ok(Begins::Named(0)),
            (1.., _) if is_torn_entry(&line) => Ok(if self.first.is_some() {
                Begins::Named(whole)
            } else {
                Begins::Unnamed(whole)
            }),
            _ => Err(self.no_journal(number)),
        }
    }

    /// Whether line `number` of the list (the first is 1) is finished.
    ///
    /// # Errors
    ///
    /// If the journal has another line under that number, or another first line: then it belongs to another list.
    pub fn has(&mut self, number: u64, url: &[u8]) -> Result<bool, Error> {
        if !self.is_same {
            let was = self.first.get_or_insert_with(|| url.to_owned());
            if was.as_slice() != url {
                let was = String::from_utf8_lossy(was).into_owned();
                return Err(self.another_list(number, was));
            }
            self.is_same = true;
        }
        let found = usize::try_from(number)
            .ok()
            .and_then(|place| self.checks.get(place));
        match found {
            None | Some(0) => Ok(false),
            Some(&before) if before == check(url) => Ok(true),
            Some(_) => Err(self.another_list(number, "another URL".to_owned())),
        }
    }

    /// The first line of the list; empty before [`Done::has`] was called.
    #[must_use]
    pub fn first(&self) -> Vec<u8> {
        self.first.clone().unwrap_or_default()
    }

    fn no_journal(&self, line: u64) -> Error {
        Error::NoJournal {
            path: self.path.clone(),
            line,
        }
    }

    fn another_list(&self, line: u64, was: String) -> Error {
        Error::AnotherList {
            path: self.path.clone(),
            line,
            was,
        }
    }
}

impl Journal {
    /// Appends the entry of a finished URL to `out`, which will be written.
    pub fn note(number: u64, url: &[u8], out: &mut Vec<u8>) {
        write!(out, "{number}\t").expect("a vector takes all bytes");
        out.extend_from_slice(url);
        out.push(b'\n');
    }

    /// Writes the noted entries; before the first of them, the line that identifies the journal. `first` is the first
    /// line of the list.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written, or the results of finished lines did not reach the disk.
    pub fn append(&mut self, first: &[u8], noted: &[u8]) -> Result<(), Error> {
        self.write(first, noted).map_err(|error| Error::Io {
            path: self.path.clone(),
            error,
        })
    }

    /// Whether each write waits for the disks.
    #[must_use]
    pub const fn is_synced(&self) -> bool {
        self.synced.is_some()
    }

    fn write(&mut self, first: &[u8], noted: &[u8]) -> io::Result<()> {
        for file in self.synced.iter().flatten() {
            syncfs(file)?;
        }
        self.begin(first)?;
        self.file.write_all(noted)?;
        if self.is_synced() {
            self.file.sync_data()?;
        }
        Ok(())
    }

    fn begin(&mut self, first: &[u8]) -> io::Result<()> {
        let header = [HEADER, b"\t", first, b"\n"].concat();
        match self.begins {
            Begins::Written => return Ok(()),
            Begins::Empty => self.file.write_all(&header)?,
            Begins::Named(0) => {
                self.file.set_len(0)?;
                self.file.write_all(&header)?;
            }
            Begins::Named(whole) => self.file.set_len(whole)?,
            Begins::Unnamed(whole) => self.file = self.named(&header, whole)?,
        }
        self.begins = Begins::Written;
        Ok(())
    }

    /// Replaces a journal without a first line by one with it.
    fn named(&mut self, header: &[u8], whole: u64) -> io::Result<File> {
        let path = self.path.canonicalize()?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.new", std::process::id()));
        let new = path.with_file_name(name);
        let mut put = || -> io::Result<File> {
            let mut file = OpenOptions::new()
                .append(true)
                .create_new(true)
                .open(&new)?;
            flock(&file, FlockOperation::NonBlockingLockExclusive)?;
            file.write_all(header)?;
            self.file.seek(SeekFrom::Start(0))?;
            io::copy(&mut (&self.file).take(whole), &mut file)?;
            file.sync_all()?;
            fs::rename(&new, &path)?;
            Ok(file)
        };
        put().inspect_err(|_| drop(fs::remove_file(&new)))
    }
}

/// Exclusive lock on a file, held until it is closed.
fn lock(file: &File, path: &Path) -> Result<(), Error> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(Error::InUse {
            path: path.to_owned(),
        }),
        // A file system without locks cannot protect the journal.
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns the part of a journal's first line after [`HEADER`].
fn after_header(line: &[u8]) -> Option<&[u8]> {
    line.strip_prefix(HEADER)?.strip_prefix(b"\t")
}

/// Parses the number and the URL of an entry; `None` if the number is too large for a list.
fn entry(line: &[u8]) -> Option<(usize, &[u8])> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let number: usize = std::str::from_utf8(&line[..tab]).ok()?.parse().ok()?;
    let url = &line[tab + 1..];
    ((1..MAX_LINES).contains(&number) && !url.is_empty()).then_some((number, url))
}

/// Whether the bytes may be the beginning of an entry that a killed run left incomplete.
fn is_torn_entry(line: &[u8]) -> bool {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    line.is_empty() || (digits > 0 && line.get(digits).is_none_or(|byte| *byte == b'\t'))
}

/// A checksum other than 0, which two URLs seldom share (FNV-1a, folded).
fn check(url: &[u8]) -> u16 {
    let hash = url.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    u16::try_from(hash % 65_535).map_or(1, |folded| folded + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &[u8] = b"https://a.test/";

    fn scratch(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("dyno-fetch-{name}-{}", std::process::id()));
        drop(fs::remove_file(&path));
        path
    }

    fn noted(lines: &[(u64, &[u8])]) -> Vec<u8> {
        let mut noted = Vec::new();
        for (number, url) in lines {
            Journal::note(*number, url, &mut noted);
        }
        noted
    }

    #[test]
    fn a_journal_remembers_across_a_kill() {
        let path = scratch("journal");
        let lines = noted(&[(2, b"https://b.test/"), (4, b"https://d.test/\xff")]);
        open(&path, None).unwrap().1.append(FIRST, &lines).unwrap();
        let named = fs::read(&path).unwrap();
        assert_eq!(named, [HEADER, b"\t", FIRST, b"\n", &lines].concat());
        // Journals of this version and of 0.1.0, cut at each byte of a later line.
        for (whole, least) in [(&named, HEADER.len() + 1), (&lines, 18)] {
            for cut in least..=whole.len() {
                fs::write(&path, &whole[..cut]).unwrap();
                let (mut done, mut journal) = open(&path, None).unwrap();
                let count = |bytes: &[u8]| bytes.split(|byte| *byte == b'\n').count() - 1;
                let entries = (count(&whole[..cut]) + count(&lines)).saturating_sub(count(whole));
                assert!(!done.has(1, FIRST).unwrap());
                assert_eq!(
                    done.has(2, b"https://b.test/").unwrap(),
                    entries > 0,
                    "{cut}"
                );
                assert_eq!(
                    done.has(4, b"https://d.test/\xff").unwrap(),
                    entries > 1,
                    "{cut}"
                );
                assert_eq!(
                    fs::read(&path).unwrap(),
                    whole[..cut],
                    "nothing was written yet"
                );
                journal.append(FIRST, &noted(&[(1, FIRST)])).unwrap();
                drop(journal);
                let (mut again, _) = open(&path, None).unwrap();
                assert_eq!(again.first(), FIRST);
                assert!(again.has(1, FIRST).unwrap());
                assert_eq!(again.has(2, b"https://b.test/").unwrap(), entries > 0);
            }
        }
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn another_list_is_refused() {
        let path = scratch("another-list");
        open(&path, None)
            .unwrap()
            .1
            .append(FIRST, &noted(&[(3, b"https://c.test/")]))
            .unwrap();
        let (mut done, journal) = open(&path, None).unwrap();
        let message = done.has(1, b"https://z.test/").unwrap_err().to_string();
        assert!(
            message.contains("line 1 of the list was https://a.test/ when"),
            "{message}"
        );
        drop(journal);
        let (mut done, _journal) = open(&path, None).unwrap();
        assert!(!done.has(1, FIRST).unwrap());
        let message = done.has(3, b"https://z.test/").unwrap_err().to_string();
        assert!(
            message.contains("line 3 of the list was another URL"),
            "{message}"
        );
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn another_file_is_refused_and_not_changed() {
        let path = scratch("others");
        for text in [
            "{\"a\": 1}",
            "{\"a\": 1}\n",
            "https://a.test/\n",
            "0\tx\n",
            "9999999999999\tx\n",
            "-1\tx\n",
            "1\t\n",
            "1\ta\nx\n",
            "1\ta\nx",
            "1\ta\n1\tb\n",
            "12",
            "\n",
            "httpdyno-fetch-journal 3\ta\n",
            "httpdyno-fetch-journal 2",
            "1\ta\nhttpdyno-fetch-journal 2\ta\n",
        ] {
            fs::write(&path, text).unwrap();
            let error = open(&path, None).unwrap_err();
            assert!(
                matches!(error, Error::NoJournal { .. }),
                "{text:?}: {error}"
            );
            assert!(error.is_mistake());
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_journal_has_one_writer() {
        let path = scratch("one-writer");
        let old = noted(&[(1, FIRST)]);
        fs::write(&path, &old).unwrap();
        let (_, mut first) = open(&path, None).unwrap();
        assert!(matches!(open(&path, None), Err(Error::InUse { .. })));
        // Also after a first line was inserted before it.
        first.append(FIRST, &noted(&[(2, b"x")])).unwrap();
        assert!(matches!(open(&path, None), Err(Error::InUse { .. })));
        drop(first);
        assert!(open(&path, None).unwrap().0.has(1, FIRST).unwrap());
        fs::remove_file(path).unwrap();
    }
}
