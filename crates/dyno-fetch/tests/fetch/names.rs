//! Names: answers of name servers, and their effect on a fetch.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::os::unix::net::UnixListener;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use dyno_client::Sockets;
use dyno_fetch::Options;
use hickory_proto::op::{Message, ResponseCode};

use super::crawl::{PATIENCE, at_a_timeout, connecting, crawl};
use super::name_server::{NameServer, answer, found};
use super::server::{Server, whole};

fn asking(servers: &[&NameServer], timeout: Duration) -> Options {
    Options {
        nameservers: servers.iter().map(|server| server.address.into()).collect(),
        timeout,
        ..Options::default()
    }
}

/// Starts a server whose address the name server returns for every name; also returns the port for URLs.
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
            // Garbage, an answer to another query and a forged answer precede the right one.
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
    let due = expected.map(|(name, code)| (name, code.to_owned()));
    at_a_timeout(&due, |timeout| {
        let rows = crawl(asking(&[&server], timeout), &lines);
        let mut lines = lines.iter();
        expected.map(|(name, _)| {
            let line = lines.next().unwrap();
            let row = rows.iter().find(|row| row.0 == *line).unwrap();
            (name, row.1.clone())
        })
    });
}

#[test]
fn a_datagram_that_was_lost_is_sent_again() {
    let (_http, port) = http();
    at_a_timeout(&"200".to_owned(), |timeout| {
        let seen = Mutex::new(HashSet::new());
        let server = NameServer::start(move |query, _| {
            let first = seen.lock().unwrap().insert(query.queries[0].query_type());
            if first {
                vec![]
            } else {
                vec![bytes(&found(query, Ipv4Addr::LOCALHOST))]
            }
        });
        let url = format!("http://a.test:{port}/");
        crawl(asking(&[&server], timeout), &[url])[0].1.clone()
    });
}

#[test]
fn another_name_server_is_asked_where_the_first_is_silent_or_fails() {
    let (_http, port) = http();
    let silent = NameServer::start(|_, _| vec![]);
    let failing = NameServer::start(|query, _| vec![bytes(&answer(query, ResponseCode::ServFail))]);
    let right = NameServer::start(|query, _| vec![bytes(&found(query, Ipv4Addr::LOCALHOST))]);
    for first in [&silent, &failing] {
        at_a_timeout(&"200".to_owned(), |timeout| {
            let url = format!("http://a.test:{port}/");
            crawl(asking(&[first, &right], timeout), &[url])[0]
                .1
                .clone()
        });
    }
}

#[test]
fn a_name_is_asked_for_once() {
    let (http, port) = http();
    let numbers = Arc::new(Mutex::new(HashSet::new()));
    let asked = numbers.clone();
    let server = NameServer::start(move |query, _| {
        asked.lock().unwrap().insert(query.metadata.id);
        vec![bytes(&found(query, Ipv4Addr::LOCALHOST))]
    });
    let lines: Vec<String> = (0..40)
        .map(|number| format!("http://a.test:{port}/{number}"))
        .collect();
    let rows = crawl(
        Options {
            keepalive: false,
            ..asking(&[&server], PATIENCE)
        },
        &lines,
    );
    assert!(rows.iter().all(|row| row.1 == "200"));
    assert_eq!(http.connections.load(Ordering::SeqCst), 40);
    // One number per family: if the answer is late, the query is repeated with the same number.
    assert!(numbers.lock().unwrap().len() <= 2);
}

#[test]
fn a_refused_connection_is_reported() {
    let server = NameServer::start(|query, _| vec![bytes(&found(query, Ipv4Addr::LOCALHOST))]);
    // Binds the port, so that no other program gets it, and does not listen.
    let taken = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let any = std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    taken.bind(&any.into()).unwrap();
    let port = taken.local_addr().unwrap().as_socket().unwrap().port();
    let url = format!("http://a.test:{port}/");
    let rows = crawl(asking(&[&server], PATIENCE), &[url]);
    assert_eq!(rows[0].1, "ConnectionRefused");
}

#[test]
fn over_a_unix_socket_no_name_is_looked_up() {
    let path = std::env::temp_dir().join(format!("dyno-fetch-{}.sock", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut host = None;
            for line in (&mut stream).lines() {
                let line = line.unwrap();
                if line.is_empty() {
                    break;
                }
                host = host.or(line.strip_prefix("Host: ").map(str::to_owned));
            }
            let host = host.unwrap();
            let length = host.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{host}"
            );
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
        }
    });
    let unix = path.to_str().unwrap().parse().unwrap();
    let options = Options {
        sockets: Arc::new(Sockets::new(Some(unix), Vec::new(), false)),
        reroute: connecting(["::127.0.0.1:".to_owned()]),
        timeout: PATIENCE,
        ..Options::default()
    };
    let rows = crawl(options, &["http://a.test/", "http://longer.test:8080/"]);
    let mut found: Vec<_> = rows
        .iter()
        .map(|(url, code, _, length)| (url.as_str(), code.as_str(), *length))
        .collect();
    found.sort_unstable();
    let hosts = [
        ("http://a.test/", "200", 6),
        ("http://longer.test:8080/", "200", 16),
    ];
    assert_eq!(found, hosts);
    std::fs::remove_file(path).unwrap();
}
