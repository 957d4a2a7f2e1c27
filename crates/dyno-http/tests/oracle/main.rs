//! Comparison with hyper: messages that both accept have the same content, and this crate accepts nothing that hyper refuses
//! except later minor versions.
//!
//! Cases in which this crate is deliberately stricter give the reason.

mod message;
mod ours;
mod theirs;

use dyno_http::Method;
use message::Reading;
use proptest::{collection::vec, prelude::*};

/// Requests that both accept with equal content.
const SAME_REQUESTS: &[&str] = &[
    "",
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.0\r\n\r\nGET /never HTTP/1.0\r\n\r\n",
    "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /second HTTP/1.0\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /never HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\nGET /never HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nHEAD /2?x=%20 HTTP/1.1\r\nHost: a\r\n\r\nOPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET http://a.test:80/x?y HTTP/1.1\r\nHost: b\r\n\r\n",
    "GET http://a.test HTTP/1.1\r\nHost: b\r\n\r\n",
    "GET http://[::1]:8/ HTTP/1.1\r\nHost: b\r\n\r\n",
    "CONNECT a.test:443 HTTP/1.1\r\nHost: a\r\n\r\n",
    "M-SEARCH /x HTTP/1.1\r\nHost: a\r\nX-Obs: \u{e9}\r\nX-Empty:\r\nX-Tab:\t a\tb \t\r\nX-TWO: 1\r\nx-two: 2\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET /next HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n00A;x=\"y\"\r\n0123456789\r\n0\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: b\r\nA: c\r\n\r\nGET /next HTTP/1.1\r\nHost: a\r\n\r\n",
];

/// Requests that both refuse after the same messages.
const REFUSED_REQUESTS: &[&str] = &[
    "GET",
    "GET / HTTP/1.1\r\nHost: a\r\n",
    "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n\x16\x03\x01",
    "G@T / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
    "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n",
    "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    "GET / HTTP/1.1\r\nHost\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: a\0\r\n\r\n",
    "GET / HTTP/1.1\r\n: a\r\n\r\n",
    "GET / HTTP/1.1\r\nH\u{f6}st: a\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nhello",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nhello",
    "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0x1\r\nx\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;a\n\r\nx\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n",
    "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\n\r\n",
];

/// Requests that only hyper accepts, and why this crate refuses them.
const STRICTER_REQUESTS: &[(&str, &str)] = &[
    (
        "GET / HTTP/1.1\r\n\r\n",
        "RFC 9112, 3.2: no Host must be a 400; hyper leaves it to the service",
    ),
    (
        "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "RFC 9112, 3.2: two Hosts must be a 400",
    ),
    (
        "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        "RFC 9112, 3.2: an invalid Host must be a 400",
    ),
    (
        "GET / HTTP/1.1\nHost: a\n\n",
        "bare LF: RFC 9112, 2.2 allows it, and intermediaries disagree about it",
    ),
    (
        "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "RFC 9112, 2.2 asks to skip at least one empty line; more are noise",
    ),
    (
        "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n",
        "a target has no fragment; hyper drops it silently",
    ),
    (
        "GET /% HTTP/1.1\r\nHost: a\r\n\r\n",
        "RFC 3986: a percent sign takes two digits",
    ),
    (
        "GET /{|} HTTP/1.1\r\nHost: a\r\n\r\n",
        "RFC 3986: not allowed unescaped (see Tolerance::unescaped_target)",
    ),
    (
        "GET /\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n",
        "RFC 3986: not ASCII",
    ),
    (
        "GET a.test:443 HTTP/1.1\r\nHost: a\r\n\r\n",
        "RFC 9112, 3.2.3: the authority form is for CONNECT",
    ),
    (
        "GET * HTTP/1.1\r\nHost: a\r\n\r\n",
        "RFC 9112, 3.2.4: the asterisk form is for OPTIONS",
    ),
    (
        "CONNECT /x HTTP/1.1\r\nHost: a\r\n\r\n",
        "RFC 9112, 3.2.3: CONNECT takes the authority form only",
    ),
    (
        "GET http://u:p@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "RFC 9110, 4.2.4: user information is to be treated as an error",
    ),
    (
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "RFC 9112, 6.1: may be refused, and is how requests are smuggled; hyper lets Transfer-Encoding win",
    ),
    (
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "a coding that is not decoded here: 501; hyper hands the coded bytes on",
    ),
    (
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        "RFC 9112, 6.1: chunked must not be applied twice",
    ),
    (
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1 \r\nx\r\n0\r\n\r\n",
        "RFC 9112, 7.1: no white space after a size (see Tolerance::padded_chunk_size)",
    ),
    (
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;=\r\nx\r\n0\r\n\r\n",
        "RFC 9112, 7.1.1: an extension has a name; hyper does not look at extensions",
    ),
];

/// Responses that both accept with equal content; with the method of the request.
const SAME_RESPONSES: &[(&str, &str)] = &[
    ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
    ("GET", "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nhello"),
    ("GET", "HTTP/1.0 200 OK\r\n\r\nuntil the end"),
    ("GET", "HTTP/1.1 200 OK\r\n\r\n"),
    (
        "GET",
        "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n",
    ),
    (
        "GET",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
    ),
    ("GET", "HTTP/1.1 204 No Content\r\nA: b\r\n\r\n"),
    (
        "GET",
        "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
    ),
    ("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
    (
        "HEAD",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    ),
    ("CONNECT", "HTTP/1.1 200 OK\r\n\r\n"),
    ("CONNECT", "HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno"),
    (
        "GET",
        "HTTP/1.1 599 \u{e9}\r\nX: \u{e9}\r\nContent-Length: 0\r\n\r\n",
    ),
];

/// Responses that both refuse.
const REFUSED_RESPONSES: &[(&str, &str)] = &[
    ("GET", ""),
    ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell"),
    (
        "GET",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    ),
    ("GET", "HTTP/1.1 100 Continue\r\n\r\n"),
    ("GET", "HTTP/1.1 099 x\r\n\r\n"),
    ("GET", "HTTP/1.1 20 x\r\n\r\n"),
    ("GET", "HTTP/1.1 2000 x\r\n\r\n"),
    ("GET", "HTTP/2.0 200 OK\r\n\r\n"),
    ("GET", "ICY 200 OK\r\n\r\n"),
    ("GET", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"),
    (
        "GET",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    ("GET", "HTTP/1.1 200 OK\r\nA : b\r\n\r\n"),
    ("GET", "HTTP/1.1 200 O\0K\r\n\r\n"),
    (
        "GET",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    ),
];

/// Responses that only hyper accepts, and why this crate refuses them.
const STRICTER_RESPONSES: &[(&str, &str, &str)] = &[
    (
        "GET",
        "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
        "RFC 9112, 4: the space belongs there even without a reason (see Tolerance::missing_reason_space)",
    ),
    (
        "GET",
        "\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "RFC 9112, 2.2 has empty lines before requests only",
    ),
    ("GET", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", "bare LF"),
    (
        "GET",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "RFC 9112, 6.3: ought to be handled as an error",
    ),
    (
        "GET",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nxyz",
        "coded content that is not decoded here",
    ),
    (
        "GET",
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
        "RFC 9110, 8.6: may be refused, as hyper's own server does",
    ),
];

#[test]
fn messages_that_both_accept_are_equal() {
    for wire in SAME_REQUESTS {
        let found = ours::requests(wire.as_bytes());
        assert!(!found.refused, "{wire:?}");
        assert_eq!(found, theirs::requests(wire.as_bytes()), "{wire:?}");
    }
    for (method, wire) in SAME_RESPONSES {
        let found = our_response(method, wire.as_bytes());
        assert!(!found.refused, "{wire:?}");
        assert_eq!(found, theirs::response(method, wire.as_bytes()), "{wire:?}");
    }
}

#[test]
fn messages_that_hyper_refuses_are_refused() {
    for wire in REFUSED_REQUESTS {
        let found = ours::requests(wire.as_bytes());
        assert!(found.refused, "{wire:?}");
        assert_eq!(found, theirs::requests(wire.as_bytes()), "{wire:?}");
    }
    for (method, wire) in REFUSED_RESPONSES {
        let found = our_response(method, wire.as_bytes());
        assert!(found.refused, "{wire:?}");
        assert_eq!(found, theirs::response(method, wire.as_bytes()), "{wire:?}");
    }
}

#[test]
fn messages_that_only_hyper_accepts_are_refused_for_a_reason() {
    for (wire, reason) in STRICTER_REQUESTS {
        assert!(
            ours::requests(wire.as_bytes()).refused,
            "{wire:?}: {reason}"
        );
        assert!(
            !theirs::requests(wire.as_bytes()).refused,
            "hyper refuses {wire:?} too: remove the case"
        );
    }
    for (method, wire, reason) in STRICTER_RESPONSES {
        assert!(
            our_response(method, wire.as_bytes()).refused,
            "{wire:?}: {reason}"
        );
        assert!(
            !theirs::response(method, wire.as_bytes()).refused,
            "hyper refuses {wire:?} too: remove the case"
        );
    }
}

#[test]
fn a_later_minor_version_equals_the_latest_one_in_hyper() {
    // RFC 9110, 2.5: a later minor version is processed as the latest known one; hyper refuses it.
    let (later, latest) = ("GET / HTTP/1.2\r\nHost: a\r\n\r\n", SAME_REQUESTS[1]);
    assert!(theirs::requests(later.as_bytes()).refused);
    assert_eq!(
        ours::requests(later.as_bytes()),
        theirs::requests(latest.as_bytes())
    );
}

fn our_response(method: &str, wire: &[u8]) -> Reading {
    ours::response(
        Method::from_token(method.as_bytes()).expect("a token"),
        wire,
    )
}

/// Generate a body with its framing fields, mostly consistent.
fn body() -> impl Strategy<Value = String> {
    let chunks = proptest::sample::select(vec![
        "5\r\nhello\r\n",
        "00a;x=\"y\"\r\n0123456789\r\n",
        "1 ;z\r\nx\r\n",
        "2\r\n\r\n\r\n",
        "1\r\nxy\r\n",
        "1\nx\r\n",
    ]);
    let last = proptest::sample::select(vec![
        "0\r\n\r\n",
        "000\r\nA: b\r\nB: \t c \r\n\r\n",
        "0\r\nA\r\n\r\n",
        "",
    ]);
    prop_oneof![
        Just("\r\n".to_owned()),
        (0..7_usize).prop_map(|length| format!("Content-Length: {length}\r\n\r\nhello!")),
        (0..7_usize)
            .prop_map(|length| format!("Content-Length: {length}\r\n\r\n{}", &"hello!"[..length])),
        (vec(chunks, 0..3), last).prop_map(|(chunks, last)| format!(
            "Transfer-Encoding: chunked\r\n\r\n{}{last}",
            chunks.concat()
        )),
    ]
}

/// Generate pieces of field lines, mostly valid.
fn fields() -> impl Strategy<Value = String> {
    let lines = vec![
        "Accept: x\r\n",
        "accept:\t y z \t\r\n",
        "X-Empty:\r\n",
        "X-Obs: \u{e9}\r\n",
        "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Connection: close\r\n",
        "Connection: keep-alive\r\n",
        "Connection: te, x\r\n",
        " ",
        "\t",
        "\0",
        ":",
        "\r",
        "\n",
        "\r\n",
        "=",
        "X",
    ];
    vec(proptest::sample::select(lines), 0..3).prop_map(|lines| lines.concat())
}

fn requests() -> impl Strategy<Value = Vec<u8>> {
    let starts = proptest::sample::select(vec![
        "GET / HTTP/1.1\r\nHost: a\r\n",
        "\r\nPOST /x?y HTTP/1.1\r\nHost: a:1\r\n",
        "PUT http://b/ HTTP/1.0\r\n",
        "HEAD / HTTP/1.1\r\nHost: [::1]\r\n",
        "POST /%41 HTTP/1.0\r\nConnection: keep-alive\r\n",
    ]);
    let message = (starts, fields(), body())
        .prop_map(|(start, fields, body)| [start, &fields, &body].concat());
    vec(message, 0..4).prop_map(|messages| messages.concat().into_bytes())
}

fn responses() -> impl Strategy<Value = Vec<u8>> {
    let starts = proptest::sample::select(vec![
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.0 200 OK\r\n",
        "HTTP/1.1 204 x\r\n",
        "HTTP/1.1 304 x\r\n",
        "HTTP/1.1 103 x\r\n\r\nHTTP/1.1 404 x\r\n",
    ]);
    (starts, fields(), body())
        .prop_map(|(start, fields, body)| [start, &fields, &body].concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn every_request_accepted_here_is_equal_in_hyper(wire in requests()) {
        let (ours, theirs) = (ours::requests(&wire), theirs::requests(&wire));
        prop_assert!(theirs.messages.starts_with(&ours.messages), "{:#?}\n{:#?}", ours, theirs);
        prop_assert!(ours.refused || ours == theirs, "{:#?}\n{:#?}", ours, theirs);
    }

    #[test]
    fn every_response_accepted_here_is_equal_in_hyper(wire in responses(), method in proptest::sample::select(vec!["GET", "HEAD"])) {
        let (ours, theirs) = (our_response(method, &wire), theirs::response(method, &wire));
        prop_assert!(ours.refused || ours == theirs, "{:#?}\n{:#?}", ours, theirs);
    }
}
