//! The head of an answer.

use dyno_http::{Error, Version, write};
use dyno_web::{Answer, Coding, Content, Framing};

use super::delivery::Delivery;
use super::request::Asked;
use crate::date;

/// The trailer section's field, as `Trailer` announces it.
pub(crate) const TRAILER_FIELD: &str = "Server-Timing";
/// Its value.
pub(crate) const TRAILER_VALUE: &str = "origin;dur=0";
/// Link of an interim answer with 103.
pub(crate) const HINT: &str = "</style.css>; rel=preload; as=style";

/// A field of an answer, whatever the version of HTTP it is sent in.
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

/// The fields of an answer, but for its date and those of a version's own framing.
pub(crate) fn describe<'a>(
    answer: &'a Answer,
    delivery: &Delivery,
) -> impl Iterator<Item = (Field, &'a [u8])> {
    let coded = delivery.coding != Coding::Identity;
    let varies = coded || matches!(answer.content, Content::Page(_));
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
    for (field, value) in describe(answer, delivery) {
        head = head.field(field.name(), value)?;
    }
    head = match delivery.framing {
        // RFC 9110, section 8.6: not with these.
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

/// The methods that are answered, for those that are not (RFC 9110, 15.5.6).
pub(crate) const ALLOWED: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

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
/// If the web's interim status is not one of three digits.
pub(crate) fn write_interim(out: &mut Vec<u8>, status: u16) -> Result<(), Error> {
    out.clear();
    let mut head = write::response(out, Version::Http11, status)?;
    if status == 103 {
        head = head.field("Link", HINT.as_bytes())?;
    }
    head.end();
    Ok(())
}
