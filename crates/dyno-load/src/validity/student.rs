//! Student's t distribution: the confidence interval of a mean of few values.

/// Coefficients of Lanczos' approximation of the gamma function, with g = 7.
const LANCZOS: [f64; 9] = [
    0.999_999_999_999_809_9,
    676.520_368_121_885_1,
    -1_259.139_216_722_402_8,
    771.323_428_777_653_1,
    -176.615_029_162_140_6,
    12.507_343_278_686_905,
    -0.138_571_095_265_720_12,
    9.984_369_578_019_572e-6,
    1.505_632_735_149_311_6e-7,
];
const MAX_STEPS: u32 = 300;

/// The t within which a mean stays with a confidence of `level` (0 to 1); `freedom` is above 0.
pub(crate) fn two_sided_quantile(level: f64, freedom: f64) -> f64 {
    let outside = 1.0 - level;
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided_p(high, freedom) > outside && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if two_sided_p(middle, freedom) > outside {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// The probability that chance alone yields a t at least this far from 0.
fn two_sided_p(t: f64, freedom: f64) -> f64 {
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// The regularised incomplete beta function, by its continued fraction (Lentz).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front =
        (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * continued_fraction(x, a, b) / a
    } else {
        1.0 - front * continued_fraction(1.0 - x, b, a) / b
    }
}

fn continued_fraction(x: f64, a: f64, b: f64) -> f64 {
    let away_from_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut above = 1.0;
    let mut below = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = below;
    for step in 1..MAX_STEPS {
        let step = f64::from(step);
        let place = a + 2.0 * step;
        let even = step * (b - step) * x / ((place - 1.0) * place);
        let odd = -(a + step) * (a + b + step) * x / (place * (place + 1.0));
        let before = fraction;
        for numerator in [even, odd] {
            below = 1.0 / away_from_zero(1.0 + numerator * below);
            above = away_from_zero(1.0 + numerator / above);
            fraction *= above * below;
        }
        if ((fraction - before) / fraction).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

/// The logarithm of the gamma function, for arguments above 0.
fn ln_gamma(x: f64) -> f64 {
    if x < 0.5 {
        let pi = std::f64::consts::PI;
        return (pi / (pi * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let series: f64 = (1..)
        .zip(&LANCZOS[1..])
        .map(|(place, coefficient)| coefficient / (x + f64::from(place)))
        .sum();
    let t = x + 7.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + (LANCZOS[0] + series).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with printed tables of the distribution.
    #[test]
    fn the_quantiles_are_those_of_the_tables() {
        for (level, freedom, expected) in [
            (0.95, 1.0, 12.706_205),
            (0.99, 2.0, 9.924_843),
            (0.99, 5.0, 4.032_143),
            (0.99, 16.0, 2.920_782),
            (0.99, 34.0, 2.728_394),
            (0.95, 1000.0, 1.962_339),
        ] {
            let found = two_sided_quantile(level, freedom);
            assert!(
                (found - expected).abs() < 2e-6,
                "{level} {freedom}: {found}"
            );
        }
    }
}
