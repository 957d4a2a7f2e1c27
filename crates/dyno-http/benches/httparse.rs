//! Nanoseconds to parse a head, or to decode the chunks of a body, compared with httparse: `cargo bench -p dyno-http`.
//!
//! httparse runs in two variants: bare (syntax only, headers in an uninitialised array, its fastest entry), and with lookups of the
//! fields for framing, host and connection, which this crate's parser has already read when it returns.
//! Rounds are interleaved, so that a slow moment of the machine affects all three; ratios are taken within a round.

use std::{
    hint::black_box,
    mem::MaybeUninit,
    time::{Duration, Instant},
};

use dyno_http::{
    Limits, Parse,
    body::{Decoder, Framing},
    request, response,
};

const ROUNDS: usize = 101;
const ROUND: Duration = Duration::from_millis(2);
const HEADERS: usize = 64;

const TOOL: &[u8] = b"GET /plain HTTP/1.1\r\nHost: 10.0.0.1:8080\r\n\r\n";
const LIBRARY: &[u8] = b"GET /articles/2024/index.html?page=2 HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: Go-http-client/1.1\r\n\
Accept: */*\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nConnection: keep-alive\r\n\r\n";
const BROWSER: &[u8] = b"GET /wp-content/uploads/2010/03/hello-kitty-darth-vader-pink.jpg HTTP/1.1\r\nHost: www.kittyhell.com\r\n\
User-Agent: Mozilla/5.0 (Macintosh; U; Intel Mac OS X 10.6; ja-JP-mac; rv:1.9.2.3) Gecko/20100401 Firefox/3.6.3 Pathtraq/0.9\r\n\
Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\nAccept-Language: ja,en-us;q=0.7,en;q=0.3\r\n\
Accept-Encoding: gzip,deflate\r\nAccept-Charset: Shift_JIS,utf-8;q=0.7,*;q=0.7\r\nKeep-Alive: 115\r\nConnection: keep-alive\r\n\
Cookie: wp_ozh_wsa_visits=2; wp_ozh_wsa_visit_lasttime=xxxxxxxxxx; __utma=xxxxxxxxx.xxxxxxxxxx.xxxxxxxxxx.xxxxxxxxxx.xxxxxxxxxx.x; \
__utmz=xxxxxxxxx.xxxxxxxxxx.x.x.utmccn=(referral)|utmcsr=reader.livedoor.com|utmcct=/reader/|utmcmd=referral\r\n\r\n";
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\n";
const SITE: &[u8] = b"HTTP/1.1 200 OK\r\nDate: Mon, 18 Nov 2024 21:17:53 GMT\r\nContent-Type: text/html; charset=utf-8\r\n\
Transfer-Encoding: chunked\r\nConnection: keep-alive\r\nVary: Accept-Encoding, Cookie\r\nCache-Control: private, max-age=0, must-revalidate\r\n\
Strict-Transport-Security: max-age=63072000; includeSubDomains; preload\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: SAMEORIGIN\r\n\
Set-Cookie: session=0123456789abcdef0123456789abcdef; Path=/; HttpOnly; Secure; SameSite=Lax\r\nServer: nginx\r\n\r\n";

fn main() {
    println!(
        "{ROUNDS} rounds of {} ms each; ns per head or chunk: median [min..max]; ratio: httparse / ours, median [min..max]",
        ROUND.as_millis()
    );
    for (name, bytes) in [
        ("request, tool", TOOL),
        ("request, library", LIBRARY),
        ("request, browser", BROWSER),
    ] {
        report(
            name,
            bytes,
            [&ours_request, &bare_request, &looked_up_request],
        );
    }
    for (name, bytes) in [("response, small", ANSWER), ("response, site", SITE)] {
        report(
            name,
            bytes,
            [&ours_response, &bare_response, &looked_up_response],
        );
    }
    for (name, chunk) in [("chunks of 10 bytes", 10), ("chunks of 4096 bytes", 4096)] {
        compare(
            name,
            &body(chunk),
            64.0,
            &[
                ("ours", &our_chunks),
                ("httparse, whole body", &httparse_chunks),
            ],
        );
    }
}

type Parser<'p> = &'p dyn Fn(&[u8]) -> u64;

fn report(name: &str, bytes: &[u8], parsers: [Parser<'_>; 3]) {
    compare(
        name,
        bytes,
        1.0,
        &[
            ("ours", parsers[0]),
            ("httparse, bare", parsers[1]),
            ("httparse, looked up", parsers[2]),
        ],
    );
}

/// Print the time of each parser for `bytes`, which have so many `parts`, and its ratio to the first parser.
fn compare(name: &str, bytes: &[u8], parts: f64, parsers: &[(&str, Parser<'_>)]) {
    let rounds: Vec<Vec<f64>> = (0..ROUNDS)
        .map(|_| {
            parsers
                .iter()
                .map(|(_, parser)| nanoseconds(parser, bytes) / parts)
                .collect()
        })
        .collect();
    let column = |value: &dyn Fn(&Vec<f64>) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        format!(
            "{:.2} [{:.2}..{:.2}]",
            values[ROUNDS / 2],
            values[0],
            values[ROUNDS - 1]
        )
    };
    println!("{name} ({} bytes)", bytes.len());
    for (index, (parser, _)) in parsers.iter().enumerate() {
        let ratio = column(&|round| round[index] / round[0]);
        println!(
            "  {parser:<22}{:<28}ratio {ratio}",
            column(&|round| round[index])
        );
    }
}

/// Return the mean over one round.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a benchmark are far below 2^52"
)]
fn nanoseconds(parser: Parser<'_>, bytes: &[u8]) -> f64 {
    let start = Instant::now();
    let mut count = 0_u64;
    while start.elapsed() < ROUND {
        for _ in 0..100 {
            black_box(parser(black_box(bytes)));
        }
        count += 100;
    }
    start.elapsed().as_nanos() as f64 / count as f64
}

/// Make a chunked body of 64 chunks of so many bytes.
fn body(chunk: usize) -> Vec<u8> {
    let mut wire = format!("{chunk:x}\r\n{}\r\n", "x".repeat(chunk))
        .repeat(64)
        .into_bytes();
    wire.extend_from_slice(b"0\r\n\r\n");
    wire
}

fn our_chunks(bytes: &[u8]) -> u64 {
    let drained = Decoder::new(Framing::Chunked, &Limits::default())
        .drain(bytes)
        .expect("valid");
    assert!(drained.done);
    drained.content_bytes
}

/// The usual loop of a user of httparse when the whole body is present.
fn httparse_chunks(bytes: &[u8]) -> u64 {
    let (mut at, mut content) = (0, 0);
    loop {
        let (line, size) = httparse::parse_chunk_size(&bytes[at..])
            .expect("valid")
            .unwrap();
        if size == 0 {
            assert_eq!(&bytes[at + line..], b"\r\n");
            return content;
        }
        at += line + usize::try_from(size).expect("it lies in memory");
        assert_eq!(&bytes[at..at + 2], b"\r\n");
        at += 2;
        content += size;
    }
}

fn ours_request(bytes: &[u8]) -> u64 {
    match request::parse(bytes, &Limits::default()) {
        Ok(Parse::Complete { head, bytes }) => {
            bytes as u64 + head.fields.len() as u64 + u64::from(head.keep_alive())
        }
        _ => unreachable!("the inputs are valid"),
    }
}

fn ours_response(bytes: &[u8]) -> u64 {
    match response::parse(bytes, &Limits::default()) {
        Ok(Parse::Complete { head, bytes }) => {
            bytes as u64 + head.fields.len() as u64 + u64::from(head.status)
        }
        _ => unreachable!("the inputs are valid"),
    }
}

fn bare_request(bytes: &[u8]) -> u64 {
    let mut headers = [MaybeUninit::uninit(); HEADERS];
    let mut request = httparse::Request::new(&mut []);
    let status = request.parse_with_uninit_headers(bytes, &mut headers);
    status.expect("valid").unwrap() as u64 + request.headers.len() as u64
}

fn looked_up_request(bytes: &[u8]) -> u64 {
    let mut headers = [MaybeUninit::uninit(); HEADERS];
    let mut request = httparse::Request::new(&mut []);
    let status = request.parse_with_uninit_headers(bytes, &mut headers);
    status.expect("valid").unwrap() as u64 + look_up(request.headers)
}

fn bare_response(bytes: &[u8]) -> u64 {
    let mut headers = [MaybeUninit::uninit(); HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let status = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        bytes,
        &mut headers,
    );
    status.expect("valid").unwrap() as u64 + response.headers.len() as u64
}

fn looked_up_response(bytes: &[u8]) -> u64 {
    let mut headers = [MaybeUninit::uninit(); HEADERS];
    let mut response = httparse::Response::new(&mut []);
    let status = httparse::ParserConfig::default().parse_response_with_uninit_headers(
        &mut response,
        bytes,
        &mut headers,
    );
    status.expect("valid").unwrap() as u64 + look_up(response.headers)
}

/// Look up the fields that a user of httparse needs before acting on the message.
fn look_up(headers: &[httparse::Header<'_>]) -> u64 {
    let mut signals = 0;
    for header in headers {
        let name = header.name.as_bytes();
        let wanted: &[u8] = match name.len() {
            4 => b"host",
            10 => b"connection",
            14 => b"content-length",
            17 => b"transfer-encoding",
            _ => continue,
        };
        if name.eq_ignore_ascii_case(wanted) {
            signals += header.value.len() as u64;
        }
    }
    signals
}
