//! Issues the certificates of one host.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

use dyno_web::Fault;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SerialNumber,
};
use rustls::pki_types::CertificateDer;
use time::{Duration, OffsetDateTime};

/// The name in the certificate that [`Flavour::WrongHost`] shows.
const ANOTHER_HOST: &str = "another-host.invalid";
/// Maximum length of a common name in X.520.
const LONGEST_COMMON_NAME: usize = 64;

/// Kind of certificate: valid, or with a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    Ordinary,
    Expired,
    WrongHost,
    SelfSigned,
}

impl Flavour {
    pub(crate) const COUNT: usize = 4;

    /// The kind of certificate for a fault of the handshake.
    pub(crate) fn of(fault: Option<Fault>) -> Self {
        match fault {
            Some(Fault::ExpiredCertificate) => Self::Expired,
            Some(Fault::WrongHost) => Self::WrongHost,
            Some(Fault::SelfSigned) => Self::SelfSigned,
            _ => Self::Ordinary,
        }
    }
}

/// Serial numbers that are unique in a process: NSS refuses two certificates of one issuer with the same number, even
/// if they are otherwise equal, so the default of deriving the number from the shared key does not work.
pub(crate) struct Serials {
    prefix: u64,
    next: AtomicU64,
}

impl Serials {
    pub(crate) fn new() -> Self {
        Self {
            // 63 bits, the top one set: positive, and always of the same length.
            prefix: RandomState::new().hash_one("serial") >> 1 | 1 << 62,
            next: AtomicU64::new(1),
        }
    }

    pub(crate) fn next(&self) -> SerialNumber {
        let counted = self.next.fetch_add(1, Ordering::Relaxed);
        let bytes = [self.prefix.to_be_bytes(), counted.to_be_bytes()].concat();
        SerialNumber::from_slice(&bytes)
    }
}

/// Issues the certificate of `host` (a name or an IP address).
pub(crate) fn mint(
    host: &str,
    flavour: Flavour,
    key: &KeyPair,
    issuer: &Issuer<'_, KeyPair>,
    serial: SerialNumber,
) -> Result<CertificateDer<'static>, rcgen::Error> {
    let name = match flavour {
        Flavour::WrongHost => ANOTHER_HOST,
        _ => host,
    };
    let is_ecdsa = key.is_compatible(&rcgen::PKCS_ECDSA_P256_SHA256);
    let mut params = params(vec![name.to_owned()], is_ecdsa)?;
    // Apple's limit of 398 days is the strictest; the certificate is also valid for clocks that are slow.
    let now = OffsetDateTime::now_utc();
    (params.not_before, params.not_after) = match flavour {
        Flavour::Expired => (now - Duration::days(730), now - Duration::days(365)),
        _ => (now - Duration::days(30), now + Duration::days(360)),
    };
    params.serial_number = Some(serial);
    let certificate = match flavour {
        Flavour::SelfSigned => params.self_signed(key)?,
        _ => params.signed_by(key, issuer)?,
    };
    Ok(certificate.into())
}

/// The parts that the certificates of all hosts share; `names` are names or IP addresses.
pub(crate) fn params(
    names: Vec<String>,
    is_ecdsa: bool,
) -> Result<CertificateParams, rcgen::Error> {
    let mut distinguished_name = DistinguishedName::new();
    if let Some(name) = names
        .first()
        .filter(|name| name.len() <= LONGEST_COMMON_NAME)
    {
        distinguished_name.push(DnType::CommonName, name);
    }
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = distinguished_name;
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![
        KeyUsagePurpose::DigitalSignature,
        KeyUsagePurpose::KeyEncipherment,
    ];
    if is_ecdsa {
        // RFC 8813: an elliptic-curve key must not have keyEncipherment.
        params.key_usages.truncate(1);
    }
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}
