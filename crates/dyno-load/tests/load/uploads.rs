//! Bodies that are sent in pieces, early answers, and `Expect: 100-continue`, over HTTP/1.1 and HTTP/2.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use bytes::Bytes;
use dyno_client::{ContentFile, Protocol};
use dyno_load::{Body, Field, Section, Shape};
use h2::server;
use serde_json::{Value, json};

use crate::server::{HELLO, Server};
use crate::stage::{number, shape, shaped};

/// Longer than every window and every buffer of a socket.
const LONG: usize = 24 << 20;
/// Longer than a piece, and than the window of a stream.
const SOME: usize = 1 << 20;

/// Bytes in which no two pieces are the same.
fn content(length: usize) -> Vec<u8> {
    let words =
        (0_u64..).flat_map(|number| number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes());
    words.take(length).collect()
}

/// A file with this content, which has no name any more.
fn file(bytes: &[u8]) -> (File, Arc<ContentFile>) {
    static NUMBER: Mutex<u32> = Mutex::new(0);
    let number = {
        let mut number = NUMBER.lock().unwrap();
        *number += 1;
        *number
    };
    let path = std::env::temp_dir().join(format!("upload-{}-{number}", std::process::id()));
    let mut file = File::options();
    let mut file = file
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .unwrap();
    fs::remove_file(&path).unwrap();
    file.write_all(bytes).unwrap();
    let content = ContentFile::new(file.try_clone().unwrap()).unwrap();
    (file, Arc::new(content))
}

fn uploading(body: Body, protocol: Protocol, expects: bool) -> Shape {
    let expectation = ("Expect".to_owned(), "100-continue".to_owned());
    Shape {
        body: Some(body),
        headers: expects.then_some(expectation).into_iter().collect(),
        protocol,
        ..shape()
    }
}

/// Reads a head; empty at the end of the connection.
fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

fn read_body(stream: &mut TcpStream, head: &str) -> Vec<u8> {
    let (_, rest) = head.split_once("Content-Length: ").unwrap();
    let length = rest.split("\r\n").next().unwrap().parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    body
}

/// What a server does before its final answer.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Habit {
    /// Reads the body.
    Reads,
    /// Sends interim answers that were not requested, and reads the body.
    Hints,
    /// Sends status 100, and reads the body.
    Continues,
    /// Answers 413, and reads nothing.
    Refuses,
    /// Answers 413 and closes; bytes that it has not read reset the connection.
    Slams,
}

type Bodies = Arc<Mutex<Vec<Vec<u8>>>>;

fn start(habit: Habit, bodies: &Bodies) -> SocketAddr {
    let bodies = bodies.clone();
    let server = Server::start(move |mut stream| {
        loop {
            let head = read_head(&mut stream);
            if head.is_empty() {
                return;
            }
            match habit {
                Habit::Reads => {}
                Habit::Hints => stream
                    .write_all(
                        b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n",
                    )
                    .unwrap(),
                Habit::Continues => {
                    stream.set_nonblocking(true).unwrap();
                    let early = stream.peek(&mut [0]).is_ok_and(|count| count > 0);
                    assert!(!early, "the body did not wait");
                    stream.set_nonblocking(false).unwrap();
                    stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
                }
                Habit::Refuses | Habit::Slams => {
                    let answer = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno";
                    stream.write_all(answer).unwrap_or_default();
                    if habit == Habit::Refuses {
                        crate::server::wait_for_the_end(stream);
                    }
                    return;
                }
            }
            let body = read_body(&mut stream, &head);
            bodies.lock().unwrap().push(body);
            stream.write_all(HELLO).unwrap();
        }
    });
    server.address
}

fn start_http2(habit: Habit, bodies: &Bodies) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    let bodies = bodies.clone();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(serve(stream, habit, bodies.clone()));
            }
        });
    });
    address
}

async fn serve(stream: tokio::net::TcpStream, habit: Habit, bodies: Bodies) {
    let Ok(mut connection) = server::handshake(stream).await else {
        return;
    };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let bodies = bodies.clone();
        tokio::spawn(async move {
            let status = |status: u16| http::Response::builder().status(status).body(()).unwrap();
            let mut body = request.into_body();
            match habit {
                Habit::Reads => {}
                Habit::Hints => {
                    for interim in [103, 102, 100] {
                        respond.send_informational(status(interim)).unwrap();
                    }
                }
                Habit::Continues => respond.send_informational(status(100)).unwrap(),
                Habit::Refuses | Habit::Slams => {
                    let mut answer = respond.send_response(status(413), false).unwrap();
                    // The rest of the body is dropped here, which resets the stream with NO_ERROR.
                    answer.send_data(Bytes::from_static(b"no"), true).unwrap();
                    return;
                }
            }
            let mut all = Vec::new();
            while let Some(piece) = body.data().await {
                let Ok(piece) = piece else { return };
                all.extend_from_slice(&piece);
                body.flow_control().release_capacity(piece.len()).unwrap();
            }
            bodies.lock().unwrap().push(all);
            respond.send_response(status(200), true).unwrap();
        });
    }
}

/// The report of four requests over two connections, and the bodies that the server has read.
fn load(body: &Body, protocol: Protocol, habit: Habit, expects: bool) -> (Value, Vec<Vec<u8>>) {
    let bodies = Bodies::default();
    let address = match protocol {
        Protocol::Http1 => start(habit, &bodies),
        Protocol::Http2 => start_http2(habit, &bodies),
    };
    let shape = uploading(body.clone(), protocol, expects);
    let report = shaped(&[format!("http://{address}/")], &shape)
        .requests(4)
        .run();
    let bodies = bodies.lock().unwrap().clone();
    (report, bodies)
}

fn field(name: &str, content: Section) -> Field {
    Field {
        name: name.to_owned(),
        content,
        filename: None,
        content_type: None,
    }
}

#[test]
fn every_byte_arrives() {
    let whole = content(SOME);
    let (_kept, long) = file(&whole);
    let (_also_kept, short) = file(b"");
    let sections = vec![
        Section::Text("before".to_owned()),
        Section::File(long.clone()),
        Section::File(short),
        Section::Bytes(Bytes::from_static(b"after")),
    ];
    let mixed = [b"before", &whole[..], b"after"].concat();
    for protocol in Protocol::ALL {
        for (body, expected) in [
            (Body::new(vec![Section::File(long.clone())]), &whole),
            (Body::new(sections.clone()), &mixed),
            (Bytes::from(whole.clone()).into(), &whole),
        ] {
            for (habit, expects) in [
                (Habit::Reads, false),
                (Habit::Hints, false),
                (Habit::Continues, true),
            ] {
                let (report, bodies) = load(&body, protocol, habit, expects);
                let case = format!("{protocol:?} {habit:?}: {report}");
                assert_eq!(report["statuses"], json!({"200": 4}), "{case}");
                assert_eq!(number(&report, "/connections/opened"), 2, "{case}");
                assert_eq!(bodies.len(), 4, "{case}");
                assert!(bodies.iter().all(|body| body == expected), "{case}");
            }
        }
    }
}

#[test]
fn an_answer_before_the_end_of_the_body_is_the_answer() {
    let (_kept, long) = file(&content(LONG));
    let body = Body::new(vec![Section::File(long)]);
    for protocol in Protocol::ALL {
        for habit in [Habit::Refuses, Habit::Slams] {
            let (report, _) = load(&body, protocol, habit, false);
            let case = format!("{protocol:?} {habit:?}: {report}");
            assert_eq!(report["statuses"], json!({"413": 4}), "{case}");
            assert_eq!(report["errors"], json!({}), "{case}");
        }
    }
}

#[test]
fn the_body_waits_for_consent() {
    let (_kept, long) = file(&content(SOME));
    for body in [
        Body::from(Bytes::from_static(b"short")),
        Body::new(vec![Section::File(long)]),
    ] {
        for protocol in Protocol::ALL {
            for (habit, status, expected) in [
                (Habit::Continues, "200", [4, 0, 0]),
                (Habit::Refuses, "413", [0, 4, 0]),
                // Reads a body that comes after a second.
                (Habit::Reads, "200", [0, 0, 4]),
            ] {
                let (report, bodies) = load(&body, protocol, habit, true);
                let case = format!("{protocol:?} {habit:?}: {report}");
                assert_eq!(report["statuses"], json!({status: 4}), "{case}");
                let record = &report["expect_continue"];
                let [continued, answered, silent] = expected;
                assert_eq!(
                    *record,
                    json!({"continued": continued, "answered": answered, "silent": silent}),
                    "{case}"
                );
                let read = bodies
                    .iter()
                    .filter(|one| one.len() as u64 == body.length());
                assert_eq!(read.count(), if status == "200" { 4 } else { 0 }, "{case}");
            }
        }
    }
}

#[test]
fn a_request_without_a_body_expects_nothing() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = heads.clone();
    let server = Server::start(move |mut stream| {
        seen.lock().unwrap().push(read_head(&mut stream));
        stream.write_all(HELLO).unwrap();
    });
    let empty = uploading(Bytes::new().into(), Protocol::Http1, true);
    let report = shaped(&[server.url()], &empty).requests(1).run();
    assert_eq!(number(&report, "/requests"), 1, "{report}");
    assert_eq!(report["expect_continue"], Value::Null);
    assert!(!heads.lock().unwrap()[0].contains("Expect"));
}

#[test]
fn a_file_that_changes_its_length_is_a_failure() {
    for length in [0, LONG as u64 - 1, LONG as u64 + 1] {
        let (handle, long) = file(&content(LONG));
        let body = Body::new(vec![Section::File(long)]);
        handle.set_len(length).unwrap();
        for protocol in Protocol::ALL {
            let (report, _) = load(&body, protocol, Habit::Refuses, false);
            assert_eq!(report["errors"], json!({"BodyFileChanged": 4}), "{report}");
        }
    }
}

#[test]
fn placeholders_have_values_around_a_file() {
    let whole = content(SOME);
    let (_kept, long) = file(&whole);
    let body = Body::multipart(vec![
        field("number", Section::Text("{{seq}}".to_owned())),
        field("as it is", Section::Bytes(Bytes::from_static(b"{{seq}}"))),
        field("file", Section::File(long)),
    ]);
    for protocol in Protocol::ALL {
        for expects in [false, true] {
            let habit = if expects {
                Habit::Continues
            } else {
                Habit::Reads
            };
            let (report, bodies) = load(&body, protocol, habit, expects);
            assert_eq!(report["statuses"], json!({"200": 4}), "{report}");
            for number in 1..=4 {
                let part = format!("name=\"number\"\r\n\r\n{number}\r\n--httpdyno-");
                let found = bodies.iter().filter(|body| {
                    let head = String::from_utf8_lossy(&body[..600]);
                    head.contains(&part) && head.contains("name=\"as it is\"\r\n\r\n{{seq}}\r\n")
                });
                assert_eq!(found.count(), 1, "{number}");
            }
            let is_within = |body: &Vec<u8>| {
                let start = body.windows(32).position(|window| window == &whole[..32]);
                start.is_some_and(|start| body[start..].starts_with(&whole))
            };
            assert!(bodies.iter().all(is_within));
        }
    }
}
