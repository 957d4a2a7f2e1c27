//! The calibrator over real connections: its answers, their times, and its record.
#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::num::NonZeroU32;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use dyno_origin::calibrator::{Behaviour, Calibrator, Law, Record};
use tokio::sync::oneshot;

const MILLISECOND: Duration = Duration::from_millis(1);
/// Limit that only a hang exceeds.
const PATIENCE: Duration = Duration::from_secs(300);

/// A calibrator in a separate thread.
struct Serving {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Record>,
}

impl Serving {
    fn start(behaviour: Behaviour) -> Self {
        Self::start_that_sleeps(behaviour, false)
    }

    fn start_that_sleeps(behaviour: Behaviour, sleep: bool) -> Self {
        let calibrator = Calibrator::listen("127.0.0.1:0".parse().unwrap(), behaviour)
            .unwrap()
            .keep_requests(true)
            .sleep(sleep);
        let address = calibrator.address();
        let (stop, stopped) = oneshot::channel();
        let thread =
            thread::spawn(move || calibrator.serve(async { drop(stopped.await) }).unwrap());
        Self {
            address,
            stop,
            thread,
        }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).unwrap()
    }

    fn stop(self) -> Record {
        self.stop.send(()).unwrap();
        self.thread.join().unwrap()
    }
}

fn ask(stream: &mut TcpStream) -> Duration {
    let begun = Instant::now();
    stream
        .write_all(b"GET /any/path HTTP/1.1\r\nHost: a.test\r\n\r\n")
        .unwrap();
    receive(stream);
    begun.elapsed()
}

/// Reads and returns one answer.
fn receive(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let mut byte = [0; 1];
    while !answer.ends_with(b"Hello, World!") {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "the connection ended");
        answer.push(byte[0]);
    }
    String::from_utf8(answer).unwrap()
}

fn constant(time: Duration) -> Law {
    Law::Constant(time)
}

fn queue(law: Law, workers: u32, most_waiting: Option<u32>) -> Behaviour {
    Behaviour::Queue {
        law,
        seed: 1,
        workers: NonZeroU32::new(workers).unwrap(),
        most_waiting,
    }
}

/// Sends four requests during a stall of this length, which begins 50 ms after a request that is answered at once.
fn in_a_stall(length: Duration) -> Record {
    let serving = Serving::start(Behaviour::Stall {
        law: constant(Duration::ZERO),
        at: 50 * MILLISECOND,
        length,
        every: None,
    });
    let mut streams: Vec<_> = (0..5).map(|_| serving.connect()).collect();
    let begun = Instant::now();
    ask(&mut streams[0]);
    // The first request arrived before its answer: the stall has begun when this wait is over.
    let answered = Instant::now();
    while answered.elapsed() < 50 * MILLISECOND {
        thread::sleep(5 * MILLISECOND);
    }
    for stream in &mut streams[1..] {
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            .unwrap();
    }
    for stream in &mut streams[1..] {
        receive(stream);
        // Counts from before the first arrival.
        assert!(begun.elapsed() >= 50 * MILLISECOND + length);
    }
    serving.stop()
}

#[test]
fn nothing_is_answered_in_a_stall_and_all_that_waited_at_its_end() {
    // On a busy machine a short stall may end before all requests have arrived.
    let mut tried = [300, 3_000, 30_000].into_iter().map(|length_ms| {
        let length = length_ms * MILLISECOND;
        (length, in_a_stall(length))
    });
    let found = tried.find(|(_, record)| record.arrived_in_stall == 4);
    let (length, record) = found.expect("a stall in which all arrive");
    assert_eq!(
        (record.requests, record.answers, record.given_up),
        (5, 5, 0)
    );
    // All waiting requests arrived before the end of the stall.
    assert!(
        u128::from(record.planned.max_ns) <= length.as_nanos(),
        "{}",
        record.planned.max_ns
    );
    assert!(record.planned.p50_ns > 0);
}

#[test]
fn a_queue_makes_simultaneous_requests_wait() {
    let serving = Serving::start(queue(constant(10 * MILLISECOND), 1, None));
    let mut streams: Vec<_> = (0..10).map(|_| serving.connect()).collect();
    let begun = Instant::now();
    for stream in &mut streams {
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            .unwrap();
    }
    for stream in &mut streams {
        receive(stream);
    }
    assert!(begun.elapsed() >= 100 * MILLISECOND);
    let record = serving.stop();
    assert_eq!(record.answers, 10);
    assert!(record.answers_span_ns >= 100_000_000);
    // Never early: each service time is at least the planned one.
    assert!(
        record.service.min_ns >= 9_990_000,
        "{}",
        record.service.min_ns
    );
}

#[test]
fn a_server_that_sleeps_answers_each_request_and_none_early() {
    let serving = Serving::start_that_sleeps(queue(constant(10 * MILLISECOND), 1, None), true);
    let mut stream = serving.connect();
    for _ in 0..10 {
        assert!(ask(&mut stream) >= 10 * MILLISECOND);
    }
    let record = serving.stop();
    assert_eq!(record.answers, 10);
    assert!(
        record.service.min_ns >= 9_990_000,
        "{}",
        record.service.min_ns
    );
}

#[test]
fn the_record_follows_lindleys_recursion_request_by_request() {
    let serving = Serving::start(queue(
        Law::Exponential {
            mean: Duration::from_micros(300),
        },
        1,
        None,
    ));
    let mut streams: Vec<_> = (0..8).map(|_| serving.connect()).collect();
    for _ in 0..50 {
        for stream in &mut streams {
            stream
                .write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
                .unwrap();
        }
        for stream in &mut streams {
            receive(stream);
        }
    }
    let record = serving.stop();
    let mut free_ns = 0;
    for request in &record.requests_kept {
        free_ns = free_ns.max(request.arrived_ns) + request.service_ns;
        assert_eq!(request.due_ns, free_ns);
        assert!(request.sent_ns.unwrap() >= request.due_ns);
    }
    assert_eq!((record.requests_kept.len(), record.answers), (400, 400));
    assert_eq!((record.drawn.count, record.gaps.count), (400, 399));
}

#[test]
fn a_limiter_and_a_full_queue_refuse_at_once() {
    // The bucket's only token is back after a second, and no test sends this many requests in one.
    let limiter = Serving::start(Behaviour::Limiter {
        per_s: NonZeroU32::MIN,
        burst: NonZeroU32::MIN,
        time: Duration::ZERO,
    });
    let mut stream = limiter.connect();
    for _ in 0..20 {
        ask(&mut stream);
    }
    let record = limiter.stop();
    assert!(record.refused >= 1);
    assert_eq!(record.requests_kept[0].status, 200);
    // Exactly the tokens of the time that passed, however long that was.
    let mut level_ns = 1_000_000_000;
    let mut before_ns = 0;
    for request in &record.requests_kept {
        level_ns = (level_ns + request.arrived_ns - before_ns).min(1_000_000_000);
        before_ns = request.arrived_ns;
        let good = level_ns == 1_000_000_000;
        level_ns = if good { 0 } else { level_ns };
        assert_eq!(request.status, if good { 200 } else { 429 });
        assert!(good || request.due_ns == request.arrived_ns);
    }

    let full = Serving::start(queue(constant(3_600_000 * MILLISECOND), 2, Some(1)));
    let mut streams: Vec<_> = (0..4).map(|_| full.connect()).collect();
    for stream in &mut streams {
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            .unwrap();
        stream.set_nonblocking(true).unwrap();
    }
    let patience = Instant::now();
    let refused = loop {
        assert!(patience.elapsed() < PATIENCE);
        let mut answer = [0; 1024];
        // The requests may arrive in any order; the last one is refused.
        let read = streams
            .iter_mut()
            .find_map(|stream| stream.read(&mut answer).ok());
        if let Some(length) = read {
            break String::from_utf8(answer[..length].to_vec()).unwrap();
        }
        thread::sleep(MILLISECOND);
    };
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    assert_eq!(full.stop().refused, 1);
}

#[test]
fn the_record_holds_the_law_that_was_served() {
    let serving = Serving::start(Behaviour::Law(Law::Bimodal {
        usual: MILLISECOND,
        slow: 20 * MILLISECOND,
        slow_share: 0.2,
    }));
    let mut stream = serving.connect();
    let times: Vec<_> = (0..100).map(|_| ask(&mut stream)).collect();
    let record = serving.stop();
    assert_eq!(record.planned.count, 100);
    let slow = times
        .iter()
        .filter(|time| **time >= 20 * MILLISECOND)
        .count();
    // Never early. On a busy machine, some of the others are late, too; the record has the planned number.
    assert!(slow >= 19, "{slow}");
    let steps = &record.planned.steps;
    assert_eq!(steps.len(), 2, "{steps:?}");
    assert!((79..=81).contains(&steps[0].1), "{steps:?}");
    assert_eq!(record.service.count, record.lateness.count);
}

#[test]
fn delays_do_not_wait_for_each_other() {
    // Half of the requests are answered at once, the other half after an hour; evenly spread draws alternate, and these
    // are of two hundred.
    const AT_ONCE: usize = 101;
    let serving = Serving::start(Behaviour::Law(Law::Bimodal {
        usual: Duration::ZERO,
        slow: 3_600_000 * MILLISECOND,
        slow_share: 0.5,
    }));
    let mut streams: Vec<_> = (0..200).map(|_| serving.connect()).collect();
    for stream in &mut streams {
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            .unwrap();
        stream.set_nonblocking(true).unwrap();
    }
    let (patience, mut answered) = (Instant::now(), 0);
    while answered < AT_ONCE {
        assert!(patience.elapsed() < PATIENCE, "{answered} were answered");
        for stream in &mut streams {
            // An answer is far shorter than this buffer.
            answered += usize::from(stream.read(&mut [0; 1024]).is_ok_and(|read| read > 0));
        }
        thread::sleep(MILLISECOND);
    }
    let record = serving.stop();
    assert_eq!((record.connections, record.requests), (200, 200));
    assert_eq!(record.answers, AT_ONCE as u64);
}

#[test]
fn requests_with_content_and_several_at_once_are_understood() {
    let serving = Serving::start(Behaviour::Law(constant(Duration::ZERO)));
    let mut stream = serving.connect();
    let both = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    stream.write_all(both).unwrap();
    receive(&mut stream);
    receive(&mut stream);
    let mut old = serving.connect();
    old.write_all(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        .unwrap();
    assert!(receive(&mut old).contains("\r\nConnection: keep-alive\r\n"));
    let mut last = serving.connect();
    last.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    last.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("\r\nConnection: close\r\n"));
    assert_eq!(serving.stop().answers, 4);
}

#[test]
fn a_peer_that_leaves_or_talks_garbage_is_counted_and_forgotten() {
    let serving = Serving::start(Behaviour::Law(constant(3_600_000 * MILLISECOND)));
    let mut leaving = serving.connect();
    leaving
        .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    leaving.shutdown(Shutdown::Write).unwrap();
    // The server closes, too, once it has noticed.
    assert_eq!(leaving.read(&mut [0; 16]).unwrap(), 0);
    let mut garbage = serving.connect();
    garbage.write_all(b"\x16\x03\x01 what\r\n\r\n").unwrap();
    assert_eq!(garbage.read(&mut [0; 16]).unwrap_or(0), 0);
    let record = serving.stop();
    assert_eq!(
        (record.requests, record.answers, record.given_up),
        (1, 0, 1)
    );
}
