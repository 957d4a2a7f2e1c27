//! The body decoder: content, end of the body, refused coding.

use dyno_http::{
    Limits, Problem, Tolerance,
    body::{Decoder, Drained, Framing, Step},
};

/// Decode a body given in one piece; return content and consumed bytes.
fn decoded(
    framing: Framing,
    wire: &[u8],
    limits: &Limits,
) -> Result<(Vec<u8>, usize, bool), (u64, Problem)> {
    let mut decoder = Decoder::new(framing, limits);
    let (mut content, mut at) = (Vec::new(), 0);
    loop {
        let step = decoder
            .decode(&wire[at..])
            .map_err(|error| (error.offset, error.problem))?;
        content.extend_from_slice(&wire[at..][step.content]);
        at += step.consumed;
        if step.done || at == wire.len() {
            return Ok((content, at, step.done));
        }
    }
}

fn chunked(wire: &[u8]) -> Result<(Vec<u8>, usize, bool), (u64, Problem)> {
    decoded(Framing::Chunked, wire, &Limits::default())
}

#[test]
fn each_framing_consumes_its_own_bytes() {
    let limits = Limits::default();
    for (framing, wire, content, consumed, done) in [
        (Framing::None, &b"next"[..], &b""[..], 0, true),
        (Framing::Tunnel, b"raw", b"", 0, true),
        (Framing::Length(0), b"next", b"", 0, true),
        (Framing::Length(5), b"hellonext", b"hello", 5, true),
        (Framing::Length(9), b"hello", b"hello", 5, false),
        (Framing::Length(u64::MAX), b"hello", b"hello", 5, false),
        (Framing::UntilClose, b"all of it", b"all of it", 9, false),
        (Framing::Chunked, b"0\r\n\r\nnext", b"", 5, true),
        (
            Framing::Chunked,
            b"5\r\nhello\r\n0\r\n\r\nnext",
            b"hello",
            15,
            true,
        ),
        (
            Framing::Chunked,
            b"005\r\nhello\r\n1\r\n!\r\n00\r\n\r\nnext",
            b"hello!",
            24,
            true,
        ),
        (
            Framing::Chunked,
            b"a\r\n0123456789\r\nA\r\n0123456789\r\n",
            b"01234567890123456789",
            30,
            false,
        ),
        (
            Framing::Chunked,
            b"2\r\n\r\n\r\n0\r\n\r\n",
            b"\r\n",
            12,
            true,
        ),
    ] {
        let found = decoded(framing, wire, &limits);
        assert_eq!(
            found,
            Ok((content.to_vec(), consumed, done)),
            "{framing:?} {}",
            wire.escape_ascii()
        );
    }
}

#[test]
fn one_step_consumes_the_framing_around_one_piece() {
    let mut decoder = Decoder::new(Framing::Chunked, &Limits::default());
    let wire = b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    assert_eq!(
        decoder.decode(wire),
        Ok(Step {
            consumed: 11,
            content: 3..6,
            done: false
        })
    );
    assert_eq!(
        decoder.decode(&wire[11..]),
        Ok(Step {
            consumed: 9,
            content: 0..2,
            done: true
        })
    );
    assert_eq!(
        decoder.decode(b"next"),
        Ok(Step {
            consumed: 0,
            content: 0..0,
            done: true
        })
    );
    assert!(decoder.is_done());

    decoder.restart(Framing::Length(3));
    assert_eq!(decoder.remaining(), Some(3));
    assert_eq!(
        decoder.decode(b""),
        Ok(Step {
            consumed: 0,
            content: 0..0,
            done: false
        })
    );
    assert_eq!(
        decoder.drain(b"xyz!"),
        Ok(Drained {
            consumed: 3,
            content_bytes: 3,
            done: true
        })
    );
}

#[test]
fn extensions_are_checked_and_skipped() {
    for wire in [
        &b"1;a\r\nx\r\n0;b\r\n\r\n"[..],
        b"1;a=b;c\r\nx\r\n0\r\n\r\n",
        b"1 ; a = b ; c\r\nx\r\n0\r\n\r\n",
        b"1\t;a=\"q;\\\" \xe9\t\";d=e\r\nx\r\n0\r\n\r\n",
        b"1;a=\"\"\r\nx\r\n0 ;a\r\n\r\n",
    ] {
        assert_eq!(
            chunked(wire),
            Ok((b"x".to_vec(), wire.len(), true)),
            "{}",
            wire.escape_ascii()
        );
    }
}

#[test]
fn invalid_chunked_coding_is_refused_at_the_invalid_byte() {
    use Problem::{
        BareCarriageReturn, BareLineFeed, FoldedLine, InvalidChunkExtension, InvalidChunkSize,
        InvalidFieldName, InvalidFieldValue, MissingChunkEnd, MissingColon, SpaceBeforeColon,
    };
    for (wire, offset, problem) in [
        (&b"\r\n"[..], 0, InvalidChunkSize),
        (b"\n", 0, InvalidChunkSize),
        (b";a\r\n", 0, InvalidChunkSize),
        (b" 1\r\n", 0, InvalidChunkSize),
        (b"-1\r\n", 0, InvalidChunkSize),
        (b"+1\r\n", 0, InvalidChunkSize),
        (b"0x1\r\n", 1, InvalidChunkSize),
        (b"1_0\r\n", 1, InvalidChunkSize),
        (b"1g\r\n", 1, InvalidChunkSize),
        (b"1 1\r\n", 2, InvalidChunkSize),
        (b"1 \r\n", 2, InvalidChunkSize),
        (b"1\t\r\n", 2, InvalidChunkSize),
        (b"10000000000000000\r\n", 16, InvalidChunkSize),
        (b"fffffffffffffffff\r\n", 16, InvalidChunkSize),
        (b"1\n", 1, BareLineFeed),
        (b"1 \n", 2, BareLineFeed),
        (b"1\rx", 2, BareCarriageReturn),
        (b"1;a\n", 3, BareLineFeed),
        (b"1;a\rx", 4, BareCarriageReturn),
        (b"1;\r\n", 2, InvalidChunkExtension),
        (b"1;=b\r\n", 2, InvalidChunkExtension),
        (b"1;a=\r\n", 4, InvalidChunkExtension),
        (b"1;a b\r\n", 4, InvalidChunkExtension),
        (b"1;a=b c\r\n", 6, InvalidChunkExtension),
        (b"1;a=\"b\r\n", 6, InvalidChunkExtension),
        (b"1;a=\"b\n\"\r\n", 6, BareLineFeed),
        (b"1;a=\"b\\\r\n", 7, InvalidChunkExtension),
        (b"1;a=\"b\"c\r\n", 7, InvalidChunkExtension),
        (b"1;\0\r\n", 2, InvalidChunkExtension),
        (b"1\r\nxy\r\n", 4, MissingChunkEnd),
        (b"1\r\nx\n", 4, MissingChunkEnd),
        (b"1\r\nx\ry", 5, MissingChunkEnd),
        (b"0\r\n\n", 3, BareLineFeed),
        (b"0\r\n\rx\n", 3, BareCarriageReturn),
        (b"0\r\nA: b\n", 7, BareLineFeed),
        (b"0\r\nA : b\r\n", 4, SpaceBeforeColon),
        (b"0\r\nA\r\n", 4, MissingColon),
        (b"0\r\nA: b\r\n c\r\n", 9, FoldedLine),
        (b"0\r\nA: b\r\nC/: d\r\n", 10, InvalidFieldName),
        (b"0\r\nA: b\0\r\n", 7, InvalidFieldValue),
        (b"0\r\nA: b\r\n\rx\n", 9, BareCarriageReturn),
    ] {
        assert_eq!(
            chunked(wire),
            Err((offset, problem)),
            "{}",
            wire.escape_ascii()
        );
    }
    assert!(
        chunked(b"ffffffffffffffff\r\nx").is_ok(),
        "the largest size there is"
    );
    assert!(
        chunked(b"00000000000000000000000000000001\r\nx").is_ok(),
        "leading zeros are ignored"
    );
}

#[test]
fn padding_after_a_chunk_size_can_be_tolerated() {
    let tolerance = Tolerance {
        padded_chunk_size: true,
        ..Tolerance::NONE
    };
    let limits = Limits {
        tolerance,
        ..Limits::default()
    };
    let wire = b"1   \r\nx\r\n0  \r\n\r\n";
    assert_eq!(
        decoded(Framing::Chunked, wire, &limits),
        Ok((b"x".to_vec(), wire.len(), true))
    );
}

#[test]
fn trailers_are_separate() {
    let mut decoder = Decoder::new(Framing::Chunked, &Limits::default());
    let wire = b"1\r\nx\r\n0\r\nDigest: abc\r\nX-Empty:\r\n\r\nnext";
    let mut at = 0;
    while !decoder.is_done() {
        assert!(decoder.trailers().is_empty());
        // Give the decoder one byte at a time: it must never need a byte twice.
        at += decoder.decode(&wire[at..=at]).expect("valid").consumed;
    }
    assert_eq!(&wire[at..], b"next");
    assert_eq!(decoder.trailers().get("digest"), Some(&b"abc"[..]));
    assert_eq!(decoder.trailers().get("x-empty"), Some(&b""[..]));
    assert_eq!(decoder.trailers().len(), 2);
    decoder.restart(Framing::Chunked);
    assert!(decoder.trailers().is_empty());
}

#[test]
fn limits_are_inclusive() {
    let line = |limit| Limits {
        chunk_line_bytes: limit,
        ..Limits::default()
    };
    let wire = b"1;abc\r\nx\r\n0\r\n\r\n";
    assert!(decoded(Framing::Chunked, wire, &line(7)).is_ok());
    assert_eq!(
        decoded(Framing::Chunked, wire, &line(6)),
        Err((6, Problem::ChunkLineTooLong { limit: 6 }))
    );

    let extensions = |limit| Limits {
        chunk_extension_bytes: limit,
        ..Limits::default()
    };
    let wire = b"1;abc\r\nx\r\n1;abc\r\nx\r\n0\r\n\r\n";
    assert!(decoded(Framing::Chunked, wire, &extensions(8)).is_ok());
    assert_eq!(
        decoded(Framing::Chunked, wire, &extensions(7)),
        Err((17, Problem::TooManyChunkExtensions { limit: 7 }))
    );

    let trailers = |limit| Limits {
        trailer_bytes: limit,
        ..Limits::default()
    };
    let wire = b"0\r\nA: b\r\n\r\n";
    assert!(decoded(Framing::Chunked, wire, &trailers(8)).is_ok());
    assert_eq!(
        decoded(Framing::Chunked, wire, &trailers(7)),
        Err((10, Problem::TrailersTooLong { limit: 7 }))
    );
    assert_eq!(
        decoded(Framing::Chunked, wire, &trailers(5)),
        Err((8, Problem::TrailersTooLong { limit: 5 }))
    );
    assert_eq!(
        decoded(Framing::Chunked, b"0\r\n\r\n", &trailers(1)),
        Err((4, Problem::TrailersTooLong { limit: 1 }))
    );

    let fields = Limits {
        fields: 0,
        ..Limits::default()
    };
    assert_eq!(
        decoded(Framing::Chunked, wire, &fields),
        Err((3, Problem::TooManyFields { limit: 0 }))
    );
}

#[test]
fn the_end_of_the_connection_completes_only_bodies_without_another_end() {
    let ended = |framing, wire: &[u8]| {
        let mut decoder = Decoder::new(framing, &Limits::default());
        decoder.drain(wire).expect("valid so far");
        decoder
            .end_of_input()
            .map_err(|error| (error.offset, error.problem))
    };
    assert_eq!(ended(Framing::UntilClose, b"abc"), Ok(()));
    assert_eq!(ended(Framing::None, b""), Ok(()));
    assert_eq!(ended(Framing::Length(3), b"abc"), Ok(()));
    assert_eq!(
        ended(Framing::Length(4), b"abc"),
        Err((3, Problem::BodyCutShort))
    );
    assert_eq!(ended(Framing::Chunked, b"3\r\nabc\r\n0\r\n\r\n"), Ok(()));
    for wire in [
        &b""[..],
        b"3",
        b"3\r\nab",
        b"3\r\nabc",
        b"3\r\nabc\r\n",
        b"3\r\nabc\r\n0\r\n",
        b"0\r\nA: b\r\n",
    ] {
        assert_eq!(
            ended(Framing::Chunked, wire),
            Err((wire.len() as u64, Problem::BodyCutShort))
        );
    }
}

#[test]
fn an_error_persists() {
    let mut decoder = Decoder::new(Framing::Chunked, &Limits::default());
    let first = decoder.decode(b"x").expect_err("no digit");
    assert_eq!(decoder.decode(b"5\r\nhello"), Err(first));
    assert_eq!(decoder.end_of_input(), Err(first));
    assert!(!decoder.is_done());
}

#[test]
fn an_error_in_a_trailer_in_pieces_has_its_true_offset() {
    let mut decoder = Decoder::new(Framing::Chunked, &Limits::default());
    for byte in b"0\r\n1\r" {
        decoder.decode(&[*byte]).expect("not wrong yet");
    }
    let error = decoder.decode(b"\n").expect_err("a line without a colon");
    assert_eq!((error.offset, error.problem), (4, Problem::MissingColon));
}
