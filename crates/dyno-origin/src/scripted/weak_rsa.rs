//! RSA keys that are too short, and certificates with signatures of broken hashes: aws-lc-rs makes neither.

use std::sync::Arc;

use md5::Md5;
use rcgen::{KeyPair, PublicKeyData};
use rsa::pkcs1::EncodeRsaPublicKey;
use rsa::pkcs8::DecodePrivateKey;
use rsa::rand_core::OsRng;
use rsa::sha2::{Digest, Sha256};
use rsa::{Pkcs1v15Sign, Pss, RsaPrivateKey};
use rustls::sign::{Signer, SigningKey};
use rustls::{SignatureAlgorithm, SignatureScheme};
use sha1::Sha1;

use crate::scripts::Hash;

/// The object identifier `sha256WithRSAEncryption` in DER; its last byte names the hash (RFC 8017, appendix C).
const RSA_WITH_SHA256: [u8; 11] = [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];

/// A key of 1,024 bits that certifies a host and signs handshakes.
#[derive(Debug)]
pub(super) struct ShortKey {
    key: Arc<RsaPrivateKey>,
    /// The public key in PKCS #1.
    public: Vec<u8>,
}

impl ShortKey {
    pub(super) fn generate() -> Result<Self, rcgen::Error> {
        let key = RsaPrivateKey::new(&mut OsRng, 1_024).map_err(refused)?;
        let public = key.to_public_key().to_pkcs1_der().map_err(refused)?;
        Ok(Self {
            public: public.as_bytes().to_vec(),
            key: Arc::new(key),
        })
    }
}

impl PublicKeyData for ShortKey {
    fn der_bytes(&self) -> &[u8] {
        &self.public
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        &rcgen::PKCS_RSA_SHA256
    }
}

impl SigningKey for ShortKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let schemes = [
            SignatureScheme::RSA_PSS_SHA256,
            SignatureScheme::RSA_PKCS1_SHA256,
        ];
        let scheme = schemes.into_iter().find(|it| offered.contains(it))?;
        let key = self.key.clone();
        Some(Box::new(ShortSigner { key, scheme }))
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::RSA
    }
}

/// Signs one handshake.
#[derive(Debug)]
struct ShortSigner {
    key: Arc<RsaPrivateKey>,
    scheme: SignatureScheme,
}

impl Signer for ShortSigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rustls::Error> {
        let digest = Sha256::digest(message);
        let signed = if self.scheme == SignatureScheme::RSA_PSS_SHA256 {
            let padding = Pss::new_with_salt::<Sha256>(digest.len());
            self.key.sign_with_rng(&mut OsRng, padding, &digest)
        } else {
            self.key.sign(Pkcs1v15Sign::new::<Sha256>(), &digest)
        };
        signed.map_err(|error| rustls::Error::General(error.to_string()))
    }

    fn scheme(&self) -> SignatureScheme {
        self.scheme
    }
}

/// An issuer's RSA key that signs certificates with a hash of its choice. A certificate must then pass through
/// [`Self::renamed`].
pub(super) struct HashedIssuer<'a> {
    pair: &'a KeyPair,
    key: RsaPrivateKey,
    hash: Hash,
}

impl<'a> HashedIssuer<'a> {
    /// Uses a pair of RSA keys.
    pub(super) fn new(pair: &'a KeyPair, hash: Hash) -> Result<Self, rcgen::Error> {
        let key = RsaPrivateKey::from_pkcs8_der(pair.serialized_der()).map_err(refused)?;
        Ok(Self { pair, key, hash })
    }

    /// The certificate, or the part that is signed, with the name of this hash in place of SHA-256; it has the same length.
    pub(super) fn renamed(&self, der: &[u8]) -> Vec<u8> {
        let mut renamed = der.to_vec();
        let last = match self.hash {
            Hash::Md5 => 4,
            Hash::Sha1 => 5,
            Hash::Sha256 => 11,
        };
        let length = RSA_WITH_SHA256.len();
        for start in 0..der.len().saturating_sub(length) {
            if der[start..start + length] == RSA_WITH_SHA256 {
                renamed[start + length - 1] = last;
            }
        }
        renamed
    }
}

impl PublicKeyData for HashedIssuer<'_> {
    fn der_bytes(&self) -> &[u8] {
        self.pair.der_bytes()
    }

    fn algorithm(&self) -> &'static rcgen::SignatureAlgorithm {
        &rcgen::PKCS_RSA_SHA256
    }
}

impl rcgen::SigningKey for HashedIssuer<'_> {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        let message = self.renamed(message);
        let signed = match self.hash {
            Hash::Md5 => self
                .key
                .sign(Pkcs1v15Sign::new::<Md5>(), &Md5::digest(message)),
            Hash::Sha1 => self
                .key
                .sign(Pkcs1v15Sign::new::<Sha1>(), &Sha1::digest(message)),
            Hash::Sha256 => self
                .key
                .sign(Pkcs1v15Sign::new::<Sha256>(), &Sha256::digest(message)),
        };
        signed.map_err(refused)
    }
}

fn refused(error: impl std::fmt::Display) -> rcgen::Error {
    rcgen::Error::RingKeyRejected(error.to_string())
}
