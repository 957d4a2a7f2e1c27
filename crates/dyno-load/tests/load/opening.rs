//! Connections that are there before the run begins, and those that are not.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use dyno_load::load::Shape;

use crate::answers::{origin, scratch};
use crate::server::{HELLO, Server, read_request, wait_for_the_end};
use crate::stage::{get, number, shape, shaped};

/// What a server takes before it begins to speak.
const SLOW: Duration = Duration::from_secs(1);

/// Passes everything on to a server, but nothing before it is late.
fn late_in_front_of(address: SocketAddr) -> Server {
    Server::start(move |mut client: TcpStream| {
        thread::sleep(SLOW);
        let mut behind = TcpStream::connect(address).unwrap();
        let (mut back, mut there) = (behind.try_clone().unwrap(), client.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut back, &mut there));
        let _ = std::io::copy(&mut client, &mut behind);
    })
}

#[test]
fn the_schedule_begins_when_connections_are_open() {
    let (_authority, origin) = origin();
    let server = late_in_front_of(origin.https()[0]);
    let url = format!("https://{}/plain", server.address);
    for http2 in [false, true] {
        let over = Shape { http2, ..shape() };
        let stage = shaped(std::slice::from_ref(&url), &over).connections(4);
        let mut stage = stage.requests(200).rate(1_000);
        stage.plan.insecure = true;
        let report = stage.run();
        assert_eq!(number(&report, "/requests"), 200, "{report}");
        assert_eq!(number(&report, "/connections/opened"), 4);
        // The first of each connection is not one that follows another.
        assert_eq!(number(&report, "/connections/reused_requests"), 196);
        let slow_ns = u64::try_from(SLOW.as_nanos()).unwrap();
        assert!(number(&report, "/phases/tls/min_ns") >= slow_ns, "{report}");
        // Opened with the first requests, they would make all of these wait for nearly as long.
        assert!(
            number(&report, "/response_time/p75_ns") < slow_ns / 2,
            "{report}"
        );
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
    // The first of all ends at once; the others answer.
    let count = AtomicUsize::new(0);
    let server = Server::start(move |mut stream: TcpStream| {
        if count.fetch_add(1, Ordering::SeqCst) > 0 {
            while read_request(&mut stream) && stream.write_all(HELLO).is_ok() {}
        }
    });
    let report = get(&[server.url()]).connections(4).requests(100).run();
    assert_eq!(number(&report, "/requests"), 100, "{report}");
    assert_eq!(number(&report, "/errors_total"), 0);
}

#[test]
fn who_cannot_be_connected_to_is_not_waited_for_longer_than_the_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    // One connection fills the queue of a listener that nobody accepts from; the next get no answer.
    let _filled = [(); 2].map(|()| {
        let socket =
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
        socket.set_nonblocking(true).unwrap();
        let _ = socket.connect(&address.into());
        socket
    });
    let began = Instant::now();
    let report = get(&[format!("http://{address}/")])
        .connections(3)
        .timeout_ms(200)
        .millis(300)
        .run();
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(number(&report, "/requests"), 0, "{report}");
    assert!(number(&report, "/errors/ConnectTimeout") > 0, "{report}");
}

#[test]
fn opening_can_be_told_to_end() {
    // TLS that is never answered.
    let server = Server::start(wait_for_the_end);
    let url = format!("https://{}/", server.address);
    let mut stage = get(&[url]).connections(2).millis(120_000);
    stage.plan.insecure = true;
    let stop = stage.stop.clone();
    let stopper = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        stop.store(true, Ordering::Relaxed);
    });
    let began = Instant::now();
    let report = stage.run();
    stopper.join().unwrap();
    assert!(began.elapsed() < Duration::from_secs(8));
    assert_eq!(report["interrupted"], true, "{report}");
    assert_eq!(number(&report, "/requests"), 0);
}

#[test]
fn connections_begin_one_after_the_other_over_the_ramp() {
    let server = Server::answering(HELLO, || ());
    let file = scratch("ramp.csv");
    let mut stage = get(&[server.url()]).connections(8).millis(700);
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
    // Late on a busy machine, but never early, and in their order.
    for (connection, (begin, due)) in first.into_iter().zip((0..).step_by(50_000_000)).enumerate() {
        assert!(
            begin >= due && begin != u64::MAX,
            "{connection}: {begin} {due}"
        );
    }
    assert!(first.is_sorted(), "{first:?}");
    assert_eq!(number(&report, "/errors_total"), 0);
}
