//! Encoders: written and refused heads.

use dyno_http::{Method, Problem, Version, write};

#[test]
fn a_request() {
    let mut out = b"before".to_vec();
    write::request(&mut out, Method::Post, "/a?b", Version::Http11)
        .and_then(|head| head.field("Host", b"a.test"))
        .and_then(|head| head.field("X-Empty", b""))
        .expect("valid")
        .content_length(18_446_744_073_709_551_615)
        .end();
    assert_eq!(
        out.escape_ascii().to_string(),
        r"beforePOST /a?b HTTP/1.1\r\nHost: a.test\r\nX-Empty: \r\nContent-Length: 18446744073709551615\r\n\r\n"
    );
}

#[test]
fn a_response() {
    let mut out = Vec::new();
    write::response(&mut out, Version::Http11, 200)
        .and_then(|head| head.field("Server", b"x"))
        .and_then(|head| head.field("Vary", b"Accept-Encoding"))
        .expect("valid")
        .chunked()
        .end();
    write::response(&mut out, Version::Http10, 200)
        .expect("valid")
        .content_length(0)
        .close()
        .end();
    write::response(&mut out, Version::Http11, 599)
        .expect("valid")
        .end();
    write::response_with_reason(&mut out, Version::Http11, 404, b"Gone \xe9")
        .expect("valid")
        .end();
    let expected = b"HTTP/1.1 200 OK\r\nServer: x\r\nVary: Accept-Encoding\r\nTransfer-Encoding: chunked\r\n\r\n\
        HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n\
        HTTP/1.1 599 \r\n\r\n\
        HTTP/1.1 404 Gone \xe9\r\n\r\n";
    assert_eq!(
        out.escape_ascii().to_string(),
        expected.escape_ascii().to_string()
    );
}

#[test]
fn values_that_would_end_a_line_are_refused() {
    let mut out = b"kept".to_vec();
    for (name, value, offset, problem) in [
        ("A b", &b""[..], 1, Problem::InvalidFieldName),
        ("", b"", 0, Problem::InvalidFieldName),
        ("A:", b"", 1, Problem::InvalidFieldName),
        ("A\r\nB", b"", 1, Problem::InvalidFieldName),
        ("A", b"x\r\nB: y", 1, Problem::InvalidFieldValue),
        ("A", b"x\n", 1, Problem::InvalidFieldValue),
        ("A", b"\0", 0, Problem::InvalidFieldValue),
    ] {
        let head = write::response(&mut out, Version::Http11, 200).expect("valid");
        let error = head
            .field(name, value)
            .map(write::HeadWriter::end)
            .expect_err("refused");
        assert_eq!((error.offset, error.problem), (offset, problem), "{name:?}");
        assert_eq!(out, b"kept", "the head is removed");
    }
    for (method, target, problem) in [
        (Method::Get, "", Problem::InvalidTarget),
        (Method::Get, "/a b", Problem::InvalidTarget),
        (Method::Get, "/\r\nX: y", Problem::InvalidTarget),
        (Method::Get, "/\u{e9}", Problem::InvalidTarget),
        (Method::Other("G T"), "/", Problem::InvalidMethod),
        (Method::Other(""), "/", Problem::InvalidMethod),
    ] {
        let error =
            write::request(&mut out, method, target, Version::Http11).map(write::HeadWriter::end);
        assert_eq!(error.map_err(|error| error.problem), Err(problem));
    }
    for status in [0, 99, 1000] {
        assert!(write::response(&mut out, Version::Http11, status).is_err());
    }
    assert!(write::response_with_reason(&mut out, Version::Http11, 200, b"a\r\nb").is_err());
    assert_eq!(out, b"kept");
}
