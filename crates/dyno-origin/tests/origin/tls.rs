//! Handshakes that succeed: versions, keys, names, resumption.

use std::io::Write;
use std::net::TcpStream;

use dyno_http::Method;
use rustls::pki_types::ServerName;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConnection, HandshakeKind, NamedGroup, ProtocolVersion, StreamOwned};

use crate::stage::{Stage, connect, reply, request};

fn ask(stream: &mut StreamOwned<ClientConnection, TcpStream>, host: &str) {
    stream
        .write_all(&request("GET", host, "/plain", ""))
        .unwrap();
    assert_eq!(reply(stream, Method::Get).content, b"Hello, World!");
}

#[test]
fn each_host_has_its_key_and_its_versions() {
    let stage = Stage::new(
        "[[host]]\nname = 'rsa.test'\nkey = 'rsa'\n\
         [[host]]\nname = 'ecdsa.test'\nkey = 'ecdsa'\n\
         [[host]]\nname = 'old.test'\ntls_1_2 = true\n",
    );
    stage
        .authority
        .prepare(&stage.web, &["rsa.test", "ecdsa.test"]);
    let new = stage.client(&[&TLS13, &TLS12]);
    let old = stage.client(&[&TLS12]);
    let cases = [
        ("rsa.test", &new, ProtocolVersion::TLSv1_3),
        ("ecdsa.test", &new, ProtocolVersion::TLSv1_3),
        ("old.test", &new, ProtocolVersion::TLSv1_2),
        ("rsa.test", &old, ProtocolVersion::TLSv1_2),
        ("ecdsa.test", &old, ProtocolVersion::TLSv1_2),
    ];
    for (host, config, version) in cases {
        let mut stream = stage.secure(host, config);
        ask(&mut stream, host);
        assert_eq!(stream.conn.protocol_version(), Some(version), "{host}");
        let group = stream
            .conn
            .negotiated_key_exchange_group()
            .map(rustls::crypto::SupportedKxGroup::name);
        assert_eq!(group, Some(NamedGroup::X25519), "{host}");
        let leaf = stream.conn.peer_certificates().unwrap()[0].to_vec();
        // The object identifier of RSA keys, 1.2.840.113549.1.1.1.
        let has_rsa = leaf
            .windows(9)
            .any(|nine| nine == [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1]);
        assert_eq!(has_rsa, host == "rsa.test" || host == "old.test", "{host}");
    }
    let report = stage.stop().report;
    assert_eq!(report.tls_versions, [("1.2", 3), ("1.3", 2)].into());
    assert_eq!(
        (
            report.connections,
            report.requests,
            report.handshakes_failed
        ),
        (5, 5, 0)
    );
}

#[test]
fn sessions_are_resumed_by_the_host_that_began_them() {
    let stage = Stage::new("[[host]]\nname = 'old.test'\ntls_1_2 = true\n");
    let config = stage.client(&[&TLS13, &TLS12]);
    for host in ["new.test", "old.test"] {
        for kind in [HandshakeKind::Full, HandshakeKind::Resumed] {
            let mut stream = stage.secure(host, &config);
            ask(&mut stream, host);
            assert_eq!(stream.conn.handshake_kind(), Some(kind), "{host}");
        }
    }
    let mut other = stage.secure("other.test", &config);
    ask(&mut other, "other.test");
    let report = stage.stop().report;
    assert_eq!((report.handshakes_full, report.handshakes_resumed), (3, 2));
}

#[test]
fn a_client_that_names_no_host_gets_a_leaf_for_the_address() {
    let stage = Stage::new("");
    let config = stage.client(&[&TLS13, &TLS12]);
    let name = ServerName::IpAddress(stage.https().ip().into());
    let session = ClientConnection::new(config, name).unwrap();
    let mut stream = StreamOwned::new(session, connect(stage.https()));
    ask(&mut stream, "127.0.0.1");
}

#[test]
fn http_1_1_is_chosen_from_what_the_client_offers() {
    let stage = Stage::new("");
    let mut config = rustls::ClientConfig::clone(&stage.client(&[&TLS13]));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let mut stream = stage.secure("a.test", &config.into());
    ask(&mut stream, "a.test");
    assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
}

#[test]
fn bytes_that_are_no_hello_are_a_failed_handshake_and_silence_is_none() {
    let stage = Stage::new("");
    let mut plain = connect(stage.https());
    plain
        .write_all(&request("GET", "a.test", "/plain", ""))
        .unwrap();
    let mut answer = Vec::new();
    // An alert or a reset, depending on the kernel.
    drop(std::io::Read::read_to_end(&mut plain, &mut answer));
    drop(connect(stage.https()));
    let mut last = stage.secure("a.test", &stage.client(&[&TLS13]));
    ask(&mut last, "a.test");
    let report = stage.stop().report;
    assert_eq!(
        (
            report.connections,
            report.handshakes_failed,
            report.handshakes_full
        ),
        (3, 1, 1)
    );
}

#[test]
fn a_connection_is_for_the_host_that_its_handshake_named() {
    let stage = Stage::new("");
    let config = stage.client(&[&TLS13]);
    for (host, status) in [
        ("a.test", 200),
        ("A.Test.", 200),
        ("a.test:443", 200),
        ("b.test", 421),
    ] {
        let mut stream = stage.secure("a.test", &config);
        stream
            .write_all(&request("GET", host, "/plain", ""))
            .unwrap();
        assert_eq!(reply(&mut stream, Method::Get).status, status, "{host}");
    }
    // The rule applies to a reused connection, too, even if the same request was answered before.
    let mut others = stage.secure("b.test", &config);
    ask(&mut others, "b.test");
    ask(&mut others, "b.test");
    let mut stream = stage.secure("a.test", &config);
    ask(&mut stream, "a.test");
    stream
        .write_all(&request("GET", "b.test", "/plain", ""))
        .unwrap();
    assert_eq!(reply(&mut stream, Method::Get).status, 421);
    // A handshake without a server name permits requests for every host.
    let mut nameless = stage.secure("127.0.0.1", &config);
    ask(&mut nameless, "b.test");
    let report = stage.stop().report;
    assert_eq!(
        report.statuses,
        [("200".to_owned(), 7), ("421".to_owned(), 2)].into()
    );
}
