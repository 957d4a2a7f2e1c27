//! Answers: statuses, checks, kept and closed connections, TLS, samples, logs.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use dyno_load::{Check, Shape};
use dyno_origin::{Authority, Cache, Options, Origin, Running};
use dyno_web::{Model, Web};
use flate2::Compression;
use flate2::write::GzEncoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::json;

use crate::server::{HELLO, Server, read_request};
use crate::stage::{described, described_as, get, number, shape, shaped, without_failures};

pub fn origin() -> (Arc<Authority>, Running) {
    origin_with_http2(1)
}

/// An origin that offers HTTP/2 on this share of its hosts: none or all.
pub fn origin_with_http2(share: u8) -> (Arc<Authority>, Running) {
    let model = format!("name = 'test'\nseed = 1\n[http]\nhttp2 = {share}");
    let model = Model::from_toml(&model).unwrap();
    let authority = Arc::new(Authority::new().unwrap());
    let any = "127.0.0.1:0".parse().unwrap();
    let running = Origin::start(Options {
        http: vec![any],
        https: vec![any],
        cache: Cache::at(env!("CARGO_TARGET_TMPDIR").into()),
        ..Options::new(Arc::new(Web::new(model, None)), authority.clone())
    });
    (authority, running.unwrap())
}

pub fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("dyno-load-{}-{name}", std::process::id()))
}

#[test]
fn answers_are_held_against_checks() {
    let (_, origin) = origin();
    let at = |path: &str| format!("http://{}{path}", origin.http()[0]);
    let checks = |texts: &[&str]| -> Arc<[Check]> {
        let parse = |text: &&str| Check::parse(text).unwrap();
        texts.iter().map(parse).collect()
    };
    let checked = |texts: &[&str]| Shape {
        checks: checks(texts),
        ..shape()
    };
    let all = ["/plain", "/status/500", "/bytes/7", "/json"].map(at);
    let stage = shaped(&all, &checked(&["status=200", "length=13"])).requests(40);
    let report = stage.run();
    assert_eq!(
        report["statuses"],
        json!({"200": 30, "500": 10}),
        "{report}"
    );
    let counts = ["right", "wrong_status", "wrong_length", "wrong_content"];
    let counts = counts.map(|name| number(&report, &format!("/checks/{name}")));
    assert_eq!(counts, [10, 10, 20, 0]);
    let examples = report["checks"]["examples"].as_array().unwrap();
    let failed: Vec<_> = examples.iter().map(|one| &one["check"]).collect();
    assert_eq!(failed, ["status=200", "length=13"]);
    let json = shaped(&[at("/json")], &checked(&["json=/0/numbers=123123"])).requests(10);
    assert_eq!(number(&json.run(), "/checks/right"), 10);
    // A request with its own checks is judged by those.
    let lines = format!(
        "{{\"url\": \"{}\"}}\n{{\"url\": \"{}\", \"check\": [\"status=500\"]}}\n{{\"url\": \"{}\", \"check\": [\"json=/0/numbers=7\"]}}",
        at("/plain"),
        at("/status/500"),
        at("/json"),
    );
    let mixed = described_as(described(&lines), &checked(&["status=200"])).requests(30);
    let report = mixed.run();
    assert_eq!(number(&report, "/checks/right"), 20, "{report}");
    assert_eq!(number(&report, "/checks/wrong_json"), 10, "{report}");
}

#[test]
fn checks_decode_chunked_content() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(b"Hello, World!").unwrap();
    let coded = encoder.finish().unwrap();
    let mut answer =
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for piece in coded.chunks(7) {
        write!(answer, "{:x}\r\n", piece.len()).unwrap();
        answer.extend_from_slice(piece);
        answer.extend_from_slice(b"\r\n");
    }
    answer.extend_from_slice(b"0\r\n\r\n");
    let server = Server::answering(answer.leak(), || ());
    let length = format!("length={}", coded.len());
    let checks = ["contains=World", &length, "regex=^Hello"];
    let checked = |texts: &[&str]| Shape {
        checks: texts
            .iter()
            .map(|text| Check::parse(text).unwrap())
            .collect(),
        ..shape()
    };
    let report = shaped(&[server.url()], &checked(&checks))
        .requests(10)
        .run();
    assert_eq!(number(&report, "/checks/right"), 10, "{report}");
    let report = shaped(&[server.url()], &checked(&["contains=Moon", "status=200"]))
        .requests(10)
        .run();
    assert_eq!(number(&report, "/checks/wrong_contains"), 10, "{report}");
    let got = format!("200, {} bytes of gzip: Hello, World!", coded.len());
    let example = json!([{"check": "contains=\"Moon\"", "got": got}]);
    assert_eq!(report["checks"]["examples"], example);
}

#[test]
fn connections_are_kept_or_not() {
    let (_, origin) = origin();
    let url = [format!("http://{}/plain", origin.http()[0])];
    let report = get(&url).requests(20).run();
    assert_eq!(number(&report, "/connections/opened"), 2, "{report}");
    assert_eq!(number(&report, "/connections/reused_requests"), 18);
    let closing = Shape {
        keepalive: false,
        ..shape()
    };
    let report = shaped(&url, &closing).requests(20).run();
    assert_eq!(number(&report, "/connections/opened"), 20, "{report}");
    assert_eq!(number(&report, "/connections/reused_requests"), 0);
    assert_eq!(number(&report, "/requests"), 20);
    assert_eq!(report["errors"], json!({}));
    // The origin's counts are the same.
    let seen = serde_json::to_value(origin.stop().report).unwrap();
    assert_eq!(seen["requests"], 40, "{seen}");
    assert_eq!(seen["connections"], 22);
}

#[test]
fn a_connection_that_the_server_closed_unasked_is_opened_again() {
    // Sends ten answers without announcing an end; then closes the connection.
    let server = Server::start(|mut stream| {
        for _ in 0..10 {
            if !read_request(&mut stream) || stream.write_all(HELLO).is_err() {
                return;
            }
        }
    });
    let report = without_failures(|| get(&[server.url()]).connections(1).requests(100));
    assert_eq!(number(&report, "/requests"), 100, "{report}");
    assert_eq!(number(&report, "/connections/opened"), 10);
    assert!(number(&report, "/resent") <= 9, "{report}");
}

#[test]
fn a_long_request_that_is_answered_early_is_answered() {
    let server = Server::start(|mut stream| {
        stream
            .write_all(
                b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            )
            .unwrap_or_default();
        // Closing at once would reset the connection while the client still sends, and the answer would be lost.
        crate::server::wait_for_the_end(stream);
    });
    let long = Shape {
        body: Some(bytes::Bytes::from(vec![b'a'; 32 << 20]).into()),
        ..shape()
    };
    let report = shaped(&[server.url()], &long).requests(4).run();
    assert_eq!(report["statuses"], json!({"413": 4}), "{report}");
}

#[test]
fn tls_is_shaken_and_resumed() {
    let (authority, origin) = origin();
    let file = scratch("authority.pem");
    fs::write(&file, authority.pem()).unwrap();
    let address = origin.https()[0];
    let url = [format!("https://www.site.test:{}/plain", address.port())];
    let closing = Shape {
        keepalive: false,
        ..shape()
    };
    let with = |trust: Option<&PathBuf>, insecure: bool| {
        let mut stage = shaped(&url, &closing).connections(1).requests(8);
        let place = format!("www.site.test:{}:127.0.0.1", address.port());
        stage.plan.reroute.resolve.push(place.parse().unwrap());
        stage.plan.authorities = trust.cloned();
        stage.plan.insecure = insecure;
        stage.run()
    };
    for report in [with(Some(&file), false), with(None, true)] {
        assert_eq!(number(&report, "/requests"), 8, "{report}");
        assert_eq!(number(&report, "/connections/tls_full"), 1, "{report}");
        assert_eq!(number(&report, "/connections/tls_resumed"), 7);
        assert_eq!(number(&report, "/phases/tls/count"), 8);
    }
    let report = with(None, false);
    assert_eq!(report["errors"], json!({"CertificateUntrusted": 8}));
    fs::remove_file(file).unwrap();
}

#[test]
fn every_request_is_a_line_of_the_samples() {
    let server = Server::answering(HELLO, || ());
    let file = scratch("samples.csv");
    let mut stage = get(&[server.url()]).requests(5_000);
    stage.plan.samples = Some(file.clone());
    let report = stage.run();
    let text = fs::read_to_string(&file).unwrap();
    fs::remove_file(file).unwrap();
    let mut lines = text.lines();
    assert_eq!(
        lines.next().unwrap(),
        "intended_ns,sent_ns,first_byte_ns,end_ns,status_or_error,content_bytes,connection,url"
    );
    let mut most = 0;
    let mut count = 0;
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let times: Vec<u64> = fields[..4]
            .iter()
            .map(|time| time.parse().unwrap())
            .collect();
        assert!(times.is_sorted(), "{line}");
        assert_eq!(fields[4..6], ["200", "5"]);
        assert!(["0", "1"].contains(&fields[6]), "{line}");
        assert_eq!(fields[7], server.url());
        most = most.max(times[3] - times[0]);
        count += 1;
    }
    assert_eq!(count, number(&report, "/requests"));
    // The histogram has three digits.
    let max = number(&report, "/response_time/max_ns");
    assert!(max.abs_diff(most) <= most / 500, "{max} {most}");
}

#[test]
fn the_log_of_histograms_adds_up() {
    let server = Server::answering(HELLO, || ());
    let file = scratch("log.hlog");
    let mut stage = get(&[server.url()]).rate(200).millis(1_200);
    stage.plan.hdr_log = Some(file.clone());
    let report = stage.run();
    let text = fs::read(&file).unwrap();
    fs::remove_file(file).unwrap();
    let (mut plain, mut tagged) = (0, 0);
    for entry in IntervalLogIterator::new(&text) {
        if let LogEntry::Interval(interval) = entry.unwrap() {
            use base64::Engine as _;
            let coded = interval.encoded_histogram();
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(coded)
                .unwrap();
            let times: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
            match interval.tag().map(|tag| tag.as_str().to_owned()).as_deref() {
                None => plain += times.len(),
                Some("service") => tagged += times.len(),
                Some(other) => panic!("{other}"),
            }
        }
    }
    let requests = number(&report, "/requests");
    assert!(requests > 0);
    assert_eq!((plain, tagged), (requests, requests));
    let series = report["series"].as_array().unwrap();
    // A thread that was delayed reports two seconds at once.
    assert!((1..=2).contains(&series.len()), "{report}");
    let sum: u64 = series
        .iter()
        .map(|row| row["requests"].as_u64().unwrap())
        .sum();
    assert_eq!(sum, requests);
}
