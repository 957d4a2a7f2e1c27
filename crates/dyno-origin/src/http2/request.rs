//! A request, and the answer of the web.

use dyno_http::body::Framing;
use dyno_http::{HttpVersion, Method, Version};
use dyno_web::{Accepted, Answer, Request};
use h2::RecvStream;
use http::header::{ACCEPT_ENCODING, COOKIE, EXPECT, HOST, USER_AGENT};
use http::request::Parts;

use super::session::Session;
use crate::accounting::note_request;
use crate::message::request::{Asked, has_cookie, served};
use crate::message::request_stamp::RequestStamp;
use crate::prepared::Pages;

/// The parts of a request that determine the answer; where the version matters, the rules of HTTP/1.1 apply.
pub(super) fn asked(parts: &Parts, body: &RecvStream) -> Asked {
    let codings = parts.headers.get_all(ACCEPT_ENCODING).iter();
    Asked {
        method: served(Method::from_token(parts.method.as_str().as_bytes()).unwrap_or(Method::Get)),
        version: Version::Http11,
        framing: if body.is_end_stream() {
            Framing::None
        } else {
            Framing::Chunked
        },
        keep_alive: true,
        expects_continue: parts
            .headers
            .get(EXPECT)
            .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue")),
        codings: codings.fold(Accepted::NONE, |all, value| {
            all.and(Accepted::parse(value.as_bytes()))
        }),
    }
}

/// Notes a request, and returns the answer of the web.
pub(super) fn note(session: &Session, parts: &Parts, asked: &Asked) -> (RequestStamp, Answer) {
    let (worker, scheme) = (session.worker(), session.info.scheme);
    let field = |name| parts.headers.get(name).map(http::HeaderValue::as_bytes);
    let authority = match parts.uri.authority() {
        Some(authority) => authority.as_str(),
        None => std::str::from_utf8(field(HOST).unwrap_or_default()).unwrap_or_default(),
    };
    let target = parts
        .uri
        .path_and_query()
        .map_or("/", http::uri::PathAndQuery::as_str);
    let mut names = session.names.borrow_mut();
    names.set(authority, target, scheme);
    let mut cookies = parts.headers.get_all(COOKIE).iter();
    names.has_cookie = cookies.any(|value| has_cookie(value.as_bytes()));
    let stamp = note_request(
        worker,
        &session.info,
        &names,
        field(USER_AGENT).unwrap_or_default(),
        session.has_served.replace(true),
        HttpVersion::Http2,
    );
    let answer = Pages::coded(worker.web.answer(&Request {
        method: asked.method.as_str(),
        // It may not have come yet.
        content: b"",
        scheme,
        host: &names.host,
        target: &names.target,
        accepted: asked.codings,
        has_cookie: names.has_cookie,
        earlier: worker.earlier(&names),
    }));
    (stamp, answer)
}
