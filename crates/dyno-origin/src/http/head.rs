//! The head of an answer.

use dyno_http::{Error, Version, write};
use dyno_web::{Answer, Coding, Content, Framing};

use super::request::Asked;
use crate::date;

/// The trailer section's field, as `Trailer` announces it.
const TRAILER_FIELD: &str = "Server-Timing";
/// The end of a chunked content.
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
/// The end of a chunked content that has trailers.
const LAST_CHUNK_WITH_TRAILERS: &[u8] = b"0\r\nServer-Timing: origin;dur=0\r\n\r\n";

/// How an answer goes over a connection, all things considered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Delivery {
    /// In which coding the content is.
    pub(crate) coding: Coding,
    /// How its end is marked.
    pub(crate) framing: Framing,
    /// How long it is in that coding.
    pub(crate) bytes: u64,
    /// Whether the connection stays.
    pub(crate) keep_alive: bool,
    /// Whether the content is sent, not only described.
    pub(crate) has_content: bool,
}

impl Delivery {
    pub(crate) fn of(answer: &Answer, asked: &Asked, coding: Coding, bytes: u64) -> Self {
        let framing = match (answer.framing, asked.version) {
            // RFC 9112, section 7: HTTP/1.0 knows no chunks.
            (Framing::Chunked, Version::Http10) => Framing::Length,
            (framing, _) => framing,
        };
        Self {
            coding,
            framing,
            bytes,
            keep_alive: asked.keep_alive && !answer.closes && framing != Framing::UntilClose,
            has_content: !asked.is_head && !matches!(answer.status, 204 | 304),
        }
    }

    /// What follows the content.
    pub(crate) fn end(&self, answer: &Answer) -> &'static [u8] {
        match self.framing {
            Framing::Chunked if !self.has_content => b"",
            Framing::Chunked if answer.trailers => LAST_CHUNK_WITH_TRAILERS,
            Framing::Chunked => LAST_CHUNK,
            Framing::Length | Framing::UntilClose => b"",
        }
    }
}

/// Writes the head of `answer` into `out`, in place of what is there.
///
/// # Errors
///
/// If the web's `Location` cannot stand in a field.
pub(crate) fn write(
    out: &mut Vec<u8>,
    answer: &Answer,
    delivery: &Delivery,
    asked: &Asked,
    date: &date::Text,
) -> Result<(), Error> {
    out.clear();
    let mut head = write::response(out, Version::Http11, answer.status)?.field("Date", date)?;
    if answer.content != Content::Empty {
        head = head.field("Content-Type", answer.content_type.as_bytes())?;
    }
    if let Some(location) = &answer.location {
        head = head.field("Location", location.as_bytes())?;
    }
    if delivery.coding != Coding::Identity {
        head = head.field("Content-Encoding", delivery.coding.name().as_bytes())?;
    }
    if delivery.coding != Coding::Identity || matches!(answer.content, Content::Page(_)) {
        head = head.field("Vary", b"Accept-Encoding")?;
    }
    head = match delivery.framing {
        // RFC 9110, section 8.6: not with these.
        _ if matches!(answer.status, 204 | 304) => head,
        Framing::Length => head.content_length(delivery.bytes),
        Framing::Chunked if answer.trailers => {
            head.field("Trailer", TRAILER_FIELD.as_bytes())?.chunked()
        }
        Framing::Chunked => head.chunked(),
        Framing::UntilClose => head,
    };
    head = match (delivery.keep_alive, asked.version) {
        (false, _) => head.close(),
        (true, Version::Http10) => head.field("Connection", b"keep-alive")?,
        (true, Version::Http11) => head,
    };
    head.end();
    Ok(())
}

/// Writes a whole answer that refuses a request and closes the connection.
///
/// # Errors
///
/// None for a status of three digits.
pub(crate) fn write_refusal(
    out: &mut Vec<u8>,
    status: u16,
    reason: &str,
    date: &date::Text,
) -> Result<(), Error> {
    out.clear();
    let head = write::response(out, Version::Http11, status)?;
    let head = head
        .field("Date", date)?
        .field("Content-Type", b"text/plain; charset=utf-8")?;
    head.content_length(reason.len() as u64).close().end();
    out.extend_from_slice(reason.as_bytes());
    Ok(())
}

/// Writes an interim answer.
///
/// # Errors
///
/// If the web's interim status is not one of three digits.
pub(crate) fn write_interim(out: &mut Vec<u8>, status: u16) -> Result<(), Error> {
    out.clear();
    let mut head = write::response(out, Version::Http11, status)?;
    if status == 103 {
        head = head.field("Link", b"</style.css>; rel=preload; as=style")?;
    }
    head.end();
    Ok(())
}
