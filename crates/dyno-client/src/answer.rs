//! An answer as it is received, in any version of HTTP.

use std::task::{Context, Poll};
use std::time::Instant;

use dyno_http::HttpVersion;

use crate::failure::Failure;

/// The head of a final answer.
#[derive(Debug, Clone, Copy)]
pub struct AnswerHead<'a> {
    /// The status code.
    pub status: u16,
    /// The version it came in.
    pub version: HttpVersion,
    /// Length from `Content-Length`, where the head was parsed for it.
    pub(crate) content_length: Option<u64>,
    pub(crate) fields: Fields<'a>,
}

/// The fields of an answer as they lie in memory.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fields<'a> {
    Lines(dyno_http::Fields<'a>),
    Map(&'a http::HeaderMap),
}

impl<'a> AnswerHead<'a> {
    /// Returns the length from `Content-Length`, in an answer to HEAD too.
    #[must_use]
    pub fn content_length(&self) -> Option<u64> {
        let Fields::Map(map) = self.fields else {
            return self.content_length;
        };
        let value = map.get(http::header::CONTENT_LENGTH)?;
        value.to_str().ok()?.parse().ok()
    }

    /// Value of the first field with this name, whatever its case.
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

/// Takes an answer as it comes.
pub trait Receive {
    /// The head of the final answer; interim ones never come here.
    ///
    /// # Errors
    ///
    /// A failure of the taker's, which ends the exchange.
    fn head(&mut self, head: &AnswerHead<'_>) -> Result<(), Failure>;

    /// A piece of content as it lies on the wire: content codings are not decoded.
    ///
    /// # Errors
    ///
    /// As [`Receive::head`].
    fn content(&mut self, bytes: &[u8]) -> Result<(), Failure>;

    /// Works on the content that it was given, for as long as one task may have the thread. No more comes before it is ready.
    ///
    /// # Errors
    ///
    /// As [`Receive::head`].
    #[inline]
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }
}

/// An exchange that brought a whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchanged {
    /// Just before the first byte of the request went out.
    pub sent: Instant,
    /// When the first byte of the answer was there.
    pub first_byte: Instant,
    /// When its last byte was.
    pub end: Instant,
    /// Whether the connection can carry another exchange.
    pub reusable: bool,
}
