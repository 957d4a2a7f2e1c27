//! The head of an answer.

use dyno_http::{Error, Version, write};
use dyno_web::{Answer, Coding, Content, Framing, Oddity};

use super::delivery::Delivery;
use super::request::Asked;
use crate::date;

/// Name of the trailer field, announced in `Trailer`.
pub(crate) const TRAILER_FIELD: &str = "Server-Timing";
/// Value of the trailer field.
pub(crate) const TRAILER_VALUE: &str = "origin;dur=0";
/// `Link` of an interim answer 103.
pub(crate) const HINT: &str = "</style.css>; rel=preload; as=style";

/// A header field of an answer, in any version of HTTP.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Field {
    ContentType,
    Location,
    ContentEncoding,
    Vary,
    Trailer,
}

impl Field {
    fn name(self) -> &'static str {
        match self {
            Self::ContentType => "Content-Type",
            Self::Location => "Location",
            Self::ContentEncoding => "Content-Encoding",
            Self::Vary => "Vary",
            Self::Trailer => "Trailer",
        }
    }
}

/// The header fields of an answer, except the date and those of a version's framing.
pub(crate) fn describe<'a>(
    answer: &'a Answer,
    delivery: &Delivery,
) -> impl Iterator<Item = (Field, &'a [u8])> {
    let coded = delivery.coding != Coding::Identity;
    let varies = coded || matches!(answer.content, Content::Page(_) | Content::Made(_));
    [
        (answer.content != Content::Empty)
            .then_some((Field::ContentType, answer.content_type.as_bytes())),
        answer
            .location
            .as_ref()
            .map(|location| (Field::Location, location.as_bytes())),
        coded.then(|| (Field::ContentEncoding, delivery.coding.name().as_bytes())),
        varies.then_some((Field::Vary, &b"Accept-Encoding"[..])),
        delivery
            .trails(answer)
            .then_some((Field::Trailer, TRAILER_FIELD.as_bytes())),
    ]
    .into_iter()
    .flatten()
}

/// Writes the head of `answer` into `out`, replacing its content.
///
/// # Errors
///
/// If the web's `Location` is invalid in a field.
pub(crate) fn write(
    out: &mut Vec<u8>,
    answer: &Answer,
    delivery: &Delivery,
    asked: &Asked,
    date: &date::Text,
) -> Result<(), Error> {
    out.clear();
    let mut head = write::response(out, Version::Http11, answer.status)?.field("Date", date)?;
    for (field, value) in describe(answer, delivery) {
        head = head.field(field.name(), value)?;
    }
    match answer.oddity {
        Some(Oddity::TooManyRequests) => head = head.field("Retry-After", b"1")?,
        Some(Oddity::Unavailable) => head = head.field("Retry-After", &date::next(date))?,
        _ => {}
    }
    head = match delivery.framing {
        // These have no Content-Length (RFC 9110, section 8.6).
        _ if matches!(answer.status, 204 | 304) => head,
        Framing::Length => head.content_length(delivery.bytes),
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

/// Value of `Allow` in a 405 answer (RFC 9110, 15.5.6).
pub(crate) const ALLOWED: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// Writes a complete answer that refuses a request and closes the connection.
///
/// # Errors
///
/// Never for a status of three digits.
pub(crate) fn write_refusal(
    out: &mut Vec<u8>,
    status: u16,
    reason: &str,
    date: &date::Text,
) -> Result<(), Error> {
    out.clear();
    let head = write::response(out, Version::Http11, status)?;
    let mut head = head
        .field("Date", date)?
        .field("Content-Type", b"text/plain; charset=utf-8")?;
    if status == 405 {
        head = head.field("Allow", ALLOWED.as_bytes())?;
    }
    head.content_length(reason.len() as u64).close().end();
    out.extend_from_slice(reason.as_bytes());
    Ok(())
}

/// Writes an interim answer.
///
/// # Errors
///
/// If the web's interim status does not have three digits.
pub(crate) fn write_interim(out: &mut Vec<u8>, status: u16) -> Result<(), Error> {
    out.clear();
    let mut head = write::response(out, Version::Http11, status)?;
    if status == 103 {
        head = head.field("Link", HINT.as_bytes())?;
    }
    head.end();
    Ok(())
}
