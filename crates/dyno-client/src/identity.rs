//! The certificate by which a client identifies itself to servers, and its key.

use std::fmt;
use std::sync::Arc;

use pkcs8::EncryptedPrivateKeyInfo;
use pkcs8::der::SecretDocument;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;
use thiserror::Error;

use crate::cryptography;

const ENCRYPTED: [&str; 2] = [
    "-----BEGIN ENCRYPTED PRIVATE KEY-----",
    "-----END ENCRYPTED PRIVATE KEY-----",
];

/// A certificate, those of its authorities, and its key.
#[derive(Clone)]
pub struct Identity(pub(crate) Arc<CertifiedKey>);

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// Why a certificate or a key is of no use, and the cure.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum IdentityError {
    /// No certificate.
    #[error("no certificate in it; name a PEM file with BEGIN CERTIFICATE")]
    NoCertificate,
    /// A certificate that cannot be read.
    #[error("malformed certificate: {0}; write it again as PEM")]
    Certificate(String),
    /// No key.
    #[error("no private key in it; name the PEM file that has it: --key FILE")]
    NoKey,
    /// A key that cannot be read.
    #[error("malformed private key: {0}; write it again as PEM")]
    Key(String),
    /// A key without its password.
    #[error("the private key is encrypted; add --key-password-file FILE")]
    PasswordMissing,
    /// The password of another key.
    #[error(
        "the private key has another password; write it into the first line of --key-password-file"
    )]
    WrongPassword,
    /// A key that is encrypted in another way than PKCS#8 has it.
    #[error(
        "the private key is encrypted in an old way; convert it: openssl pkcs8 -topk8 -in OLD -out NEW"
    )]
    OldEncryption,
    /// The key of another certificate.
    #[error(
        "the private key is not that of the certificate; name the key that the certificate was made for"
    )]
    OtherKey,
}

impl IdentityError {
    /// Whether the file with the key is wrong, and not that with the certificate.
    #[must_use]
    pub const fn is_of_key(&self) -> bool {
        !matches!(self, Self::NoCertificate | Self::Certificate(_))
    }
}

impl Identity {
    /// Reads certificates and a key, which may be in one text, from PEM. The key is one of PKCS#1, SEC1 or PKCS#8, and only the last
    /// may be encrypted.
    ///
    /// # Errors
    ///
    /// Why they cannot be used.
    pub fn from_pem(
        certificates: &[u8],
        key: &[u8],
        password: Option<&[u8]>,
    ) -> Result<Self, IdentityError> {
        let chain = CertificateDer::pem_slice_iter(certificates).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|error| IdentityError::Certificate(error.to_string()))?;
        if chain.is_empty() {
            return Err(IdentityError::NoCertificate);
        }
        let key = private_key(key, password)?;
        let certified = CertifiedKey::from_der(chain, key, &cryptography::provider());
        certified
            .map(|key| Self(Arc::new(key)))
            .map_err(|error| match error {
                rustls::Error::InconsistentKeys(_) => IdentityError::OtherKey,
                rustls::Error::InvalidCertificate(why) => {
                    IdentityError::Certificate(why.to_string())
                }
                rustls::Error::General(why) => IdentityError::Key(why),
                other => IdentityError::Key(other.to_string()),
            })
    }
}

fn private_key(
    pem: &[u8],
    password: Option<&[u8]>,
) -> Result<PrivateKeyDer<'static>, IdentityError> {
    use rustls::pki_types::pem::Error;
    let text = String::from_utf8_lossy(pem);
    if let Some(begin) = text.find(ENCRYPTED[0]) {
        let malformed = || IdentityError::Key("its PEM block is broken".to_owned());
        let end = text
            .find(ENCRYPTED[1])
            .filter(|end| *end > begin)
            .ok_or_else(malformed)?;
        let block = &text[begin..end + ENCRYPTED[1].len()];
        return decrypted(block, password.ok_or(IdentityError::PasswordMissing)?);
    }
    if text.contains("Proc-Type: 4,ENCRYPTED") {
        return Err(IdentityError::OldEncryption);
    }
    PrivateKeyDer::from_pem_slice(pem).map_err(|error| match error {
        Error::NoItemsFound => IdentityError::NoKey,
        error => IdentityError::Key(error.to_string()),
    })
}

fn decrypted(pem: &str, password: &[u8]) -> Result<PrivateKeyDer<'static>, IdentityError> {
    let malformed = |error: &dyn fmt::Display| IdentityError::Key(error.to_string());
    let (_, encrypted) = SecretDocument::from_pem(pem).map_err(|error| malformed(&error))?;
    let encrypted = EncryptedPrivateKeyInfo::try_from(encrypted.as_bytes());
    let key = encrypted
        .map_err(|error| malformed(&error))?
        .decrypt(password);
    // Bytes decrypted with a wrong password are no key: which error that is depends on them.
    let key = key.map_err(|_| IdentityError::WrongPassword)?;
    Ok(PrivatePkcs8KeyDer::from(key.as_bytes().to_vec()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    macro_rules! pem {
        ($name:literal) => {
            include_bytes!(concat!("../tests/pem/", $name, ".pem")).as_slice()
        };
    }

    #[test]
    fn keys_of_every_form_are_read() {
        let certificate = pem!("certificate");
        let both = [pem!("sec1"), certificate].concat();
        for (certificate, key, password) in [
            (certificate, pem!("pkcs8"), None),
            (certificate, pem!("sec1"), Some(&b"not needed"[..])),
            (certificate, pem!("encrypted"), Some(b"secret")),
            (pem!("certificate-of-pkcs1"), pem!("pkcs1"), None),
            (&both, &both, None),
        ] {
            let identity = Identity::from_pem(certificate, key, password).unwrap();
            assert_eq!(identity.0.cert.len(), 1);
        }
    }

    #[test]
    fn what_is_wrong_with_a_file_is_named() {
        type Case<'p> = (&'p [u8], &'p [u8], Option<&'p [u8]>, IdentityError);
        let certificate = pem!("certificate");
        let broken = pem!("encrypted").split_at(100).0;
        let cases: [Case<'_>; 7] = [
            (b"", pem!("pkcs8"), None, IdentityError::NoCertificate),
            (certificate, certificate, None, IdentityError::NoKey),
            (
                certificate,
                pem!("encrypted"),
                None,
                IdentityError::PasswordMissing,
            ),
            (
                certificate,
                pem!("encrypted"),
                Some(b"other"),
                IdentityError::WrongPassword,
            ),
            (
                certificate,
                pem!("old"),
                Some(b"secret"),
                IdentityError::OldEncryption,
            ),
            (certificate, pem!("pkcs1"), None, IdentityError::OtherKey),
            (
                certificate,
                broken,
                Some(b"secret"),
                IdentityError::Key("its PEM block is broken".to_owned()),
            ),
        ];
        for (certificate, key, password, expected) in cases {
            let refused = Identity::from_pem(certificate, key, password).unwrap_err();
            assert_eq!(refused, expected);
            assert_eq!(
                expected.is_of_key(),
                expected != IdentityError::NoCertificate
            );
        }
        let block = |label: &str| format!("-----BEGIN {label}-----\nAAAA\n-----END {label}-----\n");
        let refused = Identity::from_pem(block("CERTIFICATE").as_bytes(), pem!("pkcs8"), None);
        assert!(
            matches!(refused, Err(IdentityError::Certificate(_))),
            "{refused:?}"
        );
        let refused = Identity::from_pem(certificate, block("PRIVATE KEY").as_bytes(), None);
        assert!(matches!(refused, Err(IdentityError::Key(_))), "{refused:?}");
    }
}
