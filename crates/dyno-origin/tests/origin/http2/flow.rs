//! Flow-control windows, bodies, concurrent streams.

use std::future::poll_fn;

use bytes::Bytes;
use dyno_web::{ECHO_BYTES, text};
use h2::client::Builder;
use http::Request;

use super::peer::{Peer, content, interim, is_silent, run, whole};
use crate::stage::Stage;

#[test]
fn no_more_is_sent_than_a_window_allows() {
    let stage = Stage::new("");
    let text = text(5);
    run(async {
        let mut builder = Builder::new();
        let mut peer = Peer::with(stage.http(), builder.initial_window_size(7)).await;
        for target in ["/bytes/50", "/bytes/7", "/bytes/20000"] {
            let answer = peer.ask("GET", &format!("http://a.test{target}"), &[]);
            let mut body = answer.await.unwrap().into_body();
            let first = body.data().await.unwrap().unwrap();
            assert_eq!(first, &text[..7], "{target}");
            if target == "/bytes/50" {
                assert!(is_silent(&mut Box::pin(body.data())).await);
            }
            body.flow_control().release_capacity(7).unwrap();
            let (rest, error) = content(&mut body).await;
            assert!(error.is_none());
            let whole = [&first[..], &rest].concat();
            assert_eq!(format!("/bytes/{}", whole.len()), target);
            assert!(whole == text[..whole.len()]);
        }
    });
    let record = stage.stop();
    assert_eq!(record.report.requests, 3);
}

#[test]
fn a_stream_that_is_not_read_holds_up_no_other() {
    let stage = Stage::new("");
    run(async {
        let mut builder = Builder::new();
        builder.initial_connection_window_size(1 << 24);
        let mut peer = Peer::with(stage.http(), &builder).await;
        let unread = peer.ask("GET", "http://a.test/bytes/50000000", &[]);
        let unread = unread.await.unwrap();
        for _ in 0..20 {
            let reply = peer.get("http://a.test/bytes/100000").await;
            assert_eq!(reply.content.len(), 100_000);
        }
        let (reply, _) = whole(unread).await.unwrap();
        assert_eq!(reply.content.len(), 50_000_000);
    });
}

#[test]
fn more_streams_than_are_allowed_at_once_are_all_answered() {
    let stage = Stage::new("");
    run(async {
        let mut peer = Peer::plain(&stage).await;
        // The client knows the limit after its first answer.
        assert_eq!(peer.get("http://a.test/plain").await.status, 200);
        let mut answers = Vec::new();
        for place in 0..600 {
            peer.requests = peer.requests.ready().await.unwrap();
            let target = format!("http://a.test/bytes/{place}?delay_ms={}", place % 20);
            let answer = peer.ask("GET", &target, &[]);
            answers.push(tokio::spawn(async { whole(answer.await?).await }));
        }
        for (place, answer) in answers.into_iter().enumerate() {
            let (reply, _) = answer.await.unwrap().unwrap();
            assert_eq!(reply.content.len(), place);
        }
    });
    let report = stage.stop().report;
    assert_eq!((report.requests, report.reused), (601, 600));
    assert!(report.peak_concurrency <= 256, "{report:?}");
}

#[test]
fn bodies_are_drained_and_awaited() {
    let stage = Stage::new("");
    run(async {
        let mut peer = Peer::plain(&stage).await;
        let request = |fields: &[(&str, &str)]| {
            let mut request = Request::builder().method("POST").uri("http://a.test/plain");
            for (name, value) in fields {
                request = request.header(*name, *value);
            }
            request.body(()).unwrap()
        };
        // More content than all windows together.
        let (answer, mut body) = peer.requests.send_request(request(&[]), false).unwrap();
        for _ in 0..200 {
            body.reserve_capacity(100_000);
            while body.capacity() < 100_000 {
                poll_fn(|context| body.poll_capacity(context))
                    .await
                    .unwrap()
                    .unwrap();
            }
            body.send_data(Bytes::from(vec![b'x'; 100_000]), false)
                .unwrap();
        }
        let mut answer = tokio::spawn(answer);
        assert!(
            is_silent(&mut answer).await,
            "the answer waits for the body"
        );
        body.send_data(Bytes::new(), true).unwrap();
        assert_eq!(answer.await.unwrap().unwrap().status(), 200);
        // With `Expect: 100-continue`.
        let fields = [("expect", "100-continue"), ("content-length", "5")];
        let (mut answer, mut body) = peer.requests.send_request(request(&fields), false).unwrap();
        let hints = poll_fn(|context| answer.poll_informational(context)).await;
        assert_eq!(hints.unwrap().unwrap().status(), 100);
        body.send_data(Bytes::from_static(b"hello"), true).unwrap();
        assert!(interim(&mut answer).await.is_empty());
        assert_eq!(answer.await.unwrap().status(), 200);
    });
    let report = stage.stop().report;
    assert!(report.received_bytes > 20_000_000);
}

#[test]
fn an_echo_has_the_method_and_the_content() {
    let stage = Stage::new("");
    run(async {
        let mut peer = Peer::plain(&stage).await;
        let long = "x".repeat(60_000);
        let cases = [
            ("GET", "", "GET\n".to_owned()),
            ("PUT", "abc", "PUT\nabc".to_owned()),
            ("DELETE", "", "DELETE\n".to_owned()),
            ("POST", &long, format!("POST\n{}", &long[..ECHO_BYTES])),
        ];
        for (method, content, expected) in cases {
            let request = Request::builder().method(method);
            let request = request.uri("http://a.test/echo").body(()).unwrap();
            let is_end = method == "GET";
            let (answer, mut body) = peer.requests.send_request(request, is_end).unwrap();
            for piece in content.as_bytes().chunks(1_000) {
                body.send_data(Bytes::copy_from_slice(piece), false)
                    .unwrap();
            }
            if !is_end {
                body.send_data(Bytes::new(), true).unwrap();
            }
            let (answer, _) = whole(answer.await.unwrap()).await.unwrap();
            assert_eq!(answer.status, 200, "{method}");
            assert!(answer.content == expected.as_bytes(), "{method}");
        }
    });
}
