//! TLS of a client: trusted authorities, offered protocols, the handshake.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, HandshakeKind, RootCertStore, SignatureScheme};
use thiserror::Error;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::cryptography;
use crate::failure::Failure;
use crate::link::Wire;
use crate::protocol::Protocol;

/// Servers that a client trusts.
#[derive(Debug, Clone, Copy)]
pub enum Trust<'p> {
    /// The system's certificates (or those of `SSL_CERT_FILE` and `SSL_CERT_DIR`), and those of a PEM file.
    Authorities(Option<&'p Path>),
    /// Every server, whatever its certificate says.
    AnyCertificate,
}

/// Why a client cannot be made.
#[derive(Debug, Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// The file holds no certificate.
    #[error("no certificate in it: {0}")]
    Certificates(String),
    /// The cryptography refused.
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

/// A client's configuration; sessions that can be resumed are remembered in it.
#[derive(Clone)]
pub struct Client {
    connector: TlsConnector,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Client").finish_non_exhaustive()
    }
}

/// An encrypted connection, and what both sides agreed on.
#[derive(Debug)]
pub struct TlsConnection {
    /// The encrypted connection.
    pub stream: Box<TlsStream<Wire>>,
    /// The negotiated protocol.
    pub protocol: Protocol,
    /// Whether an earlier session was resumed.
    pub resumed: bool,
}

impl Client {
    /// A client that offers these protocols, best first.
    ///
    /// # Errors
    ///
    /// If the file of certificates cannot be read, or has none.
    pub fn new(trust: Trust<'_>, protocols: &[Protocol]) -> Result<Self, Error> {
        let provider = Arc::new(cryptography::provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?;
        let mut config = match trust {
            Trust::AnyCertificate => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AcceptAnyCertificate::new(&provider)))
                .with_no_client_auth(),
            Trust::Authorities(file) => {
                let roots = Arc::new(authorities(file)?);
                if roots.is_empty() {
                    // Without a trusted authority every certificate is refused, as untrusted.
                    builder
                        .with_root_certificates(RootCertStore::empty())
                        .with_no_client_auth()
                } else {
                    let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider)
                        .build()
                        .map_err(|error| Error::Certificates(error.to_string()))?;
                    builder.with_webpki_verifier(verifier).with_no_client_auth()
                }
            }
        };
        let names = protocols
            .iter()
            .map(|protocol| protocol.version().alpn().to_vec());
        config.alpn_protocols = names.collect();
        Ok(Self {
            connector: TlsConnector::from(Arc::new(config)),
        })
    }

    /// Shakes hands with `host`, a name or an address (without brackets).
    ///
    /// # Errors
    ///
    /// Returns the failure of the certificate or the handshake. The caller sets the timeout.
    pub async fn handshake(&self, wire: Wire, host: &str) -> Result<TlsConnection, Failure> {
        let name = ServerName::try_from(host.to_owned()).map_err(|_| Failure::InvalidUrl)?;
        let stream = self.connector.connect(name, wire).await;
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
    // A system without certificates trusts no server: the first handshake fails.
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

/// A verifier that lets every certificate pass; that the peer has its key is still proven.
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
