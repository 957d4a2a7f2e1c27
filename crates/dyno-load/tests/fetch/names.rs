//! Names: what servers may say of them, and what becomes of those who ask.

use std::net::Ipv4Addr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dyno_load::fetch::Options;
use hickory_proto::op::{Message, ResponseCode};

use super::crawl::crawl;
use super::name_server::{NameServer, answer, found};
use super::server::{Server, whole};

const TIMEOUT: Duration = Duration::from_millis(900);

fn asking(servers: &[&NameServer]) -> Options {
    Options {
        nameservers: servers.iter().map(|server| server.address).collect(),
        timeout: TIMEOUT,
        ..Options::default()
    }
}

/// A server at an address that the name server gives for every name, and the port to put into a URL.
fn http() -> (Server, u16) {
    let server = Server::start(|stream, _, _| whole(stream, "", b"x"));
    let port = server.address.port();
    (server, port)
}

fn bytes(message: &Message) -> Vec<u8> {
    message.to_vec().unwrap()
}

#[test]
fn what_a_name_server_does_has_a_name() {
    let (_http, port) = http();
    let server = NameServer::start(|query, over_tcp| {
        let right = found(query, Ipv4Addr::LOCALHOST);
        let name = query.queries[0].name().to_ascii();
        match name.as_str() {
            "missing.test." => vec![bytes(&answer(query, ResponseCode::NXDomain))],
            "failing.test." => vec![bytes(&answer(query, ResponseCode::ServFail))],
            "empty.test." => vec![bytes(&answer(query, ResponseCode::NoError))],
            "long.test." if !over_tcp => {
                let mut cut = answer(query, ResponseCode::NoError);
                cut.metadata.truncation = true;
                vec![bytes(&cut)]
            }
            "right.test." | "long.test." => vec![bytes(&right)],
            // Garbage, another's answer, and a forged one before the right one.
            "noisy.test." => {
                let mut foreign = found(query, Ipv4Addr::new(127, 9, 9, 9));
                foreign.metadata.id = query.metadata.id.wrapping_add(1);
                let mut other = found(query, Ipv4Addr::new(127, 9, 9, 9));
                other.queries[0].set_name("other.test.".parse().unwrap());
                vec![
                    b"garbage".to_vec(),
                    vec![],
                    bytes(&foreign),
                    bytes(&other),
                    bytes(&right),
                ]
            }
            _ => vec![],
        }
    });
    let expected = [
        ("right.test", "200"),
        ("missing.test", "HostNotFound"),
        ("failing.test", "ResolverFailed"),
        ("empty.test", "HostNotFound"),
        ("long.test", "200"),
        ("noisy.test", "200"),
        ("silent.test", "ResolveTimeout"),
        ("no..name", "HostNotFound"),
    ];
    let lines: Vec<String> = expected
        .iter()
        .map(|(name, _)| format!("http://{name}:{port}/"))
        .collect();
    let rows = crawl(asking(&[&server]), &lines);
    for (line, (name, code)) in lines.iter().zip(expected) {
        let row = rows.iter().find(|row| row.0 == *line).unwrap();
        assert_eq!(row.1, code, "{name}");
    }
}

#[test]
fn a_datagram_that_was_lost_is_sent_again() {
    let (_http, port) = http();
    let seen = std::sync::Mutex::new(std::collections::HashSet::new());
    let server = NameServer::start(move |query, _| {
        let first = seen.lock().unwrap().insert(query.queries[0].query_type());
        if first {
            vec![]
        } else {
            vec![bytes(&found(query, Ipv4Addr::LOCALHOST))]
        }
    });
    let rows = crawl(asking(&[&server]), &[format!("http://a.test:{port}/")]);
    assert_eq!(rows[0].1, "200");
}

#[test]
fn another_name_server_is_asked_where_the_first_is_silent_or_fails() {
    let (_http, port) = http();
    let silent = NameServer::start(|_, _| vec![]);
    let failing = NameServer::start(|query, _| vec![bytes(&answer(query, ResponseCode::ServFail))]);
    let right = NameServer::start(|query, _| vec![bytes(&found(query, Ipv4Addr::LOCALHOST))]);
    for first in [&silent, &failing] {
        let rows = crawl(
            asking(&[first, &right]),
            &[format!("http://a.test:{port}/")],
        );
        assert_eq!(rows[0].1, "200");
    }
}

#[test]
fn a_name_is_asked_for_once() {
    let (http, port) = http();
    let server = NameServer::start(|query, _| vec![bytes(&found(query, Ipv4Addr::LOCALHOST))]);
    let lines: Vec<String> = (0..40)
        .map(|number| format!("http://a.test:{port}/{number}"))
        .collect();
    let rows = crawl(
        Options {
            keepalive: false,
            ..asking(&[&server])
        },
        &lines,
    );
    assert!(rows.iter().all(|row| row.1 == "200"));
    assert_eq!(http.connections.load(Ordering::SeqCst), 40);
    assert!(server.queries.load(Ordering::SeqCst) <= 2);
}

#[test]
fn nobody_listens_at_the_address() {
    let server = NameServer::start(|query, _| vec![bytes(&found(query, Ipv4Addr::LOCALHOST))]);
    let free = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .unwrap()
        .local_addr()
        .unwrap();
    let rows = crawl(
        asking(&[&server]),
        &[format!("http://a.test:{}/", free.port())],
    );
    assert_eq!(rows[0].1, "ConnectionRefused");
}
