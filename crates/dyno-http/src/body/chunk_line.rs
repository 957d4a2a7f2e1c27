//! The line before each chunk: its size in hexadecimal digits, and extensions (RFC 9112, 7.1).

use crate::{Error, Limits, Problem, Tolerance, scan::is_token};

/// A chunk-size line that may come in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ChunkLine {
    place: Place,
    size: u64,
    length: usize,
    size_length: usize,
}

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    #[default]
    FirstDigit,
    Digit,
    /// White space after the size, before a semicolon.
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
    LineFeed,
    End,
}

impl ChunkLine {
    /// The size, once the line is whole.
    pub fn size(&self) -> Option<u64> {
        (self.place == Place::End).then_some(self.size)
    }

    /// Bytes between the size and the line end.
    pub fn extension_bytes(&self) -> usize {
        self.length - self.size_length - 2
    }

    /// Takes bytes from `at` on, to the end of the line at most. Says where it stopped.
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
        Ok(match (self.place, byte) {
            (Place::FirstDigit | Place::Digit, _) if byte.is_ascii_hexdigit() => {
                self.add_digit(byte)?;
                Place::Digit
            }
            (Place::LineFeed, b'\n') => Place::End,
            (Place::LineFeed, _) => return Err(Problem::BareCarriageReturn),
            (Place::FirstDigit, _) => return Err(Problem::InvalidChunkSize),
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

    fn add_digit(&mut self, digit: u8) -> Result<(), Problem> {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            _ => (digit | 0x20) - b'a' + 10,
        };
        if self.size >> 60 != 0 {
            return Err(Problem::InvalidChunkSize);
        }
        self.size = self.size << 4 | u64::from(value);
        Ok(())
    }
}

impl Place {
    /// The "bad white space" that recipients must accept around extensions.
    fn after_blank(self) -> Self {
        match self {
            Self::Digit => Self::AfterSize,
            Self::Name => Self::AfterName,
            Self::Token => Self::AfterValue,
            other => other,
        }
    }
}
