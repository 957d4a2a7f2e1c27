//! The body decoder: takes bytes of the connection and returns ranges of content.

use std::ops::Range;

use super::{
    Framing,
    chunk_line::{ChunkLine, plain},
    trailers::Trailers,
};
use crate::{Deviation, Deviations, Error, Fields, Limits, Problem};

/// Finds the content in the bytes of one body, in pieces of any size.
///
/// Content is never copied: a [`Step`] has its position in the given bytes.
#[derive(Debug, Clone)]
pub struct Decoder {
    state: State,
    limits: Limits,
    /// Bytes of the body consumed so far, including framing; error offsets count from its start.
    taken: u64,
    extension_bytes: usize,
    trailers: Trailers,
    deviations: Deviations,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The body ends after so many bytes.
    Length(u64),
    UntilClose,
    /// At the start of a chunk line.
    LineStart,
    /// Within a chunk line.
    Line(ChunkLine),
    /// So many bytes of the chunk remain.
    Data(u64),
    DataCarriageReturn,
    DataLineFeed,
    Trailers,
    Done,
    Refused(Error),
}

/// Result of one call of [`Decoder::decode`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Bytes consumed: all given ones, unless the body ended or a second piece of content begins after them.
    pub consumed: usize,
    /// Range of the content within the consumed bytes; may be empty.
    pub content: Range<usize>,
    /// Whether the body has ended: bytes after the consumed ones are not part of it.
    pub done: bool,
}

/// Result of one call of [`Decoder::drain`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Bytes consumed: all given ones, unless the body ended.
    pub consumed: usize,
    /// Bytes of content among them.
    pub content_bytes: u64,
    /// Whether the body has ended: bytes after the consumed ones are not part of it.
    pub done: bool,
}

impl Decoder {
    /// Make a decoder for one body. It allocates memory only for trailers.
    #[must_use]
    pub fn new(framing: Framing, limits: &Limits) -> Self {
        Self {
            state: State::new(framing),
            limits: *limits,
            taken: 0,
            extension_bytes: 0,
            trailers: Trailers::default(),
            deviations: Deviations::NONE,
        }
    }

    /// Start the next body of the connection; keep the memory of trailers.
    pub fn restart(&mut self, framing: Framing) {
        self.state = State::new(framing);
        self.taken = 0;
        self.extension_bytes = 0;
        self.trailers.clear();
        self.deviations = Deviations::NONE;
    }

    /// Return whether the body has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Return the remaining bytes of content, if the framing gives them.
    #[must_use]
    pub const fn remaining(&self) -> Option<u64> {
        match self.state {
            State::Length(left) => Some(left),
            State::Done => Some(0),
            _ => None,
        }
    }

    /// Return the fields after the last chunk; none before the body has ended.
    ///
    /// They are not merged into the head's fields, where they could change the meaning of the message.
    #[must_use]
    pub fn trailers(&self) -> Fields<'_> {
        self.trailers.fields()
    }

    /// Return the deviations of the body so far.
    #[must_use]
    #[inline]
    pub const fn deviations(&self) -> Deviations {
        self.deviations
    }

    /// Consume bytes of the body up to the end of the first piece of content and of the framing after it.
    ///
    /// # Errors
    ///
    /// Invalid chunked coding, or chunked coding beyond the limits. The decoder repeats the error from then on.
    #[inline]
    pub fn decode(&mut self, bytes: &[u8]) -> Result<Step, Error> {
        let (consumed, content) = match self.state {
            State::Length(left) => {
                let content = piece(0, bytes, left);
                let left = left - content.len() as u64;
                self.state = State::before_rest(left);
                (content.end, content)
            }
            State::UntilClose => (bytes.len(), 0..bytes.len()),
            State::Done => (0, 0..0),
            State::Refused(error) => return Err(error),
            _ => self.chunked(bytes)?,
        };
        self.taken += consumed as u64;
        Ok(Step {
            consumed,
            content,
            done: self.state == State::Done,
        })
    }

    /// Do one step of chunked coding; return the bytes consumed and the range of content.
    #[inline]
    fn chunked(&mut self, bytes: &[u8]) -> Result<(usize, Range<usize>), Error> {
        let mut at = 0;
        let mut content = 0..0;
        while at < bytes.len() {
            at = match self.state {
                State::Data(left) if content.is_empty() => {
                    content = piece(at, bytes, left);
                    let left = left - content.len() as u64;
                    let (state, end) = match bytes[content.end..] {
                        _ if left > 0 => (State::Data(left), content.end),
                        [b'\r', b'\n', ..] => (State::LineStart, content.end + 2),
                        _ => (State::DataCarriageReturn, content.end),
                    };
                    self.state = state;
                    end
                }
                State::Data(_) | State::Done => break,
                State::LineStart => {
                    if let Some((size, end)) = plain(bytes, at, &self.limits) {
                        self.state = State::after_line(size);
                        end
                    } else {
                        self.state = State::Line(ChunkLine::default());
                        at
                    }
                }
                _ => self
                    .framing_bytes(bytes, at)
                    .map_err(|error| self.refuse(error))?,
            };
        }
        Ok((at, content))
    }

    /// Decode all pieces of content like [`Self::decode`] and return only their length.
    ///
    /// # Errors
    ///
    /// See [`Self::decode`].
    pub fn drain(&mut self, bytes: &[u8]) -> Result<Drained, Error> {
        let (mut consumed, mut content_bytes) = (0, 0);
        loop {
            let step = self.decode(&bytes[consumed..])?;
            consumed += step.consumed;
            content_bytes += step.content.len() as u64;
            if step.done || consumed == bytes.len() {
                return Ok(Drained {
                    consumed,
                    content_bytes,
                    done: step.done,
                });
            }
        }
    }

    /// Record the end of the connection; return whether the body is complete.
    ///
    /// # Errors
    ///
    /// [`Problem::BodyCutShort`] if the framing requires more bytes, or the earlier error.
    pub fn end_of_input(&mut self) -> Result<(), Error> {
        match self.state {
            State::Done | State::UntilClose => {
                self.state = State::Done;
                Ok(())
            }
            State::Refused(error) => Err(error),
            _ => Err(Error {
                offset: self.taken,
                problem: Problem::BodyCutShort,
            }),
        }
    }

    /// Consume bytes of framing from `at` on; return the position after them.
    fn framing_bytes(&mut self, bytes: &[u8], at: usize) -> Result<usize, Error> {
        match (&mut self.state, bytes[at]) {
            (State::Line(line), _) => {
                let mut line = *line;
                let end = line.take(bytes, at, &self.limits)?;
                self.state = match line.size() {
                    None => State::Line(line),
                    Some(size) => {
                        self.deviations = self.deviations.union(line.deviations);
                        self.extension_bytes += line.extension_bytes();
                        if self.extension_bytes > self.limits.chunk_extension_bytes {
                            let limit = self.limits.chunk_extension_bytes;
                            return Err(Error::new(end, Problem::TooManyChunkExtensions { limit }));
                        }
                        State::after_line(size)
                    }
                };
                Ok(end)
            }
            (State::DataCarriageReturn, b'\r') => {
                self.state = State::DataLineFeed;
                Ok(at + 1)
            }
            (State::DataLineFeed, b'\n') => {
                self.state = State::LineStart;
                Ok(at + 1)
            }
            (State::DataCarriageReturn, b'\n') if self.limits.tolerance.odd_chunks => {
                self.deviations.add(Deviation::LineFeedAlone);
                self.state = State::LineStart;
                Ok(at + 1)
            }
            (State::Trailers, _) => {
                let deviations = &mut self.deviations;
                let (end, whole) = self.trailers.take(bytes, at, &self.limits, deviations)?;
                if whole {
                    self.state = State::Done;
                }
                Ok(end)
            }
            _ => Err(Error::new(at, Problem::MissingChunkEnd)),
        }
    }

    /// Convert an error's offset to count from the start of the body, and keep the error.
    #[cold]
    fn refuse(&mut self, error: Error) -> Error {
        let error = Error {
            offset: self.taken.wrapping_add(error.offset),
            ..error
        };
        self.state = State::Refused(error);
        error
    }
}

impl State {
    fn new(framing: Framing) -> Self {
        match framing {
            Framing::None | Framing::Tunnel => Self::Done,
            Framing::Length(length) => Self::before_rest(length),
            Framing::Chunked => Self::LineStart,
            Framing::UntilClose => Self::UntilClose,
        }
    }

    const fn before_rest(left: u64) -> Self {
        match left {
            0 => Self::Done,
            left => Self::Length(left),
        }
    }

    const fn after_line(size: u64) -> Self {
        match size {
            0 => Self::Trailers,
            size => Self::Data(size),
        }
    }
}

/// Return the next range of content from `at` on, given the number of remaining bytes.
#[inline]
fn piece(at: usize, bytes: &[u8], left: u64) -> Range<usize> {
    let available = bytes.len() - at;
    at..at + usize::try_from(left).map_or(available, |left| left.min(available))
}
