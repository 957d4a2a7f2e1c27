//! The head of an answer in HTTP/2: without framing and connection fields.

use dyno_web::{Answer, Framing};
use http::header::{
    ALLOW, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, DATE, HeaderName, HeaderValue, LINK,
    LOCATION, TRAILER, VARY,
};
use http::{HeaderMap, Response};

use crate::date;
use crate::message::delivery::Delivery;
use crate::message::head::{ALLOWED, Field, HINT, TRAILER_VALUE, describe};

/// Name of the field in the trailer section.
const TRAILER_NAME: HeaderName = HeaderName::from_static("server-timing");
/// Maximum number of fields of an answer.
const FIELDS: usize = 8;

/// Builds the head of `answer`.
///
/// # Errors
///
/// If a value of the web is invalid in a head.
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
    // These have no Content-Length (RFC 9110, section 8.6).
    if delivery.framing == Framing::Length && !matches!(answer.status, 204 | 304) {
        fields.insert(CONTENT_LENGTH, delivery.bytes.into());
    }
    Ok(head)
}

/// Builds the head of an interim answer.
///
/// # Errors
///
/// If `status` is not an interim status.
pub(super) fn interim(status: u16) -> Result<Response<()>, http::Error> {
    let mut head = Response::builder().status(status).body(())?;
    if status == 103 {
        head.headers_mut()
            .insert(LINK, HeaderValue::from_static(HINT));
    }
    Ok(head)
}

/// Builds the head of an answer that refuses a request.
///
/// # Errors
///
/// Never for a status of three digits.
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

/// Builds the trailer section.
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
