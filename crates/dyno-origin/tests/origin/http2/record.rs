//! Counts of streams.

use std::time::Duration;

use h2::Reason;
use http::Request;

use super::peer::{Peer, run, whole};
use crate::stage::Stage;

#[test]
fn counters_are_exact() {
    let stage = Stage::new("");
    let mut contents = 0;
    run(async {
        let mut peer = Peer::plain(&stage).await;
        for target in ["/plain", "/status/404", "/plain", "/gzip"] {
            let fields = [("user-agent", "one"), ("accept-encoding", "gzip")];
            let answer = peer.ask("GET", &format!("http://A.test{target}"), &fields);
            contents += whole(answer.await.unwrap()).await.unwrap().0.content.len() as u64;
        }
        let port = stage.http().port();
        let mut other = Peer::plain(&stage).await;
        contents += other
            .get(&format!("http://a.test:{port}/a,b"))
            .await
            .content
            .len() as u64;
    });
    let snapshot = stage.settled(5);
    assert_eq!(
        (snapshot.requests, snapshot.answers, snapshot.in_flight),
        (5, 5, 0)
    );
    let authority = format!("a.test:{}", stage.http().port());
    let record = stage.stop();
    let report = record.report;
    assert_eq!((report.requests, report.reused, report.repeated), (5, 3, 1));
    assert_eq!(report.http_versions, [("2", 5)].into());
    assert_eq!(
        report.statuses,
        [("200".to_owned(), 4), ("404".to_owned(), 1)].into()
    );
    assert_eq!((report.codings["gzip"], report.codings["identity"]), (1, 4));
    assert_eq!(
        report.user_agents,
        [("one".to_owned(), 4), (String::new(), 1)].into()
    );
    assert_eq!((report.lateness_ns.count, report.peak_concurrency), (5, 1));
    assert!(report.sent_bytes > contents && report.received_bytes > 0);
    assert_eq!(
        record
            .throughput
            .iter()
            .map(|(_, count)| count)
            .sum::<u64>(),
        5
    );
    let mut csv = Vec::new();
    record.arrivals.write_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let quoted = format!("\"http://{authority}/a,b\",200");
    let expected = [
        "http://a.test/plain,200",
        "http://a.test/status/404,404",
        "http://a.test/plain,200",
        "http://a.test/gzip,200",
        &quoted,
    ];
    let rows: Vec<Vec<&str>> = csv
        .lines()
        .skip(1)
        .map(|line| line.splitn(4, ',').collect())
        .collect();
    assert_eq!(rows.iter().map(|row| row[3]).collect::<Vec<_>>(), expected);
    for row in &rows {
        assert!(
            row[0].parse::<u64>().unwrap() <= row[1].parse::<u64>().unwrap(),
            "{row:?}"
        );
    }
}

#[test]
fn streams_are_in_flight_until_their_last_byte_is_handed_over() {
    let stage = Stage::new("");
    run(async {
        let mut builder = h2::client::Builder::new();
        let mut peer = Peer::with(stage.http(), builder.initial_window_size(10)).await;
        let unread = peer
            .ask("GET", "http://a.test/bytes/1000", &[])
            .await
            .unwrap();
        let snapshot = stage.running().snapshot();
        assert_eq!((snapshot.in_flight, snapshot.answers), (1, 0));
        assert_eq!(whole(unread).await.unwrap().0.content.len(), 1_000);
        while stage.running().snapshot().in_flight > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(stage.running().snapshot().answers, 1);
    });
}

#[test]
fn a_request_that_is_given_up_is_in_flight_no_more() {
    let stage = Stage::new("[[host]]\nname = 'stall.test'\nfault = 'stall_headers'\n");
    let urls = [
        "http://a.test/delay/3600000",
        "http://stall.test/",
        "http://a.test/drip?duration_ms=3600000",
    ];
    let settle = async |requests, in_flight| {
        loop {
            let snapshot = stage.running().snapshot();
            if (snapshot.requests, snapshot.in_flight) == (requests, in_flight) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    run(async {
        let mut peer = Peer::plain(&stage).await;
        // First stream by stream,
        for (place, url) in urls.iter().enumerate() {
            let request = Request::builder().uri(*url).body(()).unwrap();
            let (answer, mut stream) = peer.requests.send_request(request, true).unwrap();
            settle(place as u64 + 1, 1).await;
            stream.send_reset(Reason::CANCEL);
            settle(place as u64 + 1, 0).await;
            drop(answer);
        }
        // then with the connection.
        let kept = urls.map(|url| peer.ask("GET", url, &[]));
        settle(6, 3).await;
        peer.end.abort();
        settle(6, 0).await;
        drop(kept);
    });
    let report = stage.stop().report;
    assert_eq!((report.requests, report.peak_concurrency), (6, 3));
}

#[test]
fn a_connection_that_closes_says_so_and_answers_what_it_has() {
    let stage =
        Stage::new("[[host]]\nname = 'closes.test'\ncloses = true\ncontent_bytes = 100000\n");
    run(async {
        let mut peer = Peer::plain(&stage).await;
        let late = peer.ask("GET", "http://closes.test/delay/60", &[]);
        let closing = peer.ask("GET", "http://closes.test/", &[]);
        assert_eq!(
            whole(closing.await.unwrap()).await.unwrap().0.content.len(),
            100_000
        );
        assert_eq!(
            whole(late.await.unwrap()).await.unwrap().0.content,
            b"Hello, World!"
        );
        // A GOAWAY without an error ends a connection cleanly.
        peer.end.await.unwrap().unwrap();
        assert!(peer.requests.ready().await.is_err());
    });
}
