//! Settings of a correct client, and its result for a URL.

use dyno_http::HttpVersion;
use serde::Serialize;

use crate::oddity::Capabilities;
use crate::one_origin::OneOrigin;
use crate::units::{Bytes, Nanos};

/// Content check of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// The content is JSON whose first element's `numbers` is 123123, whatever the status.
    Json,
}

/// Settings of a client, and its environment.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'o> {
    /// Timeout of a URL.
    pub timeout: Nanos,
    /// Content check.
    pub check: Option<Check>,
    /// The only version of HTTP that the client speaks; `None`: its default.
    pub version: Option<HttpVersion>,
    /// The capabilities that the client must show; answers that need others are undecided.
    pub capabilities: Capabilities,
    /// The one origin that serves the web on a real machine, with real names, addresses and connections; URLs elsewhere are errors
    /// with the cause `elsewhere`.
    pub origin: Option<&'o OneOrigin>,
}

impl Terms<'_> {
    /// A client with this timeout and default settings, in a room with the web.
    #[must_use]
    pub fn within(timeout: Nanos) -> Self {
        Self {
            timeout,
            check: None,
            version: None,
            capabilities: Capabilities::NONE,
            origin: None,
        }
    }
}

/// The result that must be reported.
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
    /// An error with any name; `cause` is the web's name of the failure.
    Error {
        /// A fault's name, or `invalid_url`, `invalid_name`, `unreachable`, `too_many_redirects`, `timeout`, `elsewhere`, `disallowed`, `check_failed`, `without_http2`.
        cause: &'static str,
    },
    /// Undecided: both the status and an error are right.
    Either {
        /// The status in case of success.
        status: u16,
        /// The length in case of success.
        length: Bytes,
        /// The cause in case of an error: `timeout`, `plain_http`, or the name of an oddity. Of an oddity that counts requests, the
        /// status of the first answer is right as well.
        cause: &'static str,
    },
}

/// The expectation of one URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Expectation {
    /// The result that must be reported.
    pub outcome: Outcome,
    /// Whether a request of a correct client reaches the origin.
    pub arrives: bool,
    /// The first request's URL as the origin sees it; `None` for an invalid URL.
    pub request_url: Option<String>,
    /// Number of requests of a correct client.
    pub requests: u32,
    /// Hosts that a correct client has a TLS handshake with, in order, without repetition.
    pub handshakes: Vec<String>,
    /// Planned time of the exchange without network delay; `None` when only the timeout ends it.
    pub planned: Option<Nanos>,
    /// A property of an honest exchange that some clients are known to get wrong: `interim_response`, `goaway_after_answer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hazard: Option<&'static str>,
}
