//! The line before each chunk: its size in hexadecimal digits, and extensions (RFC 9112, 7.1).

use crate::{Deviation, Deviations, Error, Limits, Problem, Tolerance, scan::is_token};

/// Parser of a chunk-size line that may arrive in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ChunkLine {
    place: Place,
    size: u64,
    length: usize,
    size_length: usize,
    pub deviations: Deviations,
}

/// Return the size and the end of the line at `at` if it is complete and has only digits. Nearly all lines do, and this is several
/// times as fast as [`ChunkLine`].
#[inline]
pub(super) fn plain(bytes: &[u8], at: usize, limits: &Limits) -> Option<(u64, usize)> {
    let mut size = 0;
    for (digits, byte) in bytes[at..].iter().take(DIGITS + 1).enumerate() {
        let Some(value) = digit(*byte) else {
            let whole = digits > 0
                && bytes[at + digits..].starts_with(b"\r\n")
                && digits + 2 <= limits.chunk_line_bytes;
            return whole.then_some((size, at + digits + 2));
        };
        size = size << 4 | u64::from(value);
    }
    None
}

/// Hexadecimal digits of the largest `u64`.
const DIGITS: usize = 16;

#[inline]
const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' | b'A'..=b'F' => Some((byte | 0x20) - b'a' + 10),
        _ => None,
    }
}

/// Position within the line's grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    #[default]
    FirstDigit,
    Digit,
    /// After the size and white space, before a semicolon.
    AfterSize,
    /// After a semicolon, before the name.
    BeforeName,
    Name,
    AfterName,
    /// After the equals sign, before the value.
    BeforeValue,
    Token,
    Quoted,
    /// After a backslash between quotes.
    Escaped,
    /// After a value: a semicolon, or the end of the line.
    AfterValue,
    /// In an extension outside the grammar, up to the end of its line.
    Odd,
    LineFeed,
    End,
}

impl ChunkLine {
    /// Return the size once the line is complete.
    pub fn size(&self) -> Option<u64> {
        (self.place == Place::End).then_some(self.size)
    }

    /// Return the number of bytes between the size and the line end.
    pub fn extension_bytes(&self) -> usize {
        (self.length - self.size_length).saturating_sub(2)
    }

    /// Consume bytes from `at` on, at most to the end of the line; return the position after them.
    pub fn take(&mut self, bytes: &[u8], at: usize, limits: &Limits) -> Result<usize, Error> {
        for (offset, byte) in bytes[at..].iter().enumerate() {
            if self.length == limits.chunk_line_bytes {
                return Err(Error::new(
                    at + offset,
                    Problem::ChunkLineTooLong {
                        limit: limits.chunk_line_bytes,
                    },
                ));
            }
            self.place = self
                .next(*byte, limits.tolerance)
                .or_else(|problem| self.tolerated(*byte, problem, limits.tolerance))
                .map_err(|problem| Error::new(at + offset, problem))?;
            self.length += 1;
            if self.place == Place::Digit {
                self.size_length = self.length;
            }
            if self.place == Place::End {
                return Ok(at + offset + 1);
            }
        }
        Ok(bytes.len())
    }

    fn next(&mut self, byte: u8, tolerance: Tolerance) -> Result<Place, Problem> {
        if let (Place::FirstDigit | Place::Digit, Some(value)) = (self.place, digit(byte)) {
            return self.add_digit(value);
        }
        Ok(match (self.place, byte) {
            (Place::LineFeed, b'\n') => Place::End,
            (Place::LineFeed, _) => return Err(Problem::BareCarriageReturn),
            (Place::FirstDigit, _) => return Err(Problem::InvalidChunkSize),
            (Place::Odd, _) => return Err(Problem::InvalidChunkExtension),
            (
                Place::Digit | Place::Name | Place::AfterName | Place::Token | Place::AfterValue,
                b'\r',
            ) => Place::LineFeed,
            (Place::AfterSize, b'\r') if tolerance.padded_chunk_size => Place::LineFeed,
            (Place::Escaped | Place::Quoted, b'\t' | b' '..=b'~' | 0x80..) => {
                match (self.place, byte) {
                    (Place::Quoted, b'"') => Place::AfterValue,
                    (Place::Quoted, b'\\') => Place::Escaped,
                    _ => Place::Quoted,
                }
            }
            (_, b'\n') => return Err(Problem::BareLineFeed),
            (
                Place::Digit
                | Place::AfterSize
                | Place::Name
                | Place::AfterName
                | Place::Token
                | Place::AfterValue,
                b';',
            ) => Place::BeforeName,
            (Place::Name | Place::AfterName, b'=') => Place::BeforeValue,
            (Place::BeforeName | Place::Name, _) if is_token(byte) => Place::Name,
            (Place::BeforeValue | Place::Token, _) if is_token(byte) => Place::Token,
            (Place::BeforeValue, b'"') => Place::Quoted,
            (_, b' ' | b'\t') => self.place.after_blank(),
            (Place::Digit | Place::AfterSize, _) => return Err(Problem::InvalidChunkSize),
            _ => return Err(Problem::InvalidChunkExtension),
        })
    }

    /// Return the next place after a byte that the grammar does not allow, or the problem. LF ends a line only after a plain
    /// size: some readers take it as part of an extension.
    #[cold]
    fn tolerated(
        &mut self,
        byte: u8,
        problem: Problem,
        tolerance: Tolerance,
    ) -> Result<Place, Problem> {
        let (place, deviation) = match (self.place, byte) {
            _ if !tolerance.odd_chunks => return Err(problem),
            (Place::Digit | Place::AfterSize, b'\n') => (Place::End, Deviation::LineFeedAlone),
            (
                Place::FirstDigit | Place::Digit | Place::AfterSize | Place::LineFeed | Place::End,
                _,
            )
            | (_, b'\n' | 0) => return Err(problem),
            (_, b'\r') => (Place::LineFeed, Deviation::ChunkExtension),
            _ => (Place::Odd, Deviation::ChunkExtension),
        };
        self.deviations.add(deviation);
        Ok(place)
    }

    fn add_digit(&mut self, value: u8) -> Result<Place, Problem> {
        if self.size >> 60 != 0 {
            return Err(Problem::InvalidChunkSize);
        }
        self.size = self.size << 4 | u64::from(value);
        Ok(Place::Digit)
    }
}

impl Place {
    /// Skip the "bad white space" that recipients must accept around extensions.
    fn after_blank(self) -> Self {
        match self {
            Self::Digit => Self::AfterSize,
            Self::Name => Self::AfterName,
            Self::Token => Self::AfterValue,
            other => other,
        }
    }
}
