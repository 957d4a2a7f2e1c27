//! The TLS of a host with its certificate: their JSON form, and the refusal of wrong ones.

use serde::Deserialize;

use super::base64_bytes::Base64;

/// What rustls can send in a record.
const RECORD_BYTES: std::ops::RangeInclusive<usize> = 27..=16_384;
const MOST_TICKETS: usize = 100;

/// TLS on port 443.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct TlsScript {
    pub(crate) before: Option<Before>,
    pub(crate) raw: bool,
    pub(crate) versions: Vec<TlsVersion>,
    pub(crate) alpn: Vec<String>,
    pub(crate) client_certificate: ClientCertificate,
    /// Largest content of a record.
    pub(crate) record_bytes: Option<usize>,
    /// Tickets for later sessions that are sent over TLS 1.3.
    pub(crate) tickets: usize,
    pub(crate) certificate: CertificateScript,
}

impl Default for TlsScript {
    fn default() -> Self {
        Self {
            before: None,
            raw: false,
            versions: vec![TlsVersion::V12, TlsVersion::V13],
            alpn: vec!["h2".to_owned(), "http/1.1".to_owned()],
            client_certificate: ClientCertificate::None,
            record_bytes: None,
            tickets: 0,
            certificate: CertificateScript::default(),
        }
    }
}

impl TlsScript {
    /// What is wrong with it, although its JSON is right.
    pub(super) fn mistake(&self) -> Option<&'static str> {
        let certificate = &self.certificate;
        let is_weak = certificate.hash != Hash::Sha256;
        if self.versions.is_empty() {
            return Some("\"versions\" is empty; allowed: \"1.2\", \"1.3\"");
        }
        if certificate.not_before_days >= certificate.not_after_days {
            return Some("\"not_before_days\" must be less than \"not_after_days\"");
        }
        if self
            .record_bytes
            .is_some_and(|it| !RECORD_BYTES.contains(&it))
        {
            return Some("\"record_bytes\" is 27 to 16384");
        }
        if self.tickets > MOST_TICKETS {
            return Some("\"tickets\" is at most 100");
        }
        if is_weak && certificate.issuer != IssuerKind::Intermediate {
            return Some("\"hash\" needs \"issuer\": \"intermediate\"");
        }
        if certificate.staple.is_some() && (is_weak || certificate.ocsp.is_some()) {
            return Some("\"staple\" excludes \"ocsp\" and \"hash\"; leave one out");
        }
        if certificate.issuer == IssuerKind::Itself
            && (certificate.key == Key::Rsa1024 || certificate.staple.is_some())
        {
            return Some("\"issuer\": \"self\" excludes \"staple\" and \"key\": \"rsa_1024\"");
        }
        None
    }
}

/// What happens in place of a handshake, once the client's hello has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Before {
    Stall,
    Close,
    Reset,
    Alert(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum TlsVersion {
    #[serde(rename = "1.2")]
    V12,
    #[serde(rename = "1.3")]
    V13,
}

/// Whether a certificate of the client is wanted; any is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClientCertificate {
    None,
    Requested,
    Required,
}

/// The certificate of a host.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CertificateScript {
    /// Names and IP addresses; `None`: the name of the host.
    pub(crate) names: Option<Vec<String>>,
    /// Further names of the type `dNSName`, even if they are IP addresses.
    pub(crate) dns_names: Vec<String>,
    /// Default: the first of `names`.
    pub(crate) common_name: Option<String>,
    pub(crate) not_before_days: i32,
    pub(crate) not_after_days: i32,
    pub(crate) issuer: IssuerKind,
    pub(crate) usage: Usage,
    pub(crate) key_usage: KeyUsage,
    pub(crate) key: Key,
    pub(crate) hash: Hash,
    pub(crate) extension: Option<Extension>,
    /// A response of OCSP by the issuer to staple.
    pub(crate) staple: Option<Staple>,
    /// Any bytes to staple in its place.
    pub(crate) ocsp: Option<Base64>,
}

impl Default for CertificateScript {
    fn default() -> Self {
        Self {
            names: None,
            dns_names: Vec::new(),
            common_name: None,
            not_before_days: -30,
            not_after_days: 30,
            issuer: IssuerKind::Room,
            usage: Usage::Server,
            key_usage: KeyUsage::Default,
            key: Key::Ecdsa,
            hash: Hash::Sha256,
            extension: None,
            staple: None,
            ocsp: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum IssuerKind {
    Room,
    #[serde(rename = "self")]
    Itself,
    Unknown,
    /// Unknown, and part of the chain.
    UnknownSent,
    Intermediate,
    MissingIntermediate,
    ExpiredIntermediate,
    NotACa,
    /// An intermediate certificate without basic constraints.
    NoBasicConstraints,
    /// An intermediate certificate whose key must not sign certificates.
    CannotSign,
    /// Permitted: names in another domain.
    Constrained,
    /// Permitted: the name of the host.
    Permitted,
    /// Excluded: the name of the host.
    Excluded,
    TwoIntermediates,
    /// Two intermediate certificates, the upper one sent first.
    ReversedIntermediates,
    /// Two intermediate certificates, where the upper one permits none below it.
    PathTooLong,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Usage {
    Server,
    Client,
    Any,
    None,
}

/// What the key of a certificate may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum KeyUsage {
    Default,
    /// Sign certificates only.
    CertificateSign,
    None,
}

/// The hash of the signature of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Hash {
    Sha256,
    Sha1,
    Md5,
}

/// A further extension of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Extension {
    Unknown,
    UnknownCritical,
    /// The feature of RFC 7633: a handshake without a stapled response is invalid.
    MustStaple,
}

/// What a stapled response of OCSP says of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Staple {
    Good,
    Revoked,
    /// The certificate was good until last week.
    Outdated,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Key {
    Ecdsa,
    Rsa,
    #[serde(rename = "rsa_1024")]
    Rsa1024,
}
