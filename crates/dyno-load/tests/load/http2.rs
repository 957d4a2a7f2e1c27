//! HTTP/2 with prior knowledge: streams, resets, GOAWAY.

use std::net::SocketAddr;
use std::thread;

use bytes::Bytes;
use dyno_client::Protocol;
use dyno_load::Shape;
use h2::Reason;
use h2::server;
use serde_json::json;

use crate::stage::{accounted, number, shape, shaped};

/// Longer than the window of a stream.
const LONG: usize = 3 << 20;

/// What a server does in addition to answering.
#[derive(Debug, Clone, Copy)]
enum Habit {
    None,
    /// Answers with more content than the window of a stream holds.
    IsLong,
    /// Resets every third stream of a connection.
    ResetsThirds,
    /// Sends GOAWAY after this many streams of a connection.
    Leaves(usize),
    /// Closes the connection after this many streams, without GOAWAY.
    Vanishes(usize),
    /// Answers nothing.
    Silent,
    /// Answers the first streams of a connection, and nothing from then on.
    FallsSilent(usize),
}

fn start(habit: Habit) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, habit));
            }
        });
    });
    address
}

async fn serve(stream: tokio::net::TcpStream, habit: Habit) {
    let Ok(mut connection) = server::handshake(stream).await else {
        return;
    };
    let mut streams = 0;
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        streams += 1;
        match habit {
            Habit::ResetsThirds if streams % 3 == 0 => {
                respond.send_reset(Reason::INTERNAL_ERROR);
                continue;
            }
            Habit::Leaves(after) if streams == after => connection.graceful_shutdown(),
            Habit::Vanishes(after) if streams > after => return,
            Habit::FallsSilent(after) if streams <= after => {}
            Habit::Silent | Habit::FallsSilent(_) => {
                tokio::spawn(async move {
                    let _held = (request, respond);
                    std::future::pending::<()>().await;
                });
                continue;
            }
            _ => {}
        }
        let answer = http::Response::new(());
        let mut body = respond.send_response(answer, false).unwrap();
        let length = match habit {
            Habit::IsLong => LONG,
            _ => 100_000,
        };
        body.send_data(Bytes::from(vec![b'a'; length]), true)
            .unwrap();
    }
}

fn load(habit: Habit, requests: u64) -> serde_json::Value {
    let two = Shape {
        protocol: Protocol::Http2,
        ..shape()
    };
    let mut stage = shaped(&[format!("http://{}/", start(habit))], &two).requests(requests);
    stage.plan.streams = 5;
    stage.run()
}

#[test]
fn streams_share_connections() {
    let report = load(Habit::None, 300);
    assert_eq!(report["versions"], json!({"HTTP/2": 300}), "{report}");
    assert_eq!(number(&report, "/connections/opened"), 2);
    assert_eq!(number(&report, "/wire/content_bytes"), 300 * 100_000);
    assert_eq!(report["errors"], json!({}));
}

#[test]
fn windows_are_given_back() {
    // More content than the windows of both connections, in answers that fit into the window of their stream and in
    // others that do not.
    for (habit, requests, length) in [
        (Habit::None, 600, 100_000),
        (Habit::IsLong, 20, LONG as u64),
    ] {
        let report = load(habit, requests);
        assert_eq!(
            number(&report, "/requests"),
            requests,
            "{habit:?}: {report}"
        );
        assert_eq!(number(&report, "/wire/content_bytes"), requests * length);
    }
}

#[test]
fn a_reset_stream_is_one_failure_and_no_more() {
    let report = load(Habit::ResetsThirds, 300);
    assert_eq!(accounted(&report), 300, "{report}");
    assert_eq!(
        number(&report, "/errors/StreamReset"),
        number(&report, "/errors_total")
    );
    assert!(
        (90..=110).contains(&number(&report, "/errors_total")),
        "{report}"
    );
    assert_eq!(number(&report, "/connections/opened"), 2);
}

#[test]
fn a_goodbye_loses_no_request() {
    let report = load(Habit::Leaves(20), 300);
    assert_eq!(number(&report, "/requests"), 300, "{report}");
    assert!(number(&report, "/connections/opened") >= 10, "{report}");
}

#[test]
fn a_connection_that_ends_is_opened_again() {
    let report = load(Habit::Vanishes(20), 300);
    assert_eq!(accounted(&report), 300, "{report}");
    assert!(number(&report, "/requests") >= 200, "{report}");
    assert!(number(&report, "/connections/opened") >= 10, "{report}");
}

#[test]
fn silence_ends_with_the_deadline() {
    let two = Shape {
        protocol: Protocol::Http2,
        ..shape()
    };
    let url = [format!("http://{}/", start(Habit::Silent))];
    let mut report = json!(null);
    // On a busy machine a short timeout may expire before the requests are sent.
    for timeout_ms in [300, 5_000, 60_000] {
        report = shaped(&url, &two).requests(6).timeout_ms(timeout_ms).run();
        if report["errors"] == json!({"HeadTimeout": 6}) {
            return;
        }
    }
    panic!("{report}");
}

#[test]
fn a_server_that_is_gone_without_a_word_is_connected_to_again() {
    const ANSWERED: usize = 10;
    let two = Shape {
        protocol: Protocol::Http2,
        ..shape()
    };
    let url = [format!("http://{}/", start(Habit::FallsSilent(ANSWERED)))];
    let mut report = json!(null);
    // On a busy machine the answers may come too late for the short timeouts.
    for timeout_ms in [300, 3_000, 30_000] {
        let mut stage = shaped(&url, &two).requests(60).timeout_ms(timeout_ms);
        stage.plan.streams = 5;
        report = stage.run();
        // A client that keeps a silent connection gets only the answers of the first two connections.
        if number(&report, "/requests") > 2 * ANSWERED as u64 {
            break;
        }
    }
    assert_eq!(accounted(&report), 60, "{report}");
    assert!(
        number(&report, "/requests") > 2 * ANSWERED as u64,
        "{report}"
    );
    assert_eq!(
        number(&report, "/errors/HeadTimeout"),
        number(&report, "/errors_total")
    );
}
