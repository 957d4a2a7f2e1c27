//! How much of a message is accepted, and what is tolerated in it.

/// Upper bounds, all of them inclusive. A message that passes one is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a head, from the start line to its empty line. A connection buffer of this size always suffices.
    pub head_bytes: usize,
    /// Bytes of a request target.
    pub target_bytes: usize,
    /// Field lines of a head, and of a trailer section.
    pub fields: usize,
    /// Bytes of one chunk-size line, extensions and line end included.
    pub chunk_line_bytes: usize,
    /// Bytes of all chunk extensions of one body: many tiny chunks with long extensions would cost more than they carry.
    pub chunk_extension_bytes: usize,
    /// Bytes of a trailer section, its empty line included.
    pub trailer_bytes: usize,
    /// What is accepted beyond the grammar.
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

/// Departures from the grammar that programs in use depend on. All off by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tolerance {
    /// A request target may hold the visible ASCII characters that RFC 3986 wants escaped, `#` excepted, and a `%` without two
    /// digits after it. User agents that follow the WHATWG URL standard send `|` and `{` in queries as they are.
    pub unescaped_target: bool,
    /// A status line may end right after the status code, without the space that precedes even an empty reason phrase.
    pub missing_reason_space: bool,
    /// White space between a chunk size and the end of its line. Old servers pad the size to a fixed width.
    pub padded_chunk_size: bool,
}

impl Tolerance {
    /// Nothing beyond the grammar.
    pub const NONE: Self = Self {
        unescaped_target: false,
        missing_reason_space: false,
        padded_chunk_size: false,
    };
    /// Everything listed: for talking to the world rather than judging it.
    pub const ALL: Self = Self {
        unescaped_target: true,
        missing_reason_space: true,
        padded_chunk_size: true,
    };
}
