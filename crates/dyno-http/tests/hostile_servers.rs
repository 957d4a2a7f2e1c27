//! Hostile servers against a client's parser: every flood ends at its limit, and nothing invalid is accepted as a
//! length.

use dyno_http::{
    Error, Limits, Parse, Problem, Tolerance,
    body::{Decoder, Framing},
    response::{self, Parser},
};

/// Limits of a client on the real internet.
const LIMITS: Limits = Limits {
    head_bytes: 4096,
    target_bytes: 1024,
    fields: 32,
    chunk_line_bytes: 256,
    chunk_extension_bytes: 1024,
    trailer_bytes: 512,
    tolerance: Tolerance::HARMLESS,
};

/// Feed an endless response in pieces until it is refused; return the number of bytes before that.
fn refused_after(endless: impl Iterator<Item = u8>, piece: usize) -> (usize, Problem) {
    let mut parser = Parser::new(LIMITS);
    let mut arrived = Vec::new();
    let mut endless = endless.peekable();
    while endless.peek().is_some() {
        arrived.extend(endless.by_ref().take(piece));
        match parser.parse(&arrived) {
            Ok(Parse::Partial) => assert!(arrived.len() < 2 * LIMITS.head_bytes + piece),
            Ok(Parse::Complete { .. }) => panic!("an endless head is whole"),
            Err(error) => return (arrived.len(), error.problem),
        }
    }
    panic!("it was not endless");
}

fn endless<'a>(start: &'a [u8], repeated: &'a [u8]) -> impl Iterator<Item = u8> + use<'a> {
    start.iter().chain(repeated.iter().cycle()).copied()
}

#[test]
fn an_endless_head_is_refused_at_a_limit_in_any_pieces() {
    let limit = LIMITS.head_bytes;
    for (start, repeated, problem) in [
        (
            &b"HTTP/1.1 200 "[..],
            &b"a"[..],
            Problem::HeadTooLong { limit },
        ),
        (b"HTTP/1.1 200 OK\r\n", b"n", Problem::HeadTooLong { limit }),
        (
            b"HTTP/1.1 200 OK\r\na: ",
            b"v",
            Problem::HeadTooLong { limit },
        ),
        (
            b"HTTP/1.1 200 OK\r\na:",
            b" ",
            Problem::HeadTooLong { limit },
        ),
        (
            b"HTTP/1.1 200 OK\r\n",
            b"a: b\r\n",
            Problem::TooManyFields { limit: 32 },
        ),
        (
            b"HTTP/1.1 200 OK\r\n",
            b"set-cookie: 1\r\n",
            Problem::TooManyFields { limit: 32 },
        ),
    ] {
        for piece in [1, 7, 1460, 100_000] {
            let (after, found) = refused_after(endless(start, repeated), piece);
            assert_eq!(found, problem, "{} in {piece}s", start.escape_ascii());
            assert!(
                after < limit + piece,
                "{after} bytes of {} in {piece}s",
                start.escape_ascii()
            );
        }
    }
}

#[test]
fn bytes_that_are_not_http_are_refused_early() {
    for (repeated, problem) in [
        (&b"\0"[..], Problem::InvalidVersion),
        (b"\r\n", Problem::InvalidVersion),
        (b"<html>", Problem::InvalidVersion),
        (b"\x16\x03\x03\x00\x7a", Problem::InvalidVersion),
        (b"SSH-2.0-OpenSSH_9.2\r\n", Problem::InvalidVersion),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Problem::InvalidVersion),
    ] {
        let (after, found) = refused_after(endless(b"", repeated), 1);
        assert_eq!(found, problem, "{}", repeated.escape_ascii());
        assert!(after <= 16, "{after} bytes of {}", repeated.escape_ascii());
    }
}

#[test]
fn control_characters_and_folded_lines_are_refused_anywhere_in_a_field() {
    use Problem::{
        BareCarriageReturn, BareLineFeed, FoldedLine, InvalidFieldName, InvalidFieldValue,
        MissingColon, SpaceBeforeColon,
    };
    for (field, problem) in [
        (&b"a: b\0c"[..], InvalidFieldValue),
        (b"a: \0", InvalidFieldValue),
        (b"a: b\x7f", InvalidFieldValue),
        (b"a: b\x1b[2J", InvalidFieldValue),
        (b"a\0: b", InvalidFieldName),
        (b"\0", InvalidFieldName),
        (b": no name", InvalidFieldName),
        (b"a : b", SpaceBeforeColon),
        (b"no colon", SpaceBeforeColon),
        (b"nocolon", MissingColon),
        (b"a: b\r\n folded", FoldedLine),
        (b"a: b\r\n\tfolded", FoldedLine),
        (b"a: b\rc", BareCarriageReturn),
        (b"a: b\nc: d", BareLineFeed),
    ] {
        let head = [b"HTTP/1.1 200 OK\r\n", field, b"\r\n\r\n"].concat();
        let found = response::parse(&head, &LIMITS).map_err(|error| error.problem);
        assert_eq!(found, Err(problem), "{}", field.escape_ascii());
    }
}

#[test]
fn an_invalid_length_is_refused() {
    let framing = |value: &str| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {value}\r\n\r\n");
        match response::parse(head.as_bytes(), &LIMITS) {
            Ok(Parse::Complete { head, .. }) => Ok(head.framing(dyno_http::Method::Get)),
            Ok(Parse::Partial) => panic!("{value:?}"),
            Err(Error { problem, .. }) => Err(problem),
        }
    };
    for value in [
        "-1",
        "+1",
        "1e3",
        "0x10",
        "1.0",
        "1 0",
        "1_000",
        "18446744073709551616",
        "1;2",
        "\"1\"",
        "one",
        "5, 5",
        "5,",
    ] {
        assert_eq!(
            framing(value),
            Err(Problem::InvalidContentLength),
            "{value:?}"
        );
    }
    assert_eq!(
        framing("18446744073709551615"),
        Ok(Framing::Length(u64::MAX))
    );
    assert_eq!(framing("0007"), Ok(Framing::Length(7)));
}

#[test]
fn a_length_beyond_memory_allocates_none() {
    let mut decoder = Decoder::new(Framing::Length(u64::MAX), &LIMITS);
    let step = decoder.decode(b"four").expect("content");
    assert_eq!((step.consumed, step.content, step.done), (4, 0..4, false));
    assert_eq!(decoder.remaining(), Some(u64::MAX - 4));
    let error = decoder.end_of_input().expect_err("cut short");
    assert_eq!((error.offset, error.problem), (4, Problem::BodyCutShort));
}

#[test]
fn floods_of_framing_within_a_body_end_at_their_limits() {
    for (start, repeated, problem) in [
        // Extensions on chunks of one byte each.
        (
            &b""[..],
            &b"1;aaaaaaaaaaaaaaaa\r\nx\r\n"[..],
            Problem::TooManyChunkExtensions { limit: 1024 },
        ),
        // One endless extension, plain and quoted.
        (b"1;a=", b"b", Problem::ChunkLineTooLong { limit: 256 }),
        (b"1;a=\"", b"\\\"", Problem::ChunkLineTooLong { limit: 256 }),
        // An endless size: zeros do not increase it.
        (b"", b"0", Problem::ChunkLineTooLong { limit: 256 }),
        (b"", b"f", Problem::InvalidChunkSize),
        (b"1", b" ", Problem::ChunkLineTooLong { limit: 256 }),
        (b"0\r\n", b"t", Problem::TrailersTooLong { limit: 512 }),
        (b"0\r\n", b"t: v\r\n", Problem::TooManyFields { limit: 32 }),
    ] {
        for piece in [1, 100_000] {
            let wire: Vec<u8> = endless(start, repeated).take(200_000).collect();
            let mut decoder = Decoder::new(Framing::Chunked, &LIMITS);
            let found = wire
                .chunks(piece)
                .find_map(|bytes| decoder.drain(bytes).err());
            let found = found.expect("it has no end");
            assert_eq!(
                found.problem,
                problem,
                "{} in {piece}s",
                repeated.escape_ascii()
            );
            assert!(
                found.offset < 4096,
                "{} after {}",
                repeated.escape_ascii(),
                found.offset
            );
        }
    }
}

#[test]
fn chunks_whose_sum_exceeds_64_bits_are_content() {
    let mut decoder = Decoder::new(Framing::Chunked, &LIMITS);
    let largest = decoder
        .drain(b"ffffffffffffffff\r\nx")
        .expect("a large chunk");
    assert_eq!((largest.content_bytes, largest.done), (1, false));
    let mut decoder = Decoder::new(Framing::Chunked, &LIMITS);
    let refused = decoder
        .drain(b"10000000000000000\r\nx")
        .expect_err("17 digits");
    assert_eq!(refused.problem, Problem::InvalidChunkSize);
}
