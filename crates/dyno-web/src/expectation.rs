//! What a correct client is told, and what it then reports for a URL.

use serde::Serialize;

use crate::one_origin::OneOrigin;
use crate::units::{Bytes, Nanos};

/// What a client is told to look for in the content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// That it is JSON whose first element's `numbers` is 123123, whatever the status.
    Json,
}

/// The one version of HTTP that a client is told to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.1, which every host speaks.
    Http1,
    /// HTTP/2; a host that does not speak it is an error.
    Http2,
}

/// What a client is told, and where it is.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'o> {
    /// How long a URL may take it.
    pub timeout: Nanos,
    /// What it checks.
    pub check: Option<Check>,
    /// The version of HTTP that it speaks and no other; `None`: its default.
    pub version: Option<Version>,
    /// The one origin that plays the web on a real machine, whose names, addresses and connections are real ones; what leads
    /// away from it is an error with the cause `elsewhere`.
    pub origin: Option<&'o OneOrigin>,
}

impl Terms<'_> {
    /// A client with this timeout, in a room with the web.
    #[must_use]
    pub fn within(timeout: Nanos) -> Self {
        Self {
            timeout,
            check: None,
            version: None,
            origin: None,
        }
    }
}

/// What must be reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The final status with the content's length.
    Status {
        /// The status code.
        status: u16,
        /// Bytes of content after decoding.
        length: Bytes,
    },
    /// An error, of whatever name; `cause` is the web's name of what went wrong.
    Error {
        /// A fault's name, or `invalid_url`, `invalid_name`, `unreachable`, `too_many_redirects`, `timeout`, `elsewhere`, `check_failed`, `without_http2`.
        cause: &'static str,
    },
    /// Nobody can say whether a correct client makes it: both are right.
    Either {
        /// The status if it makes it.
        status: u16,
        /// The length if it makes it.
        length: Bytes,
        /// Why not: `timeout` or `plain_http`.
        cause: &'static str,
    },
}

/// The expectation of one URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Expectation {
    /// What must be reported.
    pub outcome: Outcome,
    /// Whether a request of a correct client reaches the origin.
    pub arrives: bool,
    /// The first request's URL as the origin sees it; `None` for an invalid URL.
    pub request_url: Option<String>,
    /// How many requests a correct client sends.
    pub requests: u32,
    /// The hosts that a correct client shakes hands with, in order, each once.
    pub handshakes: Vec<String>,
    /// How long the exchange is planned to take at no distance; `None` when only the timeout ends it.
    pub planned: Option<Nanos>,
    /// What of an honest exchange some clients are known to get wrong: `interim_response`, `goaway_after_answer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hazard: Option<&'static str>,
}
