//! Random, independent loss: a function of the seed and the packet's number.

use crate::stage::{Gone, Passing, Stage, Way};
use crate::units::{Nanos, Share};

/// Loses a share of the packets, independently of each other and of their times.
///
/// Packet `n` uses word `n` of a `SplitMix64` sequence, which can be computed without its predecessors.
///
/// Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014), figure 17.
#[derive(Debug)]
pub struct Loss {
    start: u64,
    /// Packets with a word below this are lost.
    below: u64,
}

/// Step of the sequence: 2^64 divided by the golden ratio, made odd.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Loss {
    /// Lose `share` of the packets that go `way`; the two ways are independent.
    #[must_use]
    pub fn new(share: Share, seed: u64, way: Way) -> Self {
        let way = match way {
            Way::Up => 1,
            Way::Down => 2,
        };
        let below = (u128::from(share.billionths()) << 64) / u128::from(Share::WHOLE);
        Self {
            start: mixed(mixed(seed.wrapping_add(STEP)) ^ way),
            below: u64::try_from(below).unwrap_or(u64::MAX),
        }
    }
}

impl Stage for Loss {
    /// A group of packets that passes as one is lost if any of them is lost; split it before to avoid that.
    fn pass(&mut self, packet: Passing) -> Result<Nanos, Gone> {
        let mut numbers = packet.number..packet.number + u64::from(packet.burst.packets);
        if numbers.any(|number| self.loses(number)) {
            Err(Gone::Lost)
        } else {
            Ok(packet.at)
        }
    }

    fn loses(&self, number: u64) -> bool {
        let place = STEP.wrapping_mul(number.wrapping_add(1));
        mixed(self.start.wrapping_add(place)) < self.below
    }
}

/// Mix every bit of a word into all others, bijectively.
fn mixed(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_equal_those_of_splitmix64() {
        // The first words of the generator with the seed 1234567, from its authors' C code.
        let words = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        let mut state = 1_234_567_u64;
        for word in words {
            state = state.wrapping_add(STEP);
            assert_eq!(mixed(state), word);
        }
    }
}
