//! Redirects with broken content, and what requests of one chain say: cookies, logins, headers, the method. All hosts
//! are on this machine.

use std::io::Read;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use dyno_fetch::{CookieFile, Options};
use socket2::SockRef;

use super::crawl::{at, crawl, reported, scratch};
use super::server::{KeepsOn, Server, send, whole};

/// Redirects to `/end`, with content that is broken in the way that the path names.
fn broken(stream: &mut TcpStream, path: &str) -> KeepsOn {
    let mut moved = |fields: &str, content: &[u8]| {
        let head = format!("HTTP/1.1 301 Moved\r\nLocation: /end\r\n{fields}\r\n");
        send(stream, &[head.as_bytes(), content].concat());
    };
    match path {
        "/cut" => moved("Content-Length: 10\r\n", b"half"),
        "/chunks" => moved("Transfer-Encoding: chunked\r\n", b"zz\r\n"),
        "/cut-chunk" => moved("Transfer-Encoding: chunked\r\n", b"5\r\nab"),
        "/coding" => moved("Content-Encoding: gzip\r\nContent-Length: 3\r\n", b"abc"),
        "/until-close" => moved("", b"abc"),
        "/silence" => {
            moved("Content-Length: 10\r\n", b"half");
            while matches!(stream.read(&mut [0; 64]), Ok(count) if count > 0) {}
        }
        "/endless" => {
            moved("Transfer-Encoding: chunked\r\n", b"");
            // Two minutes in all, but the client closes.
            for _ in 0..3_000 {
                send(stream, b"1\r\nx\r\n");
                thread::sleep(Duration::from_millis(40));
                if stream.take_error().unwrap().is_some() {
                    break;
                }
            }
        }
        "/reset" => {
            moved("Content-Length: 10\r\n", b"half");
            let close_hard = SockRef::from(&*stream).set_linger(Some(Duration::ZERO));
            close_hard.unwrap();
        }
        _ => return whole(stream, "", b"the end"),
    }
    false
}

#[test]
fn the_content_of_a_redirect_decides_nothing() {
    let server = Server::start(|stream, path, _| broken(stream, path));
    let paths = [
        "cut",
        "chunks",
        "cut-chunk",
        "coding",
        "until-close",
        "silence",
        "endless",
        "reset",
    ];
    let lines = paths.map(|path| format!("http://{path}.test/{path}"));
    for (url, code, _, length) in crawl(at(&server), &lines) {
        assert_eq!((code.as_str(), length), ("200", 7), "{url}");
    }
}

#[test]
fn a_redirect_that_ends_leaves_its_connection_to_the_next_request() {
    let server = Server::start(|stream, path, _| match path {
        "/" => {
            send(
                stream,
                b"HTTP/1.1 308 Moved\r\nLocation: /end\r\nContent-Length: 3\r\n\r\nabc",
            );
            true
        }
        _ => whole(stream, "", path.as_bytes()),
    });
    let rows = crawl(at(&server), &["http://a.test/"]);
    assert_eq!((rows[0].1.as_str(), rows[0].3), ("200", 4));
    let count = server.connections.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!(count, 1);
}

/// A server whose answer says where it redirects to in the query of the target, and the heads of all requests.
fn redirecting(fields: &'static str) -> (Server, Arc<Mutex<Vec<String>>>) {
    let heads = Arc::<Mutex<Vec<String>>>::default();
    let kept = heads.clone();
    let server = Server::reading(move |stream, head, _| {
        kept.lock().unwrap().push(head.to_owned());
        let target = head.split(' ').nth(1).unwrap();
        match target.split_once('?') {
            Some((_, location)) => {
                let head = format!(
                    "HTTP/1.1 307 See There\r\nLocation: {location}\r\n{fields}Content-Length: 0\r\n\r\n"
                );
                send(stream, head.as_bytes());
                true
            }
            None => whole(stream, "", b"x"),
        }
    });
    (server, heads)
}

/// Whether each head, in order, has a line.
fn have(heads: &Arc<Mutex<Vec<String>>>, line: &str) -> Vec<bool> {
    let heads = heads.lock().unwrap();
    heads
        .iter()
        .map(|head| head.lines().any(|found| found == line))
        .collect()
}

#[test]
fn a_site_that_wants_its_cookie_back_is_read() {
    let server = Server::reading(|stream, head, _| {
        if head.contains("\r\nCookie: seen=1; b=\u{fffd}\r\n") {
            return whole(stream, "", b"content");
        }
        let cookies = b"Set-Cookie: seen=1; Path=/\r\nSet-Cookie: b=\xfc\r\n";
        let head = b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n";
        send(stream, &[&head[..], cookies, b"\r\n"].concat());
        true
    });
    let lines = ["http://a.test/", "http://a.test/", "http://b.test/x"];
    let options = Options {
        concurrency: 1,
        ..at(&server)
    };
    for (url, code, ..) in crawl(options, &lines) {
        assert_eq!(code, "200", "{url}");
    }
    // No URL got a cookie of another.
    let requests = server.requests.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!(requests, 6);
}

#[test]
fn cookies_stay_within_their_site() {
    let fields = "Set-Cookie: one=1\r\nSet-Cookie: all=2; Domain=a.test\r\n";
    let (server, heads) = redirecting(fields);
    let line = "http://x.a.test/?http://b.test/?http://y.a.test/";
    assert_eq!(crawl(at(&server), &[line])[0].1, "200");
    assert_eq!(have(&heads, "Cookie: all=2"), [false, false, true]);
    assert_eq!(heads.lock().unwrap().join("").matches("Cookie").count(), 1);
}

#[test]
fn a_file_of_cookies_is_sent_to_its_hosts() {
    let (server, heads) = redirecting("");
    let text = b".a.test\tTRUE\t/\tFALSE\t0\tone\t1\n";
    let options = Options {
        cookies: Some(CookieFile::parse(text, std::time::SystemTime::now()).unwrap()),
        concurrency: 1,
        ..at(&server)
    };
    let lines = ["http://x.a.test/?http://b.test/", "http://a.test/"];
    assert_eq!(crawl(options, &lines).len(), 2);
    assert_eq!(have(&heads, "Cookie: one=1"), [true, false, true]);
}

#[test]
fn a_login_goes_to_its_own_host_only_and_into_no_file() {
    let (server, heads) = redirecting("");
    let folder = scratch("login");
    let options = Options {
        save: Some(folder.clone()),
        ..at(&server)
    };
    let line = "http://me:secret@a.test/?http://b.test/?http://a.test/?/end";
    let rows = crawl(options, &[line]);
    // The row has the line, so that it can be joined with the list.
    assert_eq!((rows[0].0.as_str(), rows[0].1.as_str()), (line, "200"));
    let expected = [true, false, true, true];
    assert_eq!(have(&heads, "Authorization: Basic bWU6c2VjcmV0"), expected);
    let index = std::fs::read_to_string(folder.join("index.jsonl")).unwrap();
    let entry: serde_json::Value = serde_json::from_str(&index).unwrap();
    assert_eq!(entry["final_url"], "http://a.test/end");
    let hops = entry["redirects"].as_array().unwrap();
    assert_eq!(hops.len(), 3);
    assert_eq!(
        (&hops[1]["url"], &hops[1]["status"]),
        (&"http://b.test/?http://a.test/?/end".into(), &307.into())
    );
    assert_eq!(index.matches("secret").count(), 1, "only in the line");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_location_has_a_login_for_its_own_host() {
    let (server, heads) = redirecting("");
    let line = "http://a.test/?http://me:secret@b.test/?http://a.test/";
    assert_eq!(crawl(at(&server), &[line])[0].1, "200");
    let expected = [false, true, false];
    assert_eq!(have(&heads, "Authorization: Basic bWU6c2VjcmV0"), expected);
}

#[test]
fn secret_headers_go_to_the_first_origin_only() {
    let (server, heads) = redirecting("Set-Cookie: c=d; Path=/\r\n");
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let options = Options {
        headers: vec![
            pair("authorization", "Bearer x"),
            pair("Cookie", "a=b"),
            pair("X-All", "1"),
            pair("User-Agent", "me"),
        ],
        is_head: true,
        ..at(&server)
    };
    let line = "http://a.test/?http://b.test/?http://a.test/";
    let (rows, report) = reported(options, &[line]);
    assert_eq!((rows[0].1.as_str(), rows[0].3), ("200", 0));
    assert_eq!(report["requests"], 3);
    let on_first = [true, false, true];
    assert_eq!(have(&heads, "Authorization: Bearer x"), on_first);
    assert_eq!(have(&heads, "Cookie: a=b"), [true, false, false]);
    assert_eq!(have(&heads, "Cookie: a=b; c=d"), [false, false, true]);
    assert_eq!(have(&heads, "X-All: 1"), [true; 3]);
    assert_eq!(have(&heads, "User-Agent: me"), [true; 3]);
    let heads = heads.lock().unwrap();
    assert!(heads.iter().all(|head| head.starts_with("HEAD ")));
}

#[test]
fn locations_are_followed_as_browsers_do() {
    let server = Server::reading(|stream, head, _| {
        let target = head.split(' ').nth(1).unwrap();
        let locations: &[&[u8]] = match target {
            "/latin" => &[b"/caf\xe9"],
            "/space" => &[b"/a b"],
            "/backslash" => &[b"\\x"],
            "/empty" => &[b""],
            "/equal" => &[b"/end", b"/end"],
            "/different" => &[b"/end", b"/other"],
            "/ftp" => &[b"ftp://a.test/"],
            _ => return whole(stream, "", target.as_bytes()),
        };
        let mut answer = b"HTTP/1.1 303 See Other\r\nContent-Length: 0\r\n".to_vec();
        for location in locations {
            answer.extend_from_slice(&[b"Location: ", *location, b"\r\n"].concat());
        }
        send(stream, &[&answer[..], b"\r\n"].concat());
        true
    });
    let expected = [
        ("/latin", "200", "/caf%E9".len()),
        ("/space", "200", "/a%20b".len()),
        ("/backslash", "200", "/x".len()),
        ("/empty", "303", 0),
        ("/equal", "200", "/end".len()),
        ("/different", "InvalidRedirect", 0),
        ("/ftp", "UnsupportedScheme", 0),
    ];
    let lines = expected.map(|(path, ..)| format!("http://a.test{path}"));
    let rows = crawl(at(&server), &lines);
    for (line, (path, code, length)) in lines.iter().zip(expected) {
        let row = rows.iter().find(|row| row.0 == *line).unwrap();
        assert_eq!((row.1.as_str(), row.3), (code, length as u64), "{path}");
    }
}

#[test]
fn the_beginning_of_a_long_content_is_kept() {
    let zeros = zstd::encode_all(vec![b'x'; 100_000].as_slice(), 3).unwrap();
    let server = Server::start(move |stream, path, _| match path {
        "/coded" => whole(stream, "Content-Encoding: zstd\r\n", &zeros),
        "/short" => whole(stream, "", &[b'x'; 4_000]),
        _ => whole(stream, "", &[b'x'; 5_000]),
    });
    let folder = scratch("partial");
    let options = Options {
        max_content: 4_000,
        keep_partial: true,
        save: Some(folder.clone()),
        ..at(&server)
    };
    let lines = [
        "http://a.test/coded",
        "http://b.test/long",
        "http://c.test/short",
    ];
    let (rows, report) = reported(options, &lines);
    for (url, code, _, length) in &rows {
        assert_eq!((code.as_str(), *length), ("200", 4_000), "{url}");
    }
    assert_eq!((rows.len(), &report["partial"]), (3, &2.into()));
    let index = std::fs::read_to_string(folder.join("index.jsonl")).unwrap();
    for line in index.lines() {
        let entry: serde_json::Value = serde_json::from_str(line).unwrap();
        let is_partial = entry["url"] != "http://c.test/short";
        assert_eq!(entry.get("partial").is_some(), is_partial, "{line}");
        let file = folder.join(entry["file"].as_str().unwrap());
        assert_eq!(std::fs::read(file).unwrap(), [b'x'; 4_000]);
    }
    std::fs::remove_dir_all(folder).unwrap();
}
