//! Rows on their way to standard output: written as soon as the thread has nothing more urgent, many in one call if many came.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::io;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::sync::Notify;

use super::input::Waiting;
use super::resume::{self, Journal};

/// What a pipe that is ready takes without blocking (`PIPE_BUF`).
const PIECE_BYTES: usize = 4 << 10;
/// Rows that wait for a slow reader before no further URL is begun.
const MOST_WAITING_BYTES: usize = 1 << 20;

/// Rows that wait to be written, with their lines of the journal.
#[derive(Debug)]
pub(super) struct Output {
    stream: Waiting,
    rows: RefCell<Vec<u8>>,
    notes: RefCell<Vec<u8>>,
    journal: RefCell<Option<Journal>>,
    came: Notify,
    writing: Cell<bool>,
    written: Notify,
}

/// Why rows cannot be written.
#[derive(Debug)]
pub(super) enum Failed {
    Stream(io::Error),
    Journal(resume::Error),
}

impl Output {
    pub(super) fn new(stream: OwnedFd, journal: Option<Journal>) -> io::Result<Self> {
        Ok(Self {
            stream: Waiting::new(stream, Interest::WRITABLE)?,
            rows: RefCell::default(),
            notes: RefCell::default(),
            journal: RefCell::new(journal),
            came: Notify::new(),
            writing: Cell::new(false),
            written: Notify::new(),
        })
    }

    /// Whether a line of the list is done already.
    pub(super) fn is_done(&self, number: u64, url: &[u8]) -> Result<bool, resume::Error> {
        self.journal
            .borrow()
            .as_ref()
            .map_or(Ok(false), |journal| journal.is_done(number, url))
    }

    /// Takes a row.
    pub(super) fn push(&self, number: u64, url: &[u8], row: impl FnOnce(&mut Vec<u8>)) {
        row(&mut self.rows.borrow_mut());
        if self.journal.borrow().is_some() {
            Journal::note(number, url, &mut self.notes.borrow_mut());
        }
        self.came.notify_one();
    }

    /// Whether the reader is so far behind that no further URL should begin.
    pub(super) fn is_congested(&self) -> bool {
        self.rows.borrow().len() > MOST_WAITING_BYTES
    }

    /// Waits until something was written.
    pub(super) async fn relieved(&self) {
        self.written.notified().await;
    }

    /// Writes rows as they come, until it cannot.
    pub(super) async fn pump(&self) -> Result<Infallible, Failed> {
        loop {
            let rows = std::mem::take(&mut *self.rows.borrow_mut());
            let notes = std::mem::take(&mut *self.notes.borrow_mut());
            if rows.is_empty() {
                self.written.notify_waiters();
                self.came.notified().await;
                continue;
            }
            self.writing.set(true);
            self.write(&rows).await.map_err(Failed::Stream)?;
            if let Some(journal) = &mut *self.journal.borrow_mut() {
                journal.write(&notes).map_err(Failed::Journal)?;
            }
            self.writing.set(false);
        }
    }

    /// Waits until all rows so far are written.
    pub(super) async fn flushed(&self) {
        while self.writing.get() || !self.rows.borrow().is_empty() {
            self.relieved().await;
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
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// What to write next: whole rows as far as there are any, so that a run that is killed leaves no half of one behind.
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
