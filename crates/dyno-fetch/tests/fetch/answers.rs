//! Results and error names for each kind of answer.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use dyno_client::http1::Profile;
use dyno_fetch::Options;
use serde_json::json;

use super::crawl::{at, at_a_timeout, crawl, reported};
use super::server::{KeepsOn, Server, send, whole};

/// Sends nothing, and keeps the connection open until the client closes it.
fn silence(stream: &mut TcpStream) -> KeepsOn {
    while matches!(stream.read(&mut [0; 64]), Ok(count) if count > 0) {}
    false
}

fn head(text: &str) -> String {
    format!("HTTP/1.1 {text}\r\n\r\n")
}

fn answer(stream: &mut TcpStream, path: &str) -> KeepsOn {
    match path {
        "/close" => false,
        "/garbage" => {
            send(stream, b"\x16\x03\x01 nonsense\r\n\r\n");
            false
        }
        "/long-head" => {
            send(stream, b"HTTP/1.1 200 OK\r\n");
            let line = format!("X-Flood: {}\r\n", "x".repeat(60));
            (0..4_000).for_each(|_| send(stream, line.as_bytes()));
            false
        }
        "/interim" => {
            (0..1_000).for_each(|_| send(stream, b"HTTP/1.1 103 Early Hints\r\n\r\n"));
            false
        }
        "/silence" => silence(stream),
        "/half-a-head" => {
            send(stream, b"HTTP/1.1 200 OK\r\nContent-");
            silence(stream)
        }
        "/half" => {
            send(stream, head("200 OK\r\nContent-Length: 10").as_bytes());
            send(stream, b"12345");
            false
        }
        "/drip" => {
            send(stream, head("200 OK\r\nContent-Length: 3000").as_bytes());
            // Sends for two minutes in all.
            while stream.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(40));
            }
            false
        }
        "/chunked-garbage" => {
            send(
                stream,
                head("200 OK\r\nTransfer-Encoding: chunked").as_bytes(),
            );
            send(stream, b"zz\r\n");
            false
        }
        "/until-close" => {
            send(stream, head("200 OK").as_bytes());
            send(stream, b"12345");
            false
        }
        "/unknown-coding" => whole(stream, "Content-Encoding: rot13\r\n", b"x"),
        "/malformed-coding" => whole(stream, "Content-Encoding: gzip\r\n", b"not gzip at all"),
        "/too-long" => whole(stream, "", &[b'x'; 5_000]),
        "/bomb" => {
            let zeros = vec![0; 1 << 20];
            let bomb = zstd::encode_all(&zeros[..], 3).unwrap();
            whole(stream, "Content-Encoding: zstd\r\n", &bomb)
        }
        "/line-feeds" => {
            send(
                stream,
                b"HTTP/1.1 200 OK\nA: b\n c\nContent-Length: 2, 2\n\nok",
            );
            true
        }
        "/both" => {
            let head = head("200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked");
            send(
                stream,
                &[head.as_bytes(), b"2;\r\nok\r\n0\r\n\r\n"].concat(),
            );
            true
        }
        "/two-lengths" => {
            let head = head("200 OK\r\nContent-Length: 2\r\nContent-Length: 3");
            send(stream, &[head.as_bytes(), b"ok"].concat());
            true
        }
        "/json" => whole(stream, "", br#"[{"numbers": 123123}]"#),
        _ => redirect(stream, path),
    }
}

/// The redirects, and their targets.
fn redirect(stream: &mut TcpStream, path: &str) -> KeepsOn {
    match path {
        "/nowhere" => moved(stream, "http://[nonsense/"),
        "/mail" => moved(stream, "mailto:a@a.test"),
        "/no-location" => {
            send(stream, head("302 Found\r\nContent-Length: 3").as_bytes());
            send(stream, b"abc");
            true
        }
        "/loop" => moved(stream, "/loop"),
        "/long-redirect" => {
            send(
                stream,
                head("301 Moved\r\nLocation: /end\r\nContent-Length: 100000000").as_bytes(),
            );
            (0..2_000).for_each(|_| send(stream, &[b'x'; 1_000]));
            false
        }
        _ => match path
            .strip_prefix("/redirect/")
            .map(|rest| rest.parse::<u32>().unwrap())
        {
            Some(left @ 1..) => moved(stream, &format!("{}", left - 1)),
            _ => whole(stream, "", b"the end"),
        },
    }
}

fn moved(stream: &mut TcpStream, location: &str) -> KeepsOn {
    send(
        stream,
        format!("HTTP/1.1 301 Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
            .as_bytes(),
    );
    true
}

#[test]
fn each_has_its_name_and_a_stall_ends_at_the_deadline() {
    let expected = [
        ("/", "200", 7),
        ("/close", "ClosedBeforeAnswer", 0),
        ("/garbage", "MalformedHead", 0),
        ("/long-head", "HeadTooLong", 0),
        ("/interim", "InterimFlood", 0),
        ("/silence", "HeadTimeout", 0),
        ("/half-a-head", "HeadTimeout", 0),
        ("/half", "BodyCutShort", 0),
        ("/drip", "BodyTimeout", 0),
        ("/chunked-garbage", "MalformedBody", 0),
        ("/until-close", "200", 5),
        ("/unknown-coding", "200", 1),
        ("/malformed-coding", "MalformedCoding", 0),
        ("/too-long", "ContentTooLong", 0),
        ("/bomb", "ContentTooLong", 0),
        ("/nowhere", "InvalidRedirect", 0),
        ("/mail", "UnsupportedScheme", 0),
        ("/no-location", "302", 3),
        ("/loop", "TooManyRedirects", 0),
        ("/long-redirect", "200", 7),
        ("/redirect/10", "200", 7),
        ("/redirect/11", "TooManyRedirects", 0),
    ];
    let server = Server::start(|stream, path, _| answer(stream, path));
    // Each URL has a separate host, so that none uses a connection of another.
    let lines: Vec<String> = expected
        .iter()
        .enumerate()
        .map(|(number, (path, ..))| format!("http://host{number}.test{path}"))
        .collect();
    // The name of each result, its length, and whether it took the whole timeout.
    let due: Vec<_> = expected
        .iter()
        .map(|(path, code, length)| {
            (
                *path,
                (*code).to_owned(),
                *length,
                code.ends_with("Timeout"),
            )
        })
        .collect();
    at_a_timeout(&due, |timeout| {
        let options = Options {
            concurrency: 30,
            timeout,
            max_content: 4_000,
            ..at(&server)
        };
        let rows = crawl(options, &lines);
        assert_eq!(rows.len(), expected.len());
        let found = lines.iter().zip(expected).map(|(line, (path, ..))| {
            let row = rows.iter().find(|row| row.0 == *line).unwrap();
            let took_all = row.2 >= timeout.as_secs_f64() * 1e3;
            (path, row.1.clone(), row.3, took_all)
        });
        found.collect()
    });
}

#[test]
fn a_redirect_whose_content_is_not_read_to_its_end_is_a_request_too() {
    let server = Server::start(|stream, path, _| answer(stream, path));
    let options = Options {
        measure: true,
        ..at(&server)
    };
    let (_, report) = reported(options, &["http://a.test/long-redirect"]);
    assert_eq!(report["statuses"], json!({"200": 1}));
    let phases = &report["phases"];
    let counts = [&phases["first_byte"], &phases["content"], &phases["total"]];
    assert_eq!(
        (&report["requests"], counts.map(|phase| &phase["count"])),
        (&json!(2), [&json!(2), &json!(2), &json!(1)]),
        "{report}"
    );
}

#[test]
fn odd_answers_are_read_and_counted_unless_the_profile_is_strict() {
    let paths = [
        "/line-feeds",
        "/line-feeds",
        "/both",
        "/both",
        "/two-lengths",
    ];
    let urls = paths.map(|path| format!("http://a.test{path}"));
    for (profile, codes, tolerated, connections) in [
        (
            Profile::Tolerant,
            ["200", "200", "200", "200", "MalformedHead"],
            json!({
                "line_feed_alone": 2, "folded_field": 2, "repeated_length": 2,
                "length_and_transfer_encoding": 2, "chunk_extension": 2,
            }),
            // The connection stays open after the first answer, and is closed after the others.
            3,
        ),
        (Profile::Strict, ["MalformedHead"; 5], json!({}), 5),
    ] {
        let server = Server::start(|stream, path, _| answer(stream, path));
        let options = Options {
            concurrency: 1,
            profile,
            ..at(&server)
        };
        let (rows, report) = reported(options, &urls);
        let found: Vec<&str> = rows.iter().map(|row| row.1.as_str()).collect();
        assert_eq!(found, codes);
        assert_eq!(report["tolerated"], tolerated);
        let opened = server.connections.load(Ordering::SeqCst);
        assert_eq!(opened, connections, "{profile:?}");
    }
}

#[test]
fn content_is_held_against_the_check() {
    let server = Server::start(|stream, path, _| answer(stream, path));
    let rows = crawl(
        Options {
            check_json: true,
            ..at(&server)
        },
        &["http://a.test/json", "http://a.test/text"],
    );
    let mut codes: Vec<(&str, u64)> = rows.iter().map(|row| (row.1.as_str(), row.3)).collect();
    codes.sort_unstable();
    assert_eq!(codes, [("200", 21), ("CheckFailed", 7)]);
}
