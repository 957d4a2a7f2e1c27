//! Log-normal samples from an integer table: exact, and the same on every machine.

use crate::normal_quantiles::UPPER_HALF;

/// 4,096 equally likely values of a log-normal distribution, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogNormal {
    values: Vec<u64>,
}

impl LogNormal {
    /// Creates the values; `median` is in the unit of the samples, `sigma_q16` is the standard deviation of the
    /// logarithm, times 65,536.
    #[must_use]
    pub fn new(median: u64, sigma_q16: u32) -> Self {
        let half = UPPER_HALF.len();
        let values = (0..2 * half)
            .map(|place| {
                let (quantile, below) = if place < half {
                    (UPPER_HALF[half - 1 - place], true)
                } else {
                    (UPPER_HALF[place - half], false)
                };
                let exponent = u128::from(quantile.unsigned_abs()) * u128::from(sigma_q16);
                scale(median, exponent, below)
            })
            .collect();
        Self { values }
    }

    /// The value for a uniform random word.
    #[must_use]
    pub fn sample(&self, word: u64) -> u64 {
        self.values[usize::try_from(word >> 52).expect("twelve bits fit any usize")]
    }
}

/// `median * e^(exponent / 2^32)`, or divided by it, in integers.
fn scale(median: u64, exponent_q32: u128, below: bool) -> u64 {
    // log2(e) with 32 fractional bits.
    const LOG2_E: u128 = 6_196_328_019;
    let power = (exponent_q32 * LOG2_E) >> 32;
    let whole = u32::try_from(power >> 32).unwrap_or(u32::MAX).min(60);
    let mut factor: u128 = 1 << 32;
    for (bit, root) in ROOTS_OF_TWO.iter().enumerate() {
        if power & (1 << (31 - bit)) != 0 {
            factor = (factor * u128::from(*root)) >> 32;
        }
    }
    let factor = factor << whole;
    let scaled = if below {
        (u128::from(median) << 32) / factor
    } else {
        (u128::from(median) * factor) >> 32
    };
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// `2^(1/2)`, `2^(1/4)`, ... `2^(1/65536)`, each times 2^32, rounded.
const ROOTS_OF_TWO: [u64; 16] = [
    6_074_001_000,
    5_107_605_667,
    4_683_695_048,
    4_485_121_744,
    4_389_014_833,
    4_341_736_423,
    4_318_288_544,
    4_306_612_134,
    4_300_785_774,
    4_297_875_550,
    4_296_421_177,
    4_295_694_175,
    4_295_330_720,
    4_295_149_004,
    4_295_058_149,
    4_295_012_722,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn sigma(value: f64) -> u32 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small positive constant"
        )]
        let scaled = (value * 65_536.0).round() as u32;
        scaled
    }

    #[test]
    fn quantiles_match_the_formula() {
        let table = LogNormal::new(110_000, sigma(1.3));
        // exp(1.3 * z) at z = -1.2816, 0, 1.2816 (10, 50, 90 %).
        for (share, expected) in [(0.1, 20_790.0), (0.5, 110_000.0), (0.9, 582_030.0)] {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of 4,096 places"
            )]
            let value = table.values[(share * 4_096.0) as usize];
            #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
            let ratio = value as f64 / expected;
            assert!(
                (0.99..1.01).contains(&ratio),
                "{share}: {value} for {expected}"
            );
        }
    }

    #[test]
    fn without_spread_every_value_is_the_median() {
        let table = LogNormal::new(42, 0);
        assert_eq!((table.sample(0), table.sample(u64::MAX)), (42, 42));
    }

    #[test]
    fn values_ascend() {
        assert!(LogNormal::new(1_000_000, sigma(0.9)).values.is_sorted());
    }
}
