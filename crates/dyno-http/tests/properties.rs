//! Properties of every input: splitting changes nothing, written messages are parsed back, nothing panics or consumes too much.

use dyno_http::{
    Error, Limits, Method, Parse, Version,
    body::{Decoder, Framing},
    request, response, write,
};
use proptest::{collection::vec, prelude::*, sample::Index};

/// Small enough that generated messages exceed them sometimes.
const TIGHT: Limits = Limits {
    head_bytes: 120,
    target_bytes: 20,
    fields: 4,
    chunk_line_bytes: 12,
    chunk_extension_bytes: 16,
    trailer_bytes: 24,
    tolerance: dyno_http::Tolerance::NONE,
};

fn limits() -> impl Strategy<Value = Limits> {
    prop_oneof![Just(Limits::default()), Just(TIGHT)]
}

/// Generate mostly valid lines in a mostly valid order.
fn head(start_lines: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    const FIELDS: &[&str] = &[
        "Host: a.test\r\n",
        "Host: [::1]:80\r\n",
        "Host:\r\n",
        "Accept: */*\r\n",
        "X-Long-Field-Name-That-Spans: \t value with spaces \t\r\n",
        "Content-Length: 5\r\n",
        "Content-Length: 6\r\n",
        "Content-Length: 5, 5\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip\r\n",
        "Connection: close\r\n",
        "Connection: keep-alive, x\r\n",
        "Expect: 100-continue\r\n",
        "Bad Name: x\r\n",
        " folded\r\n",
        "NoColon\r\n",
        "Bare: x\n",
        "Carriage: a\rb\r\n",
        "Zero: \0\r\n",
        "Obs: \u{e9}\r\n",
    ];
    let piece = prop_oneof![
        20 => proptest::sample::select(FIELDS).prop_map(|line| line.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..20),
    ];
    let end = prop_oneof![8 => Just(&b"\r\n"[..]), 1 => Just(&b"\n"[..]), 1 => Just(&b""[..])];
    (
        proptest::sample::select(start_lines),
        vec(piece, 0..6),
        end,
        vec(any::<u8>(), 0..8),
    )
        .prop_map(|(start, lines, end, body)| {
            [start.as_bytes(), &lines.concat(), end, &body].concat()
        })
}

fn request_head() -> impl Strategy<Value = Vec<u8>> {
    head(&[
        "GET / HTTP/1.1\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n",
        "\r\nPOST /a%20b?c HTTP/1.0\r\n",
        "OPTIONS * HTTP/1.1\r\nHost: a\r\n",
        "CONNECT a.test:443 HTTP/1.1\r\nHost: a\r\n",
        "GET http://[::1]:8/x HTTP/1.1\r\nHost: a\r\n",
        "M-SEARCH /0123456789012345678901234567890 HTTP/1.1\r\n",
        "GET /%4 HTTP/1.1\r\n",
        "GET / HTTP/2.0\r\n",
        "",
        "\r\n",
    ])
}

fn response_head() -> impl Strategy<Value = Vec<u8>> {
    head(&[
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.0 404 Not Found\r\n",
        "HTTP/1.1 204 \r\n",
        "HTTP/1.1 99 x\r\n",
        "HTTP/1.1 200\r\n",
        "",
    ])
}

fn chunked_body() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: &[&str] = &[
        "1\r\nx\r\n",
        "5\r\nhello\r\n",
        "A;ext\r\n0123456789\r\n",
        "2 ; a = \"\\\"\" ;b\r\n\r\n\r\n",
        "0\r\n",
        "0\r\n\r\n",
        "0\r\nA: b\r\n\r\n",
        "A: b\r\n",
        "\r\n",
        "\n",
        "fffffffffffffffff\r\n",
        "ffff\r\n",
        ";",
        " ",
        "\r",
    ];
    let piece = prop_oneof![
        20 => proptest::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..20),
    ];
    vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// Return the positions at which to split `length` bytes: ascending, including the end.
fn cuts(at: &[Index], length: usize) -> Vec<usize> {
    let mut cuts: Vec<usize> = at
        .iter()
        .map(|index| index.index(length + 1))
        .chain([length])
        .collect();
    cuts.sort_unstable();
    cuts
}

/// Result of decoding a body: content, bytes consumed, whether it ended, trailers.
type Body = (Vec<u8>, usize, bool, Vec<u8>);

fn decode(decoder: &mut Decoder, wire: &[u8], cuts: &[usize]) -> Result<Body, Error> {
    let (mut content, mut at) = (Vec::new(), 0);
    for cut in cuts {
        while at < *cut && !decoder.is_done() {
            let offered = &wire[at..*cut];
            let step = decoder.decode(offered)?;
            assert!(
                step.consumed > 0 && step.consumed <= offered.len(),
                "progress, and no more than was given"
            );
            assert!(step.content.start <= step.content.end && step.content.end <= step.consumed);
            assert_eq!(step.done, decoder.is_done());
            content.extend_from_slice(&offered[step.content]);
            at += step.consumed;
        }
    }
    Ok((
        content,
        at,
        decoder.is_done(),
        decoder.trailers().as_bytes().to_vec(),
    ))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_split_of_a_request_head_parses_the_same(bytes in request_head(), at in vec(any::<Index>(), 0..6), limits in limits()) {
        let whole = request::parse(&bytes, &limits);
        let mut parser = request::Parser::new(limits);
        let mut found = Ok(Parse::Partial);
        for cut in cuts(&at, bytes.len()) {
            found = parser.parse(&bytes[..cut]);
            if found != Ok(Parse::Partial) {
                break;
            }
        }
        // A parser may report an error later, when the head is longer; it never reports another one, or a different head.
        prop_assert!(found == whole || (found == Ok(Parse::Partial) && whole.is_err()), "{:?} {:?}", found, whole);
    }

    #[test]
    fn every_prefix_of_a_request_head_is_partial_or_equals_the_whole(bytes in request_head(), limits in limits()) {
        let whole = request::parse(&bytes, &limits);
        for end in 0..bytes.len() {
            let found = request::parse(&bytes[..end], &limits);
            prop_assert!(found == Ok(Parse::Partial) || found == whole, "{}: {:?} {:?}", end, found, whole);
        }
    }

    #[test]
    fn every_prefix_of_a_response_head_is_partial_or_equals_the_whole(bytes in response_head(), limits in limits()) {
        let whole = response::parse(&bytes, &limits);
        let mut parser = response::Parser::new(limits);
        let mut arrived = Ok(Parse::Partial);
        for end in 0..=bytes.len() {
            let found = response::parse(&bytes[..end], &limits);
            prop_assert!(found == Ok(Parse::Partial) || found == whole, "{}: {:?} {:?}", end, found, whole);
            if arrived == Ok(Parse::Partial) {
                arrived = parser.parse(&bytes[..end]);
            }
        }
        prop_assert!(arrived == whole || (arrived == Ok(Parse::Partial) && whole.is_err()), "{:?} {:?}", arrived, whole);
    }

    #[test]
    fn any_split_of_a_body_decodes_the_same(wire in chunked_body(), at in vec(any::<Index>(), 0..6), limits in limits()) {
        let whole = decode(&mut Decoder::new(Framing::Chunked, &limits), &wire, &[wire.len()]);
        let split = decode(&mut Decoder::new(Framing::Chunked, &limits), &wire, &cuts(&at, wire.len()));
        prop_assert_eq!(&whole, &split);
        let bytewise: Vec<usize> = (1..=wire.len()).collect();
        let bytewise = decode(&mut Decoder::new(Framing::Chunked, &limits), &wire, &bytewise);
        prop_assert_eq!(&whole, &bytewise);

        let drained = Decoder::new(Framing::Chunked, &limits).drain(&wire);
        prop_assert_eq!(
            drained.map(|drained| (drained.content_bytes, drained.consumed, drained.done)),
            whole.map(|(content, consumed, done, _)| (content.len() as u64, consumed, done))
        );
    }

    #[test]
    fn arbitrary_bytes_never_panic_and_never_yield_more_than_given(
        bytes in vec(any::<u8>(), 0..300),
        length in any::<u64>(),
        limits in limits(),
    ) {
        for found in [request::parse(&bytes, &limits).map(|parse| size(&parse)), response::parse(&bytes, &limits).map(|parse| size(&parse))] {
            match found {
                Ok(size) => prop_assert!(size <= bytes.len()),
                Err(error) => prop_assert!(error.offset <= bytes.len() as u64),
            }
        }
        for framing in [Framing::None, Framing::Length(length % 400), Framing::Length(length), Framing::Chunked, Framing::UntilClose, Framing::Tunnel] {
            if let Err(error) = decode(&mut Decoder::new(framing, &limits), &bytes, &[bytes.len()]) {
                prop_assert!(error.offset <= bytes.len() as u64);
            }
        }
    }

    #[test]
    fn a_written_request_is_parsed_back(
        method in "[A-Z!#$%&'*+.^_`|~-]{1,12}",
        target in "/([a-zA-Z0-9._~!$&'()*+,;=:@/?-]|%[0-9a-f]{2}){0,40}",
        fields in fields(),
        length in proptest::option::of(any::<u64>()),
    ) {
        prop_assume!(method != "CONNECT");
        let method = Method::from_token(method.as_bytes()).expect("a token");
        let mut out = Vec::new();
        let mut head = write::request(&mut out, method, &target, Version::Http11).unwrap().field("Host", b"a.test").unwrap();
        for (name, value) in &fields {
            head = head.field(name, value).unwrap();
        }
        match length {
            Some(length) => head.content_length(length).end(),
            None => head.chunked().end(),
        }
        let Ok(Parse::Complete { head, bytes }) = request::parse(&out, &Limits::default()) else {
            return Err(TestCaseError::fail(out.escape_ascii().to_string()));
        };
        prop_assert_eq!(bytes, out.len());
        prop_assert_eq!((head.method, head.target.as_str()), (method, target.as_str()));
        prop_assert_eq!(head.framing, length.map_or(Framing::Chunked, Framing::Length));
        let read: Vec<_> = head.fields.iter().skip(1).take(fields.len()).map(|field| (field.name.to_owned(), field.value.to_vec())).collect();
        prop_assert_eq!(read, fields);
    }

    #[test]
    fn a_written_response_is_parsed_back(status in 100_u16..1000, fields in fields(), length in any::<u64>()) {
        let mut out = Vec::new();
        let mut head = write::response(&mut out, Version::Http11, status).unwrap();
        for (name, value) in &fields {
            head = head.field(name, value).unwrap();
        }
        head.content_length(length).end();
        let Ok(Parse::Complete { head, bytes }) = response::parse(&out, &Limits::default()) else {
            return Err(TestCaseError::fail(out.escape_ascii().to_string()));
        };
        prop_assert_eq!((bytes, head.status, head.content_length()), (out.len(), status, Some(length)));
        prop_assert_eq!(head.reason, write::reason(status).as_bytes());
        prop_assert_eq!(head.fields.len(), fields.len() + 1);
        for (name, value) in &fields {
            prop_assert!(head.fields.get_all(&name.to_uppercase()).any(|found| found == value));
        }
    }

    #[test]
    fn a_chunked_body_is_decoded_as_written(
        chunks in vec(vec(any::<u8>(), 1..600), 0..5),
        fields in fields(),
        at in vec(any::<Index>(), 0..6),
        next in vec(any::<u8>(), 0..8),
    ) {
        let mut wire = Vec::new();
        for chunk in &chunks {
            wire.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            wire.extend_from_slice(chunk);
            wire.extend_from_slice(b"\r\n");
        }
        let trailers: Vec<u8> = fields
            .iter()
            .flat_map(|(name, value)| [name.as_bytes(), b": ", value, b"\r\n"].concat())
            .collect();
        wire.extend_from_slice(&[b"0\r\n", &trailers[..], b"\r\n"].concat());
        let length = wire.len();
        wire.extend_from_slice(&next);
        let mut decoder = Decoder::new(Framing::Chunked, &Limits::default());
        let body = decode(&mut decoder, &wire, &cuts(&at, wire.len()));
        prop_assert_eq!(body, Ok((chunks.concat(), length, true, trailers)));
        prop_assert_eq!(decoder.trailers().len(), fields.len());
    }
}

/// Generate field lines whose names have no meaning for the parser and whose values have no surrounding white space.
fn fields() -> impl Strategy<Value = Vec<(String, Vec<u8>)>> {
    let value = vec(
        prop_oneof![Just(b'\t'), 0x20..0x7f_u8, 0x80..=0xff_u8],
        0..40,
    )
    .prop_map(|value| value.trim_ascii().to_vec());
    vec(("X-[a-zA-Z0-9!#$%&'*+.^_`|~-]{0,30}", value), 0..6)
}

fn size<T>(parse: &Parse<T>) -> usize {
    match parse {
        Parse::Complete { bytes, .. } => *bytes,
        Parse::Partial => 0,
    }
}
