//! Journal of the finished lines of a list, with which a later run continues.
//!
//! The first line of a journal identifies it and its list: [`HEADER`], a tab, the first line of the list. Each further
//! line is the number of a line of the list, a tab, and that line. It is written after the row was printed: a run that
//! is killed in between fetches that URL once more, and never skips one. Version 0.1.0 wrote no first line; its
//! journals are continued.
//!
//! If rows go to a file, a [`Mark`] with its length follows the lines of each flush, and [`COMPLETE`] the lines of a
//! run that was not killed. A later run cuts the file to the last mark and ignores the lines after it, so that no row
//! comes twice.
//!
//! Nothing is written to a file before all of it was read and recognised as a journal.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock, syncfs};
use rustix::io::Errno;
use thiserror::Error;

use crate::rows_file::{Mark, RowsFile, checksum};

/// First bytes of a journal.
const HEADER: &[u8] = b"httpdyno-fetch-journal 2";
/// Begins a mark: length of the rows, tab, checksum of their last bytes.
const MARK: &[u8] = b"rows\t";
/// The line after which nothing has to be cut.
const COMPLETE: &[u8] = b"rows\tcomplete\n";
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
    /// The file of rows is not the one of the journal.
    #[error(
        "--output {rows}: does not begin with the {length} bytes of rows that --resume {path} recorded; name the file of the killed run, or add rows to another file with >> FILE"
    )]
    AnotherRowsFile {
        /// Path of the journal.
        path: PathBuf,
        /// Path of the file of rows.
        rows: PathBuf,
        /// Length of the rows in the journal.
        length: u64,
    },
    /// The file of rows cannot be read or cut.
    #[error("--output {rows}: {error}")]
    Rows {
        /// Path of the file of rows.
        rows: PathBuf,
        /// The system's error.
        #[source]
        error: io::Error,
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
        !matches!(self, Self::Io { .. } | Self::Rows { .. })
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
    /// The last mark, unless [`COMPLETE`] follows.
    mark: Option<Mark>,
    /// Lines of the list after it.
    after_mark: Vec<usize>,
    /// Length of the journal up to its end.
    marked_bytes: u64,
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
    /// The file of rows, if a later run can cut it.
    rows: Option<RowsFile>,
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
/// lines are written, and the journal after it. `None`: nothing is synchronised. `rows` is the file of rows, if a later
/// run can cut it.
///
/// # Errors
///
/// If the journal cannot be read or written, is not a journal, or is in use.
pub fn open(
    path: &Path,
    synced: Option<Vec<OwnedFd>>,
    rows: Option<RowsFile>,
) -> Result<(Done, Journal), Error> {
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
        mark: None,
        after_mark: Vec::new(),
        marked_bytes: 0,
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
            rows,
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
            if self.first.is_some()
                && let Some(rest) = text.strip_prefix(MARK)
            {
                self.mark = if line == COMPLETE {
                    None
                } else {
                    Some(mark(rest).ok_or_else(|| self.no_journal(number))?)
                };
                self.after_mark.clear();
                self.marked_bytes = whole;
                continue;
            }
            let (place, url) = entry(text).ok_or_else(|| self.no_journal(number))?;
            if self.mark.is_some() {
                self.after_mark.push(place);
            }
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
            (1.., _) if is_torn(&line, self.first.is_some()) => Ok(if self.first.is_some() {
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

    /// Whether [`Done::has`] was called.
    pub fn is_begun(&self) -> bool {
        self.is_same
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

/// The lines that an ended crawl has finished, for a command that fetches none.
#[derive(Debug)]
pub struct Finished {
    done: Done,
    journal: Journal,
}

impl Finished {
    /// Opens a journal and its file of rows.
    ///
    /// # Errors
    ///
    /// If they cannot be read, are not those of a crawl, or are in use.
    pub fn open(journal: &Path, rows: &Path) -> Result<Self, Error> {
        let failed = |error| Error::Rows {
            rows: rows.to_owned(),
            error,
        };
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(rows)
            .map_err(failed)?;
        let rows = RowsFile::new(rows.to_owned(), file).map_err(failed)?;
        let (done, journal) = open(journal, None, rows)?;
        Ok(Self { done, journal })
    }

    /// Whether line `number` of the list (the first is 1) is finished. At the first call the file of rows is cut to the
    /// rows of finished lines.
    ///
    /// # Errors
    ///
    /// If the journal belongs to another list, or a file cannot be written.
    pub fn has(&mut self, number: u64, line: &[u8]) -> Result<bool, Error> {
        if !self.done.is_begun() {
            // The list is that of the journal before a file is cut.
            self.done.has(number, line)?;
            self.journal.start(&mut self.done)?;
        }
        self.done.has(number, line)
    }
}

impl Journal {
    /// Appends the entry of a finished URL to `out`, which will be written.
    pub fn note(number: u64, url: &[u8], out: &mut Vec<u8>) {
        write!(out, "{number}\t").expect("a vector takes all bytes");
        out.extend_from_slice(url);
        out.push(b'\n');
    }

    /// Prepares the file of rows, once the first line of the list is known: cuts what a killed run wrote after the
    /// journal's last mark, forgets the lines that belong to it, and marks the length that remains.
    ///
    /// # Errors
    ///
    /// If the file is another one, or a file cannot be written.
    pub fn start(&mut self, done: &mut Done) -> Result<(), Error> {
        let mark = done.mark.take();
        let Some(rows) = &self.rows else {
            // Rows in another place are not cut, so the lines after the mark remain finished.
            return match mark {
                Some(_) => self.append(&done.first(), COMPLETE),
                None => Ok(()),
            };
        };
        if let Some(mark) = mark {
            if !rows.cut(mark).map_err(|error| self.rows_failed(error))? {
                return Err(Error::AnotherRowsFile {
                    path: self.path.clone(),
                    rows: rows.path.clone(),
                    length: mark.length,
                });
            }
            for place in done.after_mark.drain(..) {
                done.checks[place] = 0;
            }
            self.begins = Begins::Named(done.marked_bytes);
        }
        let mut line = Vec::new();
        self.mark(&mut line)?;
        self.append(&done.first(), &line)
    }

    /// Appends a mark to `out`, whose entries are those of the rows in the file.
    ///
    /// # Errors
    ///
    /// If the file of rows cannot be read.
    pub fn mark(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        if let Some(rows) = &self.rows {
            let Mark { length, tail } = rows.mark().map_err(|error| self.rows_failed(error))?;
            out.extend_from_slice(MARK);
            writeln!(out, "{length}\t{tail:016x}").expect("a vector takes all bytes");
        }
        Ok(())
    }

    /// States that the file of rows has the rows of all entries and no more, so that a later run does not cut it.
    ///
    /// # Errors
    ///
    /// If the journal cannot be written.
    pub fn complete(&mut self, first: &[u8]) -> Result<(), Error> {
        if self.rows.is_some() && self.begins == Begins::Written {
            self.append(first, COMPLETE)?;
        }
        Ok(())
    }

    fn rows_failed(&self, error: io::Error) -> Error {
        let rows = self.rows.as_ref().map(|rows| rows.path.clone());
        Error::Rows {
            rows: rows.unwrap_or_default(),
            error,
        }
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

/// Parses a mark after [`MARK`].
fn mark(line: &[u8]) -> Option<Mark> {
    let (length, tail) = std::str::from_utf8(line).ok()?.split_once('\t')?;
    Some(Mark {
        length: length.parse().ok()?,
        tail: u64::from_str_radix(tail, 16).ok()?,
    })
}

/// Whether the bytes may be the beginning of an entry, or of a mark, that a killed run left incomplete.
fn is_torn(line: &[u8], has_marks: bool) -> bool {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_entry = digits > 0 && line.get(digits).is_none_or(|byte| *byte == b'\t');
    line.is_empty()
        || is_entry
        || (has_marks && MARK.starts_with(&line[..line.len().min(MARK.len())]))
}

/// A checksum other than 0, which two URLs seldom share.
fn check(url: &[u8]) -> u16 {
    u16::try_from(checksum(url) % 65_535).map_or(1, |folded| folded + 1)
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
        open(&path, None, None)
            .unwrap()
            .1
            .append(FIRST, &lines)
            .unwrap();
        let named = fs::read(&path).unwrap();
        assert_eq!(named, [HEADER, b"\t", FIRST, b"\n", &lines].concat());
        // Journals of this version and of 0.1.0, cut at each byte of a later line.
        for (whole, least) in [(&named, HEADER.len() + 1), (&lines, 18)] {
            for cut in least..=whole.len() {
                fs::write(&path, &whole[..cut]).unwrap();
                let (mut done, mut journal) = open(&path, None, None).unwrap();
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
                let (mut again, _) = open(&path, None, None).unwrap();
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
        open(&path, None, None)
            .unwrap()
            .1
            .append(FIRST, &noted(&[(3, b"https://c.test/")]))
            .unwrap();
        let (mut done, journal) = open(&path, None, None).unwrap();
        let message = done.has(1, b"https://z.test/").unwrap_err().to_string();
        assert!(
            message.contains("line 1 of the list was https://a.test/ when"),
            "{message}"
        );
        drop(journal);
        let (mut done, _journal) = open(&path, None, None).unwrap();
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
            "1\ta\nrows\tcomplete\n",
            "httpdyno-fetch-journal 2\ta\nrows\tx\n",
            "httpdyno-fetch-journal 2\ta\nrows\t1\n",
            "httpdyno-fetch-journal 2\ta\nrose",
        ] {
            fs::write(&path, text).unwrap();
            let error = open(&path, None, None).unwrap_err();
            assert!(
                matches!(error, Error::NoJournal { .. }),
                "{text:?}: {error}"
            );
            assert!(error.is_mistake());
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::remove_file(path).unwrap();
    }

    /// A run whose rows go to a file, with both files as a killed run left them.
    struct Run {
        done: Done,
        journal: Journal,
        rows: PathBuf,
    }

    impl Run {
        fn start(journal: &Path, rows: &Path) -> Result<Self, Error> {
            let file = File::options()
                .read(true)
                .append(true)
                .create(true)
                .open(rows)
                .unwrap();
            let file = RowsFile::new(rows.to_owned(), file).unwrap();
            let (mut done, mut journal) = open(journal, None, file)?;
            assert!(!done.is_begun());
            done.has(1, FIRST)?;
            journal.start(&mut done)?;
            Ok(Self {
                done,
                journal,
                rows: rows.to_owned(),
            })
        }

        fn print(&self, row: &str) {
            let mut file = File::options().append(true).open(&self.rows).unwrap();
            file.write_all(row.as_bytes()).unwrap();
        }

        fn flush(&mut self, lines: &[(u64, &[u8])]) {
            let mut out = noted(lines);
            self.journal.mark(&mut out).unwrap();
            self.journal.append(FIRST, &out).unwrap();
        }

        fn finished(&mut self) -> Vec<u64> {
            let has = |number: &u64| {
                let url = format!("{number}");
                let url = if *number == 1 { FIRST } else { url.as_bytes() };
                self.done.has(*number, url).unwrap()
            };
            (1..=5).filter(has).collect()
        }
    }

    #[test]
    fn rows_after_the_last_mark_are_cut_and_their_lines_forgotten() {
        let (path, rows) = (scratch("marks"), scratch("marks-rows"));
        fs::write(&rows, "before\n").unwrap();
        let mut run = Run::start(&path, &rows).unwrap();
        run.print("one\n");
        run.flush(&[(1, FIRST)]);
        run.print("two\nthr");
        drop(run);
        let mut run = Run::start(&path, &rows).unwrap();
        assert_eq!(fs::read_to_string(&rows).unwrap(), "before\none\n");
        assert_eq!(run.finished(), [1]);
        run.print("two\nthree\n");
        run.flush(&[(2, b"2"), (3, b"3")]);
        // A journal that was cut within its last flush has no mark after the lines.
        let whole = fs::read(&path).unwrap();
        drop(run);
        let flushed = whole.len() - noted(&[(2, b"2"), (3, b"3")]).len();
        let last_mark = b"rows\t21\t0123456789abcdef\n".len();
        for cut in flushed - last_mark..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            fs::write(&rows, "before\none\ntwo\nthree\n").unwrap();
            let mut run = Run::start(&path, &rows).unwrap();
            assert_eq!(fs::read_to_string(&rows).unwrap(), "before\none\n", "{cut}");
            assert_eq!(run.finished(), [1]);
            run.print("two\n");
            run.flush(&[(2, b"2")]);
            drop(run);
            let mut run = Run::start(&path, &rows).unwrap();
            assert_eq!(run.finished(), [1, 2], "{cut}");
        }
        for path in [path, rows] {
            fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn only_the_file_of_a_killed_run_is_cut() {
        let (path, rows) = (scratch("killed"), scratch("killed-rows"));
        let mut run = Run::start(&path, &rows).unwrap();
        run.print("one\n");
        run.flush(&[(1, FIRST)]);
        drop(run);
        let before = fs::read(&path).unwrap();
        for text in ["", "on", "two\ntwo\n"] {
            fs::write(&rows, text).unwrap();
            let error = Run::start(&path, &rows).map(|_| ()).unwrap_err();
            assert!(error.is_mistake() && error.to_string().contains("the 4 bytes of rows"));
            assert_eq!(fs::read_to_string(&rows).unwrap(), text);
            assert_eq!(fs::read(&path).unwrap(), before);
        }
        // Rows in another place: nothing is cut, now or later.
        let (mut done, mut journal) = open(&path, None, None).unwrap();
        assert!(done.has(1, FIRST).unwrap());
        journal.start(&mut done).unwrap();
        journal.append(FIRST, &noted(&[(2, b"2")])).unwrap();
        drop(journal);
        let mut run = Run::start(&path, &rows).unwrap();
        assert_eq!(run.finished(), [1, 2]);
        run.print("three\n");
        run.flush(&[(3, b"3")]);
        run.journal.complete(FIRST).unwrap();
        run.print("from another list\n");
        drop(run);
        let mut run = Run::start(&path, &rows).unwrap();
        assert_eq!(run.finished(), [1, 2, 3]);
        assert!(
            fs::read_to_string(&rows)
                .unwrap()
                .ends_with("another list\n")
        );
        for path in [path, rows] {
            fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn a_journal_has_one_writer() {
        let path = scratch("one-writer");
        let old = noted(&[(1, FIRST)]);
        fs::write(&path, &old).unwrap();
        let (_, mut first) = open(&path, None, None).unwrap();
        assert!(matches!(open(&path, None, None), Err(Error::InUse { .. })));
        // Also after a first line was inserted before it.
        first.append(FIRST, &noted(&[(2, b"x")])).unwrap();
        assert!(matches!(open(&path, None, None), Err(Error::InUse { .. })));
        drop(first);
        assert!(open(&path, None, None).unwrap().0.has(1, FIRST).unwrap());
        fs::remove_file(path).unwrap();
    }
}
