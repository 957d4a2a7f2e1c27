//! A request that is ready to be sent, and the errors in its description. No I/O.

use std::sync::Arc;

use bytes::Bytes;
use dyno_client::{Protocol, http1, http2};
use thiserror::Error;

use crate::check::Check;

/// Settings that all requests of a run share.
#[derive(Debug, Clone)]
pub struct Shape {
    /// The method of a request that names none.
    pub method: Option<String>,
    /// Fields, in order; a request's own of the same name come in their place.
    pub headers: Vec<(String, String)>,
    /// The content of a request that has none of its own.
    pub body: Option<Bytes>,
    /// Whether connections are kept.
    pub keepalive: bool,
    /// Protocol of the requests.
    pub protocol: Protocol,
    /// Checks of each answer; a request's own check of the same kind replaces one.
    pub checks: Arc<[Check]>,
}

/// A request as it is sent.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// As it was given.
    pub url: String,
    /// Which of the servers.
    pub server: usize,
    /// Whether sending it twice does what sending it once does (RFC 9110, 9.2.2).
    pub is_idempotent: bool,
    /// Whether its connection ends with it.
    pub closes: bool,
    /// In the run's version of HTTP.
    pub message: Message,
    /// Checks of its answer.
    pub checks: Arc<[Check]>,
}

/// A request in one version of HTTP.
#[derive(Debug, Clone)]
pub enum Message {
    /// HTTP/1.1
    Http1(http1::Request),
    /// HTTP/2
    Http2(Box<http2::Request>),
}

/// A fault of a request, and its cure.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// The list is empty.
    #[error("there is no URL to send requests to")]
    None,
    /// A URL.
    #[error("{url:?} is not a URL to send requests to: {reason}")]
    Url {
        /// As it was given.
        url: String,
        /// The fault.
        reason: String,
    },
    /// A method.
    #[error("{0:?} is not a method to send requests with; write it like GET or POST")]
    Method(String),
    /// A field.
    #[error("header {name:?}: {reason}")]
    Header {
        /// Its name.
        name: String,
        /// The fault.
        reason: String,
    },
}
