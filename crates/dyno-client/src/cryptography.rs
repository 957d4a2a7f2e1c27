//! The cryptography of a client: aws-lc, with its algorithms ordered for many short connections, and random numbers
//! from the kernel.

use aws_lc_rs::agreement::{PrivateKey, PublicKey, UnparsedPublicKey, X25519, agree};
use rustls::crypto::{
    ActiveKeyExchange, CryptoProvider, GetRandomFailed, SecureRandom, SharedSecret,
    SupportedKxGroup, aws_lc_rs as provided,
};
use rustls::{CipherSuite, Error, NamedGroup, PeerMisbehaved, SupportedCipherSuite};

/// Ciphers, key exchanges and random numbers of all handshakes.
///
/// AES-128 with SHA-256 is preferred: it costs half of AES-256 with SHA-384, for which most processors have no
/// instructions, and a handshake hashes more than it encrypts. Random numbers come from the kernel, because the
/// generator of aws-lc is seeded from the jitter of the processor, which takes a tenth of a second in each new process.
pub(crate) fn provider() -> CryptoProvider {
    let mut provider = provided::default_provider();
    provider.cipher_suites.sort_by_key(|suite| !is_light(suite));
    for group in &mut provider.kx_groups {
        if group.name() == NamedGroup::X25519 {
            *group = &Curve;
        }
    }
    provider.secure_random = &KernelRandom;
    provider
}

fn is_light(suite: &SupportedCipherSuite) -> bool {
    matches!(
        suite.suite(),
        CipherSuite::TLS13_AES_128_GCM_SHA256
            | CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
            | CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
    )
}

/// Random numbers of the kernel.
#[derive(Debug)]
pub(crate) struct KernelRandom;

impl SecureRandom for KernelRandom {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        let mut filled = 0;
        while filled < bytes.len() {
            let flags = rustix::rand::GetRandomFlags::empty();
            match rustix::rand::getrandom(&mut bytes[filled..], flags) {
                Ok(count) => filled += count,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Err(GetRandomFailed),
            }
        }
        Ok(())
    }
}

/// Key exchange on curve 25519.
#[derive(Debug)]
struct Curve;

/// A key exchange that waits for the peer's key.
struct Half {
    private: PrivateKey,
    public: PublicKey,
}

impl SupportedKxGroup for Curve {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let mut key = [0; 32];
        KernelRandom.fill(&mut key)?;
        // Any 32 bytes are a valid key (RFC 7748, section 5).
        let refused = || Error::General("a key was refused".into());
        let private = PrivateKey::from_private_key(&X25519, &key).map_err(|_| refused())?;
        let public = private.compute_public_key().map_err(|_| refused())?;
        Ok(Box::new(Half { private, public }))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

impl ActiveKeyExchange for Half {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let wrong = Error::from(PeerMisbehaved::InvalidKeyShare);
        let peer = UnparsedPublicKey::new(&X25519, peer);
        agree(&self.private, peer, wrong, |secret| {
            Ok(SharedSecret::from(secret))
        })
    }

    fn pub_key(&self) -> &[u8] {
        self.public.as_ref()
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_come_to_one_secret_and_so_does_the_library() {
        let library = provided::kx_group::X25519;
        for (one, other) in [(&Curve as &dyn SupportedKxGroup, library), (&Curve, &Curve)] {
            let (left, right) = (one.start().unwrap(), other.start().unwrap());
            let keys = (left.pub_key().to_vec(), right.pub_key().to_vec());
            assert_ne!(keys.0, keys.1);
            let secrets = (
                left.complete(&keys.1).unwrap(),
                right.complete(&keys.0).unwrap(),
            );
            assert_eq!(secrets.0.secret_bytes(), secrets.1.secret_bytes());
        }
    }

    #[test]
    fn a_point_that_gives_nothing_away_is_refused() {
        for peer in [&[0; 32][..], &[1; 31], &[]] {
            assert!(Curve.start().unwrap().complete(peer).is_err(), "{peer:?}");
        }
    }

    #[test]
    fn what_is_offered_is_what_the_library_offers_in_another_order() {
        let (ours, theirs) = (provider(), provided::default_provider());
        let names = |provider: &CryptoProvider| {
            let mut names: Vec<u16> = provider
                .cipher_suites
                .iter()
                .map(|suite| suite.suite().into())
                .collect();
            names.sort_unstable();
            names
        };
        assert_eq!(names(&ours), names(&theirs));
        assert_eq!(
            ours.cipher_suites[0].suite(),
            CipherSuite::TLS13_AES_128_GCM_SHA256
        );
    }
}
