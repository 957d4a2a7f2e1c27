//! Servers that misbehave: each failure is counted under its own name, and none delays the run.

use std::io::Write;
use std::net::TcpStream;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use dyno_client::Protocol;
use dyno_client::http1::Profile;
use serde_json::{Value, json};

use crate::server::{HELLO, Server, read_request, reset, wait_for_the_end};
use crate::stage::{accounted, elapsed_ns, get, number, shape, shaped};

const REQUESTS: u64 = 6;

/// Timeouts to try in turn: a short one may expire on a busy machine before the fault occurs, and then the failure has
/// another name. A wrong name stays wrong at every timeout.
const TIMEOUTS_MS: [u64; 3] = [300, 5_000, 60_000];

/// Answers the first request with these bytes; then keeps the connection open, or closes it.
fn says(answer: &'static [u8], closes: bool) -> impl Fn(TcpStream) + Send + Sync {
    move |mut stream| {
        read_request(&mut stream);
        stream.write_all(answer).unwrap_or_default();
        if !closes {
            wait_for_the_end(stream);
        }
    }
}

/// Sends the same bytes forever.
fn floods(start: &'static [u8], again: &'static [u8]) -> impl Fn(TcpStream) + Send + Sync {
    move |mut stream| {
        read_request(&mut stream);
        stream.write_all(start).unwrap_or_default();
        while stream.write_all(again).is_ok() {}
    }
}

/// A listening socket with a full queue: a client that connects to it waits.
struct Full {
    socket: socket2::Socket,
    _queued: socket2::Socket,
}

impl Full {
    fn listening() -> Self {
        let stream = || {
            let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
            socket.unwrap()
        };
        let socket = stream();
        let any: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
        socket.bind(&any.into()).unwrap();
        socket.listen(0).unwrap();
        let queued = stream();
        queued.connect(&socket.local_addr().unwrap()).unwrap();
        Self {
            socket,
            _queued: queued,
        }
    }

    fn url(&self) -> String {
        let address = self.socket.local_addr().unwrap().as_socket().unwrap();
        format!("http://{address}/")
    }
}

fn check(name: &str, url: &str, protocol: Protocol) -> Value {
    let shape = dyno_load::Shape {
        protocol,
        ..shape()
    };
    let due = json!({ name: REQUESTS });
    let mut report = Value::Null;
    for timeout_ms in TIMEOUTS_MS {
        report = shaped(&[url.to_owned()], &shape)
            .requests(REQUESTS)
            .timeout_ms(timeout_ms)
            .run();
        if report["errors"] == due {
            break;
        }
    }
    assert_eq!(report["errors"], due, "{name}: {report}");
    assert_eq!(number(&report, "/errors_total"), REQUESTS, "{name}");
    assert_eq!(accounted(&report), REQUESTS, "{name}");
    report
}

/// Like `check`, for failures before a request can be sent: each is a connection that could not be opened.
fn check_connecting(name: &str, url: &str, protocol: Protocol) {
    let report = check(name, url, protocol);
    assert_eq!(number(&report, "/connections/opened"), 0, "{name}");
    assert!(
        number(&report, "/connections/failed") >= REQUESTS,
        "{report}"
    );
}

#[test]
fn each_misbehaviour_has_its_name() {
    type Behaviour = Box<dyn Fn(TcpStream) + Send + Sync>;
    let cases: [(&str, Behaviour); 14] = [
        (
            "MalformedHead",
            Box::new(says(b"220 mail.test ESMTP\r\n\r\n", false)),
        ),
        (
            "MalformedHead",
            Box::new(says(b"HTTP/1.1 200 OK\r\na: b\rc\r\n\r\n", false)),
        ),
        ("ClosedBeforeAnswer", Box::new(says(b"", true))),
        (
            "BodyCutShort",
            Box::new(says(b"HTTP/1.1 200 OK\r\nContent-Le", true)),
        ),
        (
            "ConnectionReset",
            Box::new(|mut stream| {
                read_request(&mut stream);
                reset(stream);
            }),
        ),
        ("HeadTimeout", Box::new(says(b"", false))),
        (
            "HeadTimeout",
            Box::new(says(b"HTTP/1.1 200 OK\r\nContent-Le", false)),
        ),
        (
            "BodyTimeout",
            Box::new(says(
                b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
                false,
            )),
        ),
        (
            "BodyCutShort",
            Box::new(says(
                b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
                true,
            )),
        ),
        (
            "MalformedBody",
            Box::new(says(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n",
                false,
            )),
        ),
        (
            "HeadTooLong",
            Box::new(floods(b"HTTP/1.1 200 OK\r\n", b"a: b\r\nc: d\r\ne: f\r\n")),
        ),
        (
            "HeadTooLong",
            Box::new(floods(
                b"HTTP/1.1 200 OK\r\na: ",
                b"aaaaaaaaaaaaaaaaaaaaaaaa",
            )),
        ),
        (
            "InterimFlood",
            Box::new(floods(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n")),
        ),
        (
            "BodyTimeout",
            Box::new(floods(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                b"5\r\nhello\r\n",
            )),
        ),
    ];
    for (name, behave) in cases {
        check(name, &Server::start(behave).url(), Protocol::Http1);
    }
}

#[test]
fn odd_answers_are_counted_and_the_strict_profile_refuses_them() {
    const ODD: &[u8] = b"HTTP/1.1 200 OK\nno colon\nContent-Length: 2\n\nok";
    for (profile, answers) in [(Profile::Tolerant, REQUESTS), (Profile::Strict, 0)] {
        let server =
            Server::start(
                |mut stream: TcpStream| {
                    while read_request(&mut stream) && stream.write_all(ODD).is_ok() {}
                },
            );
        let mut stage = get(&[server.url()]).requests(REQUESTS).connections(1);
        stage.plan.profile = profile;
        let report = stage.run();
        let (counts, errors) = match answers {
            0 => (json!({}), json!({ "MalformedHead": REQUESTS })),
            answers => (
                json!({ "line_feed_alone": answers, "skipped_line": answers }),
                json!({}),
            ),
        };
        assert_eq!(
            (&report["tolerated"], &report["errors"]),
            (&counts, &errors)
        );
        assert_eq!(number(&report, "/requests"), answers);
        if answers > 0 {
            // Odd answers with a length keep their connection.
            assert_eq!(number(&report, "/connections/opened"), 1);
        }
    }
}

#[test]
fn a_refused_connection_is_counted() {
    // Binds the port, so that no other program gets it, and does not listen.
    let taken = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let any: std::net::SocketAddr = "127.0.0.1:0".parse().unwrap();
    taken.bind(&any.into()).unwrap();
    let address = taken.local_addr().unwrap().as_socket().unwrap();
    for protocol in Protocol::ALL {
        check_connecting("ConnectionRefused", &format!("http://{address}/"), protocol);
    }
    // A run of an hour also ends early.
    for rate in [None, Some(100)] {
        let mut stage = get(&[format!("http://{address}/")]).endless();
        if let Some(rate) = rate {
            stage = stage.rate(rate);
        }
        let report = stage.run();
        assert_eq!(number(&report, "/sent"), 0, "{report}");
        assert!(number(&report, "/errors/ConnectionRefused") > 0, "{report}");
    }
}

#[test]
fn a_full_backlog_is_counted() {
    check_connecting("ConnectTimeout", &Full::listening().url(), Protocol::Http1);
}

#[test]
fn a_connection_that_is_being_made_at_the_end_is_open() {
    let full = Full::listening();
    for rate in [None, Some(100)] {
        // Connections are not opened in advance, so each connects for a request.
        let mut stage = get(&[full.url()]).connections(3).millis(1_000);
        stage.plan.keepalive = false;
        let meant = rate.map_or(3, |_| 100);
        if let Some(rate) = rate {
            stage = stage.rate(rate);
        }
        let report = stage.run();
        assert_eq!(number(&report, "/sent"), 0, "{report}");
        assert_eq!(number(&report, "/censored/count"), 3, "{report}");
        assert_eq!(accounted(&report), meant, "{report}");
        // No request has ended: the lower bound of the response times is the time that each has waited.
        assert_eq!(number(&report, "/response_time/count"), 0);
        assert_eq!(number(&report, "/response_time_at_least/count"), meant);
    }
}

#[test]
fn tls_fails_by_its_names() {
    let secure = |server: &Server| format!("https://{}/", server.address);
    let silent = Server::start(wait_for_the_end);
    check_connecting("TlsTimeout", &secure(&silent), Protocol::Http1);
    let talks_first = Server::start(|mut stream| {
        stream
            .write_all(b"220 mail.test ESMTP\r\n")
            .unwrap_or_default();
        wait_for_the_end(stream);
    });
    check("TlsProtocol", &secure(&talks_first), Protocol::Http1);
    let speaks_one = Server::start(|mut stream| {
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap_or_default();
        wait_for_the_end(stream);
    });
    check("Http2Protocol", &speaks_one.url(), Protocol::Http2);
    let closes = Server::start(|mut stream| {
        let mut hello = [0; 16 << 10];
        std::io::Read::read(&mut stream, &mut hello).unwrap_or_default();
    });
    check("ClosedBeforeAnswer", &secure(&closes), Protocol::Http1);
}

#[test]
fn no_such_name() {
    // The system's resolver rejects the name itself, without a query to a name server, which may be slow or missing.
    check("HostNotFound", "http://-.test/", Protocol::Http1);
}

#[test]
fn a_server_that_refuses_everything_is_not_hammered() {
    let server = Server::start(|mut stream| {
        read_request(&mut stream);
    });
    let report = get(&[server.url()]).requests(16).run();
    assert_eq!(number(&report, "/errors_total"), 16, "{report}");
    // Two request loops that pause for 10, 20, 40, ... ms after their second failure: the last of 8 attempts comes
    // after 630 ms. If one loop makes more of the attempts, it pauses longer.
    assert!(elapsed_ns(&report) >= 630_000_000, "{report}");
}

#[test]
fn a_server_that_never_answers_leaves_requests_open() {
    let (came, coming) = mpsc::channel();
    let server = Server::start(move |mut stream| {
        if read_request(&mut stream) {
            let _ = came.send(());
            wait_for_the_end(stream);
        }
    });
    let stage = get(&[server.url()]).connections(3).endless();
    let stop = stage.stop.clone();
    let stopper = thread::spawn(move || {
        assert_eq!(coming.iter().take(3).count(), 3);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    let report = stage.run();
    stopper.join().unwrap();
    assert_eq!(number(&report, "/sent"), 3);
    assert_eq!(number(&report, "/requests"), 0);
    assert_eq!(number(&report, "/censored/count"), 3);
    assert_eq!(number(&report, "/censored/ages/count"), 3);
    // No request is older than the run; the histogram has three digits.
    let most_ns = elapsed_ns(&report);
    assert!(
        number(&report, "/censored/oldest_ns") <= most_ns + most_ns / 500,
        "{report}"
    );
    assert_eq!(number(&report, "/errors_total"), 0);
}

#[test]
fn a_timeout_that_nothing_can_keep_ends_each_request_all_the_same() {
    let server = Server::start(wait_for_the_end);
    for timeout_ns in [1, 4, 1_000, 10_000] {
        let mut stage = get(&[server.url()]).requests(REQUESTS);
        stage.plan.timeout = Duration::from_nanos(timeout_ns);
        let report = stage.run();
        assert_eq!(number(&report, "/errors_total"), REQUESTS, "{report}");
    }
}

/// A server that processes every second request of a connection for a while, and then crashes.
#[test]
fn a_server_that_crashes_while_it_works_is_seen_to_fail() {
    type Crash = fn(TcpStream);
    let crashes: [(Crash, &str); 2] = [(drop, "ClosedBeforeAnswer"), (reset, "ConnectionReset")];
    for work_ms in [1, 3, 10, 30, 100, 200] {
        for (crash, name) in crashes {
            let server = Server::start(move |mut stream| {
                if read_request(&mut stream) && stream.write_all(HELLO).is_ok() {
                    let came = read_request(&mut stream);
                    thread::sleep(Duration::from_millis(if came { work_ms } else { 0 }));
                    crash(stream);
                }
            });
            let report = get(&[server.url()]).connections(1).requests(6).run();
            let (failed, resent) = (number(&report, "/errors_total"), number(&report, "/resent"));
            assert_eq!(accounted(&report), 6, "{work_ms} ms: {report}");
            // Each connection has one answer and one crash, except the last, and no crash is hidden.
            let opened = number(&report, "/connections/opened");
            assert_eq!(opened, number(&report, "/requests"), "{report}");
            assert!(
                (opened - 1..=opened).contains(&(failed + resent)),
                "{report}"
            );
            let other = report["errors"].as_object().unwrap().keys();
            assert!(other.into_iter().all(|error| error == name), "{report}");
            // A request is never sent again if its connection ended later than a request and a close can cross.
            let round_trip_ns = number(&report, "/phases/connect/max_ns");
            if work_ms * 1_000_000 > (2 * round_trip_ns).max(5_000_000) {
                assert_eq!(resent, 0, "{work_ms} ms: {report}");
            }
        }
    }
}
