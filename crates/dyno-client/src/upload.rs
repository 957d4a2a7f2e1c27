//! Content that is sent in pieces: bytes in memory and whole files, which are read while they are sent.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::failure::Failure;

/// Longest piece of a file in memory; each connection that sends a file has one.
pub(crate) const PIECE_BYTES: usize = 64 << 10;

/// Pieces that one connection sends before the others of its thread have their turn.
pub(crate) const PIECES_PER_TURN: u32 = 16;

/// How long a request with `Expect: 100-continue` waits for an answer before it sends its content (RFC 9110, 10.1.1,
/// leaves the time to the client; curl waits as long).
pub(crate) const LONGEST_SILENCE: Duration = Duration::from_secs(1);

/// An open file that is content; several requests may send it at the same time.
#[derive(Debug)]
pub struct ContentFile {
    file: File,
    length: u64,
}

impl ContentFile {
    /// Takes the length that the file has now.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn new(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { file, length })
    }

    /// Its length in bytes.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Refuses a file that has another length by now: its requests have announced the first one.
    fn check(&self) -> Result<(), Failure> {
        match self.file.metadata() {
            Ok(now) if now.len() == self.length => Ok(()),
            Ok(_) => Err(Failure::BodyFileChanged),
            Err(error) => Err(Failure::from_io(&error)),
        }
    }

    /// Reads at `offset`; at least one byte. By a system call and not by a mapping of memory, because a mapping of a
    /// file that shrinks ends the process.
    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Failure> {
        loop {
            return match self.file.read_at(buffer, offset) {
                Ok(0) => Err(Failure::BodyFileChanged),
                Ok(read) => Ok(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(Failure::from_io(&error)),
            };
        }
    }
}

/// A part of a content.
#[derive(Debug, Clone)]
pub enum Segment {
    /// Bytes in memory.
    Bytes(Bytes),
    /// A whole file.
    File(Arc<ContentFile>),
}

impl Segment {
    /// Its length in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File(file) => file.length(),
        }
    }
}

impl PartialEq for Segment {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bytes(one), Self::Bytes(other)) => one == other,
            (Self::File(one), Self::File(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Eq for Segment {}

/// Content that is sent in pieces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    segments: Vec<Segment>,
    /// Whether the head of the request has `Expect: 100-continue`.
    expects_continue: bool,
}

impl Upload {
    /// Creates a content of these parts, in order.
    #[must_use]
    pub fn new(segments: Vec<Segment>, expects_continue: bool) -> Self {
        Self {
            segments,
            expects_continue,
        }
    }

    /// Its parts.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Its length in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.segments.iter().map(Segment::length).sum()
    }

    /// Whether it is sent only after the server's consent, or its silence.
    #[must_use]
    pub const fn expects_continue(&self) -> bool {
        self.expects_continue
    }
}

/// The place in an upload up to which it is sent.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reader {
    segment: usize,
    offset: u64,
}

/// A piece of an upload.
pub(crate) enum Piece<'u> {
    /// A part of these bytes in memory.
    Shared(&'u Bytes, Range<usize>),
    /// The bytes that were read into the buffer.
    Read,
}

impl Reader {
    /// Returns the piece at this place, of at most `most` bytes; `None` at the end. A piece of a file is read into
    /// `buffer`, in the place of what it held.
    pub(crate) fn piece<'u>(
        &mut self,
        upload: &'u Upload,
        buffer: &mut Vec<u8>,
        most: usize,
    ) -> Result<Option<Piece<'u>>, Failure> {
        while let Some(segment) = upload.segments.get(self.segment) {
            let rest = segment.length() - self.offset;
            if rest == 0 {
                (self.segment, self.offset) = (self.segment + 1, 0);
                continue;
            }
            let most = usize::try_from(rest).map_or(most, |rest| rest.min(most));
            return match segment {
                Segment::Bytes(bytes) => {
                    let start = usize::try_from(self.offset).expect("below a length in memory");
                    Ok(Some(Piece::Shared(bytes, start..start + most)))
                }
                Segment::File(file) => {
                    if self.offset == 0 {
                        file.check()?;
                    }
                    buffer.resize(most, 0);
                    let read = file.read(buffer, self.offset)?;
                    buffer.truncate(read);
                    Ok(Some(Piece::Read))
                }
            };
        }
        Ok(None)
    }

    /// Moves on by these bytes, all of the last piece.
    pub(crate) const fn advance(&mut self, bytes: usize) {
        self.offset += bytes as u64;
    }
}

/// What ended the wait of a request with `Expect: 100-continue`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Expectation {
    /// The request had no such field.
    #[default]
    None,
    /// An answer of status 100, after which the content was sent.
    Continue,
    /// A final answer; the content was not sent.
    Final,
    /// Nothing for a second, after which the content was sent.
    Silence,
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn temporary(bytes: &[u8]) -> File {
        // Unnamed as soon as it is open.
        let path = std::env::temp_dir().join(format!(
            "dyno-upload-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        let mut file = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .unwrap();
        std::fs::remove_file(&path).unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    fn whole(upload: &Upload, most: usize) -> Result<Vec<u8>, Failure> {
        let (mut reader, mut buffer, mut all) = (Reader::default(), Vec::new(), Vec::new());
        loop {
            let before = all.len();
            match reader.piece(upload, &mut buffer, most)? {
                None => return Ok(all),
                Some(Piece::Shared(bytes, range)) => all.extend_from_slice(&bytes[range]),
                Some(Piece::Read) => all.extend_from_slice(&buffer),
            }
            reader.advance(all.len() - before);
        }
    }

    proptest! {
        #[test]
        fn pieces_of_any_length_are_the_whole(
            parts in proptest::collection::vec((any::<bool>(), any::<Vec<u8>>()), 0..6),
            most in 1_usize..300,
        ) {
            let segments = parts.iter().map(|(is_file, bytes)| if *is_file {
                Segment::File(Arc::new(ContentFile::new(temporary(bytes)).unwrap()))
            } else {
                Segment::Bytes(bytes.clone().into())
            });
            let upload = Upload::new(segments.collect(), false);
            let expected: Vec<u8> = parts.into_iter().flat_map(|(_, bytes)| bytes).collect();
            prop_assert_eq!(whole(&upload, most), Ok(expected));
        }
    }

    #[test]
    fn a_file_of_another_length_is_a_failure() {
        for length in [0, 4, 6] {
            let file = temporary(b"12345");
            let content = ContentFile::new(file.try_clone().unwrap()).unwrap();
            file.set_len(length).unwrap();
            let upload = Upload::new(vec![Segment::File(Arc::new(content))], false);
            assert_eq!(whole(&upload, 2), Err(Failure::BodyFileChanged), "{length}");
        }
        // While it is sent.
        let file = temporary(b"12345");
        let content = ContentFile::new(file.try_clone().unwrap()).unwrap();
        let upload = Upload::new(vec![Segment::File(Arc::new(content))], false);
        let (mut reader, mut buffer) = (Reader::default(), Vec::new());
        assert!(reader.piece(&upload, &mut buffer, 4).is_ok());
        reader.advance(4);
        file.set_len(4).unwrap();
        let next = reader.piece(&upload, &mut buffer, 4);
        let next = next.map(|piece| piece.is_some());
        assert_eq!(next, Err(Failure::BodyFileChanged));
    }
}
