//! The room's certificate authority.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::thread;

use dyno_web::{Fault, Handshake, KeyKind, Web};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, RsaKeySize,
};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::{CertifiedKey, SigningKey};
use time::{Duration, OffsetDateTime};

use crate::cache::Cache;
use crate::error::Error;
use crate::leaf::{self, Flavour, Serials};

const SHARDS: usize = 64;
/// Hosts per shard whose certificates are kept although they were not prepared: 65,536 in total.
const UNPREPARED: usize = 1_024;
const VARIANTS: usize = Flavour::COUNT * 2;
/// File of the RSA key of the certificates, in PKCS #8.
const RSA_KEY: &str = "leaf-rsa-2048.pk8";

/// The key of the certificates in two forms: to be certified, and to sign handshakes.
pub(crate) struct LeafKey {
    pub(crate) pair: KeyPair,
    pub(crate) signing: Arc<dyn SigningKey>,
}

type Variants = [Option<Arc<CertifiedKey>>; VARIANTS];

/// The certificates of some of the hosts.
#[derive(Default)]
struct Shard {
    leaves: HashMap<Box<str>, Variants>,
    /// Hosts that were not prepared, in the order of their first handshakes.
    unprepared: VecDeque<Box<str>>,
}

impl Shard {
    fn get(&self, host: &str, variant: usize) -> Option<Arc<CertifiedKey>> {
        self.leaves.get(host)?[variant].clone()
    }

    /// Stores a certificate unless the host has one, and returns the stored one. May drop the oldest that was not
    /// prepared.
    fn keep(
        &mut self,
        host: &str,
        variant: usize,
        leaf: Arc<CertifiedKey>,
        is_prepared: bool,
    ) -> Arc<CertifiedKey> {
        let is_new = !self.leaves.contains_key(host);
        let variants = self.leaves.entry(host.into()).or_default();
        let leaf = variants[variant].get_or_insert(leaf).clone();
        if is_new && !is_prepared {
            self.unprepared.push_back(host.into());
            if self.unprepared.len() > UNPREPARED
                && let Some(oldest) = self.unprepared.pop_front()
            {
                self.leaves.remove(&oldest);
            }
        }
        leaf
    }
}

/// A certificate authority with the certificates that it has issued: one per process; its own key never leaves memory.
///
/// Its own key is ECDSA P-256, whatever the keys of the certificates: every client of the last decade verifies it, and
/// it signs in 20 microseconds, where RSA-2048 takes 600; that matters when 20,000 certificates are issued before a
/// trial. All certificates of one kind share a key, because only the certificate differs for a client. The RSA key may
/// be stored for the next process: without a certificate from a trusted authority it is useless.
pub struct Authority {
    certificate: CertificateDer<'static>,
    pem: String,
    pub(crate) issuer: Issuer<'static, KeyPair>,
    provider: Arc<CryptoProvider>,
    ecdsa: LeafKey,
    /// Created for the first host that needs it: finding two primes takes 30 to 300 ms.
    rsa: OnceLock<LeafKey>,
    pub(crate) serials: Serials,
    hasher: RandomState,
    shards: [RwLock<Shard>; SHARDS],
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl Authority {
    /// Creates an authority with new keys, in about a millisecond.
    ///
    /// # Errors
    ///
    /// [`Error::Certificate`] or [`Error::Tls`] if the cryptographic library refuses.
    pub fn new() -> Result<Self, Error> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let serials = Serials::new();
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::OrganizationName, "httpdyno");
        params
            .distinguished_name
            .push(DnType::CommonName, "httpdyno room authority");
        let now = OffsetDateTime::now_utc();
        (params.not_before, params.not_after) =
            (now - Duration::days(1_095), now + Duration::days(1_095));
        params.serial_number = Some(serials.next());
        // Two authorities below it, as scripted hosts have.
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(2));
        params.key_usages = vec![
            KeyUsagePurpose::DigitalSignature,
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::CrlSign,
        ];
        let certificate = params.self_signed(&key)?;
        let ecdsa = LeafKey::new(
            KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?,
            &provider,
        )?;
        Ok(Self {
            pem: certificate.pem(),
            certificate: certificate.into(),
            issuer: Issuer::new(params, key),
            ecdsa,
            rsa: OnceLock::new(),
            provider,
            serials,
            hasher: RandomState::new(),
            shards: std::array::from_fn(|_| RwLock::default()),
        })
    }

    /// Its certificate in PEM, for trust stores.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// Its certificate in DER.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        &self.certificate
    }

    /// Issues the certificates of `hosts` in advance, on every CPU that this process may use; returns when all exist.
    ///
    /// A host that was not prepared gets its certificate in its first handshake, which then takes some 100 microseconds
    /// longer; the last 65,536 of these certificates are kept.
    pub fn prepare<S: AsRef<str> + Sync>(&self, web: &Web, hosts: &[S]) {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let share = hosts.len().div_ceil(threads).max(1);
        thread::scope(|scope| {
            for hosts in hosts.chunks(share) {
                scope.spawn(move || {
                    for host in hosts {
                        let handshake = web.handshake(host.as_ref());
                        if !matches!(handshake.fault, Some(Fault::StallTls | Fault::TlsAlert)) {
                            // A name that is invalid in a certificate fails again in its handshake, where it is
                            // counted.
                            drop(self.kept_leaf(host.as_ref(), handshake, true));
                        }
                    }
                });
            }
        });
    }

    /// The certificate that `handshake` presents for `host`, with its key.
    pub(crate) fn leaf(
        &self,
        host: &str,
        handshake: Handshake,
    ) -> Result<Arc<CertifiedKey>, Error> {
        self.kept_leaf(host, handshake, false)
    }

    fn kept_leaf(
        &self,
        host: &str,
        handshake: Handshake,
        is_prepared: bool,
    ) -> Result<Arc<CertifiedKey>, Error> {
        let flavour = Flavour::of(handshake.fault);
        let variant = flavour as usize * 2 + usize::from(handshake.key == KeyKind::Ecdsa);
        let shard = &self.shards[self.place(host)];
        let known = shard.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(leaf) = known.get(host, variant) {
            return Ok(leaf);
        }
        drop(known);
        let leaf = Arc::new(self.mint(host, flavour, handshake.key)?);
        let mut known = shard.write().unwrap_or_else(PoisonError::into_inner);
        // Two handshakes may have issued a certificate at once: the first is kept.
        Ok(known.keep(host, variant, leaf, is_prepared))
    }

    fn place(&self, host: &str) -> usize {
        let place = self.hasher.hash_one(host) % SHARDS as u64;
        usize::try_from(place).expect("below 64")
    }

    fn mint(&self, host: &str, flavour: Flavour, kind: KeyKind) -> Result<CertifiedKey, Error> {
        let key = self.key(kind)?;
        let leaf = leaf::mint(host, flavour, &key.pair, &self.issuer, self.serials.next())?;
        Ok(CertifiedKey::new(vec![leaf], key.signing.clone()))
    }

    /// The key of a kind, which all certificates share.
    pub(crate) fn key(&self, kind: KeyKind) -> Result<&LeafKey, Error> {
        match kind {
            KeyKind::Ecdsa => Ok(&self.ecdsa),
            KeyKind::Rsa => self.rsa(),
        }
    }

    fn rsa(&self) -> Result<&LeafKey, Error> {
        self.prepare_rsa(&Cache::none())?;
        Ok(self.rsa.get().expect("it was prepared"))
    }

    /// Reads the RSA key from `cache`, or creates and stores it, unless this authority has it already.
    pub(crate) fn prepare_rsa(&self, cache: &Cache) -> Result<(), Error> {
        if self.rsa.get().is_some() {
            return Ok(());
        }
        let kept = cache.get(RSA_KEY).and_then(|kept| {
            let pair = KeyPair::try_from(kept).ok()?;
            LeafKey::new(pair, &self.provider).ok()
        });
        let key = if let Some(key) = kept {
            key
        } else {
            let pair = KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, RsaKeySize::_2048)?;
            cache.keep(RSA_KEY, &pair.serialize_der());
            LeafKey::new(pair, &self.provider)?
        };
        self.rsa.get_or_init(|| key);
        Ok(())
    }

    pub(crate) fn provider(&self) -> &Arc<CryptoProvider> {
        &self.provider
    }
}

impl LeafKey {
    fn new(pair: KeyPair, provider: &CryptoProvider) -> Result<Self, Error> {
        let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(pair.serialize_der()));
        let signing = provider.key_provider.load_private_key(der)?;
        Ok(Self { pair, signing })
    }
}

#[cfg(test)]
mod tests {
    use dyno_web::Model;

    use super::*;

    #[test]
    fn the_leaves_of_hosts_that_were_not_prepared_make_room_for_each_other() {
        let authority = Authority::new().unwrap();
        let web = Web::new(Model::from_toml("name = 'test'\nseed = 1").unwrap(), None);
        let prepared: Vec<String> = (0..100).map(|host| format!("{host}.prepared")).collect();
        authority.prepare(&web, &prepared);
        let leaf = authority.leaf("0.test", web.handshake("0.test")).unwrap();
        // Stores one certificate under all names: issuing them takes 100 microseconds each, and makes no difference
        // here.
        for host in 0..200_000 {
            let host = format!("{host}.test");
            let place = authority.place(&host);
            let mut shard = authority.shards[place].write().unwrap();
            shard.keep(&host, 0, leaf.clone(), false);
        }
        let kept = |host: &str| {
            let shard = authority.shards[authority.place(host)].read().unwrap();
            shard.leaves.contains_key(host)
        };
        let count = |shard: &RwLock<Shard>| shard.read().unwrap().leaves.len();
        let all: usize = authority.shards.iter().map(count).sum();
        assert!(all <= SHARDS * UNPREPARED + prepared.len());
        assert!(prepared.iter().all(|host| kept(host)));
        assert!(kept("199999.test") && !kept("0.test"));
    }
}
