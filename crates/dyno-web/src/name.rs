//! Names of made-up hosts: syllables, unique, independent of everything but the seed.

use crate::draw::{Draws, Kind, SeedKey};

/// 64 syllables: three make 262,144 names, four 16.7 million.
const SYLLABLES: [&str; 64] = [
    "ba", "be", "bi", "bo", "bu", "da", "de", "di", "do", "du", "fa", "fe", "fi", "fo", "fu", "ga",
    "ge", "gi", "go", "gu", "ka", "ke", "ki", "ko", "ku", "la", "le", "li", "lo", "lu", "ma", "me",
    "mi", "mo", "mu", "na", "ne", "ni", "no", "nu", "pa", "pe", "pi", "po", "pu", "ra", "re", "ri",
    "ro", "ru", "sa", "se", "si", "so", "su", "ta", "te", "ti", "to", "tu", "va", "ve", "vi", "vo",
];
/// Top-level domains with their share of 256.
const TOP_LEVEL: [(&str, u64); 8] = [
    ("com", 128),
    ("org", 32),
    ("net", 28),
    ("io", 16),
    ("de", 16),
    ("co.uk", 12),
    ("fr", 12),
    ("jp", 12),
];
const THREE_SYLLABLES: u64 = 1 << 18;
/// Number of hosts with unique names.
pub(crate) const MOST_HOSTS: u64 = 1 << 24;

/// The name of host `index` of the web.
pub(crate) fn name(key: &SeedKey, index: u64) -> String {
    let index = index % MOST_HOSTS;
    let (syllables, space, index) = if index < THREE_SYLLABLES {
        (3, THREE_SYLLABLES, index)
    } else {
        (4, MOST_HOSTS, index)
    };
    // An odd factor permutes the residues of a power of two: neighbours differ, and all names are unique.
    let mut place = index.wrapping_mul(0x9e37_79b9_7f4a_7c15 | 1) % space;
    let mut name = String::with_capacity(16);
    for _ in 0..syllables {
        name.push_str(SYLLABLES[usize::try_from(place % 64).expect("below 64")]);
        place /= 64;
    }
    name.push('.');
    name.push_str(top_level(&key.draws(Kind::Listing, &name, "")));
    name
}

/// A word of two syllables.
pub(crate) fn word(draw: u64) -> String {
    let syllable = |place: u64| SYLLABLES[usize::try_from(place % 64).expect("below 64")];
    [syllable(draw), syllable(draw >> 6)].concat()
}

fn top_level(draws: &Draws) -> &'static str {
    let mut place = draws.word(0) % 256;
    for (domain, share) in TOP_LEVEL {
        if place < share {
            return domain;
        }
        place -= share;
    }
    TOP_LEVEL[0].0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_across_both_lengths() {
        let key = SeedKey::new(1);
        let around = (0..20_000).chain(THREE_SYLLABLES - 10_000..THREE_SYLLABLES + 10_000);
        let names: HashSet<String> = around.map(|index| name(&key, index)).collect();
        assert_eq!(names.len(), 40_000);
    }

    #[test]
    fn shares_of_top_level_domains_add_up() {
        assert_eq!(TOP_LEVEL.iter().map(|(_, share)| share).sum::<u64>(), 256);
    }
}
