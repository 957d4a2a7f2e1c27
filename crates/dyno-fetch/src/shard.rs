//! Shards of a list: every registered domain belongs to one of them, on each machine and in each version.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use url::Url;

use crate::listed::{self, registered_domain};

/// Name of the rule by which a line belongs to a shard. A rule that decides otherwise gets another name.
pub const RULE: &str = "sha256 of seed and registered domain, 1";

/// A part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Its number, from 1 to [`Self::of`].
    pub number: u32,
    /// Number of shards.
    pub of: u32,
    /// Seed of the hash.
    pub seed: u64,
}

impl Shard {
    /// Whether a line of the list belongs to this shard.
    #[must_use]
    pub fn has(&self, line: &[u8]) -> bool {
        shard_of(line, self.of, self.seed) == self.number
    }
}

/// Returns the number of the shard of a line, from 1 to `of`: that of its registered domain, or of its address. A line
/// without a host is hashed whole.
#[must_use]
pub fn shard_of(line: &[u8], of: u32, seed: u64) -> u32 {
    let url = listed::parse(line, false).ok();
    let host = url.as_ref().and_then(Url::host_str);
    let key = host.map_or(line, |host| registered_domain(host).as_bytes());
    let digest = Sha256::new()
        .chain_update(seed.to_be_bytes())
        .chain_update(key)
        .finalize();
    let mut first = [0; 8];
    first.copy_from_slice(&digest[..8]);
    // The hash as a fraction of its range, times the number of shards, without the bias of a remainder.
    let place = (u128::from(u64::from_be_bytes(first)) * u128::from(of)) >> 64;
    u32::try_from(place).expect("it is below a number of 32 bits") + 1
}

/// What a crawl takes of its list.
#[derive(Debug, Clone, Copy)]
pub struct Share {
    /// The shard.
    pub shard: Shard,
    /// Whether the list has the lines of other shards, too, which are left out.
    pub is_whole_list: bool,
}

/// Count and digests of lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lines {
    /// Number of lines, without blank ones and comments.
    pub urls: u64,
    /// SHA-256 of the lines in their order, each with a line feed.
    pub sha256: String,
    /// [`Fingerprint`] of the lines.
    pub fingerprint: Fingerprint,
}

/// A digest that does not depend on the order of lines, and adds up: the sum of their SHA-256, 128 bits of each.
///
/// Two sets of lines have the same one only if every line occurs as often in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Fingerprint(u128);

impl Fingerprint {
    /// Adds a line. Bytes that are not UTF-8 count as U+FFFD, as rows in JSON have them.
    pub fn add(&mut self, line: &[u8]) {
        let digest = Sha256::digest(String::from_utf8_lossy(line).as_bytes());
        let mut first = [0; 16];
        first.copy_from_slice(&digest[..16]);
        self.0 = self.0.wrapping_add(u128::from_be_bytes(first));
    }

    /// Returns the fingerprint of the lines of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0))
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        format!("{:032x}", fingerprint.0)
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let value = u128::from_str_radix(&text, 16).ok();
        value
            .filter(|_| text.len() == 32)
            .map(Self)
            .ok_or_else(|| format!("{text:?} is not a fingerprint of 32 hexadecimal digits"))
    }
}

/// Count and digests of lines that are still being read.
#[derive(Debug, Clone, Default)]
pub struct LinesDigest {
    urls: u64,
    sha256: Sha256,
    fingerprint: Fingerprint,
}

impl LinesDigest {
    /// Adds a line.
    pub fn add(&mut self, line: &[u8]) {
        self.urls += 1;
        self.sha256.update(line);
        self.sha256.update(b"\n");
        self.fingerprint.add(line);
    }

    /// Returns the count and the digests of the lines so far.
    #[must_use]
    pub fn lines(&self) -> Lines {
        Lines {
            urls: self.urls,
            sha256: hex(&self.sha256.clone().finalize()),
            fingerprint: self.fingerprint,
        }
    }
}

/// Returns bytes as hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

/// Chooses the lines of a shard, and digests the list.
#[derive(Debug)]
pub(crate) struct Selection {
    share: Share,
    list: LinesDigest,
    taken: LinesDigest,
}

/// The lines that a crawl read and took, for its report.
#[derive(Debug, Clone, Serialize)]
pub struct Selected {
    /// Number of the shard, from 1.
    pub number: u32,
    /// Number of shards.
    pub of: u32,
    /// Seed of the hash.
    pub seed: u64,
    /// The lines that were read.
    pub list: Lines,
    /// The lines of the shard.
    pub lines: Lines,
}

impl Selection {
    pub(crate) fn new(share: Share) -> Self {
        Self {
            share,
            list: LinesDigest::default(),
            taken: LinesDigest::default(),
        }
    }

    /// Whether the next line of the list is one of the shard.
    pub(crate) fn takes(&mut self, line: &[u8]) -> bool {
        self.list.add(line);
        let is_own = !self.share.is_whole_list || self.share.shard.has(line);
        if is_own {
            self.taken.add(line);
        }
        is_own
    }

    pub(crate) fn selected(&self) -> Selected {
        let Shard { number, of, seed } = self.share.shard;
        Selected {
            number,
            of,
            seed,
            list: self.list.lines(),
            lines: self.taken.lines(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_rule_is_the_same_in_every_version() {
        // Computed with another implementation: int.from_bytes(sha256(seed as 8 bytes + domain)[:8]) * of >> 64, plus 1.
        let cases: [(&[u8], u32, u64, u32); 9] = [
            (b"https://www.example.org/a?b", 16, 0, 12),
            (b"http://example.org:8080/", 16, 0, 12),
            (b"https://a.b.example.co.uk/", 1_000, 7, 172),
            (b"https://example.co.uk./x", 1_000, 7, 172),
            (b"http://127.0.0.1:81/", 16, 0, 13),
            (b"http://[2001:db8::1]/", 16, 0, 1),
            (b"ftp://example.org/", 16, 0, 4),
            (b"no url", 16, 0, 8),
            (b"https://www.example.org/", 1, u64::MAX, 1),
        ];
        for (line, of, seed, expected) in cases {
            let shown = String::from_utf8_lossy(line);
            assert_eq!(shard_of(line, of, seed), expected, "{shown}");
        }
    }

    fn line() -> impl Strategy<Value = Vec<u8>> {
        let url =
            "(https?|ftp)://([a-c]{1,2}\\.){1,3}(test|co\\.uk|github\\.io|de)(:81)?/[a-z]{0,3}";
        prop_oneof![
            4 => url.prop_map(String::into_bytes),
            1 => (0..4_u8).prop_map(|last| format!("http://127.0.0.{last}/").into_bytes()),
            1 => prop::collection::vec(any::<u8>().prop_filter("one line", |byte| *byte != b'\n'), 1..20),
        ]
    }

    proptest! {
        #[test]
        fn the_shards_of_a_list_are_disjoint_and_are_the_whole_list(
            lines in prop::collection::vec(line(), 0..60), of in 1..20_u32, seed: u64,
        ) {
            let mut whole = LinesDigest::default();
            for line in &lines {
                whole.add(line);
            }
            let (mut urls, mut sum, mut owners) = (0, Fingerprint::default(), vec![0; lines.len()]);
            for number in 1..=of {
                let shard = Shard { number, of, seed };
                let mut selection = Selection::new(Share { shard, is_whole_list: true });
                for (line, owners) in lines.iter().zip(&mut owners) {
                    *owners += u32::from(selection.takes(line));
                }
                let selected = selection.selected();
                prop_assert_eq!(&selected.list, &whole.lines());
                urls += selected.lines.urls;
                sum = sum.with(selected.lines.fingerprint);
            }
            prop_assert!(owners.iter().all(|owners| *owners == 1));
            prop_assert_eq!((urls, sum), (whole.lines().urls, whole.lines().fingerprint));
        }

        #[test]
        fn a_registered_domain_has_one_shard(
            name in "[a-z]{1,8}", suffix in "(com|co\\.uk|github\\.io|test)",
            hosts in prop::collection::vec("([a-z0-9]{1,5}\\.){0,3}", 2..6), of in 1..1_000_u32, seed: u64,
        ) {
            let shards: Vec<u32> = hosts
                .iter()
                .map(|host| shard_of(format!("https://{host}{name}.{suffix}/").as_bytes(), of, seed))
                .collect();
            prop_assert!(shards.iter().all(|shard| *shard == shards[0] && (1..=of).contains(shard)));
        }

        #[test]
        fn a_fingerprint_finds_a_line_that_is_missing_or_twice(
            lines in prop::collection::vec(line(), 1..20), place: prop::sample::Index,
        ) {
            let of = |lines: &[Vec<u8>]| lines.iter().fold(Fingerprint::default(), |mut sum, line| {
                sum.add(line);
                sum
            });
            let all = of(&lines);
            let mut reversed = lines.clone();
            reversed.reverse();
            prop_assert_eq!(of(&reversed), all);
            let place = place.index(lines.len());
            let twice = [&lines[..], &lines[place..=place]].concat();
            prop_assert_ne!(of(&twice), all);
            let mut missing = lines;
            missing.remove(place);
            prop_assert_ne!(of(&missing), all);
        }
    }

    #[test]
    fn a_fingerprint_is_read_back() {
        let mut fingerprint = Fingerprint::default();
        fingerprint.add(b"https://example.org/\xff");
        let text = String::from(fingerprint);
        assert_eq!(Fingerprint::try_from(text.clone()), Ok(fingerprint));
        for wrong in ["", "0", &text[1..], &text.replace(&text[..1], "x")] {
            assert!(Fingerprint::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}
