//! The part of a load that one of several generators sends. No clock, no I/O.

use std::fmt::{self, Display};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Most generators of one load.
const MOST: u64 = 1000;

/// Part `index` of `count`: the requests `index`, `index + count`, `index + 2 count` and so on of one schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Its place, from 0.
    index: u64,
    count: u64,
}

impl Segment {
    /// All of a load.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Reads `i/N`, with i from 1 to N.
    ///
    /// # Errors
    ///
    /// A message with the correct form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| is_plain)
        };
        let parts = text.split_once('/');
        let parts = parts.and_then(|(number_text, count)| number(number_text).zip(number(count)));
        match parts {
            Some((number, count)) if (1..=count).contains(&number) && count <= MOST => {
                Ok(Self::new(number - 1, count))
            }
            Some((_, count)) if count > MOST => {
                Err(format!("{text:?}: a load has at most {MOST} generators"))
            }
            _ => Err(format!(
                "{text:?} is not a segment: write i/N with i from 1 to N, as 1/3"
            )),
        }
    }

    pub(crate) const fn new(index: u64, count: u64) -> Self {
        Self { index, count }
    }

    /// Its number, from 1.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.index + 1
    }

    /// Number of generators.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.count
    }

    /// Its share of connections, which differs by at most one between segments.
    #[must_use]
    pub fn share_of_connections(self, connections: usize) -> usize {
        usize::try_from(self.share_of(connections as u64)).unwrap_or(connections)
    }

    /// How many of the first `total` requests of the schedule are its own.
    #[must_use]
    pub const fn share_of(self, total: u64) -> u64 {
        total.saturating_sub(self.index).div_ceil(self.count)
    }

    /// Whether it sends the request with this number in the schedule, from 0.
    #[must_use]
    pub const fn has(self, place: u64) -> bool {
        place % self.count == self.index
    }

    pub(crate) const fn index(self) -> u64 {
        self.index
    }

    /// The number in the schedule of its own request `own`, both from 0.
    pub(crate) const fn place(self, own: u64) -> u64 {
        own.saturating_mul(self.count).saturating_add(self.index)
    }
}

impl Display for Segment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.number(), self.count)
    }
}

impl Serialize for Segment {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Segment {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::parse(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_parsed() {
        for (text, index, count) in [
            ("1/1", 0, 1),
            ("1/3", 0, 3),
            ("3/3", 2, 3),
            ("1000/1000", 999, 1000),
        ] {
            let segment = Segment::parse(text).unwrap();
            assert_eq!(segment, Segment { index, count });
            assert_eq!(segment.to_string(), text);
        }
        for text in [
            "",
            "1",
            "0/3",
            "4/3",
            "1/0",
            "-1/3",
            "+1/3",
            "1/3/3",
            "1 /3",
            "a/b",
            "1/1001",
            "1/99999999999999999999",
        ] {
            assert!(Segment::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn shares_add_up_to_the_whole() {
        for count in 1..8 {
            let segments = || (0..count).map(|index| Segment::new(index, count));
            for total in 0..30 {
                let shares: Vec<u64> = segments().map(|segment| segment.share_of(total)).collect();
                assert_eq!(shares.iter().sum::<u64>(), total);
                assert!(shares[0] - shares[shares.len() - 1] <= 1);
            }
            let mut places: Vec<u64> = segments()
                .flat_map(|segment| (0..9).map(move |own| segment.place(own)))
                .collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..9 * count));
        }
    }
}
