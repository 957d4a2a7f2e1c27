//! Request heads.

use crate::{
    ConnectionOptions, Error, Fields, Limits, Method, Parse, Problem, Target, Version,
    body::Framing,
    fields::{ascii, line_end},
    progress::Progress,
    scan,
    signals::{Section, section},
    target::{self, Form},
    version,
};

/// A valid request head, which borrows from the parsed bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestHead<'a> {
    /// The method.
    pub method: Method<'a>,
    /// The request target.
    pub target: Target<'a>,
    /// The version of the request line.
    pub version: Version,
    /// All field lines.
    pub fields: Fields<'a>,
    /// Framing of the body.
    pub framing: Framing,
    /// Options of the `Connection` fields.
    pub connection: ConnectionOptions,
    /// Whether the client waits for `100 Continue` before it sends the body. Never for HTTP/1.0.
    pub expects_continue: bool,
    host: Option<&'a [u8]>,
}

impl<'a> RequestHead<'a> {
    /// Return the `Host` field as sent: `host[:port]`.
    #[must_use]
    pub fn host(&self) -> Option<&'a str> {
        self.host.map(ascii)
    }

    /// Return the target's authority, or else `Host` (RFC 9112, 3.3).
    #[must_use]
    pub fn authority(&self) -> Option<&'a str> {
        self.target.authority().or_else(|| self.host())
    }

    /// Return whether the client keeps the connection for another request.
    #[must_use]
    pub const fn keep_alive(&self) -> bool {
        self.connection.keep_alive(self.version)
    }
}

/// Parse the request head at the start of `bytes`. One empty line before it is skipped (RFC 9112, 2.2) and counted.
///
/// # Errors
///
/// The first problem of the head, or that it exceeds `limits`, with the offset of the first byte that proves it.
#[inline]
pub fn parse<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Parse<RequestHead<'a>>, Error> {
    let window = &bytes[..bytes.len().min(limits.head_bytes)];
    match head(window, limits) {
        Ok(Parse::Partial) if window.len() == limits.head_bytes => Err(Error::new(
            limits.head_bytes,
            Problem::HeadTooLong {
                limit: limits.head_bytes,
            },
        )),
        other => other,
    }
}

/// Parser of successive heads in a growing buffer, in time linear in the number of bytes.
#[derive(Debug, Clone)]
pub struct Parser {
    limits: Limits,
    progress: Progress,
}

impl Parser {
    /// Make a parser for one connection.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            progress: Progress::default(),
        }
    }

    /// Parse like [`parse`]; after [`Parse::Partial`], `bytes` must extend those of the last call.
    ///
    /// # Errors
    ///
    /// See [`parse`]; an error may be detected a few bytes later.
    #[inline]
    pub fn parse<'a>(&mut self, bytes: &'a [u8]) -> Result<Parse<RequestHead<'a>>, Error> {
        if !self.progress.worth_parsing(bytes, self.limits.head_bytes) {
            return Ok(Parse::Partial);
        }
        let parsed = parse(bytes, &self.limits)?;
        if matches!(parsed, Parse::Complete { .. }) {
            self.progress = Progress::default();
        }
        Ok(parsed)
    }
}

#[inline]
fn head<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Parse<RequestHead<'a>>, Error> {
    let start = if bytes.starts_with(b"\r\n") { 2 } else { 0 };
    let Some((method, at)) = method(bytes, start)? else {
        return Ok(Parse::Partial);
    };
    let Some((target, at)) = target::parse(bytes, at, method, limits)? else {
        return Ok(Parse::Partial);
    };
    let Some((version, at)) = version::parse(bytes, at + 1)? else {
        return Ok(Parse::Partial);
    };
    let Some(at) = line_end(bytes, at, Problem::InvalidVersion)? else {
        return Ok(Parse::Partial);
    };
    let Some(Section {
        fields,
        signals,
        next,
    }) = section(bytes, at, limits)?
    else {
        return Ok(Parse::Partial);
    };
    match signals.host {
        Some(host) => match target::authority(bytes, host.at..host.at + host.value.len()) {
            Some(authority)
                if !authority.host.is_empty()
                    || version == Version::Http10
                    || target.form() != Form::Origin => {}
            _ => return Err(Error::new(host.at, Problem::InvalidHost)),
        },
        None if version == Version::Http11 => {
            return Err(Error::new(next - 2, Problem::MissingHost));
        }
        None => {}
    }
    let head = RequestHead {
        method,
        target,
        version,
        fields,
        framing: signals.framing(version)?.unwrap_or(Framing::None),
        connection: signals.connection,
        expects_continue: signals.expects_continue && version == Version::Http11,
        host: signals.host.map(|host| host.value),
    };
    Ok(Parse::Complete { head, bytes: next })
}

/// Parse the method at `at`; return it and the start of the target.
#[inline]
fn method(bytes: &[u8], at: usize) -> Result<Option<(Method<'_>, usize)>, Error> {
    if bytes[at..].starts_with(b"GET ") {
        return Ok(Some((Method::Get, at + 4)));
    }
    let end = scan::token_end(bytes, at);
    match bytes.get(end) {
        None => Ok(None),
        // The start of the empty line that may precede a request.
        Some(b'\r') if end == 0 && bytes.len() == 1 => Ok(None),
        Some(b' ') => {
            let method = Method::from_token(&bytes[at..end])
                .ok_or(Error::new(end, Problem::InvalidMethod))?;
            Ok(Some((method, end + 1)))
        }
        Some(_) => Err(Error::new(end, Problem::InvalidMethod)),
    }
}
