//! The TLS of a scripted host: versions, protocols, and a certificate with one thing wrong, or none.

use std::sync::Arc;

use dyno_web::KeyKind;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    NameConstraints, PublicKeyData, SanType, SignatureAlgorithm,
};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::crypto::aws_lc_rs::Ticketer;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::{CertifiedKey, SigningKey};
use rustls::{DigitallySignedStruct, ServerConfig, SignatureScheme, version};
use time::{Duration, OffsetDateTime};

use super::ocsp;
use super::weak_rsa::{HashedIssuer, ShortKey};
use crate::authority::Authority;
use crate::error::Error;
use crate::leaf;
use crate::scripts::{
    CertificateScript, ClientCertificate, Extension, Hash, HostScript, IssuerKind, Key, KeyUsage,
    TlsVersion, Usage,
};
use crate::tls::{Fixed, Tls};

/// The domain whose names a constrained issuer may certify.
const PERMITTED: &str = "other.test";
const RECORD_HEAD: usize = 5;
/// The extension of RFC 7633.
const TLS_FEATURE: [u64; 9] = [1, 3, 6, 1, 5, 5, 7, 1, 24];
/// Below the number that RFC 5612 reserves for examples.
const UNKNOWN_EXTENSION: [u64; 8] = [1, 3, 6, 1, 4, 1, 32_473, 1];

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
    let chain = certified(host, tls.authority())?;
    let mut config = builder.with_cert_resolver(Arc::new(Fixed(Arc::new(chain))));
    config.alpn_protocols = script
        .alpn
        .iter()
        .map(|name| name.clone().into_bytes())
        .collect();
    // Every handshake is a full one, so that it shows what the client does with the certificate.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = script.tickets;
    if script.tickets > 0 {
        config.ticketer = Ticketer::new()?;
    }
    // Rustls counts the head of a record, too.
    config.max_fragment_size = script.record_bytes.map(|content| content + RECORD_HEAD);
    Ok(Arc::new(config))
}

/// The chain that a host sends, with its key.
fn certified(host: &HostScript, authority: &Authority) -> Result<CertifiedKey, Error> {
    let script = &host.tls.certificate;
    let (public, signing): (PublicKey, Arc<dyn SigningKey>) = match script.key {
        Key::Rsa1024 => {
            let key = ShortKey::generate()?;
            (PublicKey::of(&key), Arc::new(key))
        }
        kind => {
            let key = authority.key(key_kind(kind))?;
            (PublicKey::of(&key.pair), key.signing.clone())
        }
    };
    let mut params = leaf_params(host, script)?;
    params.serial_number = Some(authority.serials.next());
    let (mut chain, staple) = if script.issuer == IssuerKind::Itself {
        let key = authority.key(key_kind(script.key))?;
        (vec![params.self_signed(&key.pair)?.into()], None)
    } else if script.hash != Hash::Sha256 {
        (weakly_signed(host, &params, &public, authority)?, None)
    } else if script.issuer == IssuerKind::Room {
        let leaf = params.signed_by(&public, &authority.issuer)?;
        let staple = staple(script, leaf.der(), authority.issuer.key())?;
        (vec![leaf.into()], staple)
    } else {
        let (issuers, issuer) = issuers(host, script.issuer, authority)?;
        let leaf = params.signed_by(&public, &issuer)?;
        let staple = staple(script, leaf.der(), issuer.key())?;
        let chain = std::iter::once(leaf.into()).chain(issuers).collect();
        (chain, staple)
    };
    if script.issuer == IssuerKind::ReversedIntermediates {
        chain[1..].reverse();
    }
    let mut certified = CertifiedKey::new(chain, signing);
    let ocsp = script.ocsp.as_ref().map(|response| response.0.clone());
    certified.ocsp = staple.or(ocsp);
    Ok(certified)
}

fn key_kind(key: Key) -> KeyKind {
    match key {
        Key::Ecdsa => KeyKind::Ecdsa,
        Key::Rsa | Key::Rsa1024 => KeyKind::Rsa,
    }
}

fn staple(
    script: &CertificateScript,
    certificate: &[u8],
    issuer: &KeyPair,
) -> Result<Option<Vec<u8>>, rcgen::Error> {
    let staple = script.staple;
    let response = staple.map(|staple| ocsp::response(certificate, issuer, staple));
    response.transpose()
}

/// A public key of any kind.
struct PublicKey {
    der: Vec<u8>,
    algorithm: &'static SignatureAlgorithm,
}

impl PublicKey {
    fn of(key: &impl PublicKeyData) -> Self {
        Self {
            der: key.der_bytes().to_vec(),
            algorithm: key.algorithm(),
        }
    }
}

impl PublicKeyData for PublicKey {
    fn der_bytes(&self) -> &[u8] {
        &self.der
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        self.algorithm
    }
}

fn leaf_params(
    host: &HostScript,
    script: &CertificateScript,
) -> Result<CertificateParams, rcgen::Error> {
    let names = script.names.clone();
    let names = names.unwrap_or_else(|| vec![host.name.clone()]);
    let mut params = leaf::params(names, script.key == Key::Ecdsa)?;
    for name in &script.dns_names {
        let name = SanType::DnsName(name.as_str().try_into()?);
        params.subject_alt_names.push(name);
    }
    if let Some(name) = &script.common_name {
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
    }
    (params.not_before, params.not_after) = days(script.not_before_days, script.not_after_days);
    params.extended_key_usages = match script.usage {
        Usage::Server => vec![ExtendedKeyUsagePurpose::ServerAuth],
        Usage::Client => vec![ExtendedKeyUsagePurpose::ClientAuth],
        Usage::Any => vec![ExtendedKeyUsagePurpose::Any],
        Usage::None => Vec::new(),
    };
    match script.key_usage {
        KeyUsage::Default => {}
        KeyUsage::CertificateSign => params.key_usages = vec![KeyUsagePurpose::KeyCertSign],
        KeyUsage::None => params.key_usages.clear(),
    }
    params
        .custom_extensions
        .extend(script.extension.map(custom_extension));
    Ok(params)
}

fn custom_extension(kind: Extension) -> CustomExtension {
    if kind == Extension::MustStaple {
        // A sequence of the one feature `status_request` (5).
        return CustomExtension::from_oid_content(&TLS_FEATURE, vec![0x30, 3, 2, 1, 5]);
    }
    // The value is NULL.
    let mut unknown = CustomExtension::from_oid_content(&UNKNOWN_EXTENSION, vec![5, 0]);
    unknown.set_criticality(kind == Extension::UnknownCritical);
    unknown
}

/// Certificates of issuers as they are sent, that of the last issuer first, and the last issuer. Their names and keys
/// belong to one host, so that no client finds them among those of other hosts.
fn issuers(
    host: &HostScript,
    kind: IssuerKind,
    authority: &Authority,
) -> Result<(Vec<CertificateDer<'static>>, Issuer<'static, KeyPair>), Error> {
    let new_key = || KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256);
    let key = new_key()?;
    let mut params = issuer_params(host, "issuer", authority);
    shape(&mut params, kind, &host.name);
    let certificate = match kind {
        IssuerKind::Unknown | IssuerKind::UnknownSent => {
            params.use_authority_key_identifier_extension = false;
            params.self_signed(&key)?
        }
        IssuerKind::TwoIntermediates
        | IssuerKind::ReversedIntermediates
        | IssuerKind::PathTooLong => {
            let (upper, issuer) = {
                let key = new_key()?;
                let mut params = issuer_params(host, "upper issuer", authority);
                let below = u8::from(kind != IssuerKind::PathTooLong);
                params.is_ca = IsCa::Ca(BasicConstraints::Constrained(below));
                let upper = params.signed_by(&key, &authority.issuer)?;
                (upper, Issuer::new(params, key))
            };
            let certificate = params.signed_by(&key, &issuer)?;
            let chain = vec![certificate.into(), upper.into()];
            return Ok((chain, Issuer::new(params, key)));
        }
        _ => params.signed_by(&key, &authority.issuer)?,
    };
    let is_sent = !matches!(kind, IssuerKind::Unknown | IssuerKind::MissingIntermediate);
    let chain = is_sent.then(|| certificate.into()).into_iter().collect();
    Ok((chain, Issuer::new(params, key)))
}

/// The parts that the certificates of all issuers share.
fn issuer_params(host: &HostScript, role: &str, authority: &Authority) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    let name = format!("{role} of {}", &host.name[..host.name.len().min(48)]);
    params.distinguished_name.push(DnType::CommonName, name);
    params.serial_number = Some(authority.serials.next());
    (params.not_before, params.not_after) = days(-365, 365);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyCertSign,
    ];
    params.use_authority_key_identifier_extension = true;
    params
}

/// Gives an issuer what is special about its kind.
fn shape(params: &mut CertificateParams, kind: IssuerKind, host: &str) {
    let domain = |name: &str| vec![GeneralSubtree::DnsName(name.to_owned())];
    let constraints = |permitted, excluded| {
        Some(NameConstraints {
            permitted_subtrees: permitted,
            excluded_subtrees: excluded,
        })
    };
    match kind {
        IssuerKind::ExpiredIntermediate => {
            (params.not_before, params.not_after) = days(-730, -365);
        }
        IssuerKind::NotACa => {
            params.is_ca = IsCa::ExplicitNoCa;
            params.key_usages.truncate(1);
        }
        IssuerKind::NoBasicConstraints => params.is_ca = IsCa::NoCa,
        IssuerKind::CannotSign => params.key_usages.truncate(1),
        IssuerKind::Constrained => {
            params.name_constraints = constraints(domain(PERMITTED), Vec::new());
        }
        IssuerKind::Permitted => params.name_constraints = constraints(domain(host), Vec::new()),
        IssuerKind::Excluded => params.name_constraints = constraints(Vec::new(), domain(host)),
        _ => {}
    }
}

/// A chain whose first certificate is signed with a broken hash, by an intermediate authority with an RSA key.
fn weakly_signed(
    host: &HostScript,
    params: &CertificateParams,
    public: &PublicKey,
    authority: &Authority,
) -> Result<Vec<CertificateDer<'static>>, Error> {
    let pair = &authority.key(KeyKind::Rsa)?.pair;
    let issuer = issuer_params(host, "issuer", authority);
    let intermediate = issuer.signed_by(pair, &authority.issuer)?;
    let key = HashedIssuer::new(pair, host.tls.certificate.hash)?;
    let issuer = Issuer::new(issuer, key);
    let leaf = params.signed_by(public, &issuer)?;
    let leaf = CertificateDer::from(issuer.key().renamed(leaf.der()));
    Ok(vec![leaf, intermediate.into()])
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use rustls::RootCertStore;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    use rustls::pki_types::ServerName;

    use super::*;
    use crate::scripts::Scripts;

    /// The chain of the host `a.b.test` with a certificate of this JSON.
    fn chain(certificate: &str, authority: &Authority) -> CertifiedKey {
        let script = format!(
            r#"{{"hosts": [{{"name": "a.b.test", "tls": {{"certificate": {{{certificate}}}}}}}]}}"#
        );
        let scripts = Scripts::parse(&script, None).unwrap();
        certified(&scripts.host(0).script, authority).unwrap()
    }

    /// What rustls says of a chain, for `a.b.test`; empty if it is valid.
    fn verdict(chain: &CertifiedKey, authority: &Authority, name: &str) -> String {
        let mut roots = RootCertStore::empty();
        roots.add(authority.der().to_vec().into()).unwrap();
        let provider = authority.provider().clone();
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let name = ServerName::try_from(name).unwrap();
        let (leaf, issuers) = chain.cert.split_first().unwrap();
        let verifier = verifier.build().unwrap();
        let found = verifier.verify_server_cert(leaf, issuers, &name, &[], UnixTime::now());
        found
            .err()
            .map_or_else(String::new, |error| format!("{error:?}"))
    }

    #[test]
    fn each_kind_of_certificate_has_one_thing_wrong() {
        let authority = Authority::new().unwrap();
        for (certificate, expected) in [
            ("", ""),
            (r#""issuer": "intermediate""#, ""),
            (r#""issuer": "two_intermediates""#, ""),
            (r#""issuer": "reversed_intermediates""#, ""),
            (r#""issuer": "permitted""#, ""),
            (r#""usage": "none", "key_usage": "none""#, ""),
            (r#""extension": "unknown""#, ""),
            (r#""extension": "must_staple""#, ""),
            (r#""key": "rsa""#, ""),
            (r#""names": ["x.test", "a.b.test"]"#, ""),
            (r#""names": ["A.B.TEST"]"#, ""),
            (r#""names": ["*.b.test"]"#, ""),
            (r#""names": ["*.test"]"#, "NotValidForName"),
            (
                r#""names": [], "common_name": "a.b.test""#,
                "NotValidForName",
            ),
            (r#""not_before_days": 1"#, "NotValidYet"),
            (r#""not_after_days": -1"#, "Expired"),
            (r#""issuer": "expired_intermediate""#, "Expired"),
            (r#""issuer": "missing_intermediate""#, "UnknownIssuer"),
            (r#""issuer": "unknown""#, "UnknownIssuer"),
            (r#""issuer": "unknown_sent""#, "UnknownIssuer"),
            (r#""issuer": "self""#, "UnknownIssuer"),
            (r#""issuer": "not_a_ca""#, "EndEntityUsedAsCa"),
            (r#""issuer": "no_basic_constraints""#, "EndEntityUsedAsCa"),
            (r#""issuer": "path_too_long""#, "PathLenConstraintViolated"),
            (r#""issuer": "constrained""#, "NameConstraintViolation"),
            (r#""issuer": "excluded""#, "NameConstraintViolation"),
            (r#""usage": "client""#, "InvalidPurpose"),
            (
                r#""extension": "unknown_critical""#,
                "UnsupportedCriticalExtension",
            ),
            (
                r#""issuer": "intermediate", "hash": "sha1""#,
                "UnsupportedSignatureAlgorithm",
            ),
            (
                r#""issuer": "intermediate", "hash": "md5""#,
                "UnsupportedSignatureAlgorithm",
            ),
        ] {
            let found = verdict(&chain(certificate, &authority), &authority, "a.b.test");
            assert!(
                found.contains(expected) && found.is_empty() == expected.is_empty(),
                "{certificate}: {found}"
            );
        }
    }

    #[test]
    fn an_address_can_be_of_either_type() {
        let authority = Authority::new().unwrap();
        for (certificate, is_valid) in [
            (r#""names": ["10.1.2.3"]"#, true),
            (r#""names": [], "dns_names": ["10.1.2.3"]"#, false),
        ] {
            let found = verdict(&chain(certificate, &authority), &authority, "10.1.2.3");
            assert_eq!(found.is_empty(), is_valid, "{certificate}: {found}");
        }
    }

    /// What `openssl` prints; `None` without it.
    fn openssl(folder: &Path, arguments: &str) -> Option<String> {
        let mut command = Command::new("openssl");
        command.current_dir(folder).args(arguments.split(' '));
        let output = command.output().ok()?;
        let out = [output.stdout, output.stderr].concat();
        Some(String::from_utf8_lossy(&out).into_owned())
    }

    /// Writes a chain for `openssl`: `leaf.pem`, `issuers.pem`, `root.pem` and the stapled response.
    fn write_chain(folder: &Path, chain: &CertifiedKey, authority: &Authority) {
        let pem = |der: &[u8]| {
            use base64::prelude::{BASE64_STANDARD, Engine};
            let (first, last) = ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----");
            let text = BASE64_STANDARD.encode(der);
            let lines: Vec<&str> = (0..text.len())
                .step_by(64)
                .map(|start| &text[start..text.len().min(start + 64)])
                .collect();
            format!("{first}\n{}\n{last}\n", lines.join("\n"))
        };
        let issuers: String = chain.cert[1..].iter().map(|it| pem(it)).collect();
        fs::write(folder.join("leaf.pem"), pem(&chain.cert[0])).unwrap();
        fs::write(folder.join("issuers.pem"), issuers).unwrap();
        fs::write(folder.join("root.pem"), authority.pem()).unwrap();
        fs::write(
            folder.join("response.der"),
            chain.ocsp.as_deref().unwrap_or_default(),
        )
        .unwrap();
    }

    /// A new folder for a test.
    fn folder(name: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn weak_certificates_are_valid_but_for_their_weakness() {
        let authority = Authority::new().unwrap();
        let folder = folder("weak-certificates");
        for (certificate, expected) in [
            (r#""key": "rsa_1024""#, "key too weak"),
            (
                r#""issuer": "intermediate", "hash": "sha1""#,
                "digest algorithm too weak",
            ),
            (
                r#""issuer": "intermediate", "hash": "md5""#,
                "digest algorithm too weak",
            ),
        ] {
            write_chain(&folder, &chain(certificate, &authority), &authority);
            let verify = |level: u8| {
                let untrusted = if certificate.contains("hash") {
                    "-untrusted issuers.pem "
                } else {
                    ""
                };
                openssl(
                    &folder,
                    &format!("verify -auth_level {level} -CAfile root.pem {untrusted}leaf.pem"),
                )
            };
            let Some(lax) = verify(0) else {
                eprintln!("skipped: no openssl here");
                break;
            };
            assert!(lax.contains("leaf.pem: OK"), "{certificate}: {lax}");
            let strict = verify(2).unwrap();
            assert!(strict.contains(expected), "{certificate}: {strict}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_stapled_response_says_what_the_script_wants() {
        let authority = Authority::new().unwrap();
        let folder = folder("stapled-responses");
        for (staple, expected) in [
            ("good", "leaf.pem: good"),
            ("revoked", "leaf.pem: revoked"),
            ("outdated", "Status times invalid"),
        ] {
            let chain = chain(&format!(r#""staple": "{staple}""#), &authority);
            assert!(chain.ocsp.is_some());
            write_chain(&folder, &chain, &authority);
            let arguments = "ocsp -respin response.der -no_nonce -CAfile root.pem -issuer root.pem -cert leaf.pem";
            let Some(found) = openssl(&folder, arguments) else {
                eprintln!("skipped: no openssl here");
                break;
            };
            assert!(found.contains("Response verify OK"), "{staple}: {found}");
            assert!(found.contains(expected), "{staple}: {found}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_short_key_signs_handshakes() {
        let authority = Authority::new().unwrap();
        let key = chain(r#""key": "rsa_1024""#, &authority).key;
        for scheme in [
            SignatureScheme::RSA_PSS_SHA256,
            SignatureScheme::RSA_PKCS1_SHA256,
        ] {
            let signer = key.choose_scheme(&[scheme]).unwrap();
            assert_eq!(signer.scheme(), scheme);
            assert_eq!(signer.sign(b"message").unwrap().len(), 128);
        }
        assert!(key.choose_scheme(&[SignatureScheme::ED25519]).is_none());
    }
}
