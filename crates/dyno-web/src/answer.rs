//! Requests to a web, and its answers.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::coding::{Accepted, Coding};
use crate::content::{Class, STREAM_LINE};
use crate::fault::Fault;
use crate::framing::Framing;
use crate::oddity::Oddity;
use crate::scheme::Scheme;
use crate::units::Nanos;

/// Bytes of a request's content that `/echo` returns; the rest is left out.
pub const ECHO_BYTES: usize = 16 << 10;

/// Whether the answer to `target` depends on the content of the request.
#[must_use]
pub fn is_echo(target: &str) -> bool {
    target
        .strip_prefix("/echo")
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('?'))
}

/// The parts of a request that determine its answer.
#[derive(Debug, Clone, Copy)]
pub struct Request<'r> {
    /// Its method, which only `/echo` reads.
    pub method: &'r str,
    /// The beginning of its content, up to [`ECHO_BYTES`]; where [`is_echo`] is false, it may be left out.
    pub content: &'r [u8],
    /// The scheme of the port that received it.
    pub scheme: Scheme,
    /// The host name of the `Host` field: lower case, without port or final dot.
    pub host: &'r str,
    /// Path with query, as sent.
    pub target: &'r str,
    /// Codings that its `Accept-Encoding` allows.
    pub accepted: Accepted,
    /// Whether it has the cookie of [`Oddity::Cookie`].
    pub has_cookie: bool,
    /// Number of earlier requests for this target of this host, where [`Oddity::counts_requests`]; else 0.
    pub earlier: u32,
}

/// The content of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// No content.
    Empty,
    /// The beginning of the web's text, with the length of the class.
    Page(Class),
    /// The beginning of the web's text, repeated where it is longer.
    Text {
        /// Its length.
        bytes: u64,
    },
    /// A fixed document.
    Document(&'static str),
    /// A document of one page: with links, a robots.txt, a sitemap.
    Made(#[serde(serialize_with = "serialize_length")] Arc<[u8]>),
    /// [`STREAM_LINE`] repeated, one chunk each.
    Lines {
        /// Number of lines.
        count: u64,
    },
}

impl<'r> Request<'r> {
    /// The first GET for a URL, without a cookie, of a client that accepts no coding.
    #[must_use]
    pub const fn first(scheme: Scheme, host: &'r str, target: &'r str) -> Self {
        Self {
            method: "GET",
            content: b"",
            scheme,
            host,
            target,
            accepted: Accepted::NONE,
            has_cookie: false,
            earlier: 0,
        }
    }
}

impl Content {
    /// The content of `/echo`: the method of the request, a line feed, and the request's content.
    #[must_use]
    pub fn echo(method: &str, content: &[u8]) -> Self {
        let content = &content[..content.len().min(ECHO_BYTES)];
        Self::Made([method.as_bytes(), b"\n", content].concat().into())
    }

    /// Bytes before any coding.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        match *self {
            Self::Empty => 0,
            Self::Page(class) => class.bytes(),
            Self::Text { bytes } => bytes,
            Self::Document(document) => document.len() as u64,
            Self::Made(ref document) => document.len() as u64,
            Self::Lines { count } => count * STREAM_LINE.len() as u64,
        }
    }
}

/// Serializes a document as its length.
fn serialize_length<S: Serializer>(document: &Arc<[u8]>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(document.len() as u64)
}

/// A slow content: pieces with a wait before each but the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Drip {
    /// Bytes of each piece, at least 1.
    pub bytes: u64,
    /// The wait before each piece but the first.
    pub every: Nanos,
}

/// An answer, without the bytes of its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// Time from the last byte of the request to the first of the answer.
    pub delay: Nanos,
    /// The fault, of [`crate::Layer::Head`] or [`crate::Layer::Body`]. (A redirect loop is an ordinary answer with that fault's name.)
    pub fault: Option<Fault>,
    /// The oddity of this answer. (It may be an ordinary answer in the chain of an odd host.)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oddity: Option<Oddity>,
    /// Status of an interim answer before this one.
    pub interim: Option<u16>,
    /// The final status.
    pub status: u16,
    /// The `Location` field.
    pub location: Option<String>,
    /// The `Content-Type` field.
    pub content_type: &'static str,
    /// The content, before coding.
    pub content: Content,
    /// The coding to send it with.
    pub coding: Coding,
    /// The framing of the content.
    pub framing: Framing,
    /// Whether trailer fields follow the last chunk.
    pub trailers: bool,
    /// Whether the server closes the connection afterwards.
    pub closes: bool,
    /// Whether the content is slow.
    pub drip: Option<Drip>,
}

impl Answer {
    /// An answer without delay and fault, the base of all others.
    pub(crate) fn new(status: u16, content: Content) -> Self {
        Self {
            delay: Nanos::ZERO,
            fault: None,
            oddity: None,
            interim: None,
            status,
            location: None,
            content_type: "text/html; charset=utf-8",
            content,
            coding: Coding::Identity,
            framing: Framing::Length,
            trailers: false,
            closes: false,
            drip: None,
        }
    }

    pub(crate) fn redirect(status: u16, location: String, delay: Nanos) -> Self {
        let content = Content::Page(Class::nearest(0));
        Self {
            location: Some(location),
            delay,
            ..Self::new(status, content)
        }
    }

    /// The planned time from the request to the last byte, without network delay.
    #[must_use]
    pub fn planned(&self) -> Nanos {
        let dripping = self.drip.map_or(Nanos::ZERO, |drip| {
            let waits = self
                .content
                .bytes()
                .div_ceil(drip.bytes.max(1))
                .saturating_sub(1);
            Nanos(drip.every.0.saturating_mul(waits))
        });
        self.delay + dripping
    }
}
