//! Servers that misbehave: each is counted under its own name, and none holds a run up.

use std::io::Write;
use std::net::TcpStream;
use std::time::Instant;

use serde_json::json;

use crate::server::{Server, read_request, reset, wait_for_the_end};
use crate::stage::{accounted, get, number, shape, shaped};

const REQUESTS: u64 = 6;

/// Far more than the timeouts and rests of a run come to, far less than a hang.
const PATIENCE_S: u64 = 60;

/// Answers the first request with these bytes; then the connection stays, or ends.
fn says(answer: &'static [u8], closes: bool) -> impl Fn(TcpStream) + Send + Sync {
    move |mut stream| {
        read_request(&mut stream);
        stream.write_all(answer).unwrap_or_default();
        if !closes {
            wait_for_the_end(stream);
        }
    }
}

/// Sends the same bytes for ever.
fn floods(start: &'static [u8], again: &'static [u8]) -> impl Fn(TcpStream) + Send + Sync {
    move |mut stream| {
        read_request(&mut stream);
        stream.write_all(start).unwrap_or_default();
        while stream.write_all(again).is_ok() {}
    }
}

fn check(name: &str, url: String, http2: bool) {
    let began = Instant::now();
    let shape = dyno_load::load::Shape { http2, ..shape() };
    let report = shaped(&[url], &shape)
        .requests(REQUESTS)
        .timeout_ms(300)
        .run();
    assert_eq!(
        report["errors"],
        json!({ name: REQUESTS }),
        "{name}: {report}"
    );
    assert_eq!(number(&report, "/errors_total"), REQUESTS, "{name}");
    assert_eq!(accounted(&report), REQUESTS, "{name}");
    assert!(began.elapsed().as_secs() < PATIENCE_S, "{name}");
}

#[test]
fn each_misbehaviour_has_its_name() {
    type Behaviour = Box<dyn Fn(TcpStream) + Send + Sync>;
    let cases: [(&str, Behaviour); 14] = [
        (
            "MalformedHead",
            Box::new(says(b"220 mail.test ESMTP\r\n\r\n", false)),
        ),
        (
            "MalformedHead",
            Box::new(says(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", false)),
        ),
        ("ClosedBeforeAnswer", Box::new(says(b"", true))),
        (
            "BodyCutShort",
            Box::new(says(b"HTTP/1.1 200 OK\r\nContent-Le", true)),
        ),
        (
            "ConnectionReset",
            Box::new(|mut stream| {
                read_request(&mut stream);
                reset(stream);
            }),
        ),
        ("HeadTimeout", Box::new(says(b"", false))),
        (
            "HeadTimeout",
            Box::new(says(b"HTTP/1.1 200 OK\r\nContent-Le", false)),
        ),
        (
            "BodyTimeout",
            Box::new(says(
                b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
                false,
            )),
        ),
        (
            "BodyCutShort",
            Box::new(says(
                b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
                true,
            )),
        ),
        (
            "MalformedBody",
            Box::new(says(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
                false,
            )),
        ),
        (
            "HeadTooLong",
            Box::new(floods(b"HTTP/1.1 200 OK\r\n", b"a: b\r\nc: d\r\ne: f\r\n")),
        ),
        (
            "HeadTooLong",
            Box::new(floods(
                b"HTTP/1.1 200 OK\r\na: ",
                b"aaaaaaaaaaaaaaaaaaaaaaaa",
            )),
        ),
        (
            "InterimFlood",
            Box::new(floods(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n")),
        ),
        (
            "BodyTimeout",
            Box::new(floods(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                b"5\r\nhello\r\n",
            )),
        ),
    ];
    for (name, behave) in cases {
        check(name, Server::start(behave).url(), false);
    }
}

#[test]
fn nobody_listens() {
    // A listener that has gone: its port was free a moment ago.
    let address = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .unwrap();
    for http2 in [false, true] {
        check("ConnectionRefused", format!("http://{address}/"), http2);
    }
}

#[test]
fn tls_fails_by_its_names() {
    let secure = |server: &Server| format!("https://{}/", server.address);
    let silent = Server::start(wait_for_the_end);
    check("TlsTimeout", secure(&silent), false);
    let talks_first = Server::start(|mut stream| {
        stream
            .write_all(b"220 mail.test ESMTP\r\n")
            .unwrap_or_default();
        wait_for_the_end(stream);
    });
    check("TlsProtocol", secure(&talks_first), false);
    let speaks_one = Server::start(|mut stream| {
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap_or_default();
        wait_for_the_end(stream);
    });
    check("Http2Protocol", speaks_one.url(), true);
    let closes = Server::start(|mut stream| {
        let mut hello = [0; 16 << 10];
        std::io::Read::read(&mut stream, &mut hello).unwrap_or_default();
    });
    check("ClosedBeforeAnswer", secure(&closes), false);
}

#[test]
fn no_such_name() {
    check(
        "HostNotFound",
        "http://no-such-name.invalid/".to_owned(),
        false,
    );
}

#[test]
fn a_server_that_refuses_everything_is_not_hammered() {
    let server = Server::start(|mut stream| {
        read_request(&mut stream);
    });
    let report = get(&[server.url()]).millis(1_000).run();
    // Two lanes that rest 10, 20, 40, ... ms after their second failure: 8 attempts each in a second.
    assert!(
        (4..=40).contains(&number(&report, "/errors_total")),
        "{report}"
    );
}

#[test]
fn a_server_that_never_answers_leaves_requests_open() {
    let server = Server::start(wait_for_the_end);
    let report = get(&[server.url()]).connections(3).millis(300).run();
    assert_eq!(number(&report, "/sent"), 3);
    assert_eq!(number(&report, "/requests"), 0);
    assert_eq!(number(&report, "/censored/count"), 3);
    assert_eq!(number(&report, "/censored/ages/count"), 3);
    assert!(
        number(&report, "/censored/oldest_ns") <= 301_000_000,
        "{report}"
    );
    assert_eq!(number(&report, "/errors_total"), 0);
}
