//! The field section of a head or of trailers: the grammar of a line, and lookup by name.

use crate::{Error, Problem, scan};

/// One field line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    /// The name as sent; compare it without case.
    pub name: &'a str,
    /// The value without surrounding white space. May contain bytes above 127, which have no defined meaning.
    pub value: &'a [u8],
}

/// The field lines of a message in their order.
///
/// A view of validated bytes. Iteration parses the lines again, which is cheaper than an index that most callers never use. The fields
/// for framing and connection are read during parsing; see
/// [`crate::RequestHead`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fields<'a> {
    block: &'a [u8],
    count: usize,
}

impl<'a> Fields<'a> {
    /// Make a view of `block`, a sequence of `count` lines that [`line()`] accepted, without the empty line.
    pub(crate) const fn new(block: &'a [u8], count: usize) -> Self {
        Self { block, count }
    }

    /// Make a view of `block`, a copy of the [`Fields::as_bytes`] of a parsed head with `count` lines. If the bytes are
    /// invalid, the view has the lines before the first invalid one.
    #[must_use]
    pub const fn parsed_before(block: &'a [u8], count: usize) -> Self {
        Self::new(block, count)
    }

    /// Return the number of field lines.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Return whether there is no field line.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Return the lines as received, with line ends, without the empty line.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.block
    }

    /// Return the value of the first field with this name, in any case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.get_all(name).next()
    }

    /// Return the values of all fields with this name, in order.
    pub fn get_all<'n>(&self, name: &'n str) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
        self.lines()
            .filter(|(found, _)| found.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| value)
    }

    /// Return all fields, in order.
    pub fn iter(&self) -> impl Iterator<Item = Field<'a>> + use<'a> {
        self.lines().map(|(name, value)| Field {
            name: ascii(name),
            value,
        })
    }

    fn lines(&self) -> Lines<'a> {
        Lines { rest: self.block }
    }
}

struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Lines<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        match line(self.rest, 0) {
            Ok(Line::Field {
                name, value, next, ..
            }) => {
                self.rest = &self.rest[next..];
                Some((name, value))
            }
            _ => None,
        }
    }
}

/// Content at a position of a field section.
pub(crate) enum Line<'a> {
    Field {
        name: &'a [u8],
        value: &'a [u8],
        value_at: usize,
        next: usize,
    },
    End {
        next: usize,
    },
    Partial,
}

/// Parse the line that starts at `at`.
#[inline]
pub(crate) fn line(bytes: &[u8], at: usize) -> Result<Line<'_>, Error> {
    if let Some(b"\r\n") = bytes.get(at..at + 2) {
        return Ok(Line::End { next: at + 2 });
    }
    let colon = scan::token_end(bytes, at);
    match bytes.get(colon) {
        Some(b':') if colon > at => {}
        None => return Ok(Line::Partial),
        Some(_) => return not_a_field(bytes, at, colon),
    }
    let value_at = scan::blank_end(bytes, colon + 1);
    let end = scan::text_end(bytes, value_at);
    match line_end(bytes, end, Problem::InvalidFieldValue)? {
        Some(next) => {
            let value = trim_end(&bytes[value_at..end]);
            Ok(Line::Field {
                name: &bytes[at..colon],
                value,
                value_at,
                next,
            })
        }
        None => Ok(Line::Partial),
    }
}

/// Match CR LF at `at`; return the start of the next line, or `None` if it has not arrived. `otherwise` is the problem of any other byte.
#[inline]
pub(crate) fn line_end(
    bytes: &[u8],
    at: usize,
    otherwise: Problem,
) -> Result<Option<usize>, Error> {
    match (bytes.get(at), bytes.get(at + 1)) {
        (Some(b'\r'), Some(b'\n')) => Ok(Some(at + 2)),
        (None, _) | (Some(b'\r'), None) => Ok(None),
        (Some(b'\r'), Some(_)) => Err(Error::new(at, Problem::BareCarriageReturn)),
        (Some(b'\n'), _) => Err(Error::new(at, Problem::BareLineFeed)),
        (Some(_), _) => Err(Error::new(at, otherwise)),
    }
}

#[cold]
fn not_a_field(bytes: &[u8], at: usize, stop: usize) -> Result<Line<'_>, Error> {
    let problem = match bytes[stop] {
        b'\r' if stop == at && stop + 1 == bytes.len() => return Ok(Line::Partial),
        b'\r' if stop == at => Problem::BareCarriageReturn,
        b'\n' if stop == at => Problem::BareLineFeed,
        b' ' | b'\t' if stop == at => Problem::FoldedLine,
        b' ' | b'\t' => Problem::SpaceBeforeColon,
        b'\r' | b'\n' => Problem::MissingColon,
        _ => Problem::InvalidFieldName,
    };
    Err(Error::new(stop, problem))
}

fn trim_end(mut value: &[u8]) -> &[u8] {
    while let [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// Split a comma-separated list into members without surrounding white space; empty members are left out (RFC 9110, 5.6.1).
pub fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|byte| *byte == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|member| !member.is_empty())
}

/// Return bytes that the parser accepted as ASCII as text.
pub(crate) fn ascii(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("the parser accepted only ASCII here")
}
