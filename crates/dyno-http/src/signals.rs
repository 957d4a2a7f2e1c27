//! Fields that determine framing and connection, read while a field section is parsed.

use crate::{
    ConnectionOptions, Error, Fields, Limits, Problem, Version,
    body::Framing,
    fields::{Line, line},
};

/// Framing and connection according to the fields of one head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Signals<'a> {
    pub host: Option<Positioned<'a>>,
    pub connection: ConnectionOptions,
    pub expects_continue: bool,
    content_length: Option<u64>,
    /// Position of the last of these fields, for errors of the message as a whole.
    content_length_at: usize,
    transfer_encoding_at: usize,
    coding: Coding,
}

/// A field value and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Positioned<'a> {
    pub value: &'a [u8],
    pub at: usize,
}

/// Progress through the members of `Transfer-Encoding`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Coding {
    #[default]
    Absent,
    Chunked,
    /// A coding other than chunked: the following members determine the error.
    OtherFirst,
    OtherThenChunked,
}

/// A complete field section.
pub(crate) struct Section<'a> {
    pub fields: Fields<'a>,
    pub signals: Signals<'a>,
    pub next: usize,
}

/// Parse the field section that starts at `start`. `None`: it does not end within `bytes`.
#[inline]
pub(crate) fn section<'a>(
    bytes: &'a [u8],
    start: usize,
    limits: &Limits,
) -> Result<Option<Section<'a>>, Error> {
    let (mut at, mut count, mut signals) = (start, 0, Signals::default());
    loop {
        match line(bytes, at)? {
            Line::Field {
                name,
                value,
                value_at,
                next,
            } => {
                if count == limits.fields {
                    return Err(Error::new(
                        at,
                        Problem::TooManyFields {
                            limit: limits.fields,
                        },
                    ));
                }
                signals.note(name, value, value_at)?;
                count += 1;
                at = next;
            }
            Line::End { next } => {
                return Ok(Some(Section {
                    fields: Fields::new(&bytes[start..at], count),
                    signals,
                    next,
                }));
            }
            Line::Partial => return Ok(None),
        }
    }
}

impl<'a> Signals<'a> {
    #[inline]
    fn note(&mut self, name: &[u8], value: &'a [u8], at: usize) -> Result<(), Error> {
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"host") => {
                if self.host.is_some() {
                    return Err(Error::new(at, Problem::DuplicateHost));
                }
                self.host = Some(Positioned { value, at });
            }
            6 if name.eq_ignore_ascii_case(b"expect") => {
                self.expects_continue |= value.eq_ignore_ascii_case(b"100-continue");
            }
            10 if name.eq_ignore_ascii_case(b"connection") => self.connection.add(value),
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                self.note_content_length(value, at)?;
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding") => {
                self.note_transfer_encoding(value, at)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn note_content_length(&mut self, value: &[u8], at: usize) -> Result<(), Error> {
        self.content_length_at = at;
        // RFC 9110, 8.6 lets the recipient accept repeated equal numbers. Equal lines are accepted, as by all implementations; a list in one
        // line is refused, because implementations differ.
        let length = decimal(value).ok_or(Error::new(at, Problem::InvalidContentLength))?;
        if self.content_length.is_some_and(|before| before != length) {
            return Err(Error::new(at, Problem::ContradictoryContentLength));
        }
        self.content_length = Some(length);
        Ok(())
    }

    fn note_transfer_encoding(&mut self, value: &[u8], at: usize) -> Result<(), Error> {
        self.transfer_encoding_at = at;
        for member in value.split(|byte| *byte == b',') {
            let member = member.trim_ascii();
            let chunked = member.eq_ignore_ascii_case(b"chunked");
            self.coding = match (self.coding, chunked) {
                _ if member.is_empty() => {
                    return Err(Error::new(at, Problem::InvalidTransferEncoding));
                }
                (Coding::Absent, true) => Coding::Chunked,
                (Coding::OtherFirst, true) => Coding::OtherThenChunked,
                (Coding::Absent | Coding::OtherFirst, false) => Coding::OtherFirst,
                (Coding::Chunked | Coding::OtherThenChunked, _) => {
                    return Err(Error::new(at, Problem::InvalidTransferEncoding));
                }
            };
        }
        Ok(())
    }

    /// Return the framing according to the fields. `None`: they do not determine it.
    #[inline]
    pub fn framing(&self, version: Version) -> Result<Option<Framing>, Error> {
        if self.coding == Coding::Absent {
            return Ok(self.content_length.map(Framing::Length));
        }
        let problem = match self.coding {
            _ if version == Version::Http10 => Problem::TransferEncodingInVersion10,
            Coding::OtherFirst => Problem::InvalidTransferEncoding,
            Coding::OtherThenChunked => Problem::UnsupportedTransferCoding,
            _ if self.content_length.is_some() => {
                let at = self.content_length_at.max(self.transfer_encoding_at);
                return Err(Error::new(at, Problem::LengthAndTransferEncoding));
            }
            _ => return Ok(Some(Framing::Chunked)),
        };
        Err(Error::new(self.transfer_encoding_at, problem))
    }
}

/// Parse a number of decimal digits; `None` for other characters, no digits, or too many.
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| match digit {
        b'0'..=b'9' => number.checked_mul(10)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })
}
