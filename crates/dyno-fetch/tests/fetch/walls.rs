//! Redirects: none leads from the public internet into a private network. All connections stay on this machine.

use std::net::{IpAddr, Ipv4Addr};

use dyno_fetch::Options;

use super::crawl::{PATIENCE, at, connecting, crawl, reported};
use super::name_server::{NameServer, found};
use super::server::{KeepsOn, Server, send, whole};

/// Redirects to the URL in the query of the target; answers with a letter without a query.
fn sends_elsewhere() -> Server {
    Server::start(|stream, target, _| -> KeepsOn {
        let Some((_, location)) = target.split_once('?') else {
            return whole(stream, "", b"x");
        };
        let head =
            format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n");
        send(stream, head.as_bytes());
        true
    })
}

const INSIDE: [&str; 12] = [
    "http://10.0.0.1/",
    "http://127.0.0.1/",
    "http://0/",
    "http://0x7f.1/",
    "http://169.254.169.254/latest",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://[::1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://[64:ff9b::a00:1]/",
    "http://[fd00::1]/",
    "http://localhost/",
];

#[test]
fn a_public_host_leads_into_no_private_network() {
    let server = sends_elsewhere();
    for (allow_private, code) in [(false, "PrivateRedirect"), (true, "200")] {
        let options = Options {
            allow_private,
            ..at(&server)
        };
        let lines = INSIDE.map(|inside| format!("http://a.test/?{inside}"));
        let rows = crawl(options, &lines);
        assert_eq!(rows.len(), lines.len());
        for (url, found, ..) in rows {
            assert_eq!(found, code, "{url}");
        }
    }
    // The rule also applies after a second redirect: a host in between is as public as its address.
    let rows = crawl(
        at(&server),
        &["http://a.test/?http://b.test/?http://10.0.0.1/"],
    );
    assert_eq!(rows[0].1, "PrivateRedirect");
}

#[test]
fn the_list_names_any_host_and_a_private_one_leads_anywhere() {
    let server = sends_elsewhere();
    let mut lines = INSIDE.map(str::to_owned).to_vec();
    lines.push("http://10.0.0.1/?http://127.0.0.1/".to_owned());
    lines.push("http://localhost/?http://a.test/".to_owned());
    lines.push("http://a.test/?http://9.9.9.9/".to_owned());
    for (url, code, ..) in crawl(at(&server), &lines) {
        assert_eq!(code, "200", "{url}");
    }
}

#[test]
fn a_name_leads_inside_when_its_address_does() {
    let server = sends_elsewhere();
    let port = server.address.port();
    let names =
        NameServer::start(|query, _| vec![found(query, Ipv4Addr::LOCALHOST).to_vec().unwrap()]);
    let options = |allow_private| Options {
        nameservers: vec![names.address.into()],
        reroute: connecting([format!("a.test:80:{}", server.address)]),
        timeout: PATIENCE,
        allow_private,
        ..Options::default()
    };
    let lines = [format!("http://a.test/?http://inner.test:{port}/")];
    assert_eq!(crawl(options(false), &lines)[0].1, "PrivateRedirect");
    assert_eq!(crawl(options(true), &lines)[0].1, "200");
    assert_eq!(names.address.ip(), IpAddr::V4(Ipv4Addr::LOCALHOST));
    // The list may name the private host, but a redirect from outside must not use its open connection.
    let lines = [format!("http://inner.test:{port}/"), lines[0].clone()];
    let one = |options| Options {
        concurrency: 1,
        ..options
    };
    let rows = crawl(one(options(false)), &lines);
    let codes: Vec<&str> = rows.iter().map(|row| row.1.as_str()).collect();
    assert_eq!(codes, ["200", "PrivateRedirect"]);
}

#[test]
fn a_redirect_to_http_is_followed_and_only_from_https_counted() {
    let server = sends_elsewhere();
    let (rows, report) = reported(at(&server), &["http://a.test/?http://b.test/"]);
    assert_eq!(
        (rows[0].1.as_str(), &report["left_https"]),
        ("200", &0.into())
    );
}
