//! Lines, names and values of a head.

use dyno_http::{Limits, Method, Parse, Problem, Version, body::Framing, request, target::Form};

use crate::{accepted, refused};

#[test]
fn a_head_has_the_sent_values() {
    let head = accepted(
        b"POST /a/b?c=d&e HTTP/1.1\r\nhOsT: example.org:8080\r\nX-Empty:\r\nContent-Length:\t 12 \t\r\n\
          Accept: text/html, */*;q=0.1\r\nExpect: 100-Continue\r\nX-Obs: \xe9\xff\r\nx-empty: not first\r\n\r\n",
    );
    assert_eq!(head.method, Method::Post);
    assert_eq!(head.target.form(), Form::Origin);
    assert_eq!(head.target.path(), "/a/b");
    assert_eq!(head.target.query(), Some("c=d&e"));
    assert_eq!(head.version, Version::Http11);
    assert_eq!(head.host(), Some("example.org:8080"));
    assert_eq!(head.framing, Framing::Length(12));
    assert!(head.expects_continue && head.keep_alive());
    assert_eq!(head.fields.len(), 7);
    assert_eq!(
        head.fields.get("ACCEPT"),
        Some(&b"text/html, */*;q=0.1"[..])
    );
    assert_eq!(head.fields.get("x-obs"), Some(&b"\xe9\xff"[..]));
    assert_eq!(head.fields.get("absent"), None);
    assert_eq!(head.fields.get("X-Empty"), Some(&b""[..]));
    assert_eq!(
        head.fields.get_all("X-Empty").collect::<Vec<_>>(),
        [&b""[..], b"not first"]
    );
    let names: Vec<&str> = head.fields.iter().map(|field| field.name).collect();
    assert_eq!(
        names,
        [
            "hOsT",
            "X-Empty",
            "Content-Length",
            "Accept",
            "Expect",
            "X-Obs",
            "x-empty"
        ]
    );
}

#[test]
fn one_empty_line_before_a_request_is_skipped() {
    let head = accepted(b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(head.method, Method::Get);
    let twice = refused(
        b"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        &Limits::default(),
    );
    assert_eq!(twice, (2, Problem::InvalidMethod));
}

#[test]
fn bytes_after_the_head_are_not_consumed() {
    let pipelined = b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: b\r\n\r\n";
    let Ok(Parse::Complete { head, bytes }) = request::parse(pipelined, &Limits::default()) else {
        panic!("the first is whole");
    };
    assert_eq!((head.target.as_str(), bytes), ("/1", 28));
    assert_eq!(accepted(&pipelined[bytes..]).target.as_str(), "/2");
}

#[test]
fn a_later_minor_version_is_parsed_as_the_latest_known() {
    for minor in 0..10 {
        let bytes = format!("GET / HTTP/1.{minor}\r\nHost: a\r\n\r\n");
        let known = [Version::Http10, Version::Http11][minor.min(1)];
        assert_eq!(accepted(bytes.as_bytes()).version, known, "{bytes}");
    }
}

#[test]
fn methods_match_by_their_exact_name() {
    for (name, method) in [
        ("GET", Method::Get),
        ("HEAD", Method::Head),
        ("PUT", Method::Put),
        ("DELETE", Method::Delete),
        ("TRACE", Method::Trace),
        ("PATCH", Method::Patch),
        ("get", Method::Other("get")),
        ("M-SEARCH", Method::Other("M-SEARCH")),
        ("!#$%&'*+-.^_`|~9", Method::Other("!#$%&'*+-.^_`|~9")),
    ] {
        let bytes = format!("{name} / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(accepted(bytes.as_bytes()).method, method);
    }
}

#[test]
fn invalid_heads_are_refused_at_the_invalid_byte() {
    use Problem::{
        BareCarriageReturn, BareLineFeed, FoldedLine, InvalidFieldName, InvalidFieldValue,
        InvalidMethod, InvalidTarget, InvalidVersion, MissingColon, SpaceBeforeColon,
        UnsupportedVersion,
    };
    for (bytes, offset, problem) in [
        (&b" GET / HTTP/1.1\r\n"[..], 0, InvalidMethod),
        (b"\nGET / HTTP/1.1\r\n", 0, InvalidMethod),
        (b"\rGET / HTTP/1.1\r\n", 0, InvalidMethod),
        (b"G\tT / HTTP/1.1\r\n", 1, InvalidMethod),
        (b"G(T / HTTP/1.1\r\n", 1, InvalidMethod),
        (b"\x16\x03\x01\x02\x00", 0, InvalidMethod),
        (b"GET  / HTTP/1.1\r\n", 4, InvalidTarget),
        (b"GET\r\n", 3, InvalidMethod),
        (b"GET /\r\n", 5, InvalidTarget),
        (b"GET /\n", 5, InvalidTarget),
        (b"GET /  HTTP/1.1\r\n", 6, InvalidVersion),
        (b"GET / a HTTP/1.1\r\n", 6, InvalidVersion),
        (b"GET / http/1.1\r\n", 6, InvalidVersion),
        (b"GET / HTTP/1.\r\n", 6, InvalidVersion),
        (b"GET / HTTP/1,1\r\n", 6, InvalidVersion),
        (b"GET / HTTP/11.1\r\n", 6, InvalidVersion),
        (b"GET / HTTP/0.9\r\n", 6, UnsupportedVersion),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 4, InvalidTarget),
        (b"OPTIONS * HTTP/2.0\r\n", 10, UnsupportedVersion),
        (b"GET / HTTP/1.1 \r\n", 14, InvalidVersion),
        (b"GET / HTTP/1.10\r\n", 14, InvalidVersion),
        (b"GET / HTTP/1.1\n", 14, BareLineFeed),
        (b"GET / HTTP/1.1\rH", 14, BareCarriageReturn),
        (b"GET / HTTP/1.1\r\r\n", 14, BareCarriageReturn),
        (b"GET / HTTP/1.1\r\n Host: a\r\n", 16, FoldedLine),
        (b"GET / HTTP/1.1\r\nHost: a\r\n b\r\n", 25, FoldedLine),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\tb\r\n", 25, FoldedLine),
        (b"GET / HTTP/1.1\r\nHost : a\r\n", 20, SpaceBeforeColon),
        (b"GET / HTTP/1.1\r\nHost\t: a\r\n", 20, SpaceBeforeColon),
        (b"GET / HTTP/1.1\r\nHost\r\n", 20, MissingColon),
        (b"GET / HTTP/1.1\r\nHost\n", 20, MissingColon),
        (b"GET / HTTP/1.1\r\n: a\r\n", 16, InvalidFieldName),
        (b"GET / HTTP/1.1\r\nHo@st: a\r\n", 18, InvalidFieldName),
        (
            b"GET / HTTP/1.1\r\nH\xc3\xb6st: a\r\n",
            17,
            InvalidFieldName,
        ),
        (b"GET / HTTP/1.1\r\nHo\0st: a\r\n", 18, InvalidFieldName),
        (b"GET / HTTP/1.1\r\nHost: a\n", 23, BareLineFeed),
        (b"GET / HTTP/1.1\r\nHost: a\rb\r\n", 23, BareCarriageReturn),
        (b"GET / HTTP/1.1\r\nHost: a\r\r\n", 23, BareCarriageReturn),
        (b"GET / HTTP/1.1\r\nHost: a\x00\r\n", 23, InvalidFieldValue),
        (b"GET / HTTP/1.1\r\nHost: a\x7f\r\n", 23, InvalidFieldValue),
        (b"GET / HTTP/1.1\r\nHost: a\x0b\r\n", 23, InvalidFieldValue),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\n", 25, BareLineFeed),
        (b"GET / HTTP/1.1\r\nHost: a\r\n\rX", 25, BareCarriageReturn),
        (
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\r\n",
            25,
            BareCarriageReturn,
        ),
    ] {
        let found = refused(bytes, &Limits::default());
        assert_eq!(found, (offset, problem), "{}", bytes.escape_ascii());
    }
}
