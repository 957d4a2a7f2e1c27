//! Bytes of each odd answer.

use std::io::Read;

use dyno_web::{Oddity, text};

use crate::stage::Stage;

/// A web with a host for each oddity, named after it.
fn stage() -> Stage {
    let host = |oddity: &Oddity| {
        let name = oddity.name();
        format!(
            "[[host]]\nname = '{}'\noddity = '{name}'\ncontent_bytes = 1000\nstatus = 200\n",
            host_name(*oddity)
        )
    };
    Stage::new(&Oddity::ALL.iter().map(host).collect::<String>())
}

fn host_name(oddity: Oddity) -> String {
    format!("{}.test", oddity.name().replace('_', "-"))
}

/// The bytes that answer a request for `/`, until the origin closes.
fn answer(stage: &Stage, oddity: Oddity, fields: &str) -> Vec<u8> {
    let fields = format!("Connection: close\r\n{fields}");
    let mut all = Vec::new();
    stage
        .ask(&host_name(oddity), "/", &fields)
        .read_to_end(&mut all)
        .unwrap();
    all
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn each_oddity_has_its_bytes() {
    let stage = stage();
    let chunks: &[u8] = b"\r\n\r\n3e8;long=x";
    let cases: [(Oddity, &[u8]); 21] = [
        (
            Oddity::FoldedField,
            b"\r\nX-Folded: one\r\n two\r\n\tthree\r\n",
        ),
        (Oddity::BareLf, b"HTTP/1.1 200 OK\nDate: "),
        (Oddity::BareLfChunks, b"\r\n\r\n3e8\n"),
        (Oddity::SpaceBeforeColon, b"\r\nDate : "),
        (
            Oddity::RepeatedLength,
            b"\r\nContent-Length: 1000, 1000\r\n",
        ),
        (
            Oddity::LengthAndChunked,
            b"Transfer-Encoding: chunked\r\nConnection: close\r\nContent-Length: 1000\r\n",
        ),
        (Oddity::LowerCaseVersion, b"http/1.1 200 OK\r\n"),
        (Oddity::LineWithoutColon, b"\r\nthis line is no field\r\n"),
        (Oddity::HighBytes, b"\r\nX-Powered-By: caf\xe9 \x80\xff\r\n"),
        (Oddity::EmptyLineFirst, b"\r\nHTTP/1.1 200 OK\r\n"),
        (Oddity::ManyFields, b"\r\nX-Field-149: 149\r\n"),
        (Oddity::LongHead, b"\r\nSet-Cookie: c11=0123456789"),
        (
            Oddity::IdentityTransfer,
            b"\r\nTransfer-Encoding: identity\r\n",
        ),
        (Oddity::ChunkExtensions, chunks),
        (
            Oddity::LocationUtf8,
            b"\r\nLocation: /d\xc3\xa9plac\xc3\xa9\r\n",
        ),
        (Oddity::LocationLatin1, b"\r\nLocation: /d\xe9plac\xe9\r\n"),
        (Oddity::LocationSpace, b"\r\nLocation: /moved here\r\n"),
        (Oddity::LocationEmpty, b"\r\nLocation: \r\n"),
        (Oddity::Cookie, b"\r\nSet-Cookie: visited=1; Path=/\r\n"),
        (Oddity::UnknownCoding, b"\r\nContent-Encoding: none\r\n"),
        (Oddity::TooManyRequests, b"\r\nRetry-After: 1\r\n"),
    ];
    for (oddity, bytes) in cases {
        let answer = answer(&stage, oddity, "");
        assert!(has(&answer, bytes), "{oddity:?}: {}", answer.escape_ascii());
    }
}

#[test]
fn odd_answers_have_the_whole_content() {
    let stage = stage();
    let page = &text(5)[..1_000];
    for oddity in [
        Oddity::FoldedField,
        Oddity::BareLf,
        Oddity::BareLfChunks,
        Oddity::LongHead,
        Oddity::IdentityTransfer,
        Oddity::ChunkExtensions,
        Oddity::UnknownCoding,
        Oddity::NoCloseNotify,
    ] {
        assert!(has(&answer(&stage, oddity, ""), page), "{oddity:?}");
    }
}

#[test]
fn a_cookie_or_a_second_request_gets_the_page() {
    let stage = stage();
    let begins = |oddity, fields: &str, status: &str| {
        let answer = answer(&stage, oddity, fields);
        let start = format!("HTTP/1.1 {status} ");
        assert!(
            answer.starts_with(start.as_bytes()),
            "{oddity:?} {fields:?}: {}",
            answer.escape_ascii()
        );
    };
    begins(Oddity::Cookie, "", "302");
    begins(Oddity::Cookie, "Cookie: a=b; visited=1\r\n", "200");
    begins(Oddity::Cookie, "Cookie: visited=12\r\n", "302");
    for (oddity, first) in [
        (Oddity::TooManyRequests, "429"),
        (Oddity::Unavailable, "503"),
    ] {
        for status in [first, "200", "200"] {
            begins(oddity, "", status);
        }
    }
    // Another trial counts anew.
    stage.running().begin_anew();
    begins(Oddity::TooManyRequests, "", "429");
}
