//! How an answer is sent over a connection: its coding, its framing, its end.

use dyno_http::Version;
use dyno_web::{Answer, Coding, Content, Framing, STREAM_LINE};

use super::outgoing::Outgoing;
use super::request::Asked;
use crate::prepared::Source;

/// Longest chunk, as from servers with a buffer of that size.
pub(crate) const CHUNK_BYTES: u64 = 16 << 10;
/// Last chunk.
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
/// Last chunk with trailers.
const LAST_CHUNK_WITH_TRAILERS: &[u8] = b"0\r\nServer-Timing: origin;dur=0\r\n\r\n";

/// The resulting parameters of sending an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivery {
    /// Content coding.
    pub(crate) coding: Coding,
    /// Framing of the content.
    pub(crate) framing: Framing,
    /// Length of the coded content.
    pub(crate) bytes: u64,
    /// Whether the connection stays open.
    pub(crate) keep_alive: bool,
    /// Whether the content is sent, as it is not for HEAD.
    pub(crate) has_content: bool,
}

impl Delivery {
    pub(crate) fn of(answer: &Answer, asked: &Asked, coding: Coding, bytes: u64) -> Self {
        let framing = match (answer.framing, asked.version) {
            // RFC 9112, section 7: HTTP/1.0 has no chunks.
            (Framing::Chunked, Version::Http10) => Framing::Length,
            (framing, _) => framing,
        };
        Self {
            coding,
            framing,
            bytes,
            keep_alive: asked.keep_alive && !answer.closes && framing != Framing::UntilClose,
            has_content: !asked.is_head() && !matches!(answer.status, 204 | 304),
        }
    }

    /// Whether a trailer section is announced, and sent if the content is.
    pub(crate) fn trails(&self, answer: &Answer) -> bool {
        answer.trailers && self.framing == Framing::Chunked && !matches!(answer.status, 204 | 304)
    }

    /// Number of content bytes to send.
    pub(crate) fn content_bytes(&self) -> u64 {
        if self.has_content { self.bytes } else { 0 }
    }

    /// Returns the part of a content that is sent.
    fn content<'p>(&self, source: Source<'p>) -> Source<'p> {
        if self.has_content {
            source
        } else {
            Source::EMPTY
        }
    }

    /// Returns the bytes after the content.
    pub(crate) fn end(&self, answer: &Answer) -> &'static [u8] {
        match self.framing {
            Framing::Chunked if !self.has_content => b"",
            Framing::Chunked if answer.trailers => LAST_CHUNK_WITH_TRAILERS,
            Framing::Chunked => LAST_CHUNK,
            Framing::Length | Framing::UntilClose => b"",
        }
    }

    /// Returns the parameters without faults.
    pub(crate) fn whole<'m>(
        &self,
        head: &'m [u8],
        answer: &Answer,
        source: Source<'m>,
    ) -> Outgoing<'m> {
        let source = self.content(source);
        Outgoing {
            head,
            source,
            from: 0,
            to: source.bytes(),
            chunk_bytes: (self.framing == Framing::Chunked).then(|| chunk_bytes(&answer.content)),
            end: self.end(answer),
        }
    }
}

/// Chunk length of a content.
fn chunk_bytes(content: &Content) -> u64 {
    match content {
        Content::Lines { .. } => STREAM_LINE.len() as u64,
        _ => CHUNK_BYTES,
    }
}
