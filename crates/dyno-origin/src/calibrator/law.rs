//! Distributions of service times, sampled evenly or independently.

use std::time::Duration;

use dyno_web::LogNormal;

/// A distribution of service times.
#[derive(Debug, Clone, PartialEq)]
pub enum Law {
    /// A constant time.
    Constant(Duration),
    /// An exponential distribution.
    Exponential {
        /// Its mean.
        mean: Duration,
    },
    /// A log-normal distribution.
    LogNormal {
        /// Its median.
        median: Duration,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Two possible times.
    Bimodal {
        /// Time of most requests.
        usual: Duration,
        /// Time of the other requests.
        slow: Duration,
        /// Share of the requests with the slow time, from 0 to 1.
        slow_share: f64,
    },
}

/// The fractional part of the golden ratio as a 64-bit number: its multiples cover all 64-bit numbers as evenly as
/// possible.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
/// 2^-53: turns the upper bits of a 64-bit number into a fraction that a float represents exactly.
const FRACTION: f64 = f64::EPSILON / 2.0;
/// 1 in the fixed-point format of a log-normal's sigma.
const Q16: f64 = 65_536.0;

/// A distribution, from which service times are drawn in sequence.
///
/// Even draws are based on multiples of the golden ratio (Weyl): of any n draws, the share below a quantile deviates
/// from the distribution by little more than 1/n, where random draws would deviate by 1/sqrt(n). So even a short run
/// represents the distribution, and a run can be repeated without a seed.
///
/// A queue needs independent draws: even ones follow each other too regularly, so that fewer requests would wait.
#[derive(Debug)]
pub(super) struct Draws {
    law: Law,
    table: Option<LogNormal>,
    word: u64,
    independent: bool,
}

impl Draws {
    /// Draws that fill the distribution evenly.
    pub(super) fn even(law: &Law) -> Self {
        Self::new(law, 0, false)
    }

    /// Draws that do not depend on each other.
    pub(super) fn independent(law: &Law, seed: u64) -> Self {
        Self::new(law, seed, true)
    }

    fn new(law: &Law, word: u64, independent: bool) -> Self {
        let table = match law {
            Law::LogNormal { median, sigma } => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "no service time has a sigma that exceeds 32 bits; a cast of floats saturates"
                )]
                let sigma_q16 = (sigma * Q16).round() as u32;
                Some(LogNormal::new(nanos(*median), sigma_q16))
            }
            _ => None,
        };
        Self {
            law: law.clone(),
            table,
            word,
            independent,
        }
    }

    /// The next service time, in nanoseconds.
    pub(super) fn next_ns(&mut self) -> u64 {
        self.word = self.word.wrapping_add(GOLDEN);
        let word = if self.independent {
            mixed(self.word)
        } else {
            self.word
        };
        let share = fraction(word);
        match (&self.law, &self.table) {
            (Law::LogNormal { .. }, Some(table)) => table.sample(word),
            (Law::Constant(time) | Law::LogNormal { median: time, .. }, _) => nanos(*time),
            (Law::Exponential { mean }, _) => nanos(mean.mul_f64(-(1.0 - share).ln())),
            (
                Law::Bimodal {
                    usual,
                    slow,
                    slow_share,
                },
                _,
            ) => nanos(if share < *slow_share { *slow } else { *usual }),
        }
    }
}

/// The output function of `SplitMix64`, whose state is the sum of multiples of [`GOLDEN`] (Steele, Lea and Flood, Fast
/// Splittable Pseudorandom Number Generators, 2014).
fn mixed(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "53 bits fit the mantissa exactly"
)]
fn fraction(word: u64) -> f64 {
    (word >> 11) as f64 * FRACTION
}

pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn drawn(law: &Law, count: usize) -> Vec<u64> {
        let mut draws = Draws::even(law);
        let mut times: Vec<u64> = (0..count).map(|_| draws.next_ns()).collect();
        times.sort_unstable();
        times
    }

    /// A quantile of a sorted sample, in milliseconds; `thousandths` is the share.
    fn quantile_ms(times: &[u64], thousandths: usize) -> f64 {
        Duration::from_nanos(times[times.len() * thousandths / 1_000]).as_secs_f64() * 1e3
    }

    #[test]
    fn a_thousand_draws_have_the_laws_quantiles() {
        let exponential = Law::Exponential {
            mean: 10 * MILLISECOND,
        };
        let log_normal = Law::LogNormal {
            median: 10 * MILLISECOND,
            sigma: 0.5,
        };
        // Quantiles of the normal distribution, from tables.
        let normal = [
            (100, -1.281_552),
            (500, 0.0),
            (900, 1.281_552),
            (990, 2.326_348),
        ];
        let times = drawn(&log_normal, 1_000);
        for (thousandths, of_normal) in normal {
            let (found, expected) = (
                quantile_ms(&times, thousandths),
                10.0 * f64::exp(0.5 * of_normal),
            );
            assert!(
                (found / expected - 1.0).abs() < 0.03,
                "{thousandths}: {found} for {expected}"
            );
        }
        // Quantiles of the exponential distribution: -10 ln(1 - share).
        let times = drawn(&exponential, 1_000);
        for (thousandths, expected) in [
            (100, 1.053_605),
            (500, 6.931_472),
            (900, 23.025_851),
            (990, 46.051_702),
        ] {
            let found = quantile_ms(&times, thousandths);
            assert!(
                (found / expected - 1.0).abs() < 0.03,
                "{thousandths}: {found} for {expected}"
            );
        }
    }

    #[test]
    fn a_share_of_any_stretch_is_slow() {
        let mut draws = Draws::even(&Law::Bimodal {
            usual: MILLISECOND,
            slow: 50 * MILLISECOND,
            slow_share: 0.1,
        });
        for _ in 0..50 {
            let slow = (0..100).filter(|_| draws.next_ns() == 50_000_000).count();
            assert!((8..=12).contains(&slow), "{slow} of 100");
        }
    }

    #[test]
    fn independent_draws_have_the_laws_moments_and_no_correlation() {
        const DRAWS: u32 = 200_000;
        let law = Law::Exponential { mean: MILLISECOND };
        let mut draws = Draws::independent(&law, 7);
        let in_ms = |ns| Duration::from_nanos(ns).as_secs_f64() * 1e3;
        let times: Vec<f64> = (0..DRAWS).map(|_| in_ms(draws.next_ns())).collect();
        let mean = times.iter().sum::<f64>() / f64::from(DRAWS);
        let product = |lag: usize| {
            let pairs = times.iter().zip(&times[lag..]);
            pairs
                .map(|(one, other)| (one - mean) * (other - mean))
                .sum::<f64>()
                / f64::from(DRAWS)
        };
        // Standard errors of the three figures: 0.0022, 0.0063 and 0.0022.
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        assert!((product(0) - 1.0).abs() < 0.03, "{}", product(0));
        assert!(product(1).abs() < 0.01, "{}", product(1));
        // The first words of SplitMix64 from state 0, by its authors' program.
        assert_eq!(mixed(GOLDEN), 0xE220_A839_7B1D_CDAF);
        let repeated: Vec<u64> = (0..2)
            .map(|_| Draws::independent(&law, 7).next_ns())
            .collect();
        assert_eq!(repeated[0], repeated[1]);
        assert_ne!(repeated[0], Draws::independent(&law, 8).next_ns());
    }

    #[test]
    fn a_constant_is_constant() {
        assert_eq!(drawn(&Law::Constant(3 * MILLISECOND), 5), [3_000_000; 5]);
    }
}
