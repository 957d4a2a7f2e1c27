//! Which request heads are accepted and what they say; which are refused, for what, at which byte.

use dyno_http::{
    Limits, Method, Parse, Problem, RequestHead, Tolerance, Version,
    body::Framing,
    request::{self, Parser},
    target::Form,
};

fn accepted(bytes: &[u8]) -> RequestHead<'_> {
    match request::parse(bytes, &Limits::default()) {
        Ok(Parse::Complete {
            head,
            bytes: length,
        }) => {
            assert_eq!(length, bytes.len(), "{}", bytes.escape_ascii());
            head
        }
        other => panic!("{}: {other:?}", bytes.escape_ascii()),
    }
}

fn refused(bytes: &[u8], limits: &Limits) -> (u64, Problem) {
    match request::parse(bytes, limits) {
        Err(error) => (error.offset, error.problem),
        other => panic!("{}: {other:?}", bytes.escape_ascii()),
    }
}

#[test]
fn a_head_says_what_was_sent() {
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
    assert_eq!(
        head.fields.get_all("X-Empty").collect::<Vec<_>>(),
        [&b""[..], b"not first"]
    );
    assert_eq!(
        head.fields.get_each(["accept", "x-empty", "absent"]),
        [Some(&b"text/html, */*;q=0.1"[..]), Some(b""), None]
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
fn bytes_behind_the_head_are_left_alone() {
    let pipelined = b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: b\r\n\r\n";
    let Ok(Parse::Complete { head, bytes }) = request::parse(pipelined, &Limits::default()) else {
        panic!("the first is whole");
    };
    assert_eq!((head.target.as_str(), bytes), ("/1", 28));
    assert_eq!(accepted(&pipelined[bytes..]).target.as_str(), "/2");
}

#[test]
fn methods_are_known_by_their_exact_name() {
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
fn the_four_forms_of_a_target() {
    // method, target, form, authority, path and query
    for (method, target, form, authority, path_and_query) in [
        ("GET", "/", Form::Origin, "h", "/"),
        ("GET", "//x//?/?%20%fF", Form::Origin, "h", "//x//?/?%20%fF"),
        (
            "GET",
            "/-._~!$&'()*+,;=:@",
            Form::Origin,
            "h",
            "/-._~!$&'()*+,;=:@",
        ),
        ("GET", "http://a.test", Form::Absolute, "a.test", "/"),
        (
            "GET",
            "HTTPS://a.test:1/b?c",
            Form::Absolute,
            "a.test:1",
            "/b?c",
        ),
        ("GET", "http://a.test?c", Form::Absolute, "a.test", "?c"),
        (
            "GET",
            "http://[2001:db8::1]:80/",
            Form::Absolute,
            "[2001:db8::1]:80",
            "/",
        ),
        ("CONNECT", "a.test:443", Form::Authority, "a.test:443", ""),
        ("CONNECT", "[::1]:443", Form::Authority, "[::1]:443", ""),
        ("OPTIONS", "*", Form::Asterisk, "h", ""),
        ("OPTIONS", "/x", Form::Origin, "h", "/x"),
    ] {
        let bytes = format!("{method} {target} HTTP/1.1\r\nHost: h\r\n\r\n");
        let head = accepted(bytes.as_bytes());
        assert_eq!(head.target.as_str(), target);
        assert_eq!(head.target.form(), form, "{target}");
        assert_eq!(head.authority(), Some(authority), "{target}");
        assert_eq!(head.target.path_and_query(), path_and_query, "{target}");
    }
}

#[test]
fn invalid_targets_are_refused() {
    use Problem::{InvalidAuthority, InvalidTarget};
    // method, target, offset within the target, problem
    for (method, target, offset, problem) in [
        ("GET", "x", 0, InvalidTarget),
        ("GET", "*", 0, InvalidTarget),
        ("GET", "a.test:443", 6, InvalidTarget),
        ("GET", "1http://a/", 0, InvalidTarget),
        ("GET", "http:/a/", 4, InvalidTarget),
        ("GET", "http://", 7, InvalidAuthority),
        ("GET", "http:///x", 7, InvalidAuthority),
        ("GET", "http://u@a/", 7, InvalidAuthority),
        ("GET", "http://a:x/", 7, InvalidAuthority),
        ("GET", "http://a:65536/", 7, InvalidAuthority),
        ("GET", "http://[::1/", 7, InvalidAuthority),
        ("GET", "http://[::1]x/", 7, InvalidAuthority),
        ("GET", "http://[v1.x]/", 7, InvalidAuthority),
        ("GET", "http://a/[", 9, InvalidTarget),
        ("CONNECT", "/", 0, InvalidTarget),
        ("CONNECT", "a.test", 0, InvalidTarget),
        ("CONNECT", "a.test:", 0, InvalidTarget),
        ("CONNECT", "http://a.test:80/", 0, InvalidTarget),
        ("GET", "/a#b", 2, InvalidTarget),
        ("GET", "/%", 1, InvalidTarget),
        ("GET", "/%4", 1, InvalidTarget),
        ("GET", "/%4g", 1, InvalidTarget),
        ("GET", "/\"", 1, InvalidTarget),
        ("GET", "/<", 1, InvalidTarget),
        ("GET", "/>", 1, InvalidTarget),
        ("GET", "/\\", 1, InvalidTarget),
        ("GET", "/^", 1, InvalidTarget),
        ("GET", "/`", 1, InvalidTarget),
        ("GET", "/{", 1, InvalidTarget),
        ("GET", "/|", 1, InvalidTarget),
        ("GET", "/}", 1, InvalidTarget),
        ("GET", "/[", 1, InvalidTarget),
        ("GET", "/]", 1, InvalidTarget),
        ("GET", "/\u{7f}", 1, InvalidTarget),
        ("GET", "/\u{e9}", 1, InvalidTarget),
        ("GET", "/\0", 1, InvalidTarget),
        ("GET", "/\t", 1, InvalidTarget),
    ] {
        let bytes = format!("{method} {target} HTTP/1.1\r\nHost: h\r\n\r\n");
        let start = method.len() as u64 + 1;
        let found = refused(bytes.as_bytes(), &Limits::default());
        assert_eq!(found, (start + offset, problem), "{method} {target}");
    }
}

#[test]
fn targets_of_lax_user_agents_can_be_tolerated() {
    let tolerance = Tolerance {
        unescaped_target: true,
        ..Tolerance::NONE
    };
    let limits = Limits {
        tolerance,
        ..Limits::default()
    };
    for target in [
        "/?a|b",
        "/{}",
        "/^`\\\"<>",
        "/%",
        "/%zz",
        "/?a[0]=1",
        "http://a/[]?%4",
    ] {
        let bytes = format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n");
        let Ok(Parse::Complete { head, .. }) = request::parse(bytes.as_bytes(), &limits) else {
            panic!("{target}");
        };
        assert_eq!(head.target.as_str(), target);
    }
    for target in ["/#", "/\u{e9}", "/\u{7f}", "/\u{1}"] {
        let bytes = format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(
            refused(bytes.as_bytes(), &limits),
            (5, Problem::InvalidTarget),
            "{target}"
        );
    }
}

#[test]
fn invalid_heads_are_refused_at_the_byte_that_is_wrong() {
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
        (b"GET / HTTP/1.2\r\n", 6, UnsupportedVersion),
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

#[test]
fn host_is_one_and_valid() {
    use Problem::{DuplicateHost, InvalidHost, MissingHost};
    let parse = |version: &str, target: &str, fields: &str| {
        let bytes = format!("GET {target} HTTP/{version}\r\n{fields}\r\n");
        request::parse(bytes.as_bytes(), &Limits::default())
            .map(|_| ())
            .map_err(|error| error.problem)
    };
    for (version, target, fields, expected) in [
        ("1.1", "/", "", Err(MissingHost)),
        ("1.1", "http://a/", "", Err(MissingHost)),
        ("1.0", "/", "", Ok(())),
        ("1.1", "/", "Host: a\r\nHost: a\r\n", Err(DuplicateHost)),
        ("1.0", "/", "Host: a\r\nhost: b\r\n", Err(DuplicateHost)),
        ("1.1", "/", "Host:\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: :80\r\n", Err(InvalidHost)),
        ("1.0", "/", "Host:\r\n", Ok(())),
        ("1.1", "http://a/", "Host:\r\n", Ok(())),
        ("1.1", "/", "Host: a b\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: a,b\r\n", Ok(())),
        ("1.1", "/", "Host: a/b\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: u@a\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: a:80:80\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: a:99999\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: a:-1\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: a:\r\n", Ok(())),
        ("1.1", "/", "Host: a_b-c.d~%41!\r\n", Ok(())),
        ("1.1", "/", "Host: a%4\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: \u{e9}\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: [::1]:80\r\n", Ok(())),
        ("1.1", "/", "Host: ::1\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: [::g]\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: [fe80::1%25eth0]\r\n", Err(InvalidHost)),
    ] {
        assert_eq!(
            parse(version, target, fields),
            expected,
            "HTTP/{version} {target} {fields:?}"
        );
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn framing_is_what_one_reading_gives_or_refused() {
    use Problem::{
        ContradictoryContentLength, InvalidContentLength, InvalidTransferEncoding,
        LengthAndTransferEncoding, TransferEncodingInVersion10, UnsupportedTransferCoding,
    };
    for (version, fields, expected) in [
        ("1.1", "", Ok(Framing::None)),
        ("1.1", "Content-Length: 0\r\n", Ok(Framing::Length(0))),
        ("1.0", "Content-Length: 7\r\n", Ok(Framing::Length(7))),
        (
            "1.1",
            "Content-Length: 18446744073709551615\r\n",
            Ok(Framing::Length(u64::MAX)),
        ),
        (
            "1.1",
            "Content-Length: 18446744073709551616\r\n",
            Err(InvalidContentLength),
        ),
        (
            "1.1",
            "Content-Length: 99999999999999999999999\r\n",
            Err(InvalidContentLength),
        ),
        ("1.1", "Content-Length:\r\n", Err(InvalidContentLength)),
        ("1.1", "Content-Length: +1\r\n", Err(InvalidContentLength)),
        ("1.1", "Content-Length: -1\r\n", Err(InvalidContentLength)),
        ("1.1", "Content-Length: 0x10\r\n", Err(InvalidContentLength)),
        ("1.1", "Content-Length: 1 2\r\n", Err(InvalidContentLength)),
        ("1.1", "Content-Length: 1,\r\n", Err(InvalidContentLength)),
        (
            "1.1",
            "Content-Length: \u{b2}\r\n",
            Err(InvalidContentLength),
        ),
        (
            "1.1",
            "Content-Length: 5\r\ncontent-length: 5\r\n",
            Ok(Framing::Length(5)),
        ),
        ("1.1", "Content-Length: 5, 5\r\n", Err(InvalidContentLength)),
        (
            "1.1",
            "Content-Length: 5\r\nContent-Length: 6\r\n",
            Err(ContradictoryContentLength),
        ),
        ("1.1", "Content-Length: 5, 6\r\n", Err(InvalidContentLength)),
        (
            "1.1",
            "Transfer-Encoding: chunked\r\n",
            Ok(Framing::Chunked),
        ),
        (
            "1.1",
            "Transfer-Encoding: CHUNKED \r\n",
            Ok(Framing::Chunked),
        ),
        (
            "1.0",
            "Transfer-Encoding: chunked\r\n",
            Err(TransferEncodingInVersion10),
        ),
        (
            "1.1",
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
            Err(LengthAndTransferEncoding),
        ),
        (
            "1.1",
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            Err(LengthAndTransferEncoding),
        ),
        (
            "1.1",
            "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
            Err(LengthAndTransferEncoding),
        ),
        (
            "1.1",
            "Transfer-Encoding: gzip, chunked\r\n",
            Err(UnsupportedTransferCoding),
        ),
        (
            "1.1",
            "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
            Err(UnsupportedTransferCoding),
        ),
        (
            "1.1",
            "Transfer-Encoding: chunked, gzip\r\n",
            Err(InvalidTransferEncoding),
        ),
        (
            "1.1",
            "Transfer-Encoding: chunked, chunked\r\n",
            Err(InvalidTransferEncoding),
        ),
        (
            "1.1",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            Err(InvalidTransferEncoding),
        ),
        (
            "1.1",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
            Err(InvalidTransferEncoding),
        ),
        (
            "1.1",
            "Transfer-Encoding: identity\r\n",
            Err(InvalidTransferEncoding),
        ),
        (
            "1.1",
            "Transfer-Encoding: identity\r\nContent-Length: 5\r\n",
            Err(InvalidTransferEncoding),
        ),
        (
            "1.1",
            "Transfer-Encoding: xchunked\r\n",
            Err(InvalidTransferEncoding),
        ),
        (
            "1.1",
            "Transfer-Encoding: chunked;q=1\r\n",
            Err(InvalidTransferEncoding),
        ),
        (
            "1.1",
            "Transfer-Encoding: \"chunked\"\r\n",
            Err(InvalidTransferEncoding),
        ),
        (
            "1.1",
            "Transfer-Encoding:\r\n",
            Err(InvalidTransferEncoding),
        ),
        (
            "1.1",
            "Transfer-Encoding: , chunked\r\n",
            Err(InvalidTransferEncoding),
        ),
        (
            "1.1",
            "Transfer-Encoding: chunked,\r\n",
            Err(InvalidTransferEncoding),
        ),
        ("1.1", "X-Transfer-Encoding: chunked\r\n", Ok(Framing::None)),
    ] {
        let bytes = format!("POST / HTTP/{version}\r\nHost: a\r\n{fields}\r\n");
        let found = match request::parse(bytes.as_bytes(), &Limits::default()) {
            Ok(Parse::Complete { head, .. }) => Ok(head.framing),
            Ok(Parse::Partial) => panic!("{fields:?} is whole"),
            Err(error) => Err(error.problem),
        };
        assert_eq!(found, expected, "HTTP/{version} {fields:?}");
    }
}

#[test]
fn a_connection_is_kept_as_version_and_options_say() {
    for (version, fields, keep) in [
        ("1.1", "", true),
        ("1.0", "", false),
        ("1.0", "Connection: keep-alive\r\n", true),
        ("1.0", "Connection: Keep-Alive\r\n", true),
        ("1.1", "Connection: close\r\n", false),
        ("1.1", "Connection: CLOSE\r\n", false),
        ("1.1", "Connection: keep-alive, close\r\n", false),
        ("1.0", "Connection: keep-alive, close\r\n", false),
        ("1.0", "Connection: ,, te ,keep-alive\r\n", true),
        (
            "1.1",
            "Connection: te\r\nConnection: x, \tclose \r\n",
            false,
        ),
        ("1.1", "Connection: closed\r\n", true),
        ("1.1", "Connection: \"close\"\r\n", true),
        ("1.1", "Connection:\r\n", true),
    ] {
        let bytes = format!("GET / HTTP/{version}\r\nHost: a\r\n{fields}\r\n");
        assert_eq!(
            accepted(bytes.as_bytes()).keep_alive(),
            keep,
            "HTTP/{version} {fields:?}"
        );
    }
    let head =
        accepted(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\n\r\n");
    assert!(head.connection.upgrade);
}

#[test]
fn only_http11_waits_for_100_continue() {
    assert!(
        accepted(b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n").expects_continue
    );
    assert!(!accepted(b"POST / HTTP/1.0\r\nExpect: 100-continue\r\n\r\n").expects_continue);
    assert!(!accepted(b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n").expects_continue);
}

#[test]
fn limits_are_inclusive() {
    let bytes = b"GET /abcdef HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n";
    let exact = Limits {
        head_bytes: bytes.len(),
        target_bytes: 7,
        fields: 2,
        ..Limits::default()
    };
    assert!(matches!(
        request::parse(bytes, &exact),
        Ok(Parse::Complete { .. })
    ));

    let limit = bytes.len() - 1;
    let shorter = Limits {
        head_bytes: limit,
        ..exact
    };
    assert_eq!(
        refused(bytes, &shorter),
        (limit as u64, Problem::HeadTooLong { limit })
    );
    assert_eq!(
        refused(&bytes[..limit], &shorter),
        (limit as u64, Problem::HeadTooLong { limit })
    );
    assert_eq!(
        request::parse(&bytes[..limit - 1], &shorter),
        Ok(Parse::Partial)
    );

    let target = Limits {
        target_bytes: 6,
        ..exact
    };
    assert_eq!(
        refused(bytes, &target),
        (10, Problem::TargetTooLong { limit: 6 })
    );
    let fields = Limits { fields: 1, ..exact };
    assert_eq!(
        refused(bytes, &fields),
        (31, Problem::TooManyFields { limit: 1 })
    );
}

#[test]
fn a_parser_goes_from_one_head_to_the_next() {
    let mut parser = Parser::new(Limits::default());
    let wire = b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n";
    let (mut start, mut targets) = (0, Vec::new());
    for end in 1..=wire.len() {
        if let Parse::Complete { head, bytes } = parser.parse(&wire[start..end]).unwrap() {
            targets.push(head.target.as_str());
            assert_eq!(start + bytes, end, "complete at its last byte, not later");
            start = end;
        }
    }
    assert_eq!(targets, ["/1", "/2"]);
}

#[test]
fn errors_say_what_and_where() {
    let error =
        request::parse(b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", &Limits::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "byte 20: white space between field name and colon"
    );
    assert_eq!(error.problem.status(), 400);
    assert_eq!(
        Problem::TooManyFields { limit: 3 }.to_string(),
        "more than 3 fields"
    );
    for (problem, status) in [
        (Problem::HeadTooLong { limit: 1 }, 431),
        (Problem::TargetTooLong { limit: 1 }, 414),
        (Problem::UnsupportedTransferCoding, 501),
        (Problem::UnsupportedVersion, 505),
    ] {
        assert_eq!(problem.status(), status);
    }
}
