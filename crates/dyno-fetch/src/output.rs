//! Writes rows to standard output as soon as the thread has nothing more urgent, many in one call if there are many.
//! After them it writes the journal: a URL is noted once its row is printed and its content is safe.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::{FileType, SeekFrom, fstat, ftruncate, seek, tell};
use tokio::io::Interest;
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::input::Waiting;
use crate::resume::{self, Done, Journal};

/// Bytes that a ready pipe accepts without blocking (`PIPE_BUF`).
const PIECE_BYTES: usize = 4 << 10;
/// Bytes of rows waiting for a slow reader at which no further URL begins.
const MAX_WAITING_BYTES: usize = 1 << 20;
/// Interval between two synchronisations of the disks: a power failure loses the progress of this time.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// Rows waiting to be written, with their journal entries.
#[derive(Debug)]
pub(crate) struct Output {
    stream: Waiting,
    rows: RefCell<Vec<u8>>,
    /// Journal entries of waiting rows.
    notes: RefCell<Vec<u8>>,
    /// Journal entries of printed rows.
    printed: RefCell<Vec<u8>>,
    done: RefCell<Option<Done>>,
    journal: RefCell<Option<Journal>>,
    /// A line before the rows, which waits until a file of rows was cut.
    header: Cell<&'static [u8]>,
    came: Notify,
    to_note: Notify,
    hurry: Notify,
    writing: Cell<bool>,
    noting: Cell<bool>,
    /// Whether the journal should be written without waiting for more entries.
    ends: Cell<bool>,
    /// Signals that something was written or noted.
    relieved: Notify,
}

/// Reason why rows cannot be written.
#[derive(Debug)]
pub(crate) enum Failed {
    Stream(io::Error),
    Journal(resume::Error),
}

impl Output {
    /// Creates the output of rows to `stream`.
    pub(crate) fn new(stream: OwnedFd, journal: Option<(Done, Journal)>) -> io::Result<Self> {
        let (done, journal) = journal.unzip();
        Ok(Self {
            stream: Waiting::new(stream, Interest::WRITABLE)?,
            rows: RefCell::default(),
            notes: RefCell::default(),
            printed: RefCell::default(),
            done: RefCell::new(done),
            journal: RefCell::new(journal),
            header: Cell::default(),
            came: Notify::new(),
            to_note: Notify::new(),
            hurry: Notify::new(),
            writing: Cell::new(false),
            noting: Cell::new(false),
            ends: Cell::new(false),
            relieved: Notify::new(),
        })
    }

    /// Whether a line of the list was finished in an earlier run.
    pub(crate) fn is_done(&self, number: u64, url: &[u8]) -> Result<bool, resume::Error> {
        let mut done = self.done.borrow_mut();
        let Some(done) = done.as_mut() else {
            return Ok(false);
        };
        if done.is_begun() {
            return done.has(number, url);
        }
        // The list is that of the journal before a file is cut.
        done.has(number, url)?;
        if let Some(journal) = self.journal.borrow_mut().as_mut() {
            journal.start(done)?;
        }
        self.print_header();
        done.has(number, url)
    }

    /// Writes a line before the rows, unless rows go to a file that has some.
    pub(crate) fn begin(&self, header: &'static [u8]) {
        self.header.set(header);
        if self.done.borrow().is_none() {
            self.print_header();
        }
    }

    fn print_header(&self) {
        let header = self.header.take();
        let status = match &self.stream {
            Waiting::Never(stream) => fstat(stream).ok(),
            Waiting::Watched(_) => None,
        };
        if !header.is_empty() && status.is_none_or(|status| status.st_size == 0) {
            self.rows.borrow_mut().extend_from_slice(header);
            self.came.notify_one();
        }
    }

    /// Queues a row.
    pub(crate) fn push(&self, number: u64, url: &[u8], row: impl FnOnce(&mut Vec<u8>)) {
        row(&mut self.rows.borrow_mut());
        if self.done.borrow().is_some() {
            Journal::note(number, url, &mut self.notes.borrow_mut());
        }
        self.came.notify_one();
    }

    /// Whether the reader is so slow that no further URL should begin.
    pub(crate) fn is_congested(&self) -> bool {
        self.rows.borrow().len() > MAX_WAITING_BYTES
    }

    /// Waits until something has been written.
    pub(crate) async fn relieved(&self) {
        self.relieved.notified().await;
    }

    /// Writes queued rows, and then their journal entries, until writing fails.
    pub(crate) async fn pump(&self) -> Result<Infallible, Failed> {
        tokio::select! {
            failed = self.print() => failed,
            failed = self.keep() => failed,
        }
    }

    async fn print(&self) -> Result<Infallible, Failed> {
        loop {
            let rows = std::mem::take(&mut *self.rows.borrow_mut());
            let notes = std::mem::take(&mut *self.notes.borrow_mut());
            if rows.is_empty() {
                self.relieved.notify_waiters();
                self.came.notified().await;
                continue;
            }
            self.writing.set(true);
            self.write(&rows).await.map_err(Failed::Stream)?;
            self.printed.borrow_mut().extend_from_slice(&notes);
            self.to_note.notify_one();
            self.writing.set(false);
        }
    }

    async fn keep(&self) -> Result<Infallible, Failed> {
        if self.done.borrow().is_none() {
            return pending().await;
        }
        loop {
            let mut notes = std::mem::take(&mut *self.printed.borrow_mut());
            self.noting.set(!notes.is_empty());
            if notes.is_empty() {
                self.relieved.notify_waiters();
                self.to_note.notified().await;
                continue;
            }
            let Some(mut journal) = self.journal.take() else {
                return pending().await;
            };
            // A file has the rows of these notes and of no others: it is written in one go.
            journal.mark(&mut notes).map_err(Failed::Journal)?;
            let first = self.first();
            let appended: Result<(), resume::Error>;
            if journal.is_synced() {
                // Synchronising a disk takes long, and would block all requests of this thread.
                let append = tokio::task::spawn_blocking(move || {
                    let appended = journal.append(&first, &notes);
                    (journal, appended)
                });
                (journal, appended) = append.await.expect("it does not panic");
            } else {
                appended = journal.append(&first, &notes);
            }
            appended.map_err(Failed::Journal)?;
            let is_synced = journal.is_synced();
            self.journal.replace(Some(journal));
            if is_synced && !self.ends.get() {
                tokio::select! {
                    () = sleep(SYNC_EVERY) => {}
                    () = self.hurry.notified() => {}
                }
            }
        }
    }

    /// The first line of the list.
    fn first(&self) -> Vec<u8> {
        let done = self.done.borrow();
        done.as_ref().map(Done::first).unwrap_or_default()
    }

    /// Waits until all queued rows are written and noted in the journal.
    pub(crate) async fn flushed(&self) {
        self.print_header();
        while self.writing.get() || !self.rows.borrow().is_empty() {
            self.relieved().await;
        }
        self.noted().await;
    }

    /// Waits until all printed rows are noted in the journal.
    pub(crate) async fn noted(&self) {
        self.ends.set(true);
        self.hurry.notify_one();
        while self.noting.get() || !self.printed.borrow().is_empty() {
            self.relieved().await;
        }
        if let Some(journal) = self.journal.borrow_mut().as_mut() {
            // A journal without this line is continued like that of a killed run.
            drop(journal.complete(&self.first()));
        }
    }

    async fn write(&self, rows: &[u8]) -> io::Result<()> {
        let mut rest = rows;
        while !rest.is_empty() {
            let piece = piece(rest);
            let call = |stream: &OwnedFd| Ok(rustix::io::write(stream, piece)?);
            match self.stream.when_ready(Interest::WRITABLE, call).await {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    // The reader recognises an incomplete line; the first error is reported.
                    if let Waiting::Never(stream) = &self.stream {
                        let written = &rows[..rows.len() - rest.len()];
                        drop(remove_torn_row(stream, written));
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

/// Removes the part of a row that still fitted on the disk, if rows go to the end of a file.
fn remove_torn_row(stream: &OwnedFd, written: &[u8]) -> io::Result<()> {
    let torn = written.iter().rev().take_while(|byte| **byte != b'\n');
    let torn = torn.count() as u64;
    let status = fstat(stream)?;
    let size = u64::try_from(status.st_size).unwrap_or_default();
    let is_file = FileType::from_raw_mode(status.st_mode) == FileType::RegularFile;
    if torn > 0 && is_file && tell(stream)? == size {
        ftruncate(stream, size.saturating_sub(torn))?;
        seek(stream, SeekFrom::End(0))?;
    }
    Ok(())
}

/// Returns the next bytes to write: whole rows if possible, so that a killed run leaves no partial row.
fn piece(rest: &[u8]) -> &[u8] {
    let piece = &rest[..rest.len().min(PIECE_BYTES)];
    match piece.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => &piece[..=end],
        None => piece,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_rows_where_rows_fit() {
        let rows = b"a row of no great length\n".repeat(1_000);
        let (mut rest, mut written) = (&rows[..], 0);
        while !rest.is_empty() {
            let next = piece(rest);
            assert!(next.len() <= PIECE_BYTES && next.ends_with(b"\n"));
            written += next.len();
            rest = &rest[next.len()..];
        }
        assert_eq!(written, rows.len());
        let long = [vec![b'x'; 2 * PIECE_BYTES], b"\n".to_vec()].concat();
        assert_eq!(piece(&long).len(), PIECE_BYTES);
        assert_eq!(piece(b"x\ny"), b"x\n");
    }
}
