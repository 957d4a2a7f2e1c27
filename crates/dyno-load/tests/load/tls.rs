//! TLS: certificates of the client, versions, and the share of resumed sessions.

use std::io::{Read, Write};
use std::sync::Arc;

use dyno_client::tls::{Settings, Version};
use dyno_client::{Identity, Protocol};
use dyno_load::Shape;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{
    RootCertStore, ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion,
};
use serde_json::{Value, json};

use crate::answers::origin;
use crate::server::{HELLO, Server, wait_for_the_end};
use crate::stage::{number, shape, shaped};

const CERTIFICATE: &[u8] = include_bytes!("../../../dyno-client/tests/pem/certificate.pem");
const KEY: &[u8] = include_bytes!("../../../dyno-client/tests/pem/encrypted.pem");
const PASSWORD: &[u8] = b"secret";
const REQUESTS: u64 = 6;

/// A server of these versions; it may ask for the certificate that it has itself.
fn server(versions: &[&'static SupportedProtocolVersion], asks: bool) -> Server {
    let provider = Arc::new(default_provider());
    let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let builder = ServerConfig::builder_with_provider(provider.clone());
    let builder = builder.with_protocol_versions(versions).unwrap();
    let builder = if asks {
        let asking = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        builder.with_client_cert_verifier(asking.build().unwrap())
    } else {
        builder.with_no_client_auth()
    };
    let key = include_bytes!("../../../dyno-client/tests/pem/pkcs8.pem");
    let key = PrivateKeyDer::from_pem_slice(key).unwrap();
    let mut config = builder.with_single_cert(vec![certificate], key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let config = Arc::new(config);
    Server::start(move |stream| {
        let session = ServerConnection::new(config.clone()).unwrap();
        let mut stream = StreamOwned::new(session, stream);
        let mut request = [0; 4096];
        // Each request comes in one piece.
        while matches!(stream.read(&mut request), Ok(count) if count > 0) {
            stream.write_all(HELLO).unwrap();
        }
        // Closed at once, the connection would be reset, and the alert lost.
        wait_for_the_end(stream.sock);
    })
}

fn load(server: &Server, protocol: Protocol, tls: Settings) -> Value {
    let over = Shape {
        protocol,
        ..shape()
    };
    let url = format!("https://{}/", server.address);
    let mut stage = shaped(&[url], &over).requests(REQUESTS);
    stage.plan.insecure = true;
    stage.plan.tls = tls;
    stage.run()
}

#[test]
fn a_client_shows_its_certificate_or_gets_an_alert() {
    for version in [&TLS12, &TLS13] {
        let server = server(&[version], true);
        let known = Settings {
            identity: Some(Identity::from_pem(CERTIFICATE, KEY, Some(PASSWORD)).unwrap()),
            ..Settings::default()
        };
        let report = load(&server, Protocol::Http1, known);
        assert_eq!(report["statuses"], json!({"200": REQUESTS}), "{report}");
        for protocol in Protocol::ALL {
            let report = load(&server, protocol, Settings::default());
            let alert = json!({"TlsAlert: certificate_required": REQUESTS});
            assert_eq!(report["errors"], alert, "{report}");
        }
    }
}

#[test]
fn versions_outside_of_the_range_are_not_offered() {
    let (older, newer) = (Version::Tls12, Version::Tls13);
    for (served, offered, fits) in [
        (&TLS12, older..=older, true),
        (&TLS12, newer..=newer, false),
        (&TLS13, older..=older, false),
        (&TLS13, older..=newer, true),
    ] {
        let settings = Settings {
            versions: offered,
            ..Settings::default()
        };
        let report = load(&server(&[served], false), Protocol::Http1, settings);
        if fits {
            assert_eq!(report["statuses"], json!({"200": REQUESTS}), "{report}");
        } else {
            let alert = json!({"TlsAlert: protocol_version": REQUESTS});
            assert_eq!(report["errors"], alert, "{report}");
        }
    }
}

#[test]
fn a_share_of_the_handshakes_resumes_a_session() {
    let (_authority, origin) = origin();
    // The first that may resume a session has none.
    for (percent, resumed) in [(100, 9), (50, 4), (10, 0), (0, 0)] {
        for version in [Version::Tls12, Version::Tls13] {
            let url = format!("https://{}/plain", origin.https()[0]);
            let mut stage = shaped(&[url], &shape()).connections(1).requests(10);
            stage.plan.insecure = true;
            stage.plan.reconnect_after = 1.try_into().ok();
            stage.plan.tls = Settings {
                versions: version..=version,
                resumed_percent: percent,
                ..Settings::default()
            };
            let report = stage.run();
            assert_eq!(report["statuses"], json!({"200": 10}), "{report}");
            let found = ["full", "resumed"]
                .map(|kind| number(&report, &format!("/connections/tls_{kind}")));
            assert_eq!(found, [10 - resumed, resumed], "{percent} % {version:?}");
        }
    }
}
