//! The head of an answer, as HTTP/2 has it: no framing, no connection.

use dyno_web::{Answer, Framing};
use http::header::{
    ALLOW, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, DATE, HeaderName, HeaderValue, LINK,
    LOCATION, TRAILER, VARY,
};
use http::{HeaderMap, Response};

use crate::date;
use crate::message::delivery::Delivery;
use crate::message::head::{ALLOWED, Field, HINT, TRAILER_VALUE, describe};

/// The trailer section's field.
const TRAILER_NAME: HeaderName = HeaderName::from_static("server-timing");
/// Fields of an answer, at most.
const FIELDS: usize = 8;

/// The head of `answer`.
///
/// # Errors
///
/// If something that the web says cannot stand in a head.
pub(super) fn answer(
    answer: &Answer,
    delivery: &Delivery,
    date: &date::Text,
) -> Result<Response<()>, http::Error> {
    let mut head = Response::builder().status(answer.status).body(())?;
    let fields = head.headers_mut();
    fields.reserve(FIELDS);
    fields.insert(DATE, HeaderValue::from_bytes(date)?);
    for (field, value) in describe(answer, delivery) {
        fields.insert(name(field), HeaderValue::from_bytes(value)?);
    }
    // RFC 9110, section 8.6: not with these.
    if delivery.framing == Framing::Length && !matches!(answer.status, 204 | 304) {
        fields.insert(CONTENT_LENGTH, delivery.bytes.into());
    }
    Ok(head)
}

/// The head of an interim answer.
///
/// # Errors
///
/// If `status` is none.
pub(super) fn interim(status: u16) -> Result<Response<()>, http::Error> {
    let mut head = Response::builder().status(status).body(())?;
    if status == 103 {
        head.headers_mut()
            .insert(LINK, HeaderValue::from_static(HINT));
    }
    Ok(head)
}

/// The head of an answer that refuses a request.
///
/// # Errors
///
/// None for a status of three digits.
pub(super) fn refusal(
    status: u16,
    reason: &str,
    date: &date::Text,
) -> Result<Response<()>, http::Error> {
    let mut head = Response::builder().status(status).body(())?;
    let fields = head.headers_mut();
    fields.insert(DATE, HeaderValue::from_bytes(date)?);
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    fields.insert(CONTENT_TYPE, content_type);
    fields.insert(CONTENT_LENGTH, reason.len().into());
    if status == 405 {
        fields.insert(ALLOW, HeaderValue::from_static(ALLOWED));
    }
    Ok(head)
}

/// The trailer section.
pub(super) fn trailers() -> HeaderMap {
    let mut fields = HeaderMap::new();
    fields.insert(TRAILER_NAME, HeaderValue::from_static(TRAILER_VALUE));
    fields
}

fn name(field: Field) -> HeaderName {
    match field {
        Field::ContentType => CONTENT_TYPE,
        Field::Location => LOCATION,
        Field::ContentEncoding => CONTENT_ENCODING,
        Field::Vary => VARY,
        Field::Trailer => TRAILER,
    }
}
