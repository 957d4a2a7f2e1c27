//! Open loop: what is intended, what is sent, what a stall does to the times of both.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::answers::scratch;
use crate::server::{HELLO, Server, read_request, wait_for_the_end};
use crate::stage::{Stage, accounted, cpu, elapsed_ns, get, number};

const EIGHT: u64 = 8;

/// A run of so many requests, a thousand a second, against a server that answers nothing for this long from the hundredth on.
fn against_a_stall(requests: u64, stall: Duration, change: impl FnOnce(&mut Stage)) -> Value {
    let (count, gate) = (AtomicU64::new(0), std::sync::RwLock::new(()));
    let server = Server::answering(HELLO, move || {
        if count.fetch_add(1, Ordering::SeqCst) == 100 {
            let _closed = gate.write().unwrap();
            thread::sleep(stall);
        }
        drop(gate.read().unwrap());
    });
    let mut stage = get(&[server.url()])
        .connections(usize::try_from(EIGHT).unwrap())
        .rate(1_000)
        .requests(requests);
    change(&mut stage);
    let report = stage.run();
    assert_eq!(accounted(&report), requests, "{report}");
    assert_eq!(number(&report, "/errors_total"), 0);
    report
}

#[test]
fn a_stall_shows_in_response_times_and_is_not_hidden_in_service_times() {
    const STALL_NS: u64 = 300_000_000;
    let file = scratch("stall.csv");
    let stall = Duration::from_nanos(STALL_NS);
    let report = against_a_stall(1_000, stall, |stage| {
        stage.plan.samples = Some(file.clone());
    });
    let text = fs::read_to_string(&file).unwrap();
    fs::remove_file(file).unwrap();
    // However late a machine is: requests of the first tenth of the stall wait for its rest, thirty of a thousand.
    for pointer in [
        "/response_time/p99_9_ns",
        "/response_time/p99_ns",
        "/service_time/max_ns",
    ] {
        let found = number(&report, pointer);
        assert!(found >= STALL_NS / 10 * 9, "{pointer}: {report}");
    }
    // Of those that were meant for the stall only the eight that were under way stood in it; the others were sent after it.
    let mut late = 0;
    for line in text.lines().skip(1) {
        let times: Vec<u64> = line
            .split(',')
            .take(2)
            .map(|time| time.parse().unwrap())
            .collect();
        late += u64::from(times[1] - times[0] >= STALL_NS / 2);
    }
    assert!(late >= STALL_NS / 2_000_000 - EIGHT, "{late}");
    // The wait before a request was sent is in response times and not in service times.
    let mean = |pointer| report.pointer(pointer).and_then(Value::as_f64).unwrap();
    let hidden_ns = mean("/response_time/mean_ns") - mean("/service_time/mean_ns");
    #[expect(clippy::cast_precision_loss, reason = "compared roughly")]
    let least_ns = (late * STALL_NS / 2 / 1_000) as f64;
    assert!(hidden_ns >= 0.99 * least_ns, "{hidden_ns} {least_ns}");
}

#[test]
#[ignore = "measurement: that everything but the stall is quick"]
fn a_stall_is_all_that_shows() {
    let report = against_a_stall(3_000, Duration::from_secs(1), |_| ());
    let at = |pointer| number(&report, pointer);
    // A third of all requests were meant for the stall.
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
    let (came, coming) = mpsc::channel();
    let server = Server::start(move |mut stream| {
        if read_request(&mut stream) {
            let _ = came.send(());
            wait_for_the_end(stream);
        }
    });
    let stage = get(&[server.url()]).connections(1).rate(1_000).endless();
    let stop = stage.stop.clone();
    let stopper = thread::spawn(move || {
        coming.recv().unwrap();
        thread::sleep(Duration::from_millis(50));
        stop.store(true, Ordering::Relaxed);
    });
    let report = stage.run();
    stopper.join().unwrap();
    assert_eq!(number(&report, "/sent"), 1, "{report}");
    assert_eq!(number(&report, "/censored/count"), 1);
    // One was meant for each millisecond that had begun.
    let meant = elapsed_ns(&report).div_ceil(1_000_000);
    assert!(meant >= 50, "{report}");
    assert_eq!(number(&report, "/unsent"), meant - 1, "{report}");
    // They count for as long as they have waited: half of them for more than half of the run.
    assert_eq!(number(&report, "/response_time_at_least/count"), meant);
    let half_ns = elapsed_ns(&report) / 2;
    let median_ns = number(&report, "/response_time_at_least/p50_ns");
    assert!(
        median_ns.abs_diff(half_ns) <= half_ns / 500 + 2_000_000,
        "{report}"
    );
}

#[test]
fn threads_keep_to_one_schedule() {
    let server = Server::answering(HELLO, || ());
    let mut stage = get(&[server.url()]).connections(6).rate(2_000).millis(700);
    stage.plan.cpus = vec![cpu(); 3];
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
        let mut stage = get(&[server.url()]).requests(500).endless();
        if let Some(rate) = rate {
            stage = stage.rate(rate);
        }
        let report = stage.run();
        assert_eq!(number(&report, "/requests"), 500);
        assert_eq!(accounted(&report), 500, "{report}");
    }
}

#[test]
fn a_run_can_be_ended() {
    let (begun, beginning) = mpsc::channel();
    let server = Server::answering(HELLO, move || {
        let _ = begun.send(());
    });
    let stage = get(&[server.url()]).endless().rate(100);
    let stop = stage.stop.clone();
    let stopper = thread::spawn(move || {
        assert_eq!(beginning.iter().take(25).count(), 25);
        stop.store(true, Ordering::Relaxed);
    });
    let report = stage.run();
    stopper.join().unwrap();
    assert_eq!(report["interrupted"], true);
    // The last of them was due after 240 ms.
    assert!(elapsed_ns(&report) >= 240_000_000, "{report}");
    // Each of the two connections may have had one under way.
    assert!(number(&report, "/requests") >= 23, "{report}");
}
