//! Request targets (RFC 9112, 3.2) and the authorities in them.

use std::{net::Ipv6Addr, ops::Range};

use crate::{Error, Limits, Method, Problem, fields::ascii, scan};

/// The four forms of a request target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Form {
    /// `/path?query`
    Origin,
    /// `http://host:port/path?query`
    Absolute,
    /// `host:port`, for CONNECT only.
    Authority,
    /// `*`, for OPTIONS only.
    Asterisk,
}

/// A valid request target as sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target<'a> {
    text: &'a [u8],
    form: Form,
    /// Start of the authority in `text`; equal to its end if the form has none.
    authority_start: usize,
    authority_end: usize,
}

impl<'a> Target<'a> {
    /// Return the form.
    #[must_use]
    pub const fn form(&self) -> Form {
        self.form
    }

    /// Return the bytes, all visible ASCII.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.text
    }

    /// Return the text.
    #[must_use]
    pub fn as_str(&self) -> &'a str {
        ascii(self.text)
    }

    /// Return `host[:port]` of the absolute and the authority form.
    #[must_use]
    pub fn authority(&self) -> Option<&'a str> {
        matches!(self.form, Form::Absolute | Form::Authority)
            .then(|| ascii(&self.text[self.authority_start..self.authority_end]))
    }

    /// Return path and query. `/` if an absolute target has neither; empty for the authority form and `*`.
    #[must_use]
    pub fn path_and_query(&self) -> &'a str {
        match self.form {
            Form::Origin => ascii(self.text),
            Form::Absolute if self.authority_end == self.text.len() => "/",
            Form::Absolute => ascii(&self.text[self.authority_end..]),
            Form::Authority | Form::Asterisk => "",
        }
    }

    /// Return the path without the query.
    #[must_use]
    pub fn path(&self) -> &'a str {
        let path = self.path_and_query();
        path.split_once('?').map_or(path, |(path, _)| path)
    }

    /// Return the text after the first `?`, if there is one.
    #[must_use]
    pub fn query(&self) -> Option<&'a str> {
        self.path_and_query()
            .split_once('?')
            .map(|(_, query)| query)
    }
}

/// Parse the target at `at`; return it with the position of the space after it. `None`: the space has not arrived.
#[inline]
pub(crate) fn parse<'a>(
    bytes: &'a [u8],
    at: usize,
    method: Method<'_>,
    limits: &Limits,
) -> Result<Option<(Target<'a>, usize)>, Error> {
    let Some(end) = end(bytes, at, limits)? else {
        return Ok(None);
    };
    let text = &bytes[at..end];
    let target = |form, authority: Range<usize>| Target {
        text,
        form,
        authority_start: authority.start,
        authority_end: authority.end,
    };
    let target = match (method, text) {
        (Method::Connect, _)
            if authority(bytes, at..end).is_some_and(|authority| authority.port.is_some()) =>
        {
            target(Form::Authority, 0..text.len())
        }
        (Method::Connect, _) => return Err(Error::new(at, Problem::InvalidTarget)),
        (_, [b'/', ..]) => target(Form::Origin, 0..0),
        (Method::Options, b"*") => target(Form::Asterisk, 0..0),
        _ => target(Form::Absolute, absolute(bytes, at..end, limits)?),
    };
    Ok(Some((target, end)))
}

/// Find the space after the target and check the characters before it.
#[inline]
fn end(bytes: &[u8], start: usize, limits: &Limits) -> Result<Option<usize>, Error> {
    let mut at = start;
    loop {
        at = scan::target_end(bytes, at);
        if at - start > limits.target_bytes {
            return Err(Error::new(
                start + limits.target_bytes,
                Problem::TargetTooLong {
                    limit: limits.target_bytes,
                },
            ));
        }
        match bytes.get(at) {
            Some(b' ') if at > start => return Ok(Some(at)),
            None => return Ok(None),
            Some(byte) => match special(
                *byte,
                &bytes[at + 1..],
                bytes[start],
                limits.tolerance.unescaped_target,
            ) {
                Special::Partial => return Ok(None),
                Special::Skip(length) => at += length,
                Special::Refused => return Err(Error::new(at, Problem::InvalidTarget)),
            },
        }
    }
}

enum Special {
    Skip(usize),
    Partial,
    Refused,
}

/// Decide about a byte at which [`scan::target_end`] stopped, with `after` behind it, in a target that starts with `first`.
fn special(byte: u8, after: &[u8], first: u8, tolerant: bool) -> Special {
    match byte {
        b'%' => match after {
            [high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                Special::Skip(3)
            }
            _ if tolerant => Special::Skip(1),
            [] => Special::Partial,
            [high] if high.is_ascii_hexdigit() => Special::Partial,
            _ => Special::Refused,
        },
        // Around an IPv6 address; `absolute` refuses them after the authority.
        b'[' | b']' if tolerant || first != b'/' => Special::Skip(1),
        b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' if tolerant => {
            Special::Skip(1)
        }
        _ => Special::Refused,
    }
}

/// Parse `scheme "://" authority path-abempty ["?" query]`; return the range of the authority.
fn absolute(bytes: &[u8], target: Range<usize>, limits: &Limits) -> Result<Range<usize>, Error> {
    let at = target.start;
    let text = &bytes[target];
    let refused = |offset| Error::new(at + offset, Problem::InvalidTarget);
    let scheme = text
        .iter()
        .position(|byte| !(byte.is_ascii_alphanumeric() || b"+-.".contains(byte)))
        .ok_or(refused(0))?;
    if !text[0].is_ascii_alphabetic() {
        return Err(refused(0));
    }
    if !text[scheme..].starts_with(b"://") {
        return Err(refused(scheme));
    }
    let start = scheme + 3;
    let end = text[start..]
        .iter()
        .position(|byte| matches!(byte, b'/' | b'?'))
        .map_or(text.len(), |length| start + length);
    if authority(bytes, at + start..at + end).is_none_or(|authority| authority.host.is_empty()) {
        return Err(Error::new(at + start, Problem::InvalidAuthority));
    }
    match text[end..]
        .iter()
        .position(|byte| matches!(byte, b'[' | b']'))
    {
        Some(bracket) if !limits.tolerance.unescaped_target => Err(refused(end + bracket)),
        _ => Ok(start..end),
    }
}

/// A valid `host[:port]`.
pub(crate) struct Authority<'a> {
    pub host: &'a [u8],
    pub port: Option<u16>,
}

/// Parse the `uri-host [":" port]` at `range`; `None` if it is invalid. User information is refused, as
/// RFC 9110, 4.2.4 advises.
///
/// Takes the whole message, because a search that may read past the range is faster.
#[inline]
pub(crate) fn authority(bytes: &[u8], range: Range<usize>) -> Option<Authority<'_>> {
    let text = &bytes[range.clone()];
    let host = match text.first() {
        Some(b'[') => address_end(text)?,
        _ => scan::name_end(bytes, range.start).min(range.end) - range.start,
    };
    let port = match &text[host..] {
        [] | [b':'] => None,
        [b':', digits @ ..] => Some(port(digits)?),
        _ => return None,
    };
    Some(Authority {
        host: &text[..host],
        port,
    })
}

fn address_end(text: &[u8]) -> Option<usize> {
    let close = text.iter().position(|byte| *byte == b']')?;
    ascii_text(&text[1..close])?.parse::<Ipv6Addr>().ok()?;
    Some(close + 1)
}

fn ascii_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

fn port(digits: &[u8]) -> Option<u16> {
    digits.iter().try_fold(0_u16, |port, digit| match digit {
        b'0'..=b'9' => port.checked_mul(10)?.checked_add(u16::from(digit - b'0')),
        _ => None,
    })
}
