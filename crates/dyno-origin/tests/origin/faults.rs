//! Bytes that each fault sends.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr};
use std::process::Command;

use dyno_http::{Limits, Method, response};
use dyno_web::{Block, Fault, Resolved, Web, text};
use rustls::Error::{AlertReceived, InvalidCertificate};
use rustls::{AlertDescription, CertificateError};

use crate::stage::{Stage, connect, is_silent, reply, request};

/// Plays a web with a host for each fault, named after it.
fn stage() -> Stage {
    Stage::new(&hosts())
}

fn hosts() -> String {
    let host = |fault: &Fault| {
        let name = fault.name();
        format!(
            "[[host]]\nname = '{}.test'\nfault = '{name}'\ncontent_bytes = 1000\nstatus = 200\n",
            name.replace('_', "-")
        )
    };
    Fault::ALL.iter().map(host).collect()
}

/// Reads until the connection ends; returns the bytes and the final error.
fn rest(stream: &mut impl Read) -> (Vec<u8>, Option<ErrorKind>) {
    let (mut all, mut some) = (Vec::new(), [0; 4_096]);
    loop {
        match stream.read(&mut some) {
            Ok(0) => return (all, None),
            Ok(bytes) => all.extend_from_slice(&some[..bytes]),
            Err(error) => return (all, Some(error.kind())),
        }
    }
}

/// The content after a head that announces 1,000 bytes.
fn content(bytes: &[u8]) -> &[u8] {
    let end = bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .expect("a whole head")
        + 4;
    let head = String::from_utf8_lossy(&bytes[..end]);
    assert!(
        head.starts_with("HTTP/1.1 200 OK\r\n") && head.contains("Content-Length: 1000\r\n"),
        "{head}"
    );
    &bytes[end..]
}

#[test]
fn heads_that_never_come() {
    let stage = stage();
    let mut stalled = stage.ask("stall-headers.test", "/", "");
    assert!(is_silent(&mut stalled));
    assert_eq!(
        rest(&mut stage.ask("empty-reply.test", "/", "")),
        (Vec::new(), None)
    );
    let reset = rest(&mut stage.ask("reset-before-headers.test", "/", ""));
    assert_eq!(reset, (Vec::new(), Some(ErrorKind::ConnectionReset)));
    let (garbage, end) = rest(&mut stage.ask("garbage-head.test", "/", ""));
    assert!(end.is_none() && !garbage.is_empty());
    assert!(response::parse(&garbage, &Limits::default()).is_err());
    drop(stalled);
    let report = stage.stop().report;
    let faults = [
        "empty_reply",
        "garbage_head",
        "reset_before_headers",
        "stall_headers",
    ];
    assert_eq!(report.faults, faults.map(|fault| (fault, 1)).into());
    assert_eq!(
        (
            report.requests,
            report.statuses.len(),
            report.lateness_ns.count
        ),
        (4, 0, 0)
    );
}

#[test]
fn contents_that_never_end() {
    let stage = stage();
    let text = text(5);
    let mut stalled = stage.ask("stall-body.test", "/", "");
    let mut half = vec![0; 4_096];
    let mut bytes = 0;
    while !half[..bytes].windows(4).any(|four| four == b"\r\n\r\n")
        || content(&half[..bytes]).len() < 500
    {
        bytes += stalled.read(&mut half[bytes..]).unwrap();
    }
    assert_eq!(content(&half[..bytes]), &text[..500]);
    assert!(is_silent(&mut stalled));
    let mut dripping = stage.ask("drip-body.test", "/", "");
    let mut seen = Vec::new();
    while seen.len() < 3 || !seen[..seen.len() - 2].ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        assert_eq!(dripping.read(&mut byte).unwrap(), 1);
        seen.push(byte[0]);
    }
    assert!(seen.ends_with(&text[..2]));
    assert!(String::from_utf8_lossy(&seen).contains("Content-Length: 1048576\r\n"));
}

#[test]
fn contents_that_are_cut() {
    let stage = stage();
    let text = text(5);
    let (short, end) = rest(&mut stage.ask("short-body.test", "/", ""));
    assert_eq!((content(&short), end), (&text[..500], None));
    let (cut, end) = rest(&mut stage.ask("reset-mid-body.test", "/", ""));
    assert_eq!(end, Some(ErrorKind::ConnectionReset));
    // Bytes sent before a reset may be lost.
    assert!(cut.is_empty() || content(&cut) == &text[..500]);
    let (chunked, end) = rest(&mut stage.ask("short-chunked.test", "/", ""));
    let chunk = [b"\r\n\r\n1f4\r\n", &text[..500], b"\r\n"].concat();
    assert!(
        end.is_none() && chunked.ends_with(&chunk),
        "one complete chunk, but no last chunk"
    );
    let record = stage.stop();
    assert_eq!(record.report.statuses, [("200".to_owned(), 3)].into());
    let mut csv = Vec::new();
    record.arrivals.write_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let unfinished = csv
        .lines()
        .skip(1)
        .filter(|line| line.split(',').nth(1) == Some("") && line.ends_with(",200"));
    assert_eq!(unfinished.count(), 3, "{csv}");
}

#[test]
fn redirects_that_never_arrive() {
    let stage = stage();
    let answer = stage.get("redirect-loop.test", "/a?b", "");
    assert_eq!(answer.status, 302);
    assert_eq!(
        answer.field("location"),
        Some("http://redirect-loop.test/a?b")
    );
}

#[test]
fn handshakes_that_fail() {
    let stage = stage();
    let config = stage.client(rustls::ALL_VERSIONS);
    let fails = |host: &str| {
        let mut stream = stage.secure(host, &config);
        let error = stream.write_all(b"x").unwrap_err();
        error.downcast::<rustls::Error>().unwrap()
    };
    let expired = fails("expired-certificate.test");
    assert!(
        matches!(
            expired,
            InvalidCertificate(CertificateError::ExpiredContext { .. } | CertificateError::Expired)
        ),
        "{expired:?}"
    );
    let wrong = fails("wrong-host.test");
    assert!(
        matches!(
            wrong,
            InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
            )
        ),
        "{wrong:?}"
    );
    let own = fails("self-signed.test");
    assert!(
        matches!(
            own,
            InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature)
        ),
        "{own:?}"
    );
    assert_eq!(
        fails("tls-alert.test"),
        AlertReceived(AlertDescription::HandshakeFailure)
    );
    let mut stalled = stage.secure("stall-tls.test", &config);
    stalled.conn.write_tls(&mut stalled.sock).unwrap();
    assert!(is_silent(&mut stalled.sock));
    drop(stalled);
    let report = stage.stop().report;
    assert_eq!((report.handshakes_failed, report.handshakes_full), (5, 0));
    let faults = [
        "expired_certificate",
        "self_signed",
        "stall_tls",
        "tls_alert",
        "wrong_host",
    ];
    assert_eq!(report.faults, faults.map(|fault| (fault, 1)).into());
}

#[test]
fn only_the_length_tells_that_an_encrypted_content_is_short() {
    let stage = stage();
    let config = stage.client(rustls::ALL_VERSIONS);
    let mut stream = stage.secure("short-body.test", &config);
    stream
        .write_all(&request("GET", "short-body.test", "/", ""))
        .unwrap();
    // Without a close_notify this would be an error.
    let (short, end) = rest(&mut stream);
    assert_eq!((content(&short).len(), end), (500, None));
    let mut reset = stage.secure("reset-before-headers.test", &config);
    reset
        .write_all(&request("GET", "reset-before-headers.test", "/", ""))
        .unwrap();
    assert_eq!(
        rest(&mut reset),
        (Vec::new(), Some(ErrorKind::ConnectionReset))
    );
}

/// Environment variable of the child process, which runs in a separate network namespace.
const INSIDE: &str = "DYNO_ORIGIN_TEST_INSIDE";

/// Accepting connections at the addresses of a web requires a network namespace: this test runs once more there.
#[test]
fn connections_that_go_wrong() {
    if std::env::var_os(INSIDE).is_some() {
        return connections_inside();
    }
    let inside = "ip link set lo up && ip route add local 10.0.0.0/8 dev lo && exec \"$0\" \"$@\"";
    let test = std::env::current_exe().unwrap();
    let mut command = Command::new("unshare");
    command
        .args(["--map-root-user", "--net", "sh", "-c", inside])
        .arg(test)
        .args(["--exact", "faults::connections_that_go_wrong"])
        .env(INSIDE, "yes");
    let probe = Command::new("unshare")
        .args(["--map-root-user", "--net", "ip", "link", "set", "lo", "up"])
        .status();
    if !probe.is_ok_and(|status| status.success()) {
        println!("skipped: cannot create a network namespace (unshare --map-root-user --net)");
        return;
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn connections_inside() {
    let stage = Stage::at(&hosts(), IpAddr::from([0, 0, 0, 0]), 1);
    let address = |host: &str| match stage.web.resolve(host).resolved {
        Resolved::Addresses { v4, .. } => SocketAddr::from((v4, stage.http().port())),
        other => panic!("{other:?}"),
    };
    let stalled = address("stall-after-accept.test");
    assert_eq!(
        Web::connection(stalled.ip()),
        Some(Block::Faulty(Fault::StallAfterAccept))
    );
    let mut stalled = connect(stalled);
    stalled
        .write_all(&request("GET", "stall-after-accept.test", "/", ""))
        .unwrap();
    assert!(is_silent(&mut stalled));
    let mut reset = connect(address("reset-after-accept.test"));
    let (_, end) = rest(&mut reset);
    assert_eq!(end, Some(ErrorKind::ConnectionReset));
    let mut served = connect(address("other.test"));
    served
        .write_all(&request("GET", "other.test", "/plain", ""))
        .unwrap();
    assert_eq!(reply(&mut served, Method::Get).content, b"Hello, World!");
    let report = stage.stop().report;
    assert_eq!((report.connections, report.requests), (3, 1));
    assert_eq!(
        report.faults,
        [("reset_after_accept", 1), ("stall_after_accept", 1)].into()
    );
}
