//! Random draws of a site, host or page: each depends on nothing but the seed and the name.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A whole in billionths, the unit of every share.
pub(crate) const BILLION: u64 = 1_000_000_000;

/// The key of all draws of a seed.
#[derive(Debug, Clone)]
pub(crate) struct SeedKey([u8; 32]);

impl SeedKey {
    pub(crate) fn new(seed: u64) -> Self {
        // The context names the version of the draws: if their meaning changes, so must the context.
        Self(blake3::derive_key(
            "httpdyno 2026 web draws v1",
            &seed.to_le_bytes(),
        ))
    }

    /// The draws of a site, host or page. `kind` separates those with the same name.
    pub(crate) fn draws(&self, kind: Kind, name: &str, path: &str) -> Draws {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&[kind as u8]);
        hasher.update(name.as_bytes());
        hasher.update(&[0]);
        hasher.update(path.as_bytes());
        let mut generator = ChaCha8Rng::from_seed(*hasher.finalize().as_bytes());
        let mut words = [0; DRAWS];
        for word in &mut words {
            *word = generator.next_u64();
        }
        Draws(words)
    }
}

/// The owner of a set of draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Site = 1,
    Host = 2,
    Page = 3,
    Listing = 4,
    Links = 5,
}

const DRAWS: usize = 12;

/// Twelve independent words, one place for each purpose, so that a new purpose does not change the others.
#[derive(Debug, Clone)]
pub(crate) struct Draws([u64; DRAWS]);

impl Draws {
    pub(crate) fn word(&self, place: usize) -> u64 {
        self.0[place]
    }

    /// A share in billionths, uniform over `0..1_000_000_000`. (The bias of the modulus is below 1e-10.)
    pub(crate) fn share(&self, place: usize) -> u64 {
        self.0[place] % BILLION
    }

    /// Whether an event of probability `ppb` billionths happens.
    pub(crate) fn happens(&self, place: usize, ppb: u64) -> bool {
        self.share(place) < ppb
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_depend_on_kind_name_and_seed() {
        let key = SeedKey::new(7);
        let site = key.draws(Kind::Site, "example.org", "");
        assert_eq!(site.0, key.draws(Kind::Site, "example.org", "").0);
        assert_ne!(site.0, key.draws(Kind::Host, "example.org", "").0);
        assert_ne!(site.0, key.draws(Kind::Site, "example.com", "").0);
        assert_ne!(
            site.0,
            SeedKey::new(8).draws(Kind::Site, "example.org", "").0
        );
    }

    #[test]
    fn shares_are_uniform() {
        let key = SeedKey::new(1);
        let below = (0..20_000)
            .filter(|index| {
                key.draws(Kind::Page, "host", &index.to_string())
                    .happens(3, 250_000_000)
            })
            .count();
        // 5,000 expected; bounds of four standard deviations of 61.
        assert!((4_756..=5_244).contains(&below), "{below}");
    }
}
