//! HTTP/1.1 messages as bytes, for both roles, without I/O.
//!
//! Heads are parsed in place: nothing is copied or allocated. Bodies are decoded incrementally: the
//! [`body::Decoder`] takes bytes of the connection and returns the ranges of content. Encoders append to a caller's `Vec<u8>`.
//!
//! Strict by default: where RFC 9110 and RFC 9112 let a recipient either repair or refuse a message, this crate refuses it,
//! because recipients that repair differently enable request smuggling. [`Tolerance`] lists the permitted exceptions. None of
//! them changes where a message ends, except those of chunk lines, which are unambiguous. A client that reads odd answers as browsers
//! do has a [`Mender`] rewrite a refused head; [`Deviation`] names what it accepted.
//!
//! # Server
//!
//! ```
//! use dyno_http::{Limits, Parse, body, request, write};
//!
//! # fn main() -> Result<(), dyno_http::Error> {
//! let connection = b"POST /upload HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\n";
//! let Parse::Complete { head, bytes } = request::parse(connection, &Limits::default())? else {
//!     return Ok(()); // read more, then ask again: see `request::Parser` for arrivals in many small pieces
//! };
//! assert_eq!(head.target.path(), "/upload");
//! assert_eq!(head.authority(), Some("a.test"));
//!
//! let mut decoder = body::Decoder::new(head.framing, &Limits::default());
//! let step = decoder.decode(&connection[bytes..])?;
//! assert_eq!(&connection[bytes..][step.content], b"hello");
//! assert!(step.done); // the next request starts at `bytes + step.consumed`
//!
//! let mut out = Vec::new();
//! write::response(&mut out, head.version, 200)?.field("Content-Type", b"text/plain")?.content_length(2).end();
//! assert_eq!(out, b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n");
//! # Ok(())
//! # }
//! ```
//!
//! # Client
//!
//! ```
//! use dyno_http::{Limits, Method, Parse, body, response};
//!
//! # fn main() -> Result<(), dyno_http::Error> {
//! let connection = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
//! let Parse::Complete { head, bytes } = response::parse(connection, &Limits::default())? else { return Ok(()) };
//! let framing = head.framing(Method::Get);
//! assert_eq!(framing, body::Framing::Chunked);
//! let drained = body::Decoder::new(framing, &Limits::default()).drain(&connection[bytes..])?;
//! assert_eq!((drained.content_bytes, drained.done), (5, true));
//! assert!(head.keep_alive(framing));
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod body;
mod connection;
mod deviation;
mod error;
pub mod fields;
mod limits;
mod mend;
mod method;
mod progress;
mod reason;
pub mod request;
pub mod response;
mod scan;
mod signals;
pub mod target;
mod version;
pub mod write;

pub use connection::ConnectionOptions;
pub use deviation::{Deviation, DeviationCounts, Deviations};
pub use error::{Error, Problem};
pub use fields::{Field, Fields};
pub use limits::{Limits, Tolerance};
pub use mend::{Mended, Mender};
pub use method::Method;
pub use request::RequestHead;
pub use response::ResponseHead;
pub use target::Target;
pub use version::{HttpVersion, PerVersion, Version};

/// Result of parsing a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parse<T> {
    /// The head is complete and valid.
    Complete {
        /// The head, which borrows from the parsed bytes.
        head: T,
        /// Length of the head on the wire with its empty line: the position of the body.
        bytes: usize,
    },
    /// All bytes so far are valid, but the head is not complete.
    Partial,
}
