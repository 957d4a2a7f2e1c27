//! Errors of a message and their position.

use thiserror::Error as ThisError;

/// Refusal of a message: the problem and its byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ThisError)]
#[error("byte {offset}: {problem}")]
pub struct Error {
    /// Offset from the start of the bytes given to a head's parser; for a body, from its first byte on the wire.
    pub offset: u64,
    /// The problem.
    pub problem: Problem,
}

impl Error {
    pub(crate) fn new(offset: usize, problem: Problem) -> Self {
        Self {
            offset: offset as u64,
            problem,
        }
    }
}

/// Reasons to refuse a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ThisError)]
#[non_exhaustive]
pub enum Problem {
    /// Not a `tchar` where the method was expected.
    #[error("the method is not a token followed by one space")]
    InvalidMethod,
    /// RFC 9112, 3.2: none of the four forms, or not the form that the method requires.
    #[error("the request target is not valid for this method")]
    InvalidTarget,
    /// The scheme of an absolute target, or its authority.
    #[error("the authority is not host[:port]")]
    InvalidAuthority,
    /// Not `HTTP/1.0` or `HTTP/1.1`, and not a well-formed version.
    #[error("expected HTTP/1.0 or HTTP/1.1")]
    InvalidVersion,
    /// A well-formed but unsupported version.
    #[error("HTTP version other than 1.x")]
    UnsupportedVersion,
    /// Not three digits from 100 on, followed by a space.
    #[error("the status code is not three digits from 100 to 999, followed by a space")]
    InvalidStatus,
    /// A control character in the reason phrase.
    #[error("the reason phrase holds a control character")]
    InvalidReason,
    /// CR that is not followed by LF.
    #[error("carriage return without line feed")]
    BareCarriageReturn,
    /// LF that does not follow CR.
    #[error("line feed without carriage return")]
    BareLineFeed,
    /// A line that starts with white space (obs-fold), or white space before the first field.
    #[error("a field line starts with white space (line folding is refused)")]
    FoldedLine,
    /// A byte that is not a `tchar` in a field name, or an empty name.
    #[error("the field name is empty or holds a byte that is not allowed in a token")]
    InvalidFieldName,
    /// RFC 9112, 5.1: must be refused.
    #[error("white space between field name and colon")]
    SpaceBeforeColon,
    /// A line without a colon.
    #[error("field line without a colon")]
    MissingColon,
    /// A control character in a field value.
    #[error("the field value holds a control character")]
    InvalidFieldValue,
    /// Not digits, or a number beyond 64 bits.
    #[error("Content-Length is not a decimal number below 2^64")]
    InvalidContentLength,
    /// Two values that differ.
    #[error("Content-Length is given twice, with different values")]
    ContradictoryContentLength,
    /// RFC 9112, 6.3: the usual form of request smuggling.
    #[error("both Content-Length and Transfer-Encoding")]
    LengthAndTransferEncoding,
    /// A list that does not end in `chunked`, or has it twice, or has an empty member.
    #[error("Transfer-Encoding does not end in chunked, exactly once")]
    InvalidTransferEncoding,
    /// A well-formed but unsupported coding.
    #[error("transfer coding other than chunked")]
    UnsupportedTransferCoding,
    /// RFC 9112, 6.1: faulty framing.
    #[error("Transfer-Encoding in an HTTP/1.0 message")]
    TransferEncodingInVersion10,
    /// RFC 9112, 3.2.
    #[error("HTTP/1.1 request without a Host")]
    MissingHost,
    /// RFC 9112, 3.2.
    #[error("more than one Host field")]
    DuplicateHost,
    /// Not `uri-host [":" port]`, or empty although the target names no host.
    #[error("Host is not host[:port]")]
    InvalidHost,
    /// See [`crate::Limits::head_bytes`].
    #[error("the head is longer than {limit} bytes")]
    HeadTooLong {
        /// The limit that was passed.
        limit: usize,
    },
    /// See [`crate::Limits::target_bytes`].
    #[error("the request target is longer than {limit} bytes")]
    TargetTooLong {
        /// The limit that was passed.
        limit: usize,
    },
    /// See [`crate::Limits::fields`].
    #[error("more than {limit} fields")]
    TooManyFields {
        /// The limit that was passed.
        limit: usize,
    },
    /// Not a hexadecimal digit, or a number beyond 64 bits.
    #[error("the chunk size is not a hexadecimal number below 2^64")]
    InvalidChunkSize,
    /// RFC 9112, 7.1.1.
    #[error("malformed chunk extension")]
    InvalidChunkExtension,
    /// Chunk data that is not followed by CR LF.
    #[error("chunk data is not followed by CR LF")]
    MissingChunkEnd,
    /// See [`crate::Limits::chunk_line_bytes`].
    #[error("the chunk line is longer than {limit} bytes")]
    ChunkLineTooLong {
        /// The limit that was passed.
        limit: usize,
    },
    /// See [`crate::Limits::chunk_extension_bytes`].
    #[error("more than {limit} bytes of chunk extensions in one body")]
    TooManyChunkExtensions {
        /// The limit that was passed.
        limit: usize,
    },
    /// See [`crate::Limits::trailer_bytes`].
    #[error("the trailer section is longer than {limit} bytes")]
    TrailersTooLong {
        /// The limit that was passed.
        limit: usize,
    },
    /// The connection ended before the body did.
    #[error("the connection ended before the body")]
    BodyCutShort,
}

impl Problem {
    /// Return the status code of a server's answer to a request refused for this problem.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::TargetTooLong { .. } => 414,
            Self::HeadTooLong { .. }
            | Self::TooManyFields { .. }
            | Self::TrailersTooLong { .. } => 431,
            Self::UnsupportedTransferCoding => 501,
            Self::UnsupportedVersion => 505,
            _ => 400,
        }
    }
}
