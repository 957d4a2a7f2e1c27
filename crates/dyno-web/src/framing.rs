//! The framing of a content.

use serde::{Deserialize, Serialize};

/// The framing of a content (RFC 9112, section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// With `Content-Length`.
    Length,
    /// With chunks.
    Chunked,
    /// To the end of the connection.
    UntilClose,
}
