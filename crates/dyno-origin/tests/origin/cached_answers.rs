//! Requests that repeat earlier ones byte for byte: each is answered like the first, and noted.

use std::io::{BufReader, Write};
use std::time::Duration;

use dyno_http::Method;

use crate::stage::{Reply, Stage, connect, reply, request};

/// More URLs than fit into the cache.
const TARGETS: [&str; 12] = [
    "/plain",
    "/bytes/16384",
    "/bytes/0",
    "/bytes/100000",
    "/json",
    "/gzip",
    "/stream/3",
    "/status/404",
    "/status/204",
    "/delay/1",
    "/redirect/2",
    "/bytes/9999999999",
];

/// The answer without its date.
fn dateless(mut reply: Reply) -> Reply {
    reply
        .fields
        .retain(|(name, _)| !name.eq_ignore_ascii_case("date"));
    reply
}

#[test]
fn the_same_request_has_the_same_answer_each_time() {
    let stage = Stage::new("");
    let mut stream = BufReader::new(stage.connect());
    let fields = "Accept-Encoding: gzip\r\nUser-Agent: again\r\n";
    for method in [Method::Get, Method::Head] {
        for round in 0..2 {
            for target in TARGETS {
                let bytes = request(method.as_str(), "a.test", target, fields);
                let mut alone = BufReader::new(stage.connect());
                alone.get_mut().write_all(&bytes).unwrap();
                let first = dateless(reply(&mut alone, method));
                for time in 0..5 {
                    stream.get_mut().write_all(&bytes).unwrap();
                    let again = dateless(reply(&mut stream, method));
                    assert!(again == first, "{method:?} {target}: {round}, {time}");
                }
            }
        }
    }
}

#[test]
fn requests_in_one_piece_or_in_parts_are_distinguished() {
    let stage = Stage::new("");
    let mut stream = stage.connect();
    let plain = request("GET", "a.test", "/plain", "");
    let other = request("GET", "a.test", "/status/404", "");
    let all = [&plain, &plain, &plain, &other, &plain, &other, &plain].map(Vec::as_slice);
    let together = all.concat();
    for width in [together.len(), 7, plain.len(), plain.len() + 1] {
        for part in together.chunks(width) {
            stream.write_all(part).unwrap();
        }
        let statuses = all.map(|_| reply(&mut stream, Method::Get).status);
        assert_eq!(statuses, [200, 200, 200, 404, 200, 404, 200]);
    }
    // The cached head with one more byte in its last field is a different request.
    for host in ["a.test", "a.testa"] {
        let bytes = request("GET", host, "/plain", "");
        stream.write_all(&bytes).unwrap();
        assert_eq!(reply(&mut stream, Method::Get).status, 200);
    }
}

#[test]
fn more_requests_at_once_than_fit_a_buffer_are_all_answered() {
    let stage = Stage::new("");
    let mut stream = BufReader::new(stage.connect());
    // The length is a power of two, so that every buffer ends with a complete request.
    let bytes = request("GET", "a.test", "/plain", "X-Long: 12345678901234567\r\n");
    assert_eq!(bytes.len(), 64);
    for burst in [1, 1, 1, 1, 1, 1, 1, 1, 64, 128, 1, 1_000, 1] {
        stream.get_mut().write_all(&bytes.repeat(burst)).unwrap();
        for _ in 0..burst {
            assert_eq!(reply(&mut stream, Method::Get).content, b"Hello, World!");
        }
    }
    assert_eq!(stage.stop().report.requests, 1_202);
}

#[test]
fn each_is_counted_and_logged() {
    let stage = Stage::new("");
    let fields = "User-Agent: again\r\n";
    let bytes = request("GET", "a.test", "/plain", fields);
    let mut content_bytes = 0;
    for _ in 0..2 {
        let mut stream = connect(stage.http());
        for _ in 0..10 {
            stream.write_all(&bytes).unwrap();
            content_bytes += reply(&mut stream, Method::Get).content.len();
        }
    }
    let mut secure = stage.secure("a.test", &stage.client(rustls::ALL_VERSIONS));
    for _ in 0..3 {
        secure.write_all(&bytes).unwrap();
        content_bytes += reply(&mut secure, Method::Get).content.len();
    }
    drop(secure);
    assert_eq!(content_bytes, 23 * "Hello, World!".len());
    let record = stage.stop();
    let report = record.report;
    assert_eq!((report.requests, report.reused), (23, 20));
    assert_eq!(report.repeated, 21);
    assert_eq!(report.statuses["200"], 23);
    assert_eq!(report.codings["identity"], 23);
    assert_eq!(report.http_versions["1.1"], 23);
    assert_eq!(report.user_agents["again"], 23);
    assert_eq!(report.lateness_ns.count, 23);
    let mut csv = Vec::new();
    record.arrivals.write_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let lines = |connection, url: &str| {
        csv.lines()
            .filter(|line| line.ends_with(&format!(",{connection},{url},200")))
            .filter(|line| !line.contains(",,"))
            .count()
    };
    assert_eq!(lines(1, "http://a.test/plain"), 10);
    assert_eq!(lines(2, "http://a.test/plain"), 10);
    assert_eq!(lines(3, "https://a.test/plain"), 3);
}

#[test]
fn the_date_goes_on() {
    let stage = Stage::new("");
    let mut stream = stage.connect();
    let mut dates = Vec::new();
    while dates.len() < 2 {
        stream
            .write_all(&request("GET", "a.test", "/plain", ""))
            .unwrap();
        let answer = reply(&mut stream, Method::Get);
        assert_eq!(answer.content, b"Hello, World!");
        dates.push(answer.field("date").unwrap().to_owned());
        dates.dedup();
    }
    assert!(dates.iter().all(|date| date.ends_with(" GMT")));
}

#[test]
fn a_slow_reader_gets_whole_answers_of_more_than_one_second() {
    let stage = Stage::new("");
    let bytes = request("GET", "a.test", "/bytes/60000", "");
    let mut stream = BufReader::new(stage.connect());
    stream.get_mut().write_all(&bytes).unwrap();
    let once = dateless(reply(&mut stream, Method::Get));
    // More answers than the buffers of both sides hold, so that the origin has to wait in the middle of an answer while
    // its date changes.
    let count = 400;
    let mut slow = BufReader::new(stage.connect());
    for _ in 0..10 {
        slow.get_mut().write_all(&bytes).unwrap();
        assert!(dateless(reply(&mut slow, Method::Get)) == once);
    }
    slow.get_mut().write_all(&bytes.repeat(count)).unwrap();
    let date = || {
        let answer = stage.get("a.test", "/plain", "");
        answer.field("date").unwrap().to_owned()
    };
    let before = date();
    let mut others = 1;
    while date() == before {
        others += 1;
        std::thread::sleep(Duration::from_millis(20));
    }
    others += 1;
    assert!(stage.running().snapshot().answers < 11 + count as u64 + others);
    for place in 0..count {
        assert!(dateless(reply(&mut slow, Method::Get)) == once, "{place}");
    }
}

#[test]
fn what_follows_many_requests_of_a_kind_is_answered_like_any_other() {
    let stage = Stage::new("");
    let plain = request("GET", "a.test", "/plain", "");
    let others: [(&[u8], Option<u16>); 5] = [
        (
            b"GET /status/404 HTTP/1.1\r\nHost: a.test\r\n\r\n",
            Some(404),
        ),
        (
            b"POST /plain HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\n\r\nabc",
            Some(200),
        ),
        (b"nonsense\r\n\r\n", Some(400)),
        (
            b"GET /plain HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n",
            Some(200),
        ),
        (b"GET /pl", None),
    ];
    for (other, status) in others {
        let mut stream = stage.connect();
        for _ in 0..10 {
            stream.write_all(&plain).unwrap();
            assert_eq!(reply(&mut stream, Method::Get).status, 200);
        }
        stream.write_all(other).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        if let Some(status) = status {
            assert_eq!(reply(&mut stream, Method::Get).status, status);
        }
        let mut rest = Vec::new();
        std::io::Read::read_to_end(&mut stream, &mut rest).unwrap();
        assert!(rest.is_empty());
    }
    let report = stage.stop().report;
    assert_eq!((report.connections, report.requests), (5, 53));
    assert_eq!(report.reused, 48);
}

#[test]
fn many_of_a_kind_and_the_end_of_the_connection_may_come_at_once() {
    let stage = Stage::new("");
    let plain = request("GET", "a.test", "/plain", "");
    for _ in 0..50 {
        let mut stream = stage.connect();
        for _ in 0..6 {
            stream.write_all(&plain).unwrap();
            assert_eq!(reply(&mut stream, Method::Get).status, 200);
        }
        stream.write_all(&plain.repeat(20)).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        for _ in 0..20 {
            assert_eq!(reply(&mut stream, Method::Get).content, b"Hello, World!");
        }
        assert_eq!(std::io::Read::read(&mut stream, &mut [0]).unwrap(), 0);
    }
    assert_eq!(stage.stop().report.requests, 50 * 26);
}
