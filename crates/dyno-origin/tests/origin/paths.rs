//! Answers to ordinary requests.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use dyno_http::Method;
use dyno_web::{Class, ECHO_BYTES, JSON_DOCUMENT, STREAM_LINE, WRONG_DOCUMENT, text};

use crate::stage::{PATIENCE, Stage, is_silent, reply, request};

#[test]
fn fixed_paths_are_served() {
    let stage = Stage::new("");
    let text = text(5);
    let lines = STREAM_LINE.repeat(3);
    let long = [&text[..], &text[..100]].concat();
    let cases: [(&str, u16, &[u8]); 9] = [
        ("/plain", 200, b"Hello, World!"),
        ("/json", 200, JSON_DOCUMENT.as_bytes()),
        ("/bytes/100000", 200, &text[..100_000]),
        (&format!("/bytes/{}", long.len()), 200, &long),
        ("/bytes/0", 200, b""),
        ("/status/204", 204, b""),
        ("/status/503", 503, b""),
        ("/stream/3", 200, lines.as_bytes()),
        ("/drip?duration_ms=20&numbytes=7", 200, &text[..7]),
    ];
    for (target, status, content) in cases {
        let answer = stage.get("any.test", target, "");
        assert_eq!(answer.status, status, "{target}");
        assert!(
            answer.content == content,
            "{target}: {} bytes",
            answer.content.len()
        );
        let chunked = target.starts_with("/stream");
        assert_eq!(
            answer.field("transfer-encoding"),
            chunked.then_some("chunked"),
            "{target}"
        );
        assert_eq!(
            answer.field("content-length").is_some(),
            !chunked && status != 204,
            "{target}"
        );
        assert!(
            answer
                .field("date")
                .is_some_and(|date| date.ends_with(" GMT"))
        );
    }
}

#[test]
fn redirects_say_where_to() {
    let stage = Stage::new(
        "[[host]]\nname = 'a.test'\nredirect_to = 'https://b.test/x'\nredirect_status = 308\n",
    );
    let answer = stage.get("a.test", "/", "");
    assert_eq!(
        (answer.status, answer.field("location")),
        (308, Some("https://b.test/x"))
    );
    let answer = stage.get("b.test", "/redirect/2", "");
    assert_eq!(
        (answer.status, answer.field("location")),
        (302, Some("/redirect/1"))
    );
}

#[test]
fn a_web_that_cannot_be_put_in_a_head_says_so() {
    let stage = Stage::new("[[host]]\nname = 'a.test'\nredirect_to = \"/a\\r\\nSet-Cookie: b\"\n");
    let answer = stage.get("a.test", "/", "");
    assert_eq!((answer.status, answer.field("set-cookie")), (500, None));
}

#[test]
fn pages_come_in_the_coding_that_is_asked_for() {
    let classes: Vec<Class> = Class::all()
        .step_by(25)
        .chain(Class::all().skip(255))
        .collect();
    let codings = ["gzip", "br", "zstd"];
    let mut hosts = Vec::new();
    for (class, coding) in classes
        .iter()
        .flat_map(|class| codings.map(|coding| (class, coding)))
    {
        let (index, bytes) = (class.index(), class.bytes());
        hosts.push(format!(
            "[[host]]\nname = '{coding}-{index}.test'\ncontent_bytes = {bytes}\ncoding = '{coding}'\n"
        ));
    }
    let stage = Stage::new(&format!(
        "{}[content]\ncompression_ratio = 5\nmedian_bytes = 1000\n",
        hosts.concat()
    ));
    let text = text(5);
    for class in classes {
        let page = &text[..usize::try_from(class.bytes()).unwrap()];
        for coding in codings {
            let host = format!("{coding}-{}.test", class.index());
            let accepts = "Accept-Encoding: gzip, br\r\nAccept-Encoding: zstd\r\n";
            let answer = stage.get(&host, "/", accepts);
            assert_eq!(answer.field("content-encoding"), Some(coding), "{host}");
            assert_eq!(answer.field("vary"), Some("Accept-Encoding"));
            assert!(answer.decoded() == page, "{host}");
        }
    }
    let plain = stage.get("br-0.test", "/", "");
    assert_eq!(
        (plain.field("content-encoding"), plain.content.len()),
        (None, 256)
    );
}

#[test]
fn pages_with_links_come_in_every_coding() {
    let codings = ["gzip", "br", "zstd"];
    let host =
        |coding| format!("[[host]]\nname = '{coding}.test'\ncoding = '{coding}'\nstatus = 200\n");
    let stage = Stage::new(&format!("{}[links]\n", codings.map(host).concat()));
    for coding in codings {
        let name = format!("{coding}.test");
        let plain = stage.get(&name, "/", "");
        assert_eq!(plain.field("content-encoding"), None);
        assert!(plain.content.starts_with(b"<!DOCTYPE html>") && plain.content.len() <= 32 << 10);
        // The second and third answers come from the cache.
        for _ in 0..3 {
            let answer = stage.get(&name, "/", "Accept-Encoding: gzip, br, zstd\r\n");
            assert_eq!(answer.field("content-encoding"), Some(coding));
            assert_eq!(answer.field("vary"), Some("Accept-Encoding"));
            assert!(answer.decoded() == plain.content, "{coding}");
        }
        let robots = stage.get(&name, "/robots.txt", "");
        assert_eq!(
            robots.field("content-type"),
            Some("text/plain; charset=utf-8")
        );
        assert!(
            robots
                .content
                .ends_with(format!("Sitemap: http://{name}/sitemap.xml\n").as_bytes())
        );
        assert_eq!(stage.get(&name, "/gone-1", "").status, 404);
    }
}

#[test]
fn documents_come_in_the_coding_of_their_path() {
    let stage = Stage::new("");
    for (path, coding) in [("/gzip", "gzip"), ("/brotli", "br"), ("/zstd", "zstd")] {
        let answer = stage.get("a.test", path, "Accept-Encoding: *\r\n");
        assert_eq!(answer.field("content-encoding"), Some(coding));
        assert_eq!(answer.decoded(), JSON_DOCUMENT.as_bytes());
    }
    for (query, accepts, coding) in [
        ("?coding=gzip", "*", Some("gzip")),
        ("?coding=gzip", "br", None),
        ("?coding=identity", "*", None),
        ("", "*", None),
    ] {
        let field = format!("Accept-Encoding: {accepts}\r\n");
        let answer = stage.get("a.test", &format!("/json{query}"), &field);
        assert_eq!(
            answer.field("content-encoding"),
            coding,
            "{query} {accepts}"
        );
        assert_eq!(answer.decoded(), JSON_DOCUMENT.as_bytes());
    }
}

#[test]
fn a_wrong_document_is_wrong_in_every_coding_and_every_time() {
    let stage = Stage::new("[json]\nwrong_share = 1\n");
    for path in ["/json", "/json?coding=gzip", "/brotli", "/zstd", "/json"] {
        let answer = stage.get("a.test", path, "Accept-Encoding: *\r\n");
        assert_eq!(answer.status, 200);
        assert!(answer.decoded() == WRONG_DOCUMENT.as_bytes(), "{path}");
    }
}

#[test]
fn framings_are_as_the_host_has_them() {
    let stage = Stage::new(
        "[[host]]\nname = 'chunked.test'\nframing = 'chunked'\ntrailers = true\ncontent_bytes = 40000\n\
         [[host]]\nname = 'until-close.test'\nframing = 'until_close'\ncontent_bytes = 40000\n\
         [[host]]\nname = 'closes.test'\ncloses = true\ncontent_bytes = 256\n",
    );
    let text = text(5);
    let chunked = stage.send(&request(
        "GET",
        "chunked.test",
        "/",
        "Connection: close\r\n",
    ));
    assert!(chunked.ends_with(b"\r\n0\r\nServer-Timing: origin;dur=0\r\n\r\n"));
    let answer = stage.get("chunked.test", "/", "");
    assert_eq!(
        (answer.field("trailer"), answer.content == text[..40_000]),
        (Some("Server-Timing"), true)
    );
    let until_close = stage.get("until-close.test", "/", "");
    assert_eq!(
        (
            until_close.field("content-length"),
            until_close.field("connection")
        ),
        (None, Some("close"))
    );
    assert!(until_close.content == text[..40_000]);
    let mut closing = stage.ask("closes.test", "/", "");
    assert_eq!(
        reply(&mut closing, Method::Get).field("connection"),
        Some("close")
    );
    assert_eq!(closing.read(&mut [0]).unwrap(), 0);
}

#[test]
fn connections_are_kept_and_requests_may_be_sent_ahead() {
    let stage = Stage::new("");
    let mut stream = stage.connect();
    let mut ahead = request("GET", "a.test", "/delay/30", "");
    ahead.extend(request("HEAD", "a.test", "/json", ""));
    ahead.extend(request("GET", "a.test", "/status/404", ""));
    stream.write_all(&ahead).unwrap();
    assert_eq!(reply(&mut stream, Method::Get).content, b"Hello, World!");
    let head = reply(&mut stream, Method::Head);
    assert_eq!(
        (head.field("content-length"), head.content.len()),
        (Some("16384"), 0)
    );
    assert_eq!(reply(&mut stream, Method::Get).status, 404);
    assert!(
        is_silent(&mut stream),
        "the connection stays, without another answer"
    );
}

#[test]
fn version_1_0_closes_unless_asked_not_to_and_gets_no_chunks() {
    let stage = Stage::new("");
    let closed = stage.send(b"GET /stream/2 HTTP/1.0\r\n\r\n");
    let closed = String::from_utf8(closed).unwrap();
    assert!(
        closed.contains("Connection: close\r\n") && closed.ends_with(&STREAM_LINE.repeat(2)),
        "{closed}"
    );
    assert!(!closed.to_lowercase().contains("chunked"));
    let mut kept = stage.connect();
    for _ in 0..2 {
        kept.write_all(b"GET /plain HTTP/1.0\r\nHost: a.test\r\nConnection: keep-alive\r\n\r\n")
            .unwrap();
        assert_eq!(
            reply(&mut kept, Method::Get).field("connection"),
            Some("keep-alive")
        );
    }
}

#[test]
fn bodies_are_drained_and_awaited() {
    let stage = Stage::new("");
    let mut stream = stage.connect();
    let mut bytes = request("POST", "a.test", "/plain", "Content-Length: 200000\r\n");
    bytes.extend(vec![b'x'; 200_000]);
    bytes.extend(request(
        "PUT",
        "a.test",
        "/plain",
        "Transfer-Encoding: chunked\r\n",
    ));
    bytes.extend(b"5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n");
    stream.write_all(&bytes).unwrap();
    for _ in 0..2 {
        assert_eq!(reply(&mut stream, Method::Post).content, b"Hello, World!");
    }
    stream
        .write_all(&request(
            "POST",
            "a.test",
            "/plain",
            "Expect: 100-continue\r\nContent-Length: 5\r\n",
        ))
        .unwrap();
    assert_eq!(reply(&mut stream, Method::Post).status, 100);
    assert!(is_silent(&mut stream), "the answer waits for the body");
    stream.write_all(b"hello").unwrap();
    assert_eq!(reply(&mut stream, Method::Post).status, 200);
}

#[test]
fn an_echo_has_the_method_and_the_content() {
    let stage = Stage::new("");
    let mut stream = stage.connect();
    let long = "x".repeat(ECHO_BYTES + 100_000);
    let length = format!("Content-Length: {}\r\n", long.len());
    let chunked = "Transfer-Encoding: chunked\r\n";
    let cases: [(&str, Method, &str, &str, String); 6] = [
        ("GET", Method::Get, "", "", "GET\n".to_owned()),
        ("DELETE", Method::Delete, "", "", "DELETE\n".to_owned()),
        ("HEAD", Method::Head, "", "", String::new()),
        (
            "POST",
            Method::Post,
            "Content-Length: 5\r\n",
            "h\u{f6}rt",
            "POST\nh\u{f6}rt".to_owned(),
        ),
        (
            "PUT",
            Method::Put,
            chunked,
            "2\r\nab\r\n1;a\r\nc\r\n0\r\n\r\n",
            "PUT\nabc".to_owned(),
        ),
        (
            "POST",
            Method::Post,
            &length,
            &long,
            format!("POST\n{}", &long[..ECHO_BYTES]),
        ),
    ];
    // Twice: the answer to a head that comes again may be a cached one.
    for (name, method, fields, content, expected) in cases.iter().chain(&cases) {
        let mut bytes = request(name, "a.test", "/echo?n=1", fields);
        bytes.extend(content.as_bytes());
        stream.write_all(&bytes).unwrap();
        let answer = reply(&mut stream, *method);
        assert_eq!(answer.status, 200, "{name}");
        assert!(answer.content == expected.as_bytes(), "{name} {fields}");
    }
}

#[test]
fn interim_answers_come_before_the_answer() {
    let stage = Stage::new("[[host]]\nname = 'hints.test'\ninterim = 103\ncontent_bytes = 256\n");
    let mut stream = stage.ask("hints.test", "/", "");
    let interim = reply(&mut stream, Method::Get);
    assert_eq!(
        (interim.status, interim.field("link").is_some()),
        (103, true)
    );
    assert_eq!(reply(&mut stream, Method::Get).status, 200);
}

#[test]
fn a_request_with_500_fields_is_answered() {
    let fields = "X: a\r\n".repeat(500);
    assert_eq!(Stage::new("").get("a.test", "/plain", &fields).status, 200);
}

#[test]
fn what_is_no_request_is_refused() {
    let stage = Stage::new("");
    let long = format!(
        "GET /plain HTTP/1.1\r\nHost: a.test\r\nX: {}\r\n\r\n",
        "x".repeat(70_000)
    );
    let cases: [(&[u8], &str); 9] = [
        (b"nonsense\r\n\r\n", "400 Bad Request"),
        (b"GET /plain HTTP/1.1\r\n\r\n", "400 Bad Request"),
        (
            b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
            "400 Bad Request",
        ),
        (long.as_bytes(), "431 Request Header Fields Too Large"),
        (
            b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n",
            "501 Not Implemented",
        ),
        (
            b"TRACE / HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "405 Method Not Allowed",
        ),
        (
            b"PROPFIND / HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "501 Not Implemented",
        ),
        (
            b"get / HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "501 Not Implemented",
        ),
        (
            b"GET / HTTP/3.7\r\nHost: a\r\n\r\n",
            "505 HTTP Version Not Supported",
        ),
    ];
    for (bytes, expected) in cases {
        let answer = String::from_utf8(stage.send(bytes)).unwrap();
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {expected}\r\n")),
            "{answer}"
        );
        assert!(answer.contains("Connection: close\r\n"));
    }
}

#[test]
fn delays_and_drips_take_their_time() {
    let stage = Stage::new("");
    for target in [
        "/delay/60",
        "/drip?duration_ms=60&numbytes=5",
        "/plain?delay_ms=60",
    ] {
        let start = Instant::now();
        assert_eq!(stage.get("a.test", target, "").status, 200);
        assert!(start.elapsed() >= Duration::from_millis(60), "{target}");
    }
    let lateness = stage.stop().report.lateness_ns;
    assert_eq!(lateness.count, 3);
    assert!(lateness.max > 0 && lateness.p50 <= lateness.p99 && lateness.p99 <= lateness.max);
}

#[test]
fn every_method_of_http_but_trace_and_connect_is_answered() {
    let stage = Stage::new("");
    let mut stream = stage.connect();
    for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        stream
            .write_all(&request(
                method,
                "a.test",
                "/plain",
                "Content-Length: 0\r\n",
            ))
            .unwrap();
        let asked = Method::from_token(method.as_bytes()).unwrap();
        assert_eq!(reply(&mut stream, asked).status, 200, "{method}");
    }
    stream
        .write_all(&request("TRACE", "a.test", "/plain", ""))
        .unwrap();
    let refused = reply(&mut stream, Method::Trace);
    assert_eq!(
        refused.field("allow"),
        Some("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
    );
}

#[test]
fn a_client_that_ends_its_side_still_gets_a_delayed_answer() {
    let stage = Stage::new("");
    for target in ["/delay/60", "/drip?duration_ms=60&numbytes=5", "/plain"] {
        let mut stream = stage.ask("a.test", target, "");
        stream.shutdown(Shutdown::Write).unwrap();
        let answer = reply(&mut stream, Method::Get);
        assert_eq!(answer.status, 200, "{target}");
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "{target}");
    }
    assert_eq!(stage.settled(3).answers, 3);
    let report = stage.stop().report;
    assert_eq!(report.statuses, [("200".to_owned(), 3)].into());
}

#[test]
fn a_client_that_closes_before_a_delayed_answer_has_given_it_up() {
    let stage = Stage::new("");
    drop(stage.ask("a.test", "/delay/100", ""));
    wait_until(|| stage.running().snapshot().requests == 1);
    wait_until(|| stage.running().snapshot().in_flight == 0);
    // The request ends after its planned time and the reset that follows.
    assert_eq!(stage.get("a.test", "/delay/200", "").status, 200);
    let report = stage.stop().report;
    assert_eq!(
        (report.requests, report.statuses),
        (2, [("200".to_owned(), 1)].into())
    );
}

fn wait_until(mut is_true: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_true() {
        assert!(start.elapsed() < PATIENCE, "the request never ends");
        std::thread::yield_now();
    }
}
