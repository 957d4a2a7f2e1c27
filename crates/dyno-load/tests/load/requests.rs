//! The bytes on the wire of each kind of request.

use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use dyno_client::Protocol;
use dyno_load::{RequestError, Requests, Shape};

use crate::server::{HELLO, Server};
use crate::stage::{described, number, shape, shaped};

/// The bytes of the only request of a run, with the server's address and our version replaced.
fn sent(path: &str, shape: &Shape) -> String {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let writing = seen.clone();
    let server = Server::start(move |mut stream| {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).unwrap_or(0);
        writing.lock().unwrap().extend_from_slice(&piece[..count]);
        stream.write_all(HELLO).unwrap_or_default();
    });
    let url = format!("http://{}{path}", server.address);
    let report = shaped(&[url], shape).connections(1).requests(1).run();
    assert_eq!(number(&report, "/requests"), 1, "{report}");
    let seen = String::from_utf8(seen.lock().unwrap().clone()).unwrap();
    seen.replace(&server.address.to_string(), "HOST")
        .replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

fn headers(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(owned).collect()
}

#[test]
fn requests_are_sent_as_they_were_asked_for() {
    let body = |text: &str| Some(Bytes::copy_from_slice(text.as_bytes()).into());
    let cases = [
        (
            "/a?b=c#d",
            shape(),
            "GET /a?b=c HTTP/1.1\r\nHost: HOST\r\nUser-Agent: httpdyno/VERSION\r\n\r\n",
        ),
        (
            "",
            Shape {
                keepalive: false,
                headers: headers(&[("host", "a.test"), ("X-A", "1"), ("X-A", "2")]),
                ..shape()
            },
            "GET / HTTP/1.1\r\nHost: a.test\r\nUser-Agent: httpdyno/VERSION\r\nX-A: 1\r\nX-A: 2\r\nConnection: close\r\n\r\n",
        ),
        (
            "/",
            Shape {
                body: body("text"),
                headers: headers(&[("User-Agent", "me"), ("Content-Length", "4")]),
                ..shape()
            },
            "POST / HTTP/1.1\r\nHost: HOST\r\nUser-Agent: me\r\nContent-Length: 4\r\n\r\ntext",
        ),
        (
            "/",
            Shape {
                method: Some("PUT".to_owned()),
                headers: headers(&[("Connection", "close")]),
                keepalive: false,
                ..shape()
            },
            "PUT / HTTP/1.1\r\nHost: HOST\r\nUser-Agent: httpdyno/VERSION\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        ),
    ];
    for (path, shape, expected) in cases {
        assert_eq!(sent(path, &shape), expected);
    }
}

#[test]
fn what_cannot_be_sent_is_refused_with_its_place() {
    let cases = [
        (
            r#"{"url": "a.test"}"#,
            "\"a.test\" is not a URL to send requests to: it must start with http:// or https://",
        ),
        (
            r#"{"url": "ftp://a.test"}"#,
            "\"ftp://a.test\" is not a URL to send requests to: it must start with http:// or https://",
        ),
        (
            r#"{"url": "http://me@a.test"}"#,
            "\"http://me@a.test\" is not a URL to send requests to: it holds a user's name; send it with --header 'Authorization: ...'",
        ),
        (
            r#"{"url": "http://a.test", "method": "GE T"}"#,
            "\"GE T\" is not a method to send requests with; write it like GET or POST",
        ),
        (
            r#"{"url": "http://a.test", "method": "CONNECT"}"#,
            "\"CONNECT\" is not a method to send requests with; write it like GET or POST",
        ),
        (
            r#"{"url": "http://a.test", "headers": {"Content-Length": "5"}, "body": "four"}"#,
            "header \"Content-Length\": it says \"5\", but the body has 4 bytes",
        ),
        (
            r#"{"url": "http://a.test", "headers": {"Transfer-Encoding": "chunked"}}"#,
            "header \"Transfer-Encoding\": bodies are sent with their length; leave it out",
        ),
    ];
    for (line, expected) in cases {
        let text = format!("{{\"url\": \"http://a.test\"}}\n{line}\n");
        let described = described(&text);
        for protocol in Protocol::ALL {
            let shape = Shape {
                protocol,
                ..shape()
            };
            let (place, error) = Requests::new(described.clone(), &shape).unwrap_err();
            assert_eq!((place, error.to_string().as_str()), (1, expected), "{line}");
        }
    }
    let broken = headers(&[("a b", "c")]);
    let shape = Shape {
        headers: broken,
        ..shape()
    };
    let described = described("{\"url\": \"http://a.test\"}");
    assert!(matches!(
        Requests::new(described, &shape),
        Err((0, RequestError::Header { .. }))
    ));
    assert_eq!(
        Requests::new([], &shape).unwrap_err(),
        (0, RequestError::None)
    );
}
