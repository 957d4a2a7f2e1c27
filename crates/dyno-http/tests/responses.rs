//! Response heads: accepted ones, the framing of their bodies, and refused ones.

use dyno_http::{
    Limits, Method, Parse, Problem, ResponseHead, Tolerance, Version,
    body::Framing,
    response::{self, Parser},
};

fn accepted(bytes: &[u8]) -> ResponseHead<'_> {
    match response::parse(bytes, &Limits::default()) {
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

#[test]
fn a_head_has_the_sent_values() {
    let head = accepted(b"HTTP/1.0 404 Not \xe9 Found\r\nServer: x\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(
        (head.version, head.status, head.reason),
        (Version::Http10, 404, &b"Not \xe9 Found"[..])
    );
    assert_eq!(head.fields.get("server"), Some(&b"x"[..]));
    assert_eq!(head.content_length(), Some(3));
    assert!(head.keep_alive(head.framing(Method::Get)));
    assert_eq!(accepted(b"HTTP/1.1 200 \r\n\r\n").reason, b"");
    assert_eq!(accepted(b"HTTP/1.1 999 x\r\n\r\n").status, 999);
}

#[test]
fn a_later_minor_version_is_parsed_as_the_latest_known() {
    for minor in 0..10 {
        let bytes = format!("HTTP/1.{minor} 200 OK\r\n\r\n");
        let known = [Version::Http10, Version::Http11][minor.min(1)];
        assert_eq!(accepted(bytes.as_bytes()).version, known, "{bytes}");
    }
}

#[test]
fn invalid_heads_are_refused_at_the_invalid_byte() {
    use Problem::{
        BareCarriageReturn, BareLineFeed, FoldedLine, InvalidFieldName, InvalidReason,
        InvalidStatus, InvalidVersion, UnsupportedVersion,
    };
    for (bytes, offset, problem) in [
        (&b"\r\nHTTP/1.1 200 OK\r\n"[..], 0, InvalidVersion),
        (b"HTTP 200 OK\r\n", 0, InvalidVersion),
        (b"ICY 200 OK\r\n", 0, InvalidVersion),
        (b"HTTP/2.0 200 OK\r\n", 0, UnsupportedVersion),
        (b"HTTP/0.9 200 OK\r\n", 0, UnsupportedVersion),
        (b"HTTP/1.1\t200 OK\r\n", 8, InvalidVersion),
        (b"HTTP/1.1\r\n", 8, InvalidVersion),
        (b"HTTP/1.1  200 OK\r\n", 9, InvalidStatus),
        (b"HTTP/1.1 099 OK\r\n", 9, InvalidStatus),
        (b"HTTP/1.1 20 OK\r\n", 9, InvalidStatus),
        (b"HTTP/1.1 2000 OK\r\n", 12, InvalidStatus),
        (b"HTTP/1.1 200\r\n", 12, InvalidStatus),
        (b"HTTP/1.1 +20 OK\r\n", 9, InvalidStatus),
        (b"HTTP/1.1 200 OK\n", 15, BareLineFeed),
        (b"HTTP/1.1 200 OK\rX", 15, BareCarriageReturn),
        (b"HTTP/1.1 200 O\0K\r\n", 14, InvalidReason),
        (b"HTTP/1.1 200 OK\r\n Server: x\r\n", 17, FoldedLine),
        (
            b"HTTP/1.1 200 OK\r\nSer ver: x\r\n",
            20,
            Problem::SpaceBeforeColon,
        ),
        (b"HTTP/1.1 200 OK\r\nSer/ver: x\r\n", 20, InvalidFieldName),
    ] {
        let error = response::parse(bytes, &Limits::default()).expect_err("invalid");
        assert_eq!(
            (error.offset, error.problem),
            (offset, problem),
            "{}",
            bytes.escape_ascii()
        );
    }
}

#[test]
fn a_missing_space_after_the_status_can_be_accepted() {
    let tolerance = Tolerance {
        missing_reason_space: true,
        ..Tolerance::NONE
    };
    let limits = Limits {
        tolerance,
        ..Limits::default()
    };
    let parsed = response::parse(b"HTTP/1.1 204\r\n\r\n", &limits);
    assert!(
        matches!(parsed, Ok(Parse::Complete { head, bytes: 16 }) if head.reason.is_empty() && head.status == 204)
    );
}

#[test]
fn framing_follows_method_status_and_fields() {
    use Framing::{Chunked, Length, None, Tunnel, UntilClose};
    const LENGTH: &str = "Content-Length: 9\r\n";
    const CHUNKED: &str = "Transfer-Encoding: chunked\r\n";
    for (method, status, fields, framing) in [
        (Method::Get, 200, LENGTH, Length(9)),
        (Method::Get, 200, CHUNKED, Chunked),
        (Method::Get, 200, "", UntilClose),
        (Method::Get, 404, "", UntilClose),
        (Method::Get, 205, LENGTH, Length(9)),
        (Method::Head, 200, LENGTH, None),
        (Method::Head, 200, CHUNKED, None),
        (Method::Head, 404, "", None),
        (Method::Get, 204, LENGTH, None),
        (Method::Get, 204, CHUNKED, None),
        (Method::Get, 304, LENGTH, None),
        (Method::Get, 100, "", None),
        (Method::Get, 103, LENGTH, None),
        (Method::Get, 101, "", Tunnel),
        (Method::Connect, 200, LENGTH, Tunnel),
        (Method::Connect, 299, CHUNKED, Tunnel),
        (Method::Connect, 407, LENGTH, Length(9)),
        (Method::Connect, 502, "", UntilClose),
        (Method::Other("PURGE"), 200, LENGTH, Length(9)),
        (Method::Other("head"), 200, LENGTH, Length(9)),
    ] {
        let bytes = format!("HTTP/1.1 {status} \r\n{fields}\r\n");
        let head = accepted(bytes.as_bytes());
        assert_eq!(
            head.framing(method),
            framing,
            "{method} {status} {fields:?}"
        );
        assert_eq!(head.is_interim(), matches!(status, 100 | 103), "{status}");
    }
}

#[test]
fn invalid_framing_is_refused_for_any_request() {
    for (fields, problem) in [
        (
            "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
            Problem::LengthAndTransferEncoding,
        ),
        (
            "Content-Length: 1\r\nContent-Length: 2\r\n",
            Problem::ContradictoryContentLength,
        ),
        ("Content-Length: x\r\n", Problem::InvalidContentLength),
        (
            "Transfer-Encoding: gzip\r\n",
            Problem::InvalidTransferEncoding,
        ),
        (
            "Transfer-Encoding: gzip, chunked\r\n",
            Problem::UnsupportedTransferCoding,
        ),
    ] {
        let bytes = format!("HTTP/1.1 200 OK\r\n{fields}\r\n");
        let found = response::parse(bytes.as_bytes(), &Limits::default()).expect_err("faulty");
        assert_eq!(found.problem, problem, "{fields:?}");
    }
    let old = response::parse(
        b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        &Limits::default(),
    );
    assert_eq!(
        old.map_err(|error| error.problem),
        Err(Problem::TransferEncodingInVersion10)
    );
}

#[test]
fn a_connection_persists_only_after_a_body_with_an_end() {
    for (head, framing, keep) in [
        ("HTTP/1.1 200 \r\n", Framing::Length(0), true),
        ("HTTP/1.1 200 \r\n", Framing::Chunked, true),
        ("HTTP/1.1 200 \r\n", Framing::None, true),
        ("HTTP/1.1 200 \r\n", Framing::UntilClose, false),
        ("HTTP/1.1 101 \r\n", Framing::Tunnel, false),
        (
            "HTTP/1.1 200 \r\nConnection: close\r\n",
            Framing::Length(0),
            false,
        ),
        ("HTTP/1.0 200 \r\n", Framing::Length(0), false),
        (
            "HTTP/1.0 200 \r\nConnection: keep-alive\r\n",
            Framing::Length(0),
            true,
        ),
        (
            "HTTP/1.0 200 \r\nConnection: keep-alive\r\n",
            Framing::UntilClose,
            false,
        ),
    ] {
        let bytes = format!("{head}\r\n");
        assert_eq!(
            accepted(bytes.as_bytes()).keep_alive(framing),
            keep,
            "{head:?} {framing:?}"
        );
    }
}

#[test]
fn interim_responses_precede_the_final_one() {
    let wire = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    let mut parser = Parser::new(Limits::default());
    let (mut start, mut statuses) = (0, Vec::new());
    for end in 1..=wire.len() {
        if let Ok(Parse::Complete { head, bytes }) = parser.parse(&wire[start..end]) {
            statuses.push((head.status, head.is_interim()));
            start += bytes;
            if !head.is_interim() {
                break;
            }
        }
    }
    assert_eq!(statuses, [(100, true), (103, true), (200, false)]);
    assert_eq!(&wire[start..], b"x");
}

#[test]
fn limits_are_inclusive() {
    let bytes = b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n";
    let exact = Limits {
        head_bytes: bytes.len(),
        fields: 1,
        ..Limits::default()
    };
    assert!(matches!(
        response::parse(bytes, &exact),
        Ok(Parse::Complete { .. })
    ));
    let limit = bytes.len() - 1;
    let error = response::parse(
        bytes,
        &Limits {
            head_bytes: limit,
            ..exact
        },
    )
    .expect_err("too long");
    assert_eq!(error.problem, Problem::HeadTooLong { limit });
    let error = response::parse(bytes, &Limits { fields: 0, ..exact }).expect_err("too many");
    assert_eq!(
        (error.offset, error.problem),
        (17, Problem::TooManyFields { limit: 0 })
    );
}
