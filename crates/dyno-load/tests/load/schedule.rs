//! Open loop: what is intended, what is sent, what a stall does to the times of both.

use std::sync::{Arc, RwLock, mpsc};
use std::thread;
use std::time::Duration;

use crate::server::{HELLO, Server, wait_for_the_end};
use crate::stage::{accounted, get, number};

#[test]
fn a_stall_shows_in_response_times_and_is_not_hidden_in_service_times() {
    let gate = Arc::new(RwLock::new(()));
    let waiting = gate.clone();
    let server = Server::answering(HELLO, move || drop(waiting.read().unwrap()));
    let stalls = thread::spawn(move || {
        thread::sleep(Duration::from_secs(1));
        let _closed = gate.write().unwrap();
        thread::sleep(Duration::from_secs(1));
    });
    let report = get(&[server.url()])
        .connections(8)
        .rate(1_000)
        .millis(3_000)
        .run();
    stalls.join().unwrap();
    assert_eq!(accounted(&report), 3_000, "{report}");
    assert_eq!(number(&report, "/errors_total"), 0);
    // Requests of the first tenth of the stall waited for 0.9 s: a hundred of three thousand.
    for pointer in [
        "/response_time/p99_9_ns",
        "/response_time/p99_ns",
        "/service_time/max_ns",
    ] {
        assert!(
            number(&report, pointer) >= 900_000_000,
            "{pointer}: {report}"
        );
    }
    // A third of all requests were meant for the stall; only the eight that were under way stood in it.
    let at = |pointer| number(&report, pointer);
    assert!(
        at("/response_time/p75_ns") >= 10 * at("/service_time/p75_ns"),
        "{report}"
    );
    // The generator itself was not late: it had no connection free.
    assert!(
        at("/send_lag/p99_ns") < at("/response_time/p99_ns") / 2,
        "{report}"
    );
}

#[test]
fn what_no_connection_was_free_for_is_unsent() {
    let server = Server::start(wait_for_the_end);
    let report = get(&[server.url()])
        .connections(1)
        .rate(100)
        .millis(500)
        .run();
    assert_eq!(number(&report, "/sent"), 1, "{report}");
    assert_eq!(number(&report, "/censored/count"), 1);
    assert_eq!(number(&report, "/unsent"), 49);
}

#[test]
fn threads_keep_to_one_schedule() {
    let server = Server::answering(HELLO, || ());
    let mut stage = get(&[server.url()]).connections(6).rate(2_000).millis(700);
    stage.plan.cpus = vec![0; 3];
    let report = stage.run();
    assert_eq!(accounted(&report), 1_400, "{report}");
    assert_eq!(report["threads"].as_array().unwrap().len(), 3);
    assert_eq!(
        number(&report, "/send_lag/count"),
        number(&report, "/requests"),
    );
}

#[test]
fn a_run_of_so_many_requests_ends_with_the_last() {
    let server = Server::answering(HELLO, || ());
    for rate in [None, Some(10_000)] {
        let mut stage = get(&[server.url()]).requests(500).millis(120_000);
        if let Some(rate) = rate {
            stage = stage.rate(rate);
        }
        let report = stage.run();
        assert_eq!(number(&report, "/requests"), 500);
        assert_eq!(accounted(&report), 500, "{report}");
        assert!(report["elapsed_s"].as_f64().unwrap() < 60.0);
    }
}

#[test]
fn a_run_can_be_told_to_end() {
    let (begun, beginning) = mpsc::channel();
    let server = Server::answering(HELLO, move || {
        let _ = begun.send(());
    });
    let stage = get(&[server.url()]).millis(120_000).rate(100);
    let stop = stage.stop.clone();
    let stopper = thread::spawn(move || {
        beginning.recv().unwrap();
        thread::sleep(Duration::from_millis(300));
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let report = stage.run();
    stopper.join().unwrap();
    assert_eq!(report["interrupted"], true);
    let elapsed_s = report["elapsed_s"].as_f64().unwrap();
    assert!((0.3..60.0).contains(&elapsed_s), "{elapsed_s}");
    assert!(number(&report, "/requests") >= 25, "{report}");
}
