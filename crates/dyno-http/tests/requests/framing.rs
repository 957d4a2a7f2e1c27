//! Framing of requests, and persistence of connections.

use dyno_http::{Limits, Parse, Problem, body::Framing, request};

use crate::accepted;

fn framing(version: &str, fields: &str) -> Result<Framing, Problem> {
    let bytes = format!("POST / HTTP/{version}\r\nHost: a\r\n{fields}\r\n");
    match request::parse(bytes.as_bytes(), &Limits::default()) {
        Ok(Parse::Complete { head, .. }) => Ok(head.framing),
        Ok(Parse::Partial) => panic!("{fields:?} is whole"),
        Err(error) => Err(error.problem),
    }
}

#[test]
fn a_length_is_a_single_number() {
    use Problem::{ContradictoryContentLength, InvalidContentLength};
    for (version, expected, all) in [
        (
            "1.1",
            Ok(Framing::None),
            &["", "X-Transfer-Encoding: chunked\r\n"][..],
        ),
        (
            "1.1",
            Ok(Framing::Length(0)),
            &["Content-Length: 0\r\n"][..],
        ),
        (
            "1.0",
            Ok(Framing::Length(7)),
            &["Content-Length: 7\r\n"][..],
        ),
        (
            "1.1",
            Ok(Framing::Length(u64::MAX)),
            &["Content-Length: 18446744073709551615\r\n"][..],
        ),
        (
            "1.1",
            Err(InvalidContentLength),
            &[
                "Content-Length: 18446744073709551616\r\n",
                "Content-Length: 99999999999999999999999\r\n",
                "Content-Length:\r\n",
                "Content-Length: +1\r\n",
                "Content-Length: -1\r\n",
                "Content-Length: 0x10\r\n",
                "Content-Length: 1 2\r\n",
                "Content-Length: 1,\r\n",
                "Content-Length: \u{b2}\r\n",
                "Content-Length: 5, 5\r\n",
                "Content-Length: 5, 6\r\n",
            ][..],
        ),
        (
            "1.1",
            Ok(Framing::Length(5)),
            &["Content-Length: 5\r\ncontent-length: 5\r\n"][..],
        ),
        (
            "1.1",
            Err(ContradictoryContentLength),
            &["Content-Length: 5\r\nContent-Length: 6\r\n"][..],
        ),
    ] {
        for fields in all {
            assert_eq!(
                framing(version, fields),
                expected,
                "HTTP/{version} {fields:?}"
            );
        }
    }
}

#[test]
fn chunked_is_the_only_transfer_coding_and_excludes_a_length() {
    use Problem::{
        InvalidTransferEncoding, LengthAndTransferEncoding, TransferEncodingInVersion10,
        UnsupportedTransferCoding,
    };
    for (version, expected, all) in [
        (
            "1.1",
            Ok(Framing::Chunked),
            &[
                "Transfer-Encoding: chunked\r\n",
                "Transfer-Encoding: CHUNKED \r\n",
            ][..],
        ),
        (
            "1.0",
            Err(TransferEncodingInVersion10),
            &["Transfer-Encoding: chunked\r\n"][..],
        ),
        (
            "1.1",
            Err(LengthAndTransferEncoding),
            &[
                "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
            ][..],
        ),
        (
            "1.1",
            Err(UnsupportedTransferCoding),
            &[
                "Transfer-Encoding: gzip, chunked\r\n",
                "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
            ][..],
        ),
        (
            "1.1",
            Err(InvalidTransferEncoding),
            &[
                "Transfer-Encoding: chunked, gzip\r\n",
                "Transfer-Encoding: chunked, chunked\r\n",
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
                "Transfer-Encoding: identity\r\n",
                "Transfer-Encoding: identity\r\nContent-Length: 5\r\n",
                "Transfer-Encoding: xchunked\r\n",
                "Transfer-Encoding: chunked;q=1\r\n",
                "Transfer-Encoding: \"chunked\"\r\n",
                "Transfer-Encoding:\r\n",
                "Transfer-Encoding: , chunked\r\n",
                "Transfer-Encoding: chunked,\r\n",
            ][..],
        ),
    ] {
        for fields in all {
            assert_eq!(
                framing(version, fields),
                expected,
                "HTTP/{version} {fields:?}"
            );
        }
    }
}

#[test]
fn persistence_follows_version_and_options() {
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
