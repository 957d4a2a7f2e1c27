//! Limits on the length of a message, and tolerated deviations.

/// Upper bounds, all inclusive. A message beyond one of them is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a head, from the start line to its empty line. A connection buffer of this size always suffices.
    pub head_bytes: usize,
    /// Bytes of a request target.
    pub target_bytes: usize,
    /// Field lines of a head, and of a trailer section.
    pub fields: usize,
    /// Bytes of one chunk-size line with extensions and line end.
    pub chunk_line_bytes: usize,
    /// Bytes of all chunk extensions of one body: many tiny chunks with long extensions would cost more than their content.
    pub chunk_extension_bytes: usize,
    /// Bytes of a trailer section with its empty line.
    pub trailer_bytes: usize,
    /// Accepted deviations from the grammar.
    pub tolerance: Tolerance,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            head_bytes: 64 * 1024,
            target_bytes: 16 * 1024,
            fields: 128,
            chunk_line_bytes: 4 * 1024,
            chunk_extension_bytes: 16 * 1024,
            trailer_bytes: 8 * 1024,
            tolerance: Tolerance::NONE,
        }
    }
}

/// Deviations from the grammar that existing programs depend on. All off by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a deviation of its own"
)]
pub struct Tolerance {
    /// Accept visible ASCII characters in a request target that RFC 3986 requires to be escaped, except `#`, and a `%` without two
    /// digits after it. User agents that follow the WHATWG URL standard send `|` and `{` in queries unescaped.
    pub unescaped_target: bool,
    /// Accept a status line without the space after the status code, which is required even before an empty reason phrase.
    pub missing_reason_space: bool,
    /// Accept white space between a chunk size and the end of its line. Old servers pad the size to a fixed width.
    pub padded_chunk_size: bool,
    /// Accept LF without CR after a plain chunk size, after chunk data and in trailers; any chunk extension without CR, LF and
    /// NUL; and skip lines of trailers that are no fields. See [`crate::Deviation`].
    pub odd_chunks: bool,
}

impl Tolerance {
    /// No deviations.
    pub const NONE: Self = Self {
        unescaped_target: false,
        missing_reason_space: false,
        padded_chunk_size: false,
        odd_chunks: false,
    };
    /// Deviations that never matter: for talking to the real internet rather than testing it.
    pub const HARMLESS: Self = Self {
        unescaped_target: true,
        missing_reason_space: true,
        padded_chunk_size: true,
        odd_chunks: false,
    };
    /// The tolerant profile; of heads, a [`crate::Mender`] reads the rest of it.
    pub const TOLERANT: Self = Self {
        odd_chunks: true,
        ..Self::HARMLESS
    };
}
