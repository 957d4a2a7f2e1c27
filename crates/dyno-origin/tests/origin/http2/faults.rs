//! Frames that each fault sends.

use dyno_web::{Fault, Layer, text};
use h2::Reason;

use super::peer::{Peer, content, is_silent, run, whole};
use crate::stage::Stage;

/// Plays a web with a host for each fault of an answer, named after it.
fn stage() -> Stage {
    let answers = Fault::ALL
        .iter()
        .filter(|fault| matches!(fault.layer(), Layer::Head | Layer::Body));
    let hosts = answers.map(|fault| {
        let name = fault.name();
        let host = name.replace('_', "-");
        format!(
            "[[host]]\nname = '{host}.test'\nfault = '{name}'\ncontent_bytes = 1000\nstatus = 200\n"
        )
    });
    Stage::new(&hosts.collect::<String>())
}

/// A host, and the expected error at the end of its content.
type Cut = (&'static str, fn(&h2::Error) -> bool);

/// Returns how the stream and the connection end, for a host that ends them before the head.
async fn headless(stage: &Stage, host: &str) -> (h2::Error, Option<h2::Error>) {
    let mut peer = Peer::plain(stage).await;
    let url = format!("http://{host}.test/");
    let error = peer.ask("GET", &url, &[]).await.unwrap_err();
    (error, peer.end.await.unwrap().err())
}

#[test]
fn heads_that_never_come() {
    let stage = stage();
    run(async {
        let mut peer = Peer::plain(&stage).await;
        let mut stalled = peer.ask("GET", "http://stall-headers.test/", &[]);
        assert!(is_silent(&mut stalled).await);
        // Only that stream stalls.
        assert_eq!(
            peer.get("http://stall-headers.test/plain").await.status,
            200
        );
        let (closed, _) = headless(&stage, "empty-reply").await;
        assert!(closed.is_io() && !closed.is_go_away(), "{closed}");
        let (reset, end) = headless(&stage, "reset-before-headers").await;
        assert!(reset.is_io(), "{reset}");
        assert!(end.unwrap().to_string().contains("reset"));
        let (_, garbage) = headless(&stage, "garbage-head").await;
        let garbage = garbage.unwrap();
        assert_eq!(
            garbage.reason(),
            Some(Reason::FRAME_SIZE_ERROR),
            "{garbage}"
        );
    });
    let report = stage.stop().report;
    let faults = [
        "empty_reply",
        "garbage_head",
        "reset_before_headers",
        "stall_headers",
    ];
    assert_eq!(report.faults, faults.map(|fault| (fault, 1)).into());
    assert_eq!((report.requests, report.statuses["200"]), (5, 1));
}

#[test]
fn a_goaway_excludes_the_request_and_no_earlier_one() {
    let stage = stage();
    run(async {
        let mut peer = Peer::plain(&stage).await;
        let early = peer
            .ask("GET", "http://goaway.test/plain", &[])
            .await
            .unwrap();
        let error = peer
            .ask("GET", "http://goaway.test/", &[])
            .await
            .unwrap_err();
        assert!(error.is_go_away() && error.is_remote(), "{error}");
        assert_eq!(error.reason(), Some(Reason::NO_ERROR));
        assert_eq!(whole(early).await.unwrap().0.content, b"Hello, World!");
        drop(peer.requests);
        drop(peer.end.await.unwrap());
    });
}

#[test]
fn contents_that_never_end() {
    let stage = stage();
    let text = text(5);
    run(async {
        let mut peer = Peer::plain(&stage).await;
        for (host, length, seen) in [("stall-body", "1000", 500), ("drip-body", "1048576", 2)] {
            let answer = peer.ask("GET", &format!("http://{host}.test/"), &[]);
            let answer = answer.await.unwrap();
            assert_eq!(answer.headers()["content-length"], length);
            let mut body = answer.into_body();
            let mut all = Vec::new();
            while all.len() < seen {
                all.extend_from_slice(&body.data().await.unwrap().unwrap());
            }
            assert_eq!(all, &text[..seen]);
            assert!(is_silent(&mut Box::pin(body.data())).await);
        }
    });
    assert_eq!(stage.stop().report.statuses["200"], 2);
}

#[test]
fn contents_that_are_cut() {
    let stage = stage();
    let text = text(5);
    let cases: [Cut; 4] = [
        ("stream-reset", |error| {
            error.is_reset() && error.reason() == Some(Reason::INTERNAL_ERROR)
        }),
        // An end that contradicts the announced length is a stream error (RFC 9113, section 8.1.1).
        ("short-body", |error| {
            error.reason() == Some(Reason::PROTOCOL_ERROR)
        }),
        ("short-chunked", h2::Error::is_io),
        ("reset-mid-body", h2::Error::is_io),
    ];
    run(async {
        for (host, is_expected) in cases {
            let mut peer = Peer::plain(&stage).await;
            let answer = peer.ask("GET", &format!("http://{host}.test/"), &[]);
            let answer = match answer.await {
                Ok(answer) => answer,
                // Bytes sent before a reset may be lost.
                Err(error) if host == "reset-mid-body" => {
                    assert!(is_expected(&error), "{host}: {error}");
                    continue;
                }
                Err(error) => panic!("{host}: {error}"),
            };
            let has_length = answer.headers().contains_key("content-length");
            assert_eq!(has_length, host != "short-chunked");
            let (half, error) = content(&mut answer.into_body()).await;
            assert!(is_expected(error.as_ref().unwrap()), "{host}: {error:?}");
            assert!(half == text[..half.len()]);
            assert!(
                half.len() == 500 || host == "reset-mid-body",
                "{host}: {}",
                half.len()
            );
        }
    });
    let record = stage.stop();
    let mut csv = Vec::new();
    record.arrivals.write_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let unfinished = csv
        .lines()
        .skip(1)
        .filter(|line| line.split(',').nth(1) == Some("") && line.ends_with(",200"));
    assert_eq!(unfinished.count(), 4, "{csv}");
}

#[test]
fn a_fault_of_a_stream_leaves_the_others_alone() {
    let stage = stage();
    run(async {
        let mut peer = Peer::plain(&stage).await;
        for host in ["stream-reset", "short-body"] {
            let late = peer.ask("GET", &format!("http://{host}.test/delay/50"), &[]);
            let broken = peer.ask("GET", &format!("http://{host}.test/"), &[]);
            assert!(whole(broken.await.unwrap()).await.is_err(), "{host}");
            assert_eq!(late.await.unwrap().status(), 200, "{host}");
        }
    });
}
