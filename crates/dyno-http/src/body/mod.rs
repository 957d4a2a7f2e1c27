//! Bodies: their framing, and the decoder that finds their content in the bytes of the connection.

mod chunk_line;
mod decoder;
mod trailers;

pub use decoder::{Decoder, Drained, Step};

/// How the length of a body is determined (RFC 9112, 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Framing {
    /// There is no body.
    None,
    /// `Content-Length`: this many bytes.
    Length(u64),
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// All bytes until the connection ends. Responses only.
    UntilClose,
    /// There is no body, and the connection no longer carries HTTP: after 101, and after 2xx to CONNECT.
    Tunnel,
}
