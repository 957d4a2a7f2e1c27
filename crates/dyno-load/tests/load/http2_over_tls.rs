//! HTTP/2 over TLS: required by the client, and negotiated with the server or not.

use std::net::SocketAddr;
use std::sync::Arc;

use dyno_client::Protocol;
use dyno_load::{Check, Shape};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

use crate::answers::origin_with_http2;
use crate::server::Server;
use crate::stage::{accounted, number, shape, shaped};

const REQUESTS: u64 = 6;

/// Requires HTTP/2 of a server with any certificate.
fn demand(address: SocketAddr) -> Value {
    demand_checked(address, &[])
}

fn demand_checked(address: SocketAddr, checks: &[&str]) -> Value {
    let checks = checks.iter().map(|text| Check::parse(text).unwrap());
    let two = Shape {
        protocol: Protocol::Http2,
        checks: checks.collect(),
        ..shape()
    };
    let mut stage = shaped(
        &[format!("https://www.site.test:{}/plain", address.port())],
        &two,
    )
    .requests(REQUESTS);
    let place = format!("www.site.test:{}:127.0.0.1", address.port());
    stage.plan.reroute.resolve.push(place.parse().unwrap());
    stage.plan.insecure = true;
    stage.run()
}

/// A TLS server without ALPN: it completes handshakes without negotiating a protocol.
fn without_alpn() -> Server {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["www.site.test".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    Server::start(move |stream| {
        let session = ServerConnection::new(config.clone()).unwrap();
        let mut stream = StreamOwned::new(session, stream);
        // Reads until the client closes.
        drop(std::io::copy(&mut stream, &mut std::io::sink()));
    })
}

#[test]
fn a_server_that_offers_it_is_spoken_to() {
    let (_authority, origin) = origin_with_http2(1);
    let report = demand(origin.https()[0]);
    assert_eq!(report["versions"], json!({"HTTP/2": REQUESTS}), "{report}");
    assert_eq!(report["errors"], json!({}));
}

#[test]
fn its_answers_are_checked() {
    let (_authority, origin) = origin_with_http2(1);
    let all = [
        "header=content-Type: text/plain; charset=utf-8",
        "length=13",
        "contains=World",
        "regex=^H.+!$",
    ];
    let report = demand_checked(origin.https()[0], &all);
    assert_eq!(number(&report, "/checks/right"), REQUESTS, "{report}");
    let report = demand_checked(origin.https()[0], &["header=x-kind"]);
    assert_eq!(number(&report, "/checks/wrong_header"), REQUESTS);
    let example = json!([{"check": "header=x-kind", "got": "200, no header x-kind"}]);
    assert_eq!(report["checks"]["examples"], example);
}

#[test]
fn a_server_that_does_not_offer_it_is_named() {
    let (_authority, origin) = origin_with_http2(0);
    // One server refuses the handshake with an alert; the other completes it and would then use HTTP/1.1.
    for (address, shakes_hands) in [(origin.https()[0], false), (without_alpn().address, true)] {
        let report = demand(address);
        assert_eq!(
            report["errors"],
            json!({"Http2NotOffered": REQUESTS}),
            "{report}"
        );
        assert_eq!(accounted(&report), REQUESTS);
        assert_eq!(number(&report, "/connections/opened"), 0);
        // Attempts before the run count, too.
        let failed = number(&report, "/connections/failed");
        assert!(failed >= REQUESTS, "{report}");
        let shaken =
            number(&report, "/connections/tls_full") + number(&report, "/connections/tls_resumed");
        assert_eq!(shaken, if shakes_hands { failed } else { 0 }, "{report}");
    }
}
