//! A request that is ready to be sent, and the errors in its description. No I/O.

use std::sync::Arc;

use dyno_client::{Protocol, Proxies, http1, http2};
use thiserror::Error;

use crate::body::Body;
use crate::check::Check;
use crate::template::Template;

/// Settings that all requests of a run share.
#[derive(Debug, Clone)]
pub struct Shape {
    /// The method of requests that name none.
    pub method: Option<String>,
    /// Headers, in order; a request's own header of the same name replaces one.
    pub headers: Vec<(String, String)>,
    /// The body of requests without one of their own.
    pub body: Option<Body>,
    /// Whether paths are sent as they were typed, with `..` and `.`.
    pub path_as_is: bool,
    /// Whether connections are kept after a request.
    pub keepalive: bool,
    /// Protocol of the requests.
    pub protocol: Protocol,
    /// Proxies on the way to servers.
    pub proxies: Proxies,
    /// Checks of each answer; a request's own check of the same kind replaces one.
    pub checks: Arc<[Check]>,
}

/// A request, ready to be sent.
#[derive(Debug, Clone)]
pub struct Prepared {
    /// The URL as it was given.
    pub url: String,
    /// Index of its server.
    pub server: usize,
    /// Whether sending it twice has the same effect as sending it once (RFC 9110, 9.2.2).
    pub is_idempotent: bool,
    /// Whether the connection closes after it.
    pub closes: bool,
    /// The bytes, in the run's version of HTTP.
    pub message: Message,
    /// Checks of its answer.
    pub checks: Arc<[Check]>,
    /// Whether its content waits for the server's consent (`Expect: 100-continue`).
    pub(crate) expects_continue: bool,
    /// The place of its label.
    pub(crate) label: usize,
    /// How its message is written where it has placeholders.
    pub(crate) template: Option<Box<Template>>,
}

/// A request in one version of HTTP.
#[derive(Debug, Clone)]
pub enum Message {
    /// HTTP/1.1
    Http1(http1::Request),
    /// HTTP/2
    Http2(Box<http2::Request>),
}

impl Message {
    /// Whether the method is HEAD.
    pub(crate) fn is_head(&self) -> bool {
        match self {
            Self::Http1(request) => request.is_head(),
            Self::Http2(request) => *request.head.method() == http::Method::HEAD,
        }
    }
}

/// What is wrong with a request, and how to correct it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Error {
    /// The list is empty.
    #[error("there is no URL to send requests to")]
    None,
    /// A URL cannot be used.
    #[error("{url:?} is not a URL to send requests to: {reason}")]
    Url {
        /// The URL as it was given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A method cannot be used.
    #[error("{0:?} is not a method to send requests with; write it like GET or POST")]
    Method(String),
    /// A header cannot be used.
    #[error("header {name:?}: {reason}")]
    Header {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A placeholder.
    #[error("{place}: {reason}")]
    Placeholder {
        /// The part of the request.
        place: String,
        /// The fault, and its cure.
        reason: String,
    },
    /// A value of the data.
    #[error("{0}")]
    Data(String),
}
