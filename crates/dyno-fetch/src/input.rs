//! Reads the lines of standard input as they arrive, without a thread that blocks.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Bytes to read at once.
const READ_BYTES: usize = 64 << 10;
/// Longest line; the rest of a longer one is skipped.
const MAX_LINE_BYTES: usize = 1 << 20;
const NO_WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// A stream that may have to wait for its other end, or a file, which never waits.
#[derive(Debug)]
pub(crate) enum Waiting {
    Watched(AsyncFd<OwnedFd>),
    Never(OwnedFd),
}

impl Waiting {
    pub(crate) fn new(stream: OwnedFd, interest: Interest) -> io::Result<Self> {
        let copy = stream.try_clone()?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe because some types may change their descriptor; this type owns it"
        )]
        match AsyncFd::with_interest(stream, interest) {
            Ok(watched) => Ok(Self::Watched(watched)),
            // epoll refuses files, because they are always ready.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Self::Never(copy)),
            Err(error) => Err(error),
        }
    }

    /// Makes a call when it will not block. The stream keeps its inherited mode, which other processes share and which
    /// may be blocking; so this waits until the stream is ready.
    pub(crate) async fn when_ready<T>(
        &self,
        interest: Interest,
        mut call: impl FnMut(&OwnedFd) -> io::Result<T>,
    ) -> io::Result<T> {
        let watched = match self {
            Self::Never(stream) => return call(stream),
            Self::Watched(watched) => watched,
        };
        loop {
            let mut guard = watched.ready(interest).await?;
            if is_ready(watched.get_ref(), interest)? {
                return call(watched.get_ref());
            }
            guard.clear_ready();
        }
    }
}

fn is_ready(stream: &OwnedFd, interest: Interest) -> io::Result<bool> {
    let flags = if interest.is_readable() {
        PollFlags::IN
    } else {
        PollFlags::OUT
    };
    let mut polled = [PollFd::from_borrowed_fd(stream.as_fd(), flags)];
    Ok(poll(&mut polled, Some(&NO_WAIT))? > 0)
}

/// A line of the list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Number of the line, from 1; blank lines and comments count.
    pub number: u64,
    /// The line without its end.
    pub bytes: Vec<u8>,
}

/// Reader of the lines.
#[derive(Debug)]
pub(crate) struct Lines {
    stream: Waiting,
    piece: Box<[u8]>,
    cut: Cut,
    read_bytes: u64,
}

/// Splits the received bytes into lines.
#[derive(Debug, Default)]
struct Cut {
    bytes: Vec<u8>,
    /// Start of the next line, and where to continue the search for its end.
    start: usize,
    looked: usize,
    number: u64,
    ended: bool,
    /// Whether the rest of a line that was too long is being skipped.
    skips: bool,
}

impl Lines {
    pub(crate) fn new(stream: OwnedFd) -> io::Result<Self> {
        Ok(Self {
            stream: Waiting::new(stream, Interest::READABLE)?,
            piece: vec![0; READ_BYTES].into(),
            cut: Cut::default(),
            read_bytes: 0,
        })
    }

    /// Bytes of the lines that were returned, blank lines and comments included.
    pub(crate) fn taken_bytes(&self) -> u64 {
        self.read_bytes - (self.cut.bytes.len() - self.cut.start) as u64
    }

    /// Returns the next line; `None` at the end. Cancelling the future loses no line.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            if let Some(line) = self.cut.next() {
                return Ok(Some(line));
            }
            if self.cut.ended {
                return Ok(None);
            }
            let piece = &mut self.piece;
            let read = |stream: &OwnedFd| Ok(rustix::io::read(stream, &mut **piece)?);
            let count = match self.stream.when_ready(Interest::READABLE, read).await {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            self.read_bytes += count as u64;
            self.cut.take(&self.piece[..count]);
        }
    }
}

/// Reader of the lines of a list that is not waited for, such as a file: the same lines that a crawl reads from it.
#[derive(Debug)]
pub struct ListReader<R> {
    list: R,
    piece: Box<[u8]>,
    cut: Cut,
}

impl<R: Read> ListReader<R> {
    /// Creates a reader.
    pub fn new(list: R) -> Self {
        Self {
            list,
            piece: vec![0; READ_BYTES].into(),
            cut: Cut::default(),
        }
    }

    /// Returns the next line, without its end; `None` after the last. Blank lines and comments are left out.
    ///
    /// # Errors
    ///
    /// If the list cannot be read.
    pub fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(line) = self.cut.next() {
                return Ok(Some(line.bytes));
            }
            if self.cut.ended {
                return Ok(None);
            }
            match self.list.read(&mut self.piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => self.cut.take(&self.piece[..read?]),
            }
        }
    }
}

impl Cut {
    fn next(&mut self) -> Option<Line> {
        loop {
            let found = self.bytes[self.looked..]
                .iter()
                .position(|byte| *byte == b'\n');
            let Some(end) = found.map(|at| self.looked + at) else {
                self.looked = self.bytes.len();
                return self.rest();
            };
            let line = self.line(end);
            self.start = end + 1;
            self.looked = self.start;
            if let Some(line) = line {
                return Some(line);
            }
        }
    }

    /// Returns the bytes that do not end in a newline: the last line, or one that became too long.
    fn rest(&mut self) -> Option<Line> {
        let too_long = self.bytes.len() - self.start > MAX_LINE_BYTES;
        if !(too_long || self.ended) {
            return None;
        }
        let line = self.line(self.bytes.len());
        self.start = self.bytes.len();
        self.skips = too_long;
        line
    }

    fn line(&mut self, end: usize) -> Option<Line> {
        if std::mem::take(&mut self.skips) {
            return None;
        }
        self.number += 1;
        // However the bytes arrive, a longer line is cut at the same place.
        let end = end.min(self.start + MAX_LINE_BYTES);
        let entry = dyno_io::list::entry(&self.bytes[self.start..end], self.number)?;
        Some(Line {
            number: self.number,
            bytes: entry.to_vec(),
        })
    }

    /// Adds received bytes; an empty slice marks the end.
    fn take(&mut self, bytes: &[u8]) {
        self.ended |= bytes.is_empty();
        self.bytes.drain(..self.start);
        self.looked -= self.start;
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(pieces: &[&[u8]]) -> Vec<(u64, Vec<u8>)> {
        let (mut cut, mut lines) = (Cut::default(), Vec::new());
        for piece in pieces
            .iter()
            .copied()
            .filter(|piece| !piece.is_empty())
            .chain([&b""[..]])
        {
            cut.take(piece);
            while let Some(line) = cut.next() {
                lines.push((line.number, line.bytes));
            }
        }
        lines
    }

    #[test]
    fn lines_end_in_line_feeds_and_keep_their_numbers() {
        let lines = cut(&[b"\xef\xbb\xbfa\n\r\n# a\nb c \r\n d"]);
        assert_eq!(
            lines,
            [
                (1, b"a".to_vec()),
                (4, b"b c ".to_vec()),
                (5, b" d".to_vec())
            ]
        );
        assert!(cut(&[b"\n\n"]).is_empty() && cut(&[]).is_empty());
    }

    #[test]
    fn a_line_without_end_is_one_line_in_bounded_memory() {
        let piece = vec![b'x'; READ_BYTES];
        let mut pieces = vec![&piece[..]; 64];
        pieces.push(b"y\nnext\n");
        let lines = cut(&pieces);
        assert_eq!((lines.len(), &lines[1]), (2, &(2, b"next".to_vec())));
        assert_eq!(lines[0].1.len(), MAX_LINE_BYTES);
        let whole = [vec![b'x'; MAX_LINE_BYTES + 7], b"\nnext\n".to_vec()].concat();
        assert_eq!(cut(&[&whole]), lines);
    }

    #[test]
    fn a_list_that_is_read_at_once_has_the_lines_of_a_crawl() {
        let text = b"\xef\xbb\xbfa\n\r\n# a\nb c \r\n d";
        let mut reader = ListReader::new(&text[..]);
        let mut lines = Vec::new();
        while let Some(line) = reader.next_line().unwrap() {
            lines.push(line);
        }
        let expected: Vec<_> = cut(&[text]).into_iter().map(|(_, line)| line).collect();
        assert_eq!(lines, expected);
    }

    proptest! {
        #[test]
        fn lines_are_the_same_however_they_arrive(
            text in "[ab\r\n]{0,60}",
            cuts in prop::collection::vec(0..60_usize, 0..6),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|at| at.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]).collect();
            prop_assert_eq!(cut(&pieces), cut(&[text.as_bytes()]));
        }
    }
}
