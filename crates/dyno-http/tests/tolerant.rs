//! The tolerant profile: odd answers with what they mean, answers that stay refused, and its agreement with the strict one.

use std::fmt::Write as _;

use dyno_http::{
    Deviation, Deviations, Error, Limits, Mender, Method, Parse, Problem, Tolerance,
    body::{Decoder, Framing},
    response,
};
use proptest::{collection::vec, prelude::*, sample::Index};

const TOLERANT: Limits = Limits {
    head_bytes: 4096,
    target_bytes: 1024,
    fields: 1024,
    chunk_line_bytes: 256,
    chunk_extension_bytes: 1024,
    trailer_bytes: 512,
    tolerance: Tolerance::TOLERANT,
};

/// The meaning of a head, as text, with its deviations and its length.
type Head = (String, Vec<Deviation>, usize);

/// Parse as a client does: strictly, and after an error tolerantly. `None`: incomplete.
fn head(bytes: &[u8], limits: &Limits) -> Result<Option<Head>, Error> {
    let mut mender = Mender::default();
    let (head, deviations, length) = match response::parse(bytes, limits) {
        Ok(Parse::Partial) => return Ok(None),
        Ok(Parse::Complete { head, bytes }) => (head, Deviations::NONE, bytes),
        Err(_) => match mender.mend(bytes, limits)? {
            Parse::Partial => return Ok(None),
            Parse::Complete { head, bytes } => (head.head, head.deviations, bytes),
        },
    };
    let mut text = format!(
        "{} {} {:?}",
        head.version,
        head.status,
        head.framing(Method::Get)
    );
    for field in head.fields.iter() {
        write!(text, " | {}={}", field.name, field.value.escape_ascii()).expect("text");
    }
    Ok(Some((text, deviations.iter().collect(), length)))
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn an_odd_head_has_the_meaning_that_browsers_read() {
    use Deviation::{
        ControlCharacter, EmptyLineBeforeStatus, FoldedField, IdentityCoding,
        LengthAndTransferEncoding, LineFeedAlone, RepeatedChunked, RepeatedLength, SkippedLine,
        SpaceBeforeColon, StatusLineSpace, VersionCase, VersionNumber,
    };
    let ok = "HTTP/1.1 200 OK\r\n";
    let cases: &[(&str, &str, &[Deviation])] = &[
        (
            "HTTP/1.1 200 OK\nA: b\n\n",
            "HTTP/1.1 200 UntilClose | A=b",
            &[LineFeedAlone],
        ),
        (
            "HTTP/1.1 200 OK\r\nA: b\n\r\n",
            "HTTP/1.1 200 UntilClose | A=b",
            &[LineFeedAlone],
        ),
        (
            "HTTP/1.1 200 OK\r\nA: b\r\n\n",
            "HTTP/1.1 200 UntilClose | A=b",
            &[LineFeedAlone],
        ),
        (
            "\r\nHTTP/1.1 204 x\r\n\r\n",
            "HTTP/1.1 204 None",
            &[EmptyLineBeforeStatus],
        ),
        (
            "\n\r\nHTTP/1.1 204 x\r\n\r\n",
            "HTTP/1.1 204 None",
            &[EmptyLineBeforeStatus],
        ),
        (
            "http/1.0 200 OK\r\n\r\n",
            "HTTP/1.0 200 UntilClose",
            &[VersionCase],
        ),
        (
            "HTTP/2.0 200 OK\r\n\r\n",
            "HTTP/1.1 200 UntilClose",
            &[VersionNumber],
        ),
        (
            "HTTP/0.9 200 OK\r\n\r\n",
            "HTTP/1.0 200 UntilClose",
            &[VersionNumber],
        ),
        (
            "HTTP/1.1  200 OK\r\n\r\n",
            "HTTP/1.1 200 UntilClose",
            &[StatusLineSpace],
        ),
        (
            "HTTP/1.1\t200\tOK\r\n\r\n",
            "HTTP/1.1 200 UntilClose",
            &[StatusLineSpace],
        ),
        (
            "http/1.1 200\n\n",
            "HTTP/1.1 200 UntilClose",
            &[VersionCase, LineFeedAlone],
        ),
        (
            "HTTP/1.1 200 O\x01K\r\nA: \x01b\x7f\r\n\r\n",
            "HTTP/1.1 200 UntilClose | A=b",
            &[ControlCharacter],
        ),
    ];
    let fields: &[(&str, &str, &[Deviation])] = &[
        (
            "A: b\r\n c\r\n\t d\r\n",
            "UntilClose | A=b c d",
            &[FoldedField],
        ),
        (
            "A:\r\n b\r\nC: d\r\n",
            "UntilClose | A=b | C=d",
            &[FoldedField],
        ),
        ("A: b\r\n \r\n", "UntilClose | A=b", &[FoldedField]),
        ("A : b\r\n", "UntilClose | A=b", &[SpaceBeforeColon]),
        ("A\t: b\r\n", "UntilClose | A=b", &[SpaceBeforeColon]),
        (" A: b\r\nC: d\r\n", "UntilClose | C=d", &[SkippedLine]),
        (
            "no colon\r\n continued\r\nC: d\r\n",
            "UntilClose | C=d",
            &[SkippedLine],
        ),
        ("nocolon\r\n", "UntilClose", &[SkippedLine]),
        (": empty\r\n", "UntilClose", &[SkippedLine]),
        ("Na(me: b\r\n", "UntilClose", &[SkippedLine]),
        ("\u{e9}: b\r\nC: d\r\n", "UntilClose | C=d", &[SkippedLine]),
        (
            "Content-Length: 2, 2\r\n",
            "Length(2) | Content-Length=2",
            &[RepeatedLength],
        ),
        (
            "Content-Length: 2,2 ,02\r\nA: b\r\n",
            "Length(2) | A=b | Content-Length=2",
            &[RepeatedLength],
        ),
        (
            "Content-Length : 2\r\n",
            "Length(2) | Content-Length=2",
            &[SpaceBeforeColon],
        ),
        (
            "Content-Length:\r\n 2\r\n",
            "Length(2) | Content-Length=2",
            &[FoldedField],
        ),
        (
            "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
            "Chunked | Transfer-Encoding=chunked",
            &[LengthAndTransferEncoding],
        ),
        (
            "Transfer-Encoding: identity\r\n",
            "UntilClose",
            &[IdentityCoding],
        ),
        ("Transfer-Encoding:\r\n", "UntilClose", &[IdentityCoding]),
        (
            "Transfer-Encoding: identity, chunked\r\n",
            "Chunked | Transfer-Encoding=chunked",
            &[IdentityCoding],
        ),
        (
            "Transfer-Encoding: identity\r\nContent-Length: 2\r\n",
            "Length(2) | Content-Length=2",
            &[LengthAndTransferEncoding, IdentityCoding],
        ),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
            "Chunked | Transfer-Encoding=chunked",
            &[RepeatedChunked],
        ),
        (
            "Transfer-Encoding:\r\n chunked\r\n",
            "Chunked | Transfer-Encoding=chunked",
            &[FoldedField],
        ),
        // Well-formed for both profiles.
        (
            "Content-Length: 2\r\nContent-Length: 2\r\n",
            "Length(2) | Content-Length=2 | Content-Length=2",
            &[],
        ),
        ("A: \u{e9}\r\n", "UntilClose | A=\\xc3\\xa9", &[]),
    ];
    let heads = cases.iter().map(|(wire, meaning, deviations)| {
        ((*wire).to_owned(), (*meaning).to_owned(), *deviations)
    });
    let heads = heads.chain(fields.iter().map(|(fields, meaning, deviations)| {
        (
            format!("{ok}{fields}\r\n"),
            format!("HTTP/1.1 200 {meaning}"),
            *deviations,
        )
    }));
    for (wire, meaning, deviations) in heads {
        let whole = head(wire.as_bytes(), &TOLERANT);
        let expected = Ok(Some((meaning, deviations.to_vec(), wire.len())));
        assert_eq!(whole, expected, "{wire:?}");
        for end in 0..wire.len() {
            assert_eq!(
                head(&wire.as_bytes()[..end], &TOLERANT),
                Ok(None),
                "{:?}",
                &wire[..end]
            );
        }
        // What follows the head does not change it.
        let followed = head(format!("{wire}x\r\n\r\n").as_bytes(), &TOLERANT);
        assert_eq!(followed, whole, "{wire:?}");
    }
}

#[test]
fn a_hundred_and_more_fields_are_limited_by_their_bytes_alone() {
    let many = format!("HTTP/1.1 200 OK\n{}\n", "a: b\n".repeat(700));
    let found = head(many.as_bytes(), &TOLERANT)
        .expect("tolerated")
        .expect("complete");
    assert_eq!(found.2, many.len());
    let more = format!("HTTP/1.1 200 OK\n{}\n", "a: b\n".repeat(900));
    let error = head(more.as_bytes(), &TOLERANT).expect_err("too long");
    assert_eq!(error.problem, Problem::HeadTooLong { limit: 4096 });
}

#[test]
fn framing_that_two_readers_may_read_differently_stays_refused() {
    use Problem::{
        BareCarriageReturn, ContradictoryContentLength, FoldedLine, InvalidContentLength,
        InvalidFieldName, InvalidFieldValue, InvalidReason, InvalidStatus, InvalidTransferEncoding,
        InvalidVersion, MissingColon, TransferEncodingInVersion10, UnsupportedTransferCoding,
    };
    for (wire, problem) in [
        ("HTTP/1.1 20 OK\r\n\r\n", InvalidStatus),
        ("HTTP/1.1 2000 OK\r\n\r\n", InvalidStatus),
        ("HTTP/1.1 099 OK\r\n\r\n", InvalidStatus),
        ("HTTP/1.1 200OK\r\n\r\n", InvalidStatus),
        ("HTTP/1.1\n\n", InvalidVersion),
        ("ICY 200 OK\r\n\r\n", InvalidVersion),
        ("<html>\n", InvalidVersion),
        ("\r\n\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", InvalidVersion),
        ("HTTP/1.1 200 O\0K\n\n", InvalidReason),
        ("HTTP/1.1 200 OK\rX\n\n", BareCarriageReturn),
    ] {
        let found = head(wire.as_bytes(), &TOLERANT).map_err(|error| error.problem);
        assert_eq!(found, Err(problem), "{wire:?}");
    }
    for (fields, problem) in [
        ("A: b\rc\n", BareCarriageReturn),
        ("A: b\r\r\n", BareCarriageReturn),
        ("A: b\0\n", InvalidFieldValue),
        ("A: b\n c\0\n", InvalidFieldValue),
        ("A\0: b\n", InvalidFieldName),
        (
            "Content-Length: 2\nContent-Length: 3\n",
            ContradictoryContentLength,
        ),
        ("Content-Length: 2, 3\n", ContradictoryContentLength),
        (
            "Content-Length: 2\nTransfer-Encoding: chunked\nContent-Length: 3\n",
            ContradictoryContentLength,
        ),
        ("Content-Length: 2,\n", InvalidContentLength),
        ("Content-Length: +2\n", InvalidContentLength),
        ("Content-Length:\n", InvalidContentLength),
        ("Content-Length: 2\n 3\n", InvalidContentLength),
        ("Transfer-Encoding: xchunked\n", InvalidTransferEncoding),
        (
            "Transfer-Encoding: gzip, chunked\n",
            UnsupportedTransferCoding,
        ),
        (
            "Transfer-Encoding: gzip\nContent-Length: 2\n",
            InvalidTransferEncoding,
        ),
        (" Content-Length: 2\n", FoldedLine),
        ("Content-Length 2\n", MissingColon),
        ("Transfer-Encoding\x0b: chunked\n", InvalidFieldName),
        ("X Transfer-Encoding: chunked\n", MissingColon),
    ] {
        let wire = format!("HTTP/1.1 200 OK\r\n{fields}\n");
        let found = head(wire.as_bytes(), &TOLERANT).map_err(|error| error.problem);
        assert_eq!(found, Err(problem), "{fields:?}");
    }
    for coding in ["chunked", "identity"] {
        let wire = format!("HTTP/1.0 200 OK\nTransfer-Encoding: {coding}\n\n");
        let found = head(wire.as_bytes(), &TOLERANT).map_err(|error| error.problem);
        assert_eq!(found, Err(TransferEncodingInVersion10), "{coding}");
    }
}

/// A decoded chunked body: content, bytes consumed, whether it ended, deviations.
type Body = (Vec<u8>, usize, bool, Vec<Deviation>);

/// Decode a chunked body that arrives in pieces.
fn body(wire: &[u8], cuts: &[usize], limits: &Limits) -> Result<Body, Error> {
    let mut decoder = Decoder::new(Framing::Chunked, limits);
    let (mut content, mut at) = (Vec::new(), 0);
    for cut in cuts {
        while at < *cut && !decoder.is_done() {
            let offered = &wire[at..*cut];
            let step = decoder.decode(offered)?;
            content.extend_from_slice(&offered[step.content]);
            at += step.consumed;
        }
    }
    Ok((
        content,
        at,
        decoder.is_done(),
        decoder.deviations().iter().collect(),
    ))
}

#[test]
fn an_odd_chunked_body_has_the_content_that_browsers_read() {
    use Deviation::{ChunkExtension, LineFeedAlone, SkippedLine};
    for (wire, deviations) in [
        ("5\nhello\n0\n\n", &[LineFeedAlone][..]),
        ("5\r\nhello\n0\r\n\r\n", &[LineFeedAlone]),
        ("5 \nhello\r\n0\r\n\r\n", &[LineFeedAlone]),
        ("5\r\nhello\r\n0\r\n\n", &[LineFeedAlone]),
        ("5;\r\nhello\r\n0\r\n\r\n", &[ChunkExtension]),
        ("5;=b\r\nhello\r\n0;;;\r\n\r\n", &[ChunkExtension]),
        ("5;a=\"\r\nhello\r\n0\r\n\r\n", &[ChunkExtension]),
        ("5;a b\x01\r\nhello\r\n0\r\n\r\n", &[ChunkExtension]),
        ("5;a=b\r\nhello\r\n0\r\n\r\n", &[]),
        ("5\r\nhello\r\n0\r\nA: b\n\r\n", &[LineFeedAlone]),
        (
            "5\r\nhello\r\n0\r\nnocolon\r\n folded\r\n\r\n",
            &[SkippedLine],
        ),
    ] {
        let expected = Ok((b"hello".to_vec(), wire.len(), true, deviations.to_vec()));
        assert_eq!(
            body(wire.as_bytes(), &[wire.len()], &TOLERANT),
            expected,
            "{wire:?}"
        );
        let each: Vec<usize> = (1..=wire.len()).collect();
        assert_eq!(
            body(wire.as_bytes(), &each, &TOLERANT),
            expected,
            "{wire:?}"
        );
    }
}

#[test]
fn chunk_framing_that_two_readers_may_read_differently_stays_refused() {
    use Problem::{
        BareCarriageReturn, BareLineFeed, InvalidChunkExtension, InvalidChunkSize,
        InvalidFieldValue, MissingChunkEnd,
    };
    for (wire, problem) in [
        ("5;a\nhello\r\n0\r\n\r\n", BareLineFeed),
        ("5;=\nhello\r\n0\r\n\r\n", InvalidChunkExtension),
        ("5;a\0\r\nhello\r\n0\r\n\r\n", InvalidChunkExtension),
        ("5;a\rb\r\nhello\r\n0\r\n\r\n", BareCarriageReturn),
        ("5\rhello", BareCarriageReturn),
        ("0x5\r\nhello", InvalidChunkSize),
        ("+5\r\nhello", InvalidChunkSize),
        (" 5\r\nhello", InvalidChunkSize),
        ("\nhello", InvalidChunkSize),
        ("5 5\r\nhello", InvalidChunkSize),
        ("5\r\nhello!\r\n", MissingChunkEnd),
        ("5\r\nhello\r0", MissingChunkEnd),
        ("0\r\nA: b\rc\r\n\r\n", BareCarriageReturn),
        ("0\r\nA: \0\r\n\r\n", InvalidFieldValue),
    ] {
        let each: Vec<usize> = (1..=wire.len()).collect();
        for cuts in [&[wire.len()][..], &each] {
            let found = body(wire.as_bytes(), cuts, &TOLERANT).map_err(|error| error.problem);
            assert_eq!(found, Err(problem), "{wire:?}");
        }
    }
}

#[test]
fn skipped_trailers_count_towards_their_limit() {
    let wire = format!("0\r\n{}", "nocolon\r\n".repeat(1000));
    let error = body(wire.as_bytes(), &[wire.len()], &TOLERANT).expect_err("a flood");
    assert_eq!(error.problem, Problem::TrailersTooLong { limit: 512 });
}

/// Generate heads of lines, most of which are odd.
fn odd_head() -> impl Strategy<Value = Vec<u8>> {
    const STARTS: &[&str] = &[
        "HTTP/1.1 200 OK",
        "http/1.0 200",
        "HTTP/1.1\t404 x",
        "\r\nHTTP/1.1  200 ",
        "HTTP/1.1 20 x",
        "HTTP/1.0 200 OK",
        "",
    ];
    const LINES: &[&str] = &[
        "A: b",
        "A : b",
        " folded",
        "\tfolded",
        "no colon",
        ": x",
        "A: \x01",
        "A: \0",
        "A: b\rc",
        "Content-Length: 5",
        "Content-Length: 5, 5",
        "Content-Length: 6",
        "content-length\t: 5",
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: identity",
        "Transfer-Encoding:",
        "Transfer-Encoding: gzip",
        "Connection: close",
        " Content-Length: 7",
        "B\u{e9}: x",
    ];
    const ENDS: &[&str] = &["\r\n", "\r\n", "\r\n", "\n", "\r", ""];
    let line = (
        prop_oneof![
            20 => proptest::sample::select(LINES).prop_map(|line| line.as_bytes().to_vec()),
            1 => vec(any::<u8>(), 0..20),
        ],
        proptest::sample::select(ENDS),
    )
        .prop_map(|(line, end)| [&line[..], end.as_bytes()].concat());
    let ends = proptest::sample::select(&["\r\n\r\n", "\r\n", "\n\n", "\n", ""][..]);
    (
        proptest::sample::select(STARTS),
        proptest::sample::select(ENDS),
        vec(line, 0..6),
        ends,
        vec(any::<u8>(), 0..8),
    )
        .prop_map(|(start, start_end, lines, end, rest)| {
            [
                start.as_bytes(),
                start_end.as_bytes(),
                &lines.concat(),
                end.as_bytes(),
                &rest,
            ]
            .concat()
        })
}

fn odd_body() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: &[&str] = &[
        "1\r\nx\r\n",
        "5\nhello\n",
        "2;\r\nab\r\n",
        "2;=\r\nab\n",
        "2 ;a=\"b\"\r\nab\r\n",
        "0\r\n",
        "0\n",
        "0\n\n",
        "A: b\r\n",
        "A : b\n",
        "no colon\r\n",
        "\r\n",
        "\n",
        "\r",
        "\0",
        ";",
        "\"",
        "fffffffffffffffff\r\n",
    ];
    let piece = prop_oneof![
        20 => proptest::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..20),
    ];
    vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

const TIGHT: Limits = Limits {
    head_bytes: 60,
    fields: 3,
    chunk_line_bytes: 8,
    chunk_extension_bytes: 6,
    trailer_bytes: 16,
    ..TOLERANT
};

proptest! {
    #[test]
    fn any_cut_of_a_head_parses_the_same(bytes in odd_head(), is_tight in any::<bool>()) {
        let limits = if is_tight { TIGHT } else { TOLERANT };
        let whole = head(&bytes, &limits);
        for end in 0..bytes.len() {
            let part = head(&bytes[..end], &limits);
            prop_assert!(part == Ok(None) || part == whole, "{}: {part:?} {whole:?}", bytes[..end].escape_ascii());
        }
    }

    #[test]
    fn the_tolerant_profile_reads_well_formed_heads_as_the_strict_one_does(bytes in odd_head()) {
        let strict = Limits { tolerance: Tolerance::HARMLESS, ..TOLERANT };
        if let Ok(Parse::Complete { head: strict, bytes: length }) = response::parse(&bytes, &strict) {
            // Even without the strict parser, the meaning is the same.
            let mut mender = Mender::default();
            let Ok(Parse::Complete { head, bytes: found }) = mender.mend(&bytes, &TOLERANT) else {
                panic!("{} is refused", bytes.escape_ascii());
            };
            prop_assert_eq!(found, length);
            prop_assert!(head.deviations.is_empty());
            prop_assert_eq!(head.head.status, strict.status);
            prop_assert_eq!(head.head.version, strict.version);
            prop_assert_eq!(head.head.reason, strict.reason);
            prop_assert_eq!(head.head.connection, strict.connection);
            prop_assert_eq!(head.head.framing(Method::Get), strict.framing(Method::Get));
            for field in strict.fields.iter() {
                prop_assert_eq!(head.head.fields.get(field.name), strict.fields.get(field.name));
            }
        }
    }

    #[test]
    fn any_cut_of_a_body_decodes_the_same(wire in odd_body(), at in vec(any::<Index>(), 0..6), is_tight in any::<bool>()) {
        let limits = if is_tight { TIGHT } else { TOLERANT };
        let mut cuts: Vec<usize> = at.iter().map(|index| index.index(wire.len() + 1)).chain([wire.len()]).collect();
        cuts.sort_unstable();
        let each: Vec<usize> = (1..=wire.len()).collect();
        let whole = body(&wire, &[wire.len()], &limits);
        prop_assert_eq!(&whole, &body(&wire, &cuts, &limits));
        prop_assert_eq!(&whole, &body(&wire, &each, &limits));
    }

    #[test]
    fn the_tolerant_profile_decodes_well_formed_bodies_as_the_strict_one_does(wire in odd_body()) {
        let strict = Limits { tolerance: Tolerance::HARMLESS, ..TOLERANT };
        if let Ok(strict) = body(&wire, &[wire.len()], &strict) {
            prop_assert_eq!(body(&wire, &[wire.len()], &TOLERANT), Ok(strict));
        }
    }
}
