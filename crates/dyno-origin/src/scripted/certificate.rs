//! The TLS of a scripted host: versions, protocols, and a certificate with one thing wrong, or none.

use std::sync::Arc;

use dyno_web::KeyKind;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose, NameConstraints,
};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, ServerConfig, SignatureScheme, version};
use time::{Duration, OffsetDateTime};

use crate::authority::Authority;
use crate::error::Error;
use crate::leaf;
use crate::scripts::{
    CertificateScript, ClientCertificate, HostScript, IssuerKind, Key, TlsVersion, Usage,
};
use crate::tls::{Fixed, Tls};

/// The domain whose names a constrained issuer may certify.
const PERMITTED: &str = "other.test";

/// The configuration of a host.
pub(super) fn config(host: &HostScript, tls: &Tls) -> Result<Arc<ServerConfig>, Error> {
    let script = &host.tls;
    let versions: Vec<_> = script
        .versions
        .iter()
        .map(|version| match version {
            TlsVersion::V12 => &version::TLS12,
            TlsVersion::V13 => &version::TLS13,
        })
        .collect();
    let provider = tls.provider();
    let algorithms = provider.signature_verification_algorithms;
    let builder = ServerConfig::builder_with_provider(provider.clone());
    let builder = builder.with_protocol_versions(&versions)?;
    let builder = match script.client_certificate {
        ClientCertificate::None => builder.with_no_client_auth(),
        wanted => builder.with_client_cert_verifier(Arc::new(AcceptAnyClient {
            is_required: wanted == ClientCertificate::Required,
            algorithms,
        })),
    };
    let mut chain = certified(host, tls.authority())?;
    chain.ocsp = script
        .certificate
        .ocsp
        .as_ref()
        .map(|response| response.0.clone());
    let mut config = builder.with_cert_resolver(Arc::new(Fixed(Arc::new(chain))));
    config.alpn_protocols = script
        .alpn
        .iter()
        .map(|name| name.clone().into_bytes())
        .collect();
    // Every handshake is a full one, so that it shows what the client does with the certificate.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// The chain that a host sends, with its key.
fn certified(host: &HostScript, authority: &Authority) -> Result<CertifiedKey, Error> {
    let script = &host.tls.certificate;
    let key = authority.key(match script.key {
        Key::Ecdsa => KeyKind::Ecdsa,
        Key::Rsa => KeyKind::Rsa,
    })?;
    let mut params = leaf_params(host, script, &key.pair)?;
    params.serial_number = Some(authority.serials.next());
    let (leaf, issuers) = match script.issuer {
        IssuerKind::Itself => (params.self_signed(&key.pair)?, None),
        IssuerKind::Room => (params.signed_by(&key.pair, &authority.issuer)?, None),
        kind => {
            let (own, issuer) = other_issuer(host, kind, authority)?;
            let is_sent = !matches!(kind, IssuerKind::Unknown | IssuerKind::MissingIntermediate);
            (
                params.signed_by(&key.pair, &issuer)?,
                is_sent.then_some(own),
            )
        }
    };
    let chain = std::iter::once(leaf.into()).chain(issuers).collect();
    Ok(CertifiedKey::new(chain, key.signing.clone()))
}

fn leaf_params(
    host: &HostScript,
    script: &CertificateScript,
    key: &KeyPair,
) -> Result<CertificateParams, Error> {
    let names = if script.names.is_empty() {
        vec![host.name.clone()]
    } else {
        script.names.clone()
    };
    let mut params = leaf::params(names, key)?;
    (params.not_before, params.not_after) = days(script.not_before_days, script.not_after_days);
    params.extended_key_usages = match script.usage {
        Usage::Server => vec![ExtendedKeyUsagePurpose::ServerAuth],
        Usage::Client => vec![ExtendedKeyUsagePurpose::ClientAuth],
        Usage::None => Vec::new(),
    };
    Ok(params)
}

/// An issuer that is not the room's authority, and its certificate. Its name and key belong to one host, so that no client
/// finds it among those of other hosts.
fn other_issuer(
    host: &HostScript,
    kind: IssuerKind,
    authority: &Authority,
) -> Result<(CertificateDer<'static>, Issuer<'static, KeyPair>), Error> {
    let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    let name = format!("issuer of {}", &host.name[..host.name.len().min(48)]);
    params.distinguished_name.push(DnType::CommonName, name);
    params.serial_number = Some(authority.serials.next());
    (params.not_before, params.not_after) = match kind {
        IssuerKind::ExpiredIntermediate => days(-730, -365),
        _ => days(-365, 365),
    };
    (params.is_ca, params.key_usages) = match kind {
        IssuerKind::NotACa => (IsCa::ExplicitNoCa, vec![KeyUsagePurpose::DigitalSignature]),
        _ => (
            IsCa::Ca(BasicConstraints::Constrained(0)),
            vec![
                KeyUsagePurpose::DigitalSignature,
                KeyUsagePurpose::KeyCertSign,
            ],
        ),
    };
    if kind == IssuerKind::Constrained {
        params.name_constraints = Some(NameConstraints {
            permitted_subtrees: vec![GeneralSubtree::DnsName(PERMITTED.to_owned())],
            excluded_subtrees: Vec::new(),
        });
    }
    let certificate = if kind == IssuerKind::Unknown {
        params.self_signed(&key)?
    } else {
        params.use_authority_key_identifier_extension = true;
        params.signed_by(&key, &authority.issuer)?
    };
    Ok((certificate.into(), Issuer::new(params, key)))
}

/// The moments so many days from now.
fn days(from: i32, to: i32) -> (OffsetDateTime, OffsetDateTime) {
    let now = OffsetDateTime::now_utc();
    (
        now + Duration::days(from.into()),
        now + Duration::days(to.into()),
    )
}

/// Accepts any certificate of a client.
#[derive(Debug)]
struct AcceptAnyClient {
    is_required: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ClientCertVerifier for AcceptAnyClient {
    fn client_auth_mandatory(&self) -> bool {
        self.is_required
    }

    fn root_hint_subjects(&self) -> &[rustls::DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
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
