//! Answers to ordinary requests are those of HTTP/1.1.

use dyno_http::Method;
use h2::client::Builder;
use http::Request;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::peer::{Peer, interim, run, secure, whole};
use crate::stage::{Reply, Stage, reply, request};

const HOSTS: &str = "[[host]]\nname = 'chunked.test'\nframing = 'chunked'\ncontent_bytes = 40000\n\
    [[host]]\nname = 'until-close.test'\nframing = 'until_close'\ncontent_bytes = 40000\n\
    [[host]]\nname = 'gone.test'\nstatus = 410\ncontent_bytes = 256\ncoding = 'br'\n\
    [[host]]\nname = 'empty.test'\nframing = 'chunked'\ncontent_bytes = 0\n\
    [[host]]\nname = 'gzip.test'\ncoding = 'gzip'\ncontent_bytes = 256\n\
    [[host]]\nname = 'to.test'\nredirect_to = 'https://b.test/x?y'\nredirect_status = 308\n\
    [[host]]\nname = 'bad.test'\nredirect_to = \"/a\\r\\nSet-Cookie: b\"\n\
    [[host]]\nname = 'loop.test'\nfault = 'redirect_loop'\n";

/// A host, the protocols that the client offers, and the negotiated one.
type Offer = (
    &'static str,
    &'static [&'static [u8]],
    Option<&'static [u8]>,
);

/// Fields that depend on the version of HTTP, or on the time.
const OWN: [&str; 4] = ["connection", "transfer-encoding", "date", "keep-alive"];

fn common(reply: &Reply) -> Vec<(String, String)> {
    let mut fields = reply.fields.clone();
    fields.retain(|(name, _)| !OWN.contains(&name.as_str()));
    fields.sort();
    fields
}

#[test]
fn both_versions_answer_alike() {
    let stage = Stage::new(&format!("{HOSTS}[links]\n"));
    let targets = [
        ("a.test", "/robots.txt"),
        ("a.test", "/sitemap.xml"),
        ("linked.test", "/"),
        ("a.test", "/plain"),
        ("a.test", "/json"),
        ("a.test", "/bytes/0"),
        ("a.test", "/bytes/9000000"),
        ("a.test", "/bytes/99999999999"),
        ("a.test", "/delay/5"),
        ("a.test", "/status/204"),
        ("a.test", "/status/304"),
        ("a.test", "/status/503"),
        ("a.test", "/redirect/3"),
        ("a.test", "/stream/0"),
        ("a.test", "/stream/3"),
        ("a.test", "/stream/5000"),
        ("a.test", "/echo"),
        ("a.test", "/encoding/utf8"),
        ("a.test", "/drip?duration_ms=20&numbytes=7"),
        ("a.test", "/drip?duration_ms=20&numbytes=0"),
        ("a.test", "/gzip"),
        ("a.test", "/brotli"),
        ("a.test", "/zstd?delay_ms=3"),
        ("a.test", "/any?query"),
        ("chunked.test", "/"),
        ("until-close.test", "/"),
        ("gone.test", "/"),
        ("empty.test", "/"),
        ("gzip.test", "/"),
        ("to.test", "/"),
        ("loop.test", "/a?b"),
    ];
    run(async {
        for (host, target) in targets {
            for (name, method) in [("GET", Method::Get), ("HEAD", Method::Head)] {
                for accepted in ["gzip, br, zstd", "identity"] {
                    let fields = format!("Accept-Encoding: {accepted}\r\n");
                    let mut stream = stage.connect();
                    std::io::Write::write_all(&mut stream, &request(name, host, target, &fields))
                        .unwrap();
                    let old = reply(&mut std::io::BufReader::new(stream), method);
                    let mut peer = Peer::plain(&stage).await;
                    let url = format!("http://{host}{target}");
                    let answer = peer.ask(name, &url, &[("accept-encoding", accepted)]);
                    let (new, _) = whole(answer.await.unwrap()).await.unwrap();
                    assert_eq!(new.status, old.status, "{name} {url} {accepted}");
                    assert_eq!(common(&new), common(&old), "{name} {url} {accepted}");
                    assert!(new.content == old.content, "{name} {url} {accepted}");
                    assert!(new.field("date").is_some(), "{name} {url}");
                }
            }
        }
    });
}

#[test]
fn what_cannot_be_answered_is_refused_alike() {
    let stage = Stage::new(HOSTS);
    run(async {
        let mut peer = Peer::plain(&stage).await;
        let bad = peer.get("http://bad.test/").await;
        assert_eq!((bad.status, bad.field("set-cookie")), (500, None));
        let request = Request::builder().method("CONNECT").uri("a.test:443");
        let answer = peer
            .requests
            .send_request(request.body(()).unwrap(), true)
            .unwrap()
            .0;
        let (refused, _) = whole(answer.await.unwrap()).await.unwrap();
        assert_eq!(refused.status, 501);
        assert!(refused.content.starts_with(b"this is not a proxy"));
        for (method, status) in [("TRACE", 405), ("PROPFIND", 501)] {
            let answer = peer.ask(method, "http://a.test/plain", &[]);
            let (refused, _) = whole(answer.await.unwrap()).await.unwrap();
            assert_eq!(refused.status, status, "{method}");
            assert_eq!(refused.field("allow").is_some(), status == 405, "{method}");
        }
        assert_eq!(peer.get("http://a.test/plain").await.status, 200);
    });
    let report = stage.stop().report;
    assert_eq!(
        report.requests, 2,
        "requests refused by method are not counted"
    );
}

#[test]
fn a_connection_is_for_the_host_that_its_handshake_named() {
    let stage = Stage::new("[http]\nhttp2 = 1.0\n");
    run(async {
        let stream = secure(&stage, "a.test", &[b"h2"]).await;
        let mut peer = Peer::over(stream, &Builder::new()).await;
        assert_eq!(peer.get("https://a.test/plain").await.status, 200);
        assert_eq!(peer.get("https://A.test:443/plain").await.status, 200);
        assert_eq!(peer.get("https://b.test/plain").await.status, 421);
    });
    assert_eq!(
        stage.stop().report.statuses,
        [("200".to_owned(), 2), ("421".to_owned(), 1)].into()
    );
}

#[test]
fn trailers_and_interim_answers_have_their_frames() {
    let stage = Stage::new(
        "[[host]]\nname = 'trailers.test'\nframing = 'chunked'\ntrailers = true\ncontent_bytes = 40000\n\
         [[host]]\nname = 'nothing.test'\nframing = 'chunked'\ntrailers = true\ncontent_bytes = 0\n\
         [[host]]\nname = 'hints.test'\ninterim = 103\ncontent_bytes = 256\n",
    );
    run(async {
        let mut peer = Peer::plain(&stage).await;
        for (host, bytes) in [("trailers.test", 40_000), ("nothing.test", 0)] {
            let answer = peer.ask("GET", &format!("http://{host}/"), &[]);
            let (reply, trailers) = whole(answer.await.unwrap()).await.unwrap();
            assert_eq!(reply.content.len(), bytes);
            assert_eq!(reply.field("trailer"), Some("Server-Timing"));
            assert_eq!(trailers.unwrap()["server-timing"], "origin;dur=0");
        }
        let mut answer = peer.ask("GET", "http://hints.test/", &[]);
        let hints = interim(&mut answer).await;
        assert_eq!(hints.len(), 1);
        assert_eq!(hints[0].status(), 103);
        assert!(hints[0].headers().contains_key("link"));
        assert_eq!(answer.await.unwrap().status(), 200);
    });
}

#[test]
fn only_who_offers_it_and_is_asked_for_it_speaks_it_over_tls() {
    let stage = Stage::new(
        "[[host]]\nname = 'new.test'\nhttp2 = true\n\
         [[host]]\nname = 'newer.test'\nhttp2 = true\ntls_1_2 = true\n\
         [[host]]\nname = 'old.test'\nhttp2 = false\n[http]\nhttp2 = 1.0\n",
    );
    let cases: [Offer; 6] = [
        ("new.test", &[b"h2", b"http/1.1"], Some(b"h2")),
        ("newer.test", &[b"http/1.1", b"h2"], Some(b"h2")),
        ("drawn.test", &[b"h2"], Some(b"h2")),
        ("new.test", &[b"http/1.1"], Some(b"http/1.1")),
        ("new.test", &[], None),
        ("old.test", &[b"h2", b"http/1.1"], Some(b"http/1.1")),
    ];
    run(async {
        for (host, offered, expected) in cases {
            let mut stream = secure(&stage, host, offered).await;
            let agreed = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
            assert_eq!(agreed.as_deref(), expected, "{host}");
            if expected == Some(b"h2") {
                let (requests, connection) = h2::client::handshake(stream).await.unwrap();
                let end = tokio::spawn(connection);
                let url = format!("https://{host}/plain");
                assert_eq!(Peer { requests, end }.get(&url).await.status, 200);
            } else {
                stream
                    .write_all(&request("GET", host, "/plain", "Connection: close\r\n"))
                    .await
                    .unwrap();
                let mut all = String::new();
                stream.read_to_string(&mut all).await.unwrap();
                assert!(all.starts_with("HTTP/1.1 200 OK\r\n"), "{host}: {all}");
            }
        }
    });
    let report = stage.stop().report;
    assert_eq!(report.http_versions, [("1.1", 3), ("2", 3)].into());
}

#[test]
fn http2_over_tls_needs_alpn() {
    let stage = Stage::new("[http]\nhttp2 = 1.0\n");
    run(async {
        let mut stream = secure(&stage, "a.test", &[]).await;
        stream
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
            .await
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 "), "{answer}");
    });
}
