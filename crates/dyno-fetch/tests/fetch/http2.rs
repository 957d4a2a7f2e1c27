//! Tests requests over HTTP/2 that a server has not processed.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use dyno_fetch::{Options, Versions};

use super::crawl::{PATIENCE, connecting, reported};

const PREFACE: usize = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const REFUSED_STREAM: u8 = 7;
const CANCEL: u8 = 8;
/// `:status: 200`, indexed (RFC 7541, appendix A).
const STATUS_200: u8 = 0x88;

/// The answer to a request.
#[derive(Clone, Copy)]
enum Answer {
    /// An empty answer.
    Whole,
    /// The stream is reset with this error.
    Reset(u8),
    /// GOAWAY excludes the stream.
    GoAway,
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// A server over HTTP/2 without TLS that answers the n-th request, counted over all connections.
fn server(
    answer: impl Fn(usize) -> Answer + Send + Sync + 'static,
) -> (SocketAddr, [Arc<AtomicUsize>; 2]) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let counts: [Arc<AtomicUsize>; 2] = Default::default();
    let [connections, requests] = counts.clone();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming() {
            connections.fetch_add(1, Ordering::SeqCst);
            let (requests, answer) = (requests.clone(), answer.clone());
            // A client that closes ends the thread.
            thread::spawn(move || serve(&mut stream.unwrap(), &requests, &*answer).is_ok());
        }
    });
    (address, counts)
}

fn serve(
    stream: &mut TcpStream,
    requests: &AtomicUsize,
    answer: &dyn Fn(usize) -> Answer,
) -> std::io::Result<()> {
    stream.read_exact(&mut [0; PREFACE])?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        stream.read_exact(&mut vec![0; length as usize])?;
        let number = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        match (head[3], head[4] & 1) {
            (SETTINGS, 0) => stream.write_all(&frame(SETTINGS, 1, 0, &[]))?,
            (HEADERS, _) => {
                let bytes = match answer(requests.fetch_add(1, Ordering::SeqCst)) {
                    Answer::Whole => frame(HEADERS, 5, number, &[STATUS_200]),
                    Answer::Reset(error) => frame(RST_STREAM, 0, number, &[0, 0, 0, error]),
                    Answer::GoAway => frame(GOAWAY, 0, 0, &[0; 8]),
                };
                stream.write_all(&bytes)?;
            }
            _ => {}
        }
    }
}

/// Fetches one URL; returns its code, and how often it was sent again.
fn fetch(address: SocketAddr) -> (String, u64) {
    let options = Options {
        reroute: connecting([format!(":80:{address}")]),
        timeout: PATIENCE,
        http: Versions::Http2,
        ..Options::default()
    };
    let (rows, report) = reported(options, &["http://a.test/"]);
    (rows[0].1.clone(), report["resent"].as_u64().unwrap())
}

#[test]
fn a_request_that_was_not_processed_is_sent_again_on_another_connection() {
    for first in [Answer::GoAway, Answer::Reset(REFUSED_STREAM)] {
        let (address, [connections, requests]) =
            server(move |number| if number < 2 { first } else { Answer::Whole });
        assert_eq!(fetch(address), ("200".to_owned(), 2));
        assert_eq!(connections.load(Ordering::SeqCst), 3);
        assert_eq!(requests.load(Ordering::SeqCst), 3);
    }
}

#[test]
fn a_request_that_is_never_processed_is_sent_again_a_few_times_only() {
    for (always, code) in [
        (Answer::GoAway, "GoAway"),
        (Answer::Reset(REFUSED_STREAM), "StreamRefused"),
    ] {
        let (address, [_, requests]) = server(move |_| always);
        assert_eq!(fetch(address), (code.to_owned(), 3));
        assert_eq!(requests.load(Ordering::SeqCst), 4);
    }
}

#[test]
fn a_request_that_may_have_been_processed_is_not_sent_again() {
    let (address, [_, requests]) = server(|_| Answer::Reset(CANCEL));
    assert_eq!(fetch(address), ("StreamReset".to_owned(), 0));
    assert_eq!(requests.load(Ordering::SeqCst), 1);
}
