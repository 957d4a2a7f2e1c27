//! Servers with several addresses, some of which are dead, silent or come back.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use dyno_client::{Protocol, Sockets};
use dyno_load::Shape;
use serde_json::{Value, json};

use crate::answers::origin;
use crate::server::{HELLO, Server, read_request, reset};
use crate::stage::{Stage, get, number, shape, shaped};

/// Requests to a name that stands for these addresses.
fn to(addresses: &[SocketAddr], shape: &Shape) -> Stage {
    let mut stage = shaped(&["http://a.test/".to_owned()], shape);
    for address in addresses {
        let rule = format!("a.test:80:{}:{}", address.ip(), address.port());
        stage.plan.reroute.connect_to.push(rule.parse().unwrap());
    }
    stage
}

fn without_keepalive() -> Shape {
    Shape {
        keepalive: false,
        ..shape()
    }
}

/// What the report has of an address.
fn of<'r>(report: &'r Value, address: &SocketAddr) -> &'r Value {
    let rows = report["addresses"].as_array().unwrap();
    let row = rows
        .iter()
        .find(|row| row["address"] == address.to_string());
    row.unwrap_or(&Value::Null)
}

fn closed_port() -> SocketAddr {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    closed.local_addr().unwrap()
}

#[test]
fn connections_and_requests_are_spread_over_all_addresses() {
    let servers = [(); 3].map(|()| Server::answering(HELLO, || ()));
    let addresses = servers.each_ref().map(|server| server.address);
    for warm_up_ms in [0, 50] {
        let mut stage = to(&addresses, &shape()).connections(6).requests(600);
        stage.plan.warm_up = std::time::Duration::from_millis(warm_up_ms);
        let report = stage.run();
        assert_eq!(report["statuses"], json!({"200": 600}), "{report}");
        let rows = addresses.each_ref().map(|address| of(&report, address));
        let requests: u64 = rows.iter().map(|row| number(row, "/requests")).sum();
        assert_eq!(requests, 600);
        for row in rows {
            assert_eq!(number(row, "/failed"), 0);
            assert_eq!(number(row, "/opened"), 2);
            assert!(number(row, "/requests") > 0 && number(row, "/response_p99_ns") > 0);
        }
    }
    let report = to(&addresses, &without_keepalive()).requests(300).run();
    for address in addresses {
        let row = of(&report, &address);
        assert_eq!(
            (number(row, "/opened"), number(row, "/requests")),
            (100, 100)
        );
    }
}

#[test]
fn streams_are_spread_over_all_addresses() {
    let origins = [(); 2].map(|()| origin());
    let addresses = origins.each_ref().map(|(_, origin)| origin.http()[0]);
    let over = Shape {
        protocol: Protocol::Http2,
        ..shape()
    };
    let mut stage = to(&addresses, &over).connections(2).requests(200);
    stage.plan.streams = 4;
    let report = stage.run();
    let rows = addresses.each_ref().map(|address| of(&report, address));
    let requests: u64 = rows.iter().map(|row| number(row, "/requests")).sum();
    assert_eq!((requests, number(rows[0], "/opened")), (200, 1), "{report}");
    assert!(number(rows[1], "/requests") > 0);
}

#[test]
fn one_address_has_all_requests_and_a_unix_socket_none() {
    let server = Server::answering(b"HTTP/1.1 500 E\r\nContent-Length: 0\r\n\r\n", || ());
    let report = get(&[server.url()]).requests(20).run();
    let expected = json!([{
        "address": server.address.to_string(), "grouped": null, "opened": 2, "failed": 0, "requests": 20,
        "failed_answers": 20, "errors": 0, "response_p50_ns": null, "response_p99_ns": null,
    }]);
    assert_eq!(report["addresses"], expected);
    let mut stage = get(&[server.url()]).requests(1);
    let absent = "@httpdyno-absent".parse().unwrap();
    stage.plan.sockets = Arc::new(Sockets::new(Some(absent), Vec::new(), false));
    assert_eq!(stage.run()["addresses"], Value::Null);
}

#[test]
fn a_dead_address_fails_no_request() {
    let server = Server::answering(HELLO, || ());
    let addresses = [closed_port(), server.address];
    for over in [shape(), without_keepalive()] {
        let report = to(&addresses, &over).connections(4).requests(100).run();
        assert_eq!(report["statuses"], json!({"200": 100}), "{report}");
        assert_eq!(
            (
                number(&report, "/errors_total"),
                number(&report, "/connections/failed")
            ),
            (0, 0)
        );
        assert_eq!(number(of(&report, &server.address), "/requests"), 100);
        let dead = of(&report, &addresses[0]);
        assert!(number(dead, "/failed") > 0);
        assert_eq!((number(dead, "/opened"), number(dead, "/requests")), (0, 0));
    }
}

#[test]
fn a_dead_address_does_not_make_the_generator_late() {
    let server = Server::answering(HELLO, || ());
    let stage = to(&[closed_port(), server.address], &shape());
    let report = stage.rate(1_000).requests(50).run();
    assert_eq!(report["statuses"], json!({"200": 50}), "{report}");
    let rules = report["validity"]["rules"].as_array().unwrap();
    let lag = rules.iter().find(|rule| rule["rule"] == "generator_lag");
    // Not judged: requests wait behind the failed attempt, and are then sent at once.
    assert_eq!(lag.unwrap()["passed"], Value::Null);
}

#[test]
fn dead_addresses_are_all_tried_before_a_request_fails() {
    let addresses = [closed_port(), closed_port()];
    let report = to(&addresses, &shape()).connections(1).requests(1).run();
    assert_eq!(
        report["errors"],
        json!({"ConnectionRefused": 1}),
        "{report}"
    );
    // The connection that is opened ahead, and that of the request.
    for address in &addresses {
        assert_eq!(number(of(&report, address), "/failed"), 2);
    }
}

#[test]
fn a_silent_address_holds_no_connection_until_its_timeout() {
    // Its queue is full, so that the kernel answers no further attempt.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&silent, 0).unwrap();
    let address = silent.local_addr().unwrap();
    let _in_the_queue = TcpStream::connect(address).unwrap();
    let server = Server::answering(HELLO, || ());
    for first in [0, 1] {
        let mut addresses = [address, server.address];
        addresses.rotate_left(first);
        // The timeout is the patience of the test.
        let report = to(&addresses, &without_keepalive()).requests(50).run();
        assert_eq!(report["statuses"], json!({"200": 50}), "{report}");
        assert_eq!(number(of(&report, &server.address), "/requests"), 50);
        assert_eq!(number(of(&report, &address), "/opened"), 0);
        assert!(number(of(&report, &address), "/failed") > 0);
    }
}

#[test]
fn a_server_that_dies_and_comes_back_is_left_and_used_again() {
    let good = Arc::new(Server::answering(HELLO, || ()));
    // Resets its first 20 connections, dies, and lives again.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let again = Arc::<AtomicUsize>::default();
    let (counted, other) = (again.clone(), good.clone());
    thread::spawn(move || {
        for stream in listener.incoming().take(20) {
            let mut stream = stream.unwrap();
            read_request(&mut stream);
            reset(stream);
        }
        drop(listener);
        let enough = other.accepted() + 50;
        while other.accepted() < enough {
            thread::sleep(std::time::Duration::from_millis(1));
        }
        let listener = TcpListener::bind(address).unwrap();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
            while read_request(&mut stream) {
                std::io::Write::write_all(&mut stream, HELLO).unwrap();
            }
        }
    });
    let mut stage = to(&[address, good.address], &without_keepalive())
        .endless()
        .rate(500);
    let (stop, seen) = (stage.stop.clone(), again.clone());
    thread::spawn(move || {
        while seen.load(Ordering::Relaxed) < 10 {
            thread::sleep(std::time::Duration::from_millis(10));
        }
        stop.store(true, Ordering::Relaxed);
    });
    stage.plan.timeout = std::time::Duration::from_secs(60);
    let report = stage.run();
    assert!(again.load(Ordering::Relaxed) >= 10);
    let row = of(&report, &address);
    assert!(
        number(row, "/errors") > 0 && number(row, "/failed") > 0,
        "{report}"
    );
    assert!(number(row, "/requests") > 0);
    assert_eq!(number(of(&report, &good.address), "/errors"), 0);
    assert_eq!(number(&report, "/errors_total"), number(row, "/errors"));
}
