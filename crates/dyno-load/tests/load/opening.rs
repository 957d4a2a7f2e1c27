//! Connections that are opened before the run begins, and connections that fail to open.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::{Duration, SystemTime};

use dyno_client::Protocol;
use dyno_load::Shape;
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::answers::{origin, scratch};
use crate::server::{HELLO, Server, read_request, wait_for_the_end};
use crate::stage::{get, number, shape, shaped, without_failures};

/// Shortest time that a server waits before it begins to answer.
const SLOW: Duration = Duration::from_millis(50);
const CONNECTIONS: usize = 4;

/// A proxy that passes nothing to the server until this many clients have connected, and then waits a while; records
/// when the last client was let through.
fn late_in_front_of(address: SocketAddr) -> (Server, Arc<Mutex<SystemTime>>) {
    let opened = Arc::new(Mutex::new(SystemTime::UNIX_EPOCH));
    let (last, all) = (opened.clone(), Barrier::new(CONNECTIONS));
    let server = Server::start(move |mut client: TcpStream| {
        all.wait();
        thread::sleep(SLOW);
        {
            let mut last = last.lock().unwrap();
            *last = SystemTime::now().max(*last);
        }
        let mut behind = TcpStream::connect(address).unwrap();
        let (mut back, mut there) = (behind.try_clone().unwrap(), client.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut back, &mut there));
        let _ = std::io::copy(&mut client, &mut behind);
    });
    (server, opened)
}

/// A time in RFC 3339, in UTC, as text that sorts by time.
fn in_order(moment: &str) -> String {
    let moment = moment.trim_end_matches('Z');
    let (second, fraction) = moment.split_once('.').unwrap_or((moment, ""));
    format!("{second}.{fraction:0<9}")
}

#[test]
fn the_schedule_begins_when_connections_are_open() {
    let (_authority, origin) = origin();
    for protocol in Protocol::ALL {
        let (server, opened) = late_in_front_of(origin.https()[0]);
        let url = format!("https://{}/plain", server.address);
        let over = Shape {
            protocol,
            ..shape()
        };
        let stage = shaped(&[url], &over).connections(CONNECTIONS);
        let mut stage = stage.requests(200).rate(1_000);
        stage.plan.insecure = true;
        let report = stage.run();
        assert_eq!(number(&report, "/requests"), 200, "{report}");
        assert_eq!(number(&report, "/connections/opened"), 4);
        // The first request of each connection reuses none.
        assert_eq!(number(&report, "/connections/reused_requests"), 196);
        let slow_ns = u64::try_from(SLOW.as_nanos()).unwrap();
        assert!(number(&report, "/phases/tls/min_ns") >= slow_ns, "{report}");
        // All times count from the start: if connections were opened with the first requests, the times of those
        // would include it.
        let opened = OffsetDateTime::from(*opened.lock().unwrap());
        let opened = in_order(&opened.format(&Rfc3339).unwrap());
        let started = in_order(report["started"].as_str().unwrap());
        assert!(opened <= started, "{opened} {started}");
    }
}

#[test]
fn no_more_are_opened_than_are_needed() {
    let server = Server::answering(HELLO, || ());
    let report = get(&[server.url()]).connections(8).requests(3).run();
    assert_eq!(number(&report, "/requests"), 3, "{report}");
    assert_eq!(number(&report, "/connections/opened"), 3);
    let closing = Shape {
        keepalive: false,
        ..shape()
    };
    let report = shaped(&[server.url()], &closing)
        .connections(8)
        .requests(20)
        .run();
    assert_eq!(number(&report, "/connections/opened"), 20, "{report}");
}

#[test]
fn with_several_servers_each_is_connected_to_when_it_is_asked() {
    let servers = [(); 3].map(|()| Server::answering(HELLO, || ()));
    let urls = servers.each_ref().map(Server::url);
    let report = get(&urls).connections(1).requests(2).run();
    assert_eq!(number(&report, "/requests"), 2, "{report}");
    assert_eq!(servers.each_ref().map(Server::accepted), [1, 1, 0]);
}

#[test]
fn a_connection_that_ends_before_the_run_is_opened_again() {
    // The first connection closes at once; the others answer.
    let count = Arc::new(AtomicUsize::new(0));
    let accepted = count.clone();
    let server = Server::start(move |mut stream: TcpStream| {
        if accepted.fetch_add(1, Ordering::SeqCst) > 0 {
            while read_request(&mut stream) && stream.write_all(HELLO).is_ok() {}
        }
    });
    let report = without_failures(|| {
        count.store(0, Ordering::SeqCst);
        get(&[server.url()]).connections(4).requests(100)
    });
    assert_eq!(number(&report, "/requests"), 100, "{report}");
}

#[test]
fn who_cannot_be_connected_to_is_not_waited_for_longer_than_the_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    // One connection fills the queue of a listener that accepts none; further attempts get no answer.
    let _filled = [(); 2].map(|()| {
        let socket =
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        socket.set_nonblocking(true).unwrap();
        let _ = socket.connect(&address.into());
        socket
    });
    let report = get(&[format!("http://{address}/")])
        .connections(3)
        .timeout_ms(200)
        .requests(3)
        .run();
    assert_eq!(report["errors"], json!({"ConnectTimeout": 3}), "{report}");
}

/// Stops a run when the first of its connections begins a TLS handshake, which is never answered.
fn stopped_while_it_opens(timeout_ms: u64) -> serde_json::Value {
    let (asked, asking) = mpsc::channel();
    let server = Server::start(move |stream: TcpStream| {
        assert!(stream.peek(&mut [0]).is_ok());
        let _ = asked.send(());
        wait_for_the_end(stream);
    });
    let url = format!("https://{}/", server.address);
    let mut stage = get(&[url]).connections(2).timeout_ms(timeout_ms).endless();
    stage.plan.insecure = true;
    let stop = stage.stop.clone();
    let stopper = thread::spawn(move || {
        asking.recv().unwrap();
        stop.store(true, Ordering::Relaxed);
    });
    let report = stage.run();
    stopper.join().unwrap();
    report
}

#[test]
fn opening_can_be_ended() {
    // Without a stop, each connection fails when its timeout has passed. A busy machine may be as late as the first
    // timeout.
    let mut report = stopped_while_it_opens(1_000);
    if number(&report, "/connections/failed") > 0 {
        report = stopped_while_it_opens(9_000);
    }
    assert_eq!(number(&report, "/connections/failed"), 0, "{report}");
    assert_eq!(report["interrupted"], true, "{report}");
    assert_eq!(number(&report, "/requests"), 0);
}

#[test]
fn connections_begin_one_after_the_other_over_the_ramp() {
    let stop = Arc::<AtomicBool>::default();
    let (enough, answered) = (stop.clone(), AtomicUsize::new(0));
    let server = Server::start(move |mut stream: TcpStream| {
        for number in 0.. {
            if !read_request(&mut stream) {
                return;
            }
            // A second request on a connection shows that the client has received the first answer, so there is a
            // sample of it.
            if number == 1 && answered.fetch_add(1, Ordering::SeqCst) == 7 {
                enough.store(true, Ordering::Relaxed);
            }
            if stream.write_all(HELLO).is_err() {
                return;
            }
        }
    });
    let file = scratch("ramp.csv");
    let mut stage = get(&[server.url()]).connections(8).endless();
    stage.stop = stop;
    stage.plan.ramp = Duration::from_millis(400);
    stage.plan.samples = Some(file.clone());
    let report = stage.run();
    let text = fs::read_to_string(&file).unwrap();
    fs::remove_file(file).unwrap();
    let mut first = [u64::MAX; 8];
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let (begin, connection): (u64, usize) =
            (fields[0].parse().unwrap(), fields[6].parse().unwrap());
        first[connection] = first[connection].min(begin);
    }
    // Requests may be late on a busy machine, but never early, and they are in order.
    for (connection, (begin, due)) in first.into_iter().zip((0..).step_by(50_000_000)).enumerate() {
        assert!(
            begin >= due && begin != u64::MAX,
            "{connection}: {begin} {due}"
        );
    }
    assert!(first.is_sorted(), "{first:?}");
    assert_eq!(number(&report, "/errors_total"), 0);
}
