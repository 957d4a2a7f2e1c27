//! A whole origin: after any input by HTTP/1, HTTP/2 or DNS, it closes the connection and answers the next one.
#![no_main]

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use dyno_origin::{Authority, Options, Origin};
use dyno_web::{Model, Web};
use libfuzzer_sys::fuzz_target;

/// Far longer than any answer takes, even on a busy machine: beyond this the origin hangs. libFuzzer has a shorter timeout.
const PATIENCE: Duration = Duration::from_secs(300);
/// Closed connections occupy their ports for a minute: a single address would run out of them.
const ADDRESSES: u8 = 64;
/// A query for the address of `a.test`, number 0x1234.
const QUESTION: &[u8] =
    b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x04test\x00\x00\x01\x00\x01";

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (choice, address, bytes) = input;
    let origin = origin();
    match choice % 4 {
        0 => over_udp(origin.names, bytes),
        1 => over_tcp(origin.names, bytes),
        _ => over_tcp(origin.http[usize::from(address % ADDRESSES)], bytes),
    }
});

/// Addresses of an origin.
struct Places {
    http: Vec<SocketAddr>,
    names: SocketAddr,
}

fn origin() -> &'static Places {
    static ORIGIN: OnceLock<Places> = OnceLock::new();
    ORIGIN.get_or_init(|| {
        let model = Model::from_toml("name = 'small'\nseed = 1").expect("a model");
        let web = Arc::new(Web::new(model, None));
        let authority = Arc::new(Authority::new().expect("a certificate"));
        let loopback = |last| SocketAddr::from((Ipv4Addr::new(127, 0, 0, last), 0));
        let running = Origin::start(Options {
            http: (1..=ADDRESSES).map(loopback).collect(),
            dns: vec![loopback(1)],
            ..Options::new(web, authority)
        });
        let running = running.expect("the loopback device is there");
        let places = Places {
            http: running.http().to_vec(),
            names: running.dns()[0],
        };
        // It serves as long as the target runs.
        std::mem::forget(running);
        places
    })
}

/// Send, shut down writing, and read until the origin closes.
fn over_tcp(to: SocketAddr, bytes: &[u8]) {
    let mut stream = TcpStream::connect_timeout(&to, PATIENCE).expect("it accepts connections");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("more than nothing");
    stream
        .set_write_timeout(Some(PATIENCE))
        .expect("more than nothing");
    // It may have closed before the end of the input.
    let sent = stream
        .write_all(bytes)
        .and_then(|()| stream.shutdown(Shutdown::Write));
    assert!(
        !sent.is_err_and(|error| is_silence(error.kind())),
        "it does not read"
    );
    let mut piece = [0; 16 << 10];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return,
            Ok(_) => {}
            // Interrupted by libFuzzer's timer.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                assert!(
                    !is_silence(error.kind()),
                    "it does not close: {}",
                    bytes.escape_ascii()
                );
                return;
            }
        }
    }
}

/// Send, then send a valid query, which must be answered.
fn over_udp(to: SocketAddr, bytes: &[u8]) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket
        .set_read_timeout(Some(PATIENCE))
        .expect("more than nothing");
    let mut bytes = bytes.to_vec();
    if bytes.starts_with(&QUESTION[..2]) {
        bytes[0] ^= 1;
    }
    socket.send_to(&bytes, to).expect("room in the socket");
    socket.send_to(QUESTION, to).expect("room in the socket");
    let mut answer = [0; 4096];
    loop {
        match socket.recv(&mut answer) {
            Ok(length) if answer[..length].starts_with(&QUESTION[..2]) => return,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => panic!("no answer to the question: {error}"),
        }
    }
}

fn is_silence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
