//! An answer while it is received, in any version of HTTP.

use std::task::{Context, Poll};
use std::time::Instant;

use dyno_http::{Deviations, HttpVersion};

use crate::failure::Failure;
use crate::upload::Expectation;

/// The head of a final answer.
#[derive(Debug, Clone, Copy)]
pub struct AnswerHead<'a> {
    /// The status code.
    pub status: u16,
    /// The version of HTTP.
    pub version: HttpVersion,
    /// Value of `Content-Length`, if the parser has read it.
    pub(crate) content_length: Option<u64>,
    pub(crate) fields: Fields<'a>,
}

/// Header fields of an answer, as stored in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fields<'a> {
    Lines(dyno_http::Fields<'a>),
    Map(&'a http::HeaderMap),
}

impl<'a> AnswerHead<'a> {
    /// The head of an answer over HTTP/2.
    #[must_use]
    pub const fn of_http2(status: u16, headers: &'a http::HeaderMap) -> Self {
        Self {
            status,
            version: HttpVersion::Http2,
            content_length: None,
            fields: Fields::Map(headers),
        }
    }

    /// Returns the value of `Content-Length`, also in an answer to HEAD.
    #[must_use]
    pub fn content_length(&self) -> Option<u64> {
        let Fields::Map(map) = self.fields else {
            return self.content_length;
        };
        let value = map.get(http::header::CONTENT_LENGTH)?;
        value.to_str().ok()?.parse().ok()
    }

    /// Returns the head in the form of HTTP/1.1, for an archive of answers over HTTP/2.
    #[must_use]
    pub fn in_http1(&self) -> Vec<u8> {
        let reason = http::StatusCode::from_u16(self.status).ok();
        let reason = reason.and_then(|status| status.canonical_reason());
        let mut head =
            format!("HTTP/1.1 {} {}\r\n", self.status, reason.unwrap_or("")).into_bytes();
        match self.fields {
            Fields::Lines(lines) => head.extend_from_slice(lines.as_bytes()),
            Fields::Map(map) => {
                for (name, value) in map {
                    head.extend_from_slice(
                        &[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat(),
                    );
                }
            }
        }
        head.extend_from_slice(b"\r\n");
        head
    }

    /// Value of the first field with this name, in any case.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'a [u8]> {
        match self.fields {
            Fields::Lines(lines) => lines.get(name),
            Fields::Map(map) => map.get(name).map(http::HeaderValue::as_bytes),
        }
    }

    /// Values of all fields with this name, in order.
    pub fn fields<'n>(&self, name: &'n str) -> impl Iterator<Item = &'a [u8]> + use<'a, 'n> {
        let (lines, map) = match self.fields {
            Fields::Lines(lines) => (Some(lines.get_all(name)), None),
            Fields::Map(map) => (None, Some(map.get_all(name).into_iter())),
        };
        lines
            .into_iter()
            .flatten()
            .chain(map.into_iter().flatten().map(http::HeaderValue::as_bytes))
    }
}

/// Receiver of an answer.
pub trait Receive {
    /// Whether errors of a server over HTTP/2 get the names that they have over HTTP/1.1. It needs further calls for
    /// each answer.
    const NAMES_ERRORS: bool = false;

    /// Receives the bytes of an answer over HTTP/1.1 as they arrived, before what they mean: the whole final head first,
    /// then the body in pieces, with its transfer coding.
    ///
    /// # Errors
    ///
    /// See [`Receive::head`].
    #[inline]
    fn received(&mut self, _: &[u8]) -> Result<(), Failure> {
        Ok(())
    }

    /// Receives the head of the final answer; interim answers are not passed on.
    ///
    /// # Errors
    ///
    /// A failure of the receiver, which ends the exchange.
    fn head(&mut self, head: &AnswerHead<'_>) -> Result<(), Failure>;

    /// Receives a piece of content as transferred: content codings are not decoded.
    ///
    /// # Errors
    ///
    /// See [`Receive::head`].
    fn content(&mut self, bytes: &[u8]) -> Result<(), Failure>;

    /// Processes the received content, for as long as one task may occupy the thread. No further content is passed
    /// before it returns ready.
    ///
    /// # Errors
    ///
    /// See [`Receive::head`].
    #[inline]
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }
}

/// Times of a completed exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchanged {
    /// Just before the first byte of the request was sent.
    pub sent: Instant,
    /// When the first byte of the answer had arrived.
    pub first_byte: Instant,
    /// When the last byte of the answer had arrived.
    pub end: Instant,
    /// Whether the connection can carry another exchange.
    pub reusable: bool,
    /// What ended the wait before the content of the request was sent.
    pub expectation: Expectation,
    /// What was odd in the answer, and was accepted.
    pub deviations: Deviations,
}
