//! The drift of a throughput: whether its last third differs from its first by more than chance.

use std::fmt::Write as _;

use super::student::two_sided_quantile;

/// Smallest number of values in which a drift can be detected.
const FEWEST: usize = 30;
/// Share at the start of a series that counts as warm-up, whatever follows it.
const USUAL_WARM_UP: f64 = 0.25;
/// Longest warm-up of a series that becomes faster, as with a just-in-time compiler.
const LONG_WARM_UP: f64 = 0.5;
const BATCH: usize = 5;
const STRONGEST_DEPENDENCE: f64 = 0.9;
const FEWEST_FREEDOM: f64 = 2.0;
const LEVEL: f64 = 0.99;

/// An estimate with its confidence interval, as shares of the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Drift {
    estimate: f64,
    low: f64,
    high: f64,
}

/// Measures the drift of the answers per second, in per cent; also returns its parts as text.
///
/// The drift is 0 if it cannot be distinguished from chance with 99 % confidence. The warm-up is left out: at most half
/// of a series that becomes faster, and a quarter of one that becomes slower.
pub(super) fn read(answers: &[f64]) -> (Option<f64>, String) {
    let warm_up = warm_up(answers);
    let steady = &answers[warm_up..];
    if steady.len() < FEWEST {
        let bins = format!("{} of {FEWEST} bins of 1000 ms", steady.len());
        return (None, format!("too short: {bins} in steady state"));
    }
    let Some(Drift {
        estimate,
        low,
        high,
    }) = drift(steady)
    else {
        return (None, "there are no answers".to_owned());
    };
    let mut detail = format!(
        "{:+.0} %, between {:+.0} and {:+.0} %",
        100.0 * estimate,
        100.0 * low,
        100.0 * high
    );
    if warm_up > 0 {
        let _ = write!(detail, ", after a warm-up of {warm_up} s");
    }
    if low <= 0.0 && 0.0 <= high {
        return (Some(0.0), format!("no more than chance: {detail}"));
    }
    (Some(100.0 * estimate.abs()), detail)
}

/// Duration of the warm-up in seconds; more than a quarter counts only if the throughput rose and the warm-up has
/// ended.
#[expect(clippy::cast_precision_loss, reason = "a count of seconds")]
fn warm_up(answers: &[f64]) -> usize {
    let usual = warm_up_length(answers, USUAL_WARM_UP);
    let long = warm_up_length(answers, LONG_WARM_UP);
    let ended = (long as f64) < LONG_WARM_UP * answers.len() as f64 - BATCH as f64;
    if ended && long > usual && mean(&answers[..long]) < mean(&answers[long..]) {
        long
    } else {
        usual
    }
}

/// Number of values until a series is steady: MSER-5.
///
/// Averages the values in fives, and drops as many as make the standard error of the remaining mean smallest. White, An
/// effective truncation heuristic for bias reduction in simulation output, Simulation 69 (1997), 323-334.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of seconds"
)]
fn warm_up_length(values: &[f64], longest: f64) -> usize {
    let means: Vec<f64> = values.chunks_exact(BATCH).map(mean).collect();
    let most = (means.len() as f64 * longest) as usize;
    let mut best = (0, f64::INFINITY);
    for dropped in 0..=most.min(means.len().saturating_sub(1)) {
        let rest = &means[dropped..];
        if rest.is_empty() {
            break;
        }
        let middle = mean(rest);
        let squares: f64 = rest.iter().map(|value| (value - middle).powi(2)).sum();
        let error = squares / rest.len() as f64 / rest.len() as f64;
        if error < best.1 {
            best = (dropped, error);
        }
    }
    BATCH * best.0
}

/// Difference between the last and the first third of a series, as a share of the overall mean; `None` without
/// answers.
///
/// Geweke's diagnostic of convergence, with thirds instead of the first tenth and the last half. The effective number
/// of values follows Zwiers and von Storch, Taking serial correlation into account in tests of the mean, Journal of
/// Climate 8 (1995), 336-351.
#[expect(clippy::cast_precision_loss, reason = "a count of seconds")]
fn drift(values: &[f64]) -> Option<Drift> {
    if values.len() < FEWEST || mean(values) <= 0.0 {
        return None;
    }
    let batches = batches(values);
    let third = batches.len() / 3;
    let (first, last) = (&batches[..third], &batches[batches.len() - third..]);
    let rest = [detrended(first), detrended(last)];
    let squares: f64 = rest.iter().map(|part| dot(part, part)).sum();
    let correlation = correlation(&rest, squares);
    let growth = (1.0 + correlation) / (1.0 - correlation);
    let freedom = 2.0 * (third as f64 - 2.0);
    let error = (2.0 * squares / freedom / third as f64 * growth).sqrt();
    let reach = error * two_sided_quantile(LEVEL, (freedom / growth).max(FEWEST_FREEDOM));
    let (difference, middle) = (mean(last) - mean(first), mean(&batches));
    Some(Drift {
        estimate: difference / middle,
        low: (difference - reach) / middle,
        high: (difference + reach) / middle,
    })
}

/// Averages 60 or more values in 30 to 59 batches, which are less correlated.
fn batches(values: &[f64]) -> Vec<f64> {
    let size = values.len() / FEWEST;
    let count = values.len() / size;
    let used = &values[values.len() - count * size..];
    used.chunks_exact(size).map(mean).collect()
}

/// Residuals after subtracting a fitted straight line.
#[expect(clippy::cast_precision_loss, reason = "a count of seconds")]
fn detrended(values: &[f64]) -> Vec<f64> {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let places: Vec<f64> = (0..values.len())
        .map(|place| place as f64 - middle)
        .collect();
    let average = mean(values);
    let rest: Vec<f64> = values.iter().map(|value| value - average).collect();
    let slope = dot(&places, &rest) / dot(&places, &places);
    let along = places.iter().map(|place| place * slope);
    rest.iter()
        .zip(along)
        .map(|(value, line)| value - line)
        .collect()
}

/// Correlation of consecutive values, between 0 (negative ones are due to chance) and 0.9.
///
/// Corrects for the fitted line, which removes part of the correlation of few values: Marriott and Pope, Bias in the
/// estimation of autocorrelations, Biometrika 41 (1954), 390-402.
#[expect(clippy::cast_precision_loss, reason = "a count of seconds")]
fn correlation(rest: &[Vec<f64>; 2], squares: f64) -> f64 {
    if squares == 0.0 {
        return 0.0; // nothing varies
    }
    let products = rest.iter().map(|part| dot(&part[1..], part));
    let raw = products.sum::<f64>() / squares;
    let unbiased = raw + (2.0 + 4.0 * raw.max(0.0)) / rest[0].len() as f64;
    unbiased.clamp(0.0, STRONGEST_DEPENDENCE)
}

fn dot(first: &[f64], second: &[f64]) -> f64 {
    first
        .iter()
        .zip(second)
        .map(|(one, other)| one * other)
        .sum()
}

#[expect(clippy::cast_precision_loss, reason = "a count of seconds")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(parts: &[(&[f64], usize)]) -> Vec<f64> {
        let repeated = parts.iter().map(|(values, times)| values.repeat(*times));
        repeated.collect::<Vec<_>>().concat()
    }

    #[test]
    fn the_end_of_a_warm_up() {
        let cases = [
            (vec![], 0),
            (joined(&[(&[0.0], 5), (&[9.0], 14)]), 0), // fewer than 20: no value is dropped
            (vec![3.0; 100], 0),
            (joined(&[(&[0.0], 5), (&[9.0], 35)]), 5),
            (joined(&[(&[1.0, 3.0, 5.0, 7.0, 8.5], 1), (&[9.0], 35)]), 5),
            (joined(&[(&[20.0], 10), (&[9.0, 8.0], 40)]), 10),
            // A step in the second half is no warm-up; a quarter is the most that is dropped.
            (joined(&[(&[9.0], 60), (&[1.0], 40)]), 0),
            (joined(&[(&[1.0], 40), (&[9.0], 60)]), 25),
        ];
        for (values, length) in cases {
            assert_eq!(warm_up_length(&values, USUAL_WARM_UP), length, "{values:?}");
        }
    }

    #[test]
    fn a_straight_line_moves_by_two_thirds_between_the_outer_thirds() {
        for count in [30, 59, 60, 100, 400] {
            let step = 10.0 / f64::from(count - 1);
            let values: Vec<f64> = (0..count)
                .map(|place| 15.0 - step * f64::from(place))
                .collect();
            let found = drift(&values).unwrap();
            assert!((found.estimate + 2.0 / 3.0).abs() < 0.04, "{found:?}");
        }
    }

    #[test]
    fn few_values_have_no_drift() {
        assert_eq!(drift(&[3.0; FEWEST - 1]), None);
        assert_eq!(drift(&[0.0; 50]), None);
        assert!(drift(&[3.0; FEWEST]).is_some());
        assert_eq!(
            read(&[5.0; 3]),
            (
                None,
                "too short: 3 of 30 bins of 1000 ms in steady state".to_owned()
            )
        );
    }

    #[test]
    fn a_long_warm_up_that_raises_the_throughput_is_left_out() {
        let mut values = vec![50.0; 40];
        values.extend((0..60).map(|place| 100.0 + f64::from(place % 3)));
        assert_eq!(warm_up(&values), 40);
        let (number, detail) = read(&values);
        assert_eq!(number, Some(0.0));
        assert!(detail.ends_with("after a warm-up of 40 s"), "{detail}");
    }
}
