//! Response heads.

use crate::{
    ConnectionOptions, Error, Fields, Limits, Method, Parse, Problem, Version,
    body::Framing,
    fields::line_end,
    progress::Progress,
    scan,
    signals::{Section, section},
    version,
};

/// A valid response head, which borrows from the parsed bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseHead<'a> {
    /// The version of the status line.
    pub version: Version,
    /// 100 to 999. Only codes up to 599 have a meaning.
    pub status: u16,
    /// The reason phrase, often empty. May contain bytes above 127.
    pub reason: &'a [u8],
    /// All field lines.
    pub fields: Fields<'a>,
    /// Options of the `Connection` fields.
    pub connection: ConnectionOptions,
    declared: Option<Framing>,
}

impl ResponseHead<'_> {
    /// Return whether this is an interim response, followed by the final one to the same request.
    ///
    /// 101 is not: it ends HTTP on the connection.
    #[must_use]
    pub const fn is_interim(&self) -> bool {
        self.status < 200 && self.status != 101
    }

    /// Return the framing of the body, given the method of the request (RFC 9112, 6.3).
    #[must_use]
    pub fn framing(&self, method: Method<'_>) -> Framing {
        match (method, self.status) {
            (_, 101) | (Method::Connect, 200..=299) => Framing::Tunnel,
            (Method::Head, _) | (_, 100..=199 | 204 | 304) => Framing::None,
            _ => self.declared.unwrap_or(Framing::UntilClose),
        }
    }

    /// Return `Content-Length`, whether or not a body follows: in a response to HEAD it is the length of the response to GET.
    #[must_use]
    pub const fn content_length(&self) -> Option<u64> {
        match self.declared {
            Some(Framing::Length(length)) => Some(length),
            _ => None,
        }
    }

    /// Return whether the connection can carry another request after this response with this framing.
    #[must_use]
    pub const fn keep_alive(&self, framing: Framing) -> bool {
        !matches!(framing, Framing::UntilClose | Framing::Tunnel)
            && self.connection.keep_alive(self.version)
    }
}

/// Parse the response head at the start of `bytes`.
///
/// # Errors
///
/// The first problem of the head, or that it exceeds `limits`, with the offset of the first byte that proves it.
#[inline]
pub fn parse<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Parse<ResponseHead<'a>>, Error> {
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
    pub fn parse<'a>(&mut self, bytes: &'a [u8]) -> Result<Parse<ResponseHead<'a>>, Error> {
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
fn head<'a>(bytes: &'a [u8], limits: &Limits) -> Result<Parse<ResponseHead<'a>>, Error> {
    let Some((version, at)) = version::parse(bytes, 0)? else {
        return Ok(Parse::Partial);
    };
    let Some((status, at)) = status(bytes, at, limits)? else {
        return Ok(Parse::Partial);
    };
    let end = scan::text_end(bytes, at);
    let Some(fields_at) = line_end(bytes, end, Problem::InvalidReason)? else {
        return Ok(Parse::Partial);
    };
    let Some(Section {
        fields,
        signals,
        next,
    }) = section(bytes, fields_at, limits)?
    else {
        return Ok(Parse::Partial);
    };
    let declared = signals.framing(version)?;
    let head = ResponseHead {
        version,
        status,
        reason: &bytes[at..end],
        fields,
        connection: signals.connection,
        declared,
    };
    Ok(Parse::Complete { head, bytes: next })
}

/// Parse the status code after the version, which ended at `at`; return it and the start of the reason phrase.
#[inline]
fn status(bytes: &[u8], at: usize, limits: &Limits) -> Result<Option<(u16, usize)>, Error> {
    match bytes[at..] {
        [
            b' ',
            hundreds @ b'1'..=b'9',
            tens @ b'0'..=b'9',
            ones @ b'0'..=b'9',
            after,
            ..,
        ] => {
            let status = u16::from(hundreds - b'0') * 100
                + u16::from(tens - b'0') * 10
                + u16::from(ones - b'0');
            match after {
                b' ' => Ok(Some((status, at + 5))),
                b'\r' if limits.tolerance.missing_reason_space => Ok(Some((status, at + 4))),
                _ => Err(Error::new(at + 4, Problem::InvalidStatus)),
            }
        }
        []
        | [b' ']
        | [b' ', b'1'..=b'9']
        | [b' ', b'1'..=b'9', b'0'..=b'9']
        | [b' ', b'1'..=b'9', b'0'..=b'9', b'0'..=b'9'] => Ok(None),
        [b' ', ..] => Err(Error::new(at + 1, Problem::InvalidStatus)),
        _ => Err(Error::new(at, Problem::InvalidVersion)),
    }
}
