//! One origin, several trials: each has its own counts, and none counts connections of the controller.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};

use dyno_http::Method;
use dyno_origin::{Authority, CONTROL_PATH, ControlConnection, Options, Origin, Record, Running};
use dyno_web::{Model, Web};

use crate::stage::{cache, connect, cpu, reply, request};

/// More requests than it takes to cache an answer and move its connection to the cached loop.
const OFTEN: usize = 12;

fn controlled(threads: usize) -> (Running, SocketAddr, Receiver<ControlConnection>) {
    let web = Web::new(Model::from_toml("name = 'test'\nseed = 1\n").unwrap(), None);
    let (control, handed) = mpsc::channel();
    let running = Origin::start(Options {
        http: vec![SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0)],
        cpus: vec![cpu(); threads],
        control: Some(control),
        cache: cache(),
        ..Options::new(Arc::new(web), Arc::new(Authority::new().unwrap()))
    })
    .unwrap();
    let address = running.http()[0];
    (running, address, handed)
}

/// Ends the trial once the last bytes of `answers` answers are noted.
fn end_after(running: &Running, answers: u64) -> Record {
    while running.snapshot().answers < answers {
        std::thread::yield_now();
    }
    running.end_trial()
}

fn arrivals(record: &Record) -> Vec<String> {
    let mut csv = Vec::new();
    record.arrivals.write_csv(&mut csv).unwrap();
    let text = String::from_utf8(csv).unwrap();
    text.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn each_trial_has_its_own_counts() {
    for threads in [1, 2] {
        let (running, address, _handed) = controlled(threads);
        let ask = |stream: &mut std::net::TcpStream, target: &str| {
            let request = request("GET", "a.test", target, "");
            stream.write_all(&request).unwrap();
            let received = reply(stream, Method::Get).content.len();
            (request.len() as u64, received)
        };
        let mut stream = connect(address);
        ask(&mut stream, "/before");
        while running.snapshot().answers < 1 {
            std::thread::yield_now();
        }
        for target in ["/plain", "/json", "/plain"] {
            running.begin_anew();
            let mut other = connect(address);
            let mut sent = 0;
            for _ in 0..OFTEN {
                // One connection from before, even from the cached loop, and one that is opened for this trial.
                sent += ask(&mut stream, target).0 + ask(&mut other, target).0;
            }
            let record = end_after(&running, 2 * OFTEN as u64);
            let report = &record.report;
            assert_eq!(report.connections, 1);
            assert_eq!(report.requests, 2 * OFTEN as u64);
            assert_eq!(report.repeated, report.requests - 1);
            assert_eq!(report.reused, report.requests - 1);
            assert_eq!(report.received_bytes, sent);
            assert_eq!(report.statuses["200"], report.requests);
            let seen = arrivals(&record);
            assert_eq!(seen.len(), 2 * OFTEN);
            let end = format!(",http://a.test{target},200");
            assert!(seen.iter().all(|line| line.ends_with(&end)), "{seen:?}");
            // Between trials requests are answered but not logged.
            ask(&mut stream, "/between");
        }
    }
}

#[test]
fn an_answer_of_an_earlier_trial_is_in_no_later_one() {
    let (running, address, _handed) = controlled(1);
    running.begin_anew();
    let mut stream = connect(address);
    let request = request("GET", "a.test", "/delay/150", "");
    stream.write_all(&request).unwrap();
    while running.snapshot().requests < 1 {
        std::thread::yield_now();
    }
    let first = running.end_trial();
    assert_eq!(arrivals(&first).len(), 1);
    running.begin_anew();
    assert_eq!(reply(&mut stream, Method::Get).status, 200);
    let second = running.end_trial();
    assert_eq!(second.report.requests, 0);
    assert!(arrivals(&second).is_empty());
}

#[test]
fn who_controls_it_is_handed_over_and_not_counted() {
    let (running, address, handed) = controlled(1);
    running.begin_anew();
    let mut control = connect(address);
    let question = request("GET", "a.test", &format!("{CONTROL_PATH}identity"), "");
    control.write_all(&question).unwrap();
    let mut taken = handed.recv().unwrap();
    assert_eq!(taken.received, question);
    assert_eq!(taken.from, control.local_addr().unwrap());
    // From here on the controller reads and answers.
    control.write_all(b"more").unwrap();
    let mut more = [0; 4];
    taken.stream.read_exact(&mut more).unwrap();
    taken.stream.write_all(&more).unwrap();
    control.read_exact(&mut more).unwrap();
    assert_eq!(&more, b"more");
    let mut stream = connect(address);
    let asked = request("GET", "a.test", "/plain", "");
    stream.write_all(&asked).unwrap();
    assert_eq!(reply(&mut stream, Method::Get).status, 200);
    // Only the first request of a connection is recognised: after another request it is an ordinary request.
    let late = request("GET", "a.test", &format!("{CONTROL_PATH}identity"), "");
    stream.write_all(&late).unwrap();
    assert_eq!(reply(&mut stream, Method::Get).status, 200);
    let report = end_after(&running, 2).report;
    assert_eq!((report.connections, report.requests), (1, 2));
    assert_eq!(report.received_bytes, (asked.len() + late.len()) as u64);
}
