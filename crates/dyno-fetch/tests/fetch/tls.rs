//! Crawls over TLS: trusted certificates, resumed sessions, servers without HTTP/2.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use dyno_fetch::{Options, Versions};
use dyno_origin::{Authority, Cache, Options as OriginOptions, Origin, Running};
use dyno_web::{Model, Web};
use serde_json::json;
use socket2::{Domain, Socket, Type};

use super::crawl::{PATIENCE, at_a_timeout, connecting, reported};

/// URLs of two hosts in turn, four of each.
const URLS: [&str; 8] = [
    "https://a.test/plain",
    "https://b.test/plain",
    "https://a.test/bytes/1",
    "https://b.test/bytes/1",
    "https://a.test/bytes/2",
    "https://b.test/bytes/2",
    "https://a.test/bytes/3",
    "https://b.test/bytes/3",
];

/// An origin whose hosts offer HTTP/1.1 only, and its certificate authority.
fn origin() -> (Arc<Authority>, Running) {
    origin_of("[http]\nhttp2 = 0")
}

fn origin_of(model: &str) -> (Arc<Authority>, Running) {
    let model = Model::from_toml(&format!("name = 'test'\nseed = 1\n{model}")).unwrap();
    let authority = Arc::new(Authority::new().unwrap());
    let running = Origin::start(OriginOptions {
        http: vec!["127.0.0.1:0".parse().unwrap()],
        https: vec!["127.0.0.1:0".parse().unwrap()],
        log_arrivals: true,
        cache: Cache::at(env!("CARGO_TARGET_TMPDIR").into()),
        ..OriginOptions::new(Arc::new(Web::new(model, None)), authority.clone())
    });
    (authority, running.unwrap())
}

/// Options for one URL at a time, each on a new connection.
fn one_by_one(origin: &Running) -> Options {
    let port = origin.https()[0].port();
    Options {
        concurrency: 1,
        keepalive: false,
        reroute: connecting([format!(":443:127.0.0.1:{port}")]),
        timeout: PATIENCE,
        ..Options::default()
    }
}

#[test]
fn each_host_is_asked_for_a_session_once_and_then_resumes_it() {
    let (authority, origin) = origin();
    let file = std::env::temp_dir().join(format!("dyno-fetch-{}.pem", std::process::id()));
    std::fs::write(&file, authority.pem()).unwrap();
    for (cacert, insecure) in [(Some(file.clone()), false), (None, true)] {
        let options = Options {
            cacert,
            insecure,
            measure: true,
            ..one_by_one(&origin)
        };
        let (_, report) = reported(options, &URLS);
        assert_eq!(report["statuses"], json!({"200": 8}), "{report}");
        assert_eq!(
            report["connections"],
            json!({"opened": 8, "failed": 0, "tls_full": 2, "tls_resumed": 6, "reused_requests": 0}),
        );
        assert_eq!(report["phases"]["tls"]["count"], 8);
    }
    std::fs::remove_file(file).unwrap();
    // The server counted the same.
    let seen = origin.stop().report;
    assert_eq!((seen.handshakes_full, seen.handshakes_resumed), (4, 12));
}

#[test]
fn a_redirect_from_https_to_http_is_followed_and_marked() {
    let (_authority, origin) = origin_of(
        "[http]\nhttp2 = 0\n\
         [[host]]\nname = 'leaves.test'\nredirect_to = 'http://b.test/plain'\n\
         [[host]]\nname = 'stays.test'\nredirect_to = 'https://b.test/plain'\n",
    );
    let folder = std::env::temp_dir().join(format!("dyno-fetch-leaves-{}", std::process::id()));
    let at = |port: u16, address: SocketAddr| format!(":{port}:{address}");
    let options = Options {
        insecure: true,
        save: Some(folder.clone()),
        reroute: connecting([at(443, origin.https()[0]), at(80, origin.http()[0])]),
        ..one_by_one(&origin)
    };
    let (_, report) = reported(options, &["https://leaves.test/", "https://stays.test/"]);
    assert_eq!(report["statuses"], json!({"200": 2}), "{report}");
    assert_eq!(report["left_https"], 1);
    let index = std::fs::read_to_string(folder.join("index.jsonl")).unwrap();
    let marked: Vec<(bool, bool)> = index
        .lines()
        .map(|line| {
            (
                line.contains("leaves.test"),
                line.contains("\"left_https\":true"),
            )
        })
        .collect();
    assert_eq!(marked, [(true, true), (false, false)]);
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn an_untrusted_certificate_ends_the_fetch() {
    let (_authority, origin) = origin();
    let (_, report) = reported(one_by_one(&origin), &URLS);
    assert_eq!(report["errors"], json!({"CertificateUntrusted": 8}));
}

#[test]
fn a_server_of_http_1_alone_is_named_where_http_2_is_demanded() {
    let (_authority, origin) = origin();
    let options = Options {
        http: Versions::Http2,
        keepalive: true,
        insecure: true,
        ..one_by_one(&origin)
    };
    let (_, report) = reported(options, &URLS);
    assert_eq!(report["errors"], json!({"Http2NotOffered": 8}));
}

#[test]
fn what_a_url_says_of_the_user_is_not_sent() {
    for (http, share) in [(Versions::Http1, 0), (Versions::Http2, 1)] {
        let (_authority, origin) = origin_of(&format!("[http]\nhttp2 = {share}"));
        let urls = [
            "https://user:secret@a.test/plain?x=1#y",
            "https://user@b.test",
        ];
        let options = Options {
            http,
            keepalive: true,
            insecure: true,
            ..one_by_one(&origin)
        };
        let (_, report) = reported(options, &urls);
        assert_eq!(report["requests"], 2, "{report}");
        let mut csv = Vec::new();
        origin.stop().arrivals.write_csv(&mut csv).unwrap();
        let csv = String::from_utf8(csv).unwrap();
        for url in [",https://a.test/plain?x=1,", ",https://b.test/,"] {
            assert!(csv.contains(url), "{http:?}: {csv}");
        }
    }
}

#[test]
fn a_host_that_does_not_answer_over_a_connection_is_connected_to_again() {
    let (_authority, origin) = origin_of("[http]\nhttp2 = 1\n[faults]\nstall_headers = 1");
    let due = json!([{"HeadTimeout": 2}, 2]);
    at_a_timeout(&due, |timeout| {
        let options = Options {
            http: Versions::Http2,
            keepalive: true,
            insecure: true,
            timeout,
            ..one_by_one(&origin)
        };
        let (_, report) = reported(options, &["https://a.test/1", "https://a.test/2"]);
        json!([report["errors"], report["connections"]["opened"]])
    });
}

#[test]
fn who_does_not_accept_or_shake_hands_is_given_up_by_name() {
    // One listens with a full queue; the other accepts and sends nothing.
    let listener = || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        socket.bind(&any.into()).unwrap();
        socket.listen(0).unwrap();
        let address = socket.local_addr().unwrap().as_socket().unwrap();
        (socket, address)
    };
    let (full, silent) = (listener(), listener());
    let _queued = TcpStream::connect(full.1).unwrap();
    let due = json!([{"ConnectTimeout": 1, "TlsTimeout": 1}, 2, 0]);
    at_a_timeout(&due, |timeout| {
        let options = Options {
            reroute: connecting([
                format!("full.test:443:{}", full.1),
                format!("silent.test:443:{}", silent.1),
            ]),
            timeout,
            ..Options::default()
        };
        let (_, report) = reported(options, &["https://full.test/", "https://silent.test/"]);
        let connections = &report["connections"];
        json!([
            report["errors"],
            connections["failed"],
            connections["opened"]
        ])
    });
}
