//! Exponential gaps of mean one in integer arithmetic: the same on every machine and in every version.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// One request, in the fixed-point numbers of arrivals: 32 bits after the point.
pub(crate) const REQUEST: u128 = 1 << 32;
/// ln 2 with 64 bits after the point.
const LN_2: u128 = 0xB172_17F7_D1CF_79AB;
/// Bits of the logarithm that are computed: the error of a gap is at most 2^-40 of the mean.
const LOGARITHM_BITS: u32 = 40;

/// Independent gaps between the arrivals of a Poisson process of rate one, with 32 bits after the point.
#[derive(Debug, Clone)]
pub(crate) struct Exponential {
    generator: ChaCha8Rng,
}

impl Exponential {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            generator: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// Draws the next gap.
    pub(crate) fn draw(&mut self) -> u128 {
        gap(self.generator.next_u64())
    }
}

/// -ln((word + 1) / 2^64): the inverse of the distribution function (Devroye, Non-Uniform Random Variate Generation, 1986, II.2).
fn gap(word: u64) -> u128 {
    let share = u128::from(word) + 1;
    // -log2 with LOGARITHM_BITS after the point; 64 for the smallest share.
    let halvings = (64 << LOGARITHM_BITS) - binary_logarithm(share);
    (halvings * LN_2) >> (64 + LOGARITHM_BITS - REQUEST.trailing_zeros())
}

/// log2 of 1 to 2^64, bit by bit: squaring a number between 1 and 2 doubles its logarithm, whose integer part is
/// the next bit.
fn binary_logarithm(number: u128) -> u128 {
    let whole = number.ilog2();
    // 63 bits after the point.
    let mut mantissa = if whole <= 63 {
        number << (63 - whole)
    } else {
        number >> (whole - 63)
    };
    let mut logarithm = u128::from(whole);
    for _ in 0..LOGARITHM_BITS {
        mantissa = (mantissa * mantissa) >> 63;
        logarithm <<= 1;
        if mantissa >> 64 != 0 {
            mantissa >>= 1;
            logarithm |= 1;
        }
    }
    logarithm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_the_logarithm() {
        let words = [
            0,
            1,
            12_345,
            1 << 40,
            1 << 63,
            u64::MAX / 3,
            u64::MAX - 1,
            u64::MAX,
        ];
        for word in words {
            #[expect(clippy::cast_precision_loss, reason = "compared to seven digits")]
            let (found, right) = (
                gap(word) as f64 / REQUEST as f64,
                -((word as f64 + 1.0) / 2_f64.powi(64)).ln(),
            );
            assert!((found - right).abs() < 1e-9, "{word}: {found} {right}");
        }
        assert_eq!(gap(u64::MAX), 0);
    }
}
