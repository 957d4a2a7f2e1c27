//! TLS of a client: trusted authorities, offered protocols, the handshake.

use std::io;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::SingleCertAndKey;
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, DigitallySignedStruct, HandshakeKind, RootCertStore, SignatureScheme};
use thiserror::Error;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::cryptography;
use crate::failure::Failure;
use crate::identity::Identity;
use crate::link::Wire;
use crate::protocol::Protocol;

/// Certificates that a client trusts.
#[derive(Debug, Clone, Copy)]
pub enum Trust<'p> {
    /// Those signed by the system's authorities (or those of `SSL_CERT_FILE` and `SSL_CERT_DIR`), or by those of a PEM
    /// file.
    Authorities(Option<&'p Path>),
    /// All certificates.
    AnyCertificate,
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// TLS 1.2
    Tls12,
    /// TLS 1.3
    Tls13,
}

/// What a client offers besides protocols.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Who it is, for servers that ask.
    pub identity: Option<Identity>,
    /// The oldest and the newest version.
    pub versions: RangeInclusive<Version>,
    /// Share of the handshakes that may resume a session, in per cent.
    pub resumed_percent: u8,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            identity: None,
            versions: Version::Tls12..=Version::Tls13,
            resumed_percent: 100,
        }
    }
}

/// Reason why a client cannot be created.
#[derive(Debug, Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// The file holds no certificate.
    #[error("no certificate in it: {0}")]
    Certificates(String),
    /// The cryptographic library failed.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
}

impl From<pem::Error> for Error {
    fn from(error: pem::Error) -> Self {
        match error {
            pem::Error::Io(error) => Self::Unreadable(error),
            other => Self::Certificates(other.to_string()),
        }
    }
}

/// A client's configuration, with its cache of resumable sessions.
#[derive(Clone)]
pub struct Client {
    connector: TlsConnector,
    /// For handshakes that resume nothing.
    full: TlsConnector,
    resumed_percent: u8,
    /// Of all clones.
    handshakes: Arc<AtomicU64>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Client").finish_non_exhaustive()
    }
}

/// An encrypted connection, and the negotiated parameters.
#[derive(Debug)]
pub struct TlsConnection {
    /// The encrypted connection.
    pub stream: Box<TlsStream<Wire>>,
    /// The negotiated protocol.
    pub protocol: Protocol,
    /// Whether the handshake resumed an earlier session.
    pub resumed: bool,
}

impl Client {
    /// Creates a client that offers these protocols, best first.
    ///
    /// # Errors
    ///
    /// If the file of certificates cannot be read, or contains none.
    pub fn new(
        trust: Trust<'_>,
        protocols: &[Protocol],
        settings: &Settings,
    ) -> Result<Self, Error> {
        let all = [(Version::Tls12, &TLS12), (Version::Tls13, &TLS13)];
        let offered = all
            .into_iter()
            .filter(|(version, _)| settings.versions.contains(version));
        let versions: Vec<_> = offered.map(|(_, version)| version).collect();
        let provider = Arc::new(cryptography::provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&versions)?;
        let builder = match trust {
            Trust::AnyCertificate => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AcceptAnyCertificate::new(&provider))),
            Trust::Authorities(file) => {
                let roots = Arc::new(authorities(file)?);
                if roots.is_empty() {
                    // Without a trusted authority, every certificate is refused as untrusted.
                    builder.with_root_certificates(RootCertStore::empty())
                } else {
                    let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider)
                        .build()
                        .map_err(|error| Error::Certificates(error.to_string()))?;
                    builder.with_webpki_verifier(verifier)
                }
            }
        };
        let mut config = match &settings.identity {
            Some(Identity(key)) => {
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(key.clone())))
            }
            None => builder.with_no_client_auth(),
        };
        let names = protocols
            .iter()
            .map(|protocol| protocol.version().alpn().to_vec());
        config.alpn_protocols = names.collect();
        let mut full = config.clone();
        full.resumption = Resumption::disabled();
        Ok(Self {
            connector: TlsConnector::from(Arc::new(config)),
            full: TlsConnector::from(Arc::new(full)),
            resumed_percent: settings.resumed_percent,
            handshakes: Arc::default(),
        })
    }

    /// The connector of the next handshake. Those that may resume a session are evenly spread.
    fn next_connector(&self) -> &TlsConnector {
        let before = self.handshakes.fetch_add(1, Ordering::Relaxed);
        let resumed = |handshakes: u64| handshakes * u64::from(self.resumed_percent) / 100;
        if resumed(before + 1) > resumed(before) {
            &self.connector
        } else {
            &self.full
        }
    }

    /// Performs the TLS handshake with `host`, a name or an address (without brackets).
    ///
    /// # Errors
    ///
    /// The failure of the certificate or the handshake. The caller sets the timeout.
    pub async fn handshake(&self, wire: Wire, host: &str) -> Result<TlsConnection, Failure> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| Failure::InvalidUrl)?;
        let stream = self.next_connector().connect(name, wire).await;
        let stream = stream.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Failure::ClosedBeforeAnswer,
            _ => Failure::from_io(&error),
        })?;
        let session = stream.get_ref().1;
        Ok(TlsConnection {
            protocol: Protocol::from_alpn(session.alpn_protocol()),
            resumed: session.handshake_kind() == Some(HandshakeKind::Resumed),
            stream: Box::new(stream),
        })
    }
}

fn authorities(file: Option<&Path>) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    // If the system has no certificates, no server is trusted: the first handshake fails.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(file) = file {
        let mut found = false;
        for certificate in CertificateDer::pem_file_iter(file)? {
            roots.add(certificate?)?;
            found = true;
        }
        if !found {
            return Err(Error::Certificates(
                "it holds no PEM block of one".to_owned(),
            ));
        }
    }
    Ok(roots)
}

/// A verifier that accepts every certificate; the peer must still prove that it has the key.
#[derive(Debug)]
struct AcceptAnyCertificate {
    algorithms: WebPkiSupportedAlgorithms,
}

impl AcceptAnyCertificate {
    fn new(provider: &CryptoProvider) -> Self {
        Self {
            algorithms: provider.signature_verification_algorithms,
        }
    }
}

impl ServerCertVerifier for AcceptAnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
