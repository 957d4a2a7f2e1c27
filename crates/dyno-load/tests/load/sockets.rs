//! How connections are made: Unix sockets, source addresses, connections that are replaced or opened at a rate.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use dyno_client::{Protocol, Sockets};
use dyno_load::{PerSecond, Shape};
use serde_json::json;

use crate::answers::{origin, scratch};
use crate::server::{HELLO, Server, read_request};
use crate::stage::{get, number, shape, shaped};

/// Passes the connections of a Unix socket on to a server.
fn in_front_of(address: SocketAddr, listener: UnixListener) {
    thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let mut server = TcpStream::connect(address).unwrap();
            let (mut back, mut there) = (server.try_clone().unwrap(), client.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut back, &mut there));
            thread::spawn(move || std::io::copy(&mut client, &mut server));
        }
    });
}

#[test]
fn a_unix_socket_carries_every_version_with_and_without_tls() {
    let (_authority, origin) = origin();
    for (scheme, address) in [("http", origin.http()[0]), ("https", origin.https()[0])] {
        let path = scratch(&format!("{scheme}.sock"));
        let name = path.to_str().unwrap();
        let abstract_name = UnixAddress::from_abstract_name(name).unwrap();
        in_front_of(address, UnixListener::bind(&path).unwrap());
        in_front_of(address, UnixListener::bind_addr(&abstract_name).unwrap());
        for (protocol, socket) in Protocol::ALL.into_iter().zip([name, &format!("@{name}")]) {
            let over = Shape {
                protocol,
                ..shape()
            };
            // The host of the URL has no address, and none is looked up.
            let url = format!("{scheme}://www.site.test/plain");
            let mut stage = shaped(&[url], &over).requests(20);
            stage.plan.insecure = true;
            stage.plan.reroute.connect_to = vec!["::127.0.0.1:".parse().unwrap()];
            stage.plan.sockets = Arc::new(Sockets::new(
                Some(socket.parse().unwrap()),
                Vec::new(),
                false,
            ));
            let report = stage.run();
            assert_eq!(report["statuses"], json!({"200": 20}), "{report}");
            assert_eq!(number(&report, "/connections/opened"), 2);
            let version = json!({format!("HTTP/{}", protocol.version().number()): 20});
            assert_eq!(report["versions"], version);
            assert_eq!(report["plan"]["unix_socket"], socket);
        }
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn more_clients_than_the_queue_of_a_unix_socket_has_places_wait_for_it() {
    let path = scratch("full.sock");
    let listener = UnixListener::bind(&path).unwrap();
    rustix::net::listen(&listener, 0).unwrap();
    in_front_of(Server::answering(HELLO, || ()).address, listener);
    let mut stage = get(&["http://a.test/".to_owned()])
        .connections(20)
        .requests(40);
    stage.plan.reroute.connect_to = vec!["::127.0.0.1:".parse().unwrap()];
    stage.plan.sockets = Arc::new(Sockets::new(
        Some(path.to_str().unwrap().parse().unwrap()),
        Vec::new(),
        false,
    ));
    let report = stage.run();
    assert_eq!(report["statuses"], json!({"200": 40}), "{report}");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn dot_segments_are_sent_if_that_is_wanted() {
    let (_authority, origin) = origin();
    for protocol in Protocol::ALL {
        for path_as_is in [false, true] {
            let over = Shape {
                protocol,
                path_as_is,
                ..shape()
            };
            let url = format!("http://{}/x/../status/500", origin.http()[0]);
            let report = shaped(&[url], &over).requests(2).run();
            // The origin does not remove them, and has an answer for every path.
            let status = if path_as_is { "200" } else { "500" };
            assert_eq!(report["statuses"], json!({status: 2}), "{report}");
        }
    }
}

/// A server that counts the requests of each connection, by the address of its peer.
fn counting() -> (Server, Arc<Mutex<BTreeMap<SocketAddr, u64>>>) {
    let counts = Arc::<Mutex<BTreeMap<SocketAddr, u64>>>::default();
    let counted = counts.clone();
    let server = Server::start(move |mut stream| {
        let peer = stream.peer_addr().unwrap();
        while read_request(&mut stream) {
            *counted.lock().unwrap().entry(peer).or_default() += 1;
            std::io::Write::write_all(&mut stream, HELLO).unwrap();
        }
    });
    (server, counts)
}

#[test]
fn source_addresses_are_used_in_turn() {
    let (server, counts) = counting();
    let mut stage = get(&[server.url()]).connections(6).requests(60);
    let sources = ["127.0.0.2", "127.0.0.3", "::1"];
    stage.plan.sockets = Arc::new(Sockets::new(
        None,
        sources.map(|text| text.parse().unwrap()).to_vec(),
        false,
    ));
    let report = stage.run();
    assert_eq!(report["statuses"], json!({"200": 60}), "{report}");
    let counts = counts.lock().unwrap();
    let of = |source: &str| {
        counts
            .keys()
            .filter(|peer| peer.ip().to_string() == source)
            .count()
    };
    assert_eq!((of("127.0.0.2"), of("127.0.0.3"), counts.len()), (3, 3, 6));
}

#[test]
fn a_connection_is_replaced_after_so_many_requests() {
    for rate in [None, Some(10_000)] {
        let (server, counts) = counting();
        let mut stage = get(&[server.url()]).connections(1).requests(20);
        if let Some(rate) = rate {
            stage = stage.rate(rate);
        }
        stage.plan.reconnect_after = 3.try_into().ok();
        let report = stage.run();
        assert_eq!(report["statuses"], json!({"200": 20}), "{report}");
        assert_eq!(number(&report, "/connections/opened"), 7);
        assert_eq!(number(&report, "/connections/reused_requests"), 13);
        let mut counts: Vec<u64> = counts.lock().unwrap().values().copied().collect();
        counts.sort_unstable();
        assert_eq!(counts, [2, 3, 3, 3, 3, 3, 3]);
    }
}

#[test]
fn a_connection_of_http2_is_replaced_while_others_use_it() {
    let (_authority, origin) = origin();
    let two = Shape {
        protocol: Protocol::Http2,
        ..shape()
    };
    let url = format!("http://{}/plain", origin.http()[0]);
    let mut stage = shaped(&[url], &two).connections(1).requests(20);
    stage.plan.streams = 4;
    stage.plan.reconnect_after = 5.try_into().ok();
    let report = stage.run();
    assert_eq!(report["statuses"], json!({"200": 20}), "{report}");
    assert_eq!(number(&report, "/connections/opened"), 4);
}

#[test]
fn a_closed_port_is_found_with_the_first_connection_of_many() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", closed.local_addr().unwrap());
    drop(closed);
    let mut stage = get(&[url]).connections(1_000).endless();
    // All of them take a quarter of an hour.
    stage.plan.opened_per_s = PerSecond::parse("1").ok();
    let report = stage.run();
    assert_eq!(report["statuses"], json!({}), "{report}");
    assert!(number(&report, "/errors/ConnectionRefused") > 0);
}

#[test]
fn connections_are_opened_at_a_rate_before_the_load_begins() {
    for protocol in Protocol::ALL {
        let (_authority, origin) = origin();
        let over = Shape {
            protocol,
            ..shape()
        };
        let url = format!("http://{}/plain", origin.http()[0]);
        let mut stage = shaped(&[url], &over).connections(5).requests(50);
        stage.plan.opened_per_s = PerSecond::parse("20").ok();
        let began = Instant::now();
        let report = stage.run();
        // The last is opened 4 / 20 s after the first, or later.
        let opening = Duration::from_millis(200);
        assert!(began.elapsed() >= opening, "{report}");
        assert_eq!(report["statuses"], json!({"200": 50}));
        assert_eq!(number(&report, "/connections/opened"), 5);
        assert_eq!(number(&report, "/connections/reused_requests"), 45);
    }
}
