//! The objective of a search: limits that all must be met.

use super::BLOCK_NS;
use crate::time_text::{format_time, parse_scaled, parse_time_ns};

const EXAMPLE: &str = "write it like 'p99 < 50ms, errors < 0.1%'";
/// Number of characters of the input that a message repeats.
const REPEATED: usize = 60;

/// Limits that all must be met.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    bounds: Vec<Bound>,
}

/// One limit: at most a share of the requests may exceed a time or fail.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// The figure: `p99`, `p99.9`, `errors`.
    pub name: String,
    /// The largest share of requests beyond the limit, 0 to 1, both excluded.
    pub share: f64,
    /// The largest response time; `None`: only failures count.
    pub time_ns: Option<u64>,
}

impl Objective {
    /// Reads `pNN < TIME` and `errors < SHARE%`, separated by commas.
    ///
    /// # Errors
    ///
    /// What is wrong, and the correct form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() {
            return Err(format!("the objective is empty; {EXAMPLE}"));
        }
        let mut bounds: Vec<Bound> = Vec::new();
        for part in text.split(',') {
            let bound = Bound::parse(part.trim())?;
            if bounds.iter().any(|other| other.name == bound.name) {
                return Err(format!("{} has two limits; remove one of them", bound.name));
            }
            bounds.push(bound);
        }
        Ok(Self { bounds })
    }

    /// The limits, at least one.
    #[must_use]
    pub fn bounds(&self) -> &[Bound] {
        &self.bounds
    }

    /// The longest time of its limits; 0 if only failures are limited.
    #[must_use]
    pub fn longest_ns(&self) -> u64 {
        let times = self.bounds.iter().filter_map(|bound| bound.time_ns);
        times.max().unwrap_or(0)
    }

    /// The time after which a request has ended or is beyond a limit: the longest limit, at least 100 ms for requests that wait to be sent.
    #[must_use]
    pub fn settling_ns(&self) -> u64 {
        self.longest_ns()
            .max(2 * BLOCK_NS)
            .next_multiple_of(BLOCK_NS)
    }

    /// The objective in its canonical form.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<String> = self.bounds.iter().map(Bound::text).collect();
        texts.join(", ")
    }
}

impl Bound {
    fn parse(text: &str) -> Result<Self, String> {
        let shown: String = text.chars().take(REPEATED).collect();
        let given = format!("'{shown}'");
        let wrong = || format!("{given} is not understood; {EXAMPLE}");
        let place = text.find(['<', '>']).ok_or_else(wrong)?;
        let (name, value) = (text[..place].trim(), text[place + 1..].trim());
        if text[place..].starts_with('>') {
            return Err(format!("{given}: an objective is an upper limit; write <"));
        }
        match name {
            "errors" => Ok(Self {
                name: name.to_owned(),
                share: share(value, &given)?,
                time_ns: None,
            }),
            "mean" => Err(format!(
                "{given}: a mean does not show how many requests were slow; limit a percentile, such as p50 or p99"
            )),
            "max" => Err(format!(
                "{given}: a maximum grows with the number of requests; limit a percentile, such as p99.9"
            )),
            _ => {
                let share = percentile_share(name).ok_or_else(|| {
                    format!("{given}: there is no '{name}'; choose from: p50 to p99.99, errors")
                })?;
                Ok(Self {
                    name: name.to_owned(),
                    share,
                    time_ns: Some(time(value, &given)?),
                })
            }
        }
    }

    /// The limit in its canonical form: `p99 < 50 ms`, `errors < 0.1 %`.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a time for people")]
    pub fn text(&self) -> String {
        match self.time_ns {
            Some(time_ns) => format!("{} < {}", self.name, format_time(time_ns as f64)),
            None => format!("{} < {} %", self.name, rounded(100.0 * self.share)),
        }
    }
}

/// Reads the share of requests above a percentile: 0.01 for `p99`.
fn percentile_share(name: &str) -> Option<f64> {
    let digits = name.strip_prefix('p')?;
    // In millionths of a per cent, so that p99.9 is exactly 0.001.
    let parts = parse_scaled(digits, &[], 1_000_000)?;
    let rest = 100_000_000_u64.checked_sub(parts)?;
    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
    (10_000..=50_000_000)
        .contains(&rest)
        .then(|| rest as f64 / 1e8)
}

fn time(value: &str, given: &str) -> Result<u64, String> {
    if value.is_empty() {
        return Err(format!("{given} has no time; {EXAMPLE}"));
    }
    if value
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        return Err(format!("{given}: a time needs its unit; write {value}ms"));
    }
    let time_ns = parse_time_ns(value).map_err(|_| {
        format!("{given}: the time is not understood; write it like 40ms, 5s or 1.5s")
    })?;
    if !(1_000..=60_000_000_000).contains(&time_ns) {
        return Err(format!("{given}: the time must be 1us to 60s"));
    }
    Ok(time_ns)
}

fn share(value: &str, given: &str) -> Result<f64, String> {
    let Some(number) = value.strip_suffix('%') else {
        return Err(format!(
            "{given}: errors need a share of the requests; write it like 'errors < 0.1%'"
        ));
    };
    let parts = parse_scaled(number, &[], 1_000_000).ok_or_else(|| {
        format!("{given}: the share is not understood; write it like 'errors < 0.1%'")
    })?;
    if !(10_000..=50_000_000).contains(&parts) {
        return Err(format!("{given}: the share must be 0.01 to 50 %"));
    }
    #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
    Ok(parts as f64 / 1e8)
}

/// A percentage without trailing digits of its binary form.
fn rounded(percent: f64) -> f64 {
    (percent * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_objective_is_parsed() {
        for (text, expected, shares) in [
            ("p99 < 50ms", "p99 < 50 ms", vec![0.01]),
            (
                "p99.9<1.5s,errors < 0.1 %",
                "p99.9 < 1.5 s, errors < 0.1 %",
                vec![0.001, 0.001],
            ),
            (" p50 < 900us ", "p50 < 900 us", vec![0.5]),
            ("errors<1%", "errors < 1 %", vec![0.01]),
        ] {
            let objective = Objective::parse(text).unwrap();
            assert_eq!(objective.text(), expected);
            let found: Vec<f64> = objective.bounds().iter().map(|one| one.share).collect();
            assert_eq!(found, shares);
        }
    }

    #[test]
    fn a_wrong_objective_is_refused_with_the_cure() {
        for (text, expected) in [
            ("", "the objective is empty; write it like"),
            ("rps", "'rps' is not understood; write it like"),
            ("p99 > 50ms", "an objective is an upper limit; write <"),
            ("p99 < 50", "a time needs its unit; write 50ms"),
            ("p99 <", "has no time"),
            ("p99 < soon", "the time is not understood"),
            ("p99 < 5m", "the time must be 1us to 60s"),
            ("mean < 5ms", "limit a percentile"),
            ("max < 5ms", "limit a percentile"),
            (
                "rps < 100",
                "there is no 'rps'; choose from: p50 to p99.99, errors",
            ),
            ("p20 < 5ms", "choose from: p50 to p99.99"),
            ("p100 < 5ms", "choose from: p50 to p99.99"),
            ("errors < 100%", "the share must be 0.01 to 50 %"),
            ("errors < 0%", "the share must be 0.01 to 50 %"),
            ("errors < 5", "errors need a share of the requests"),
            ("errors < x%", "the share is not understood"),
            ("p99 < 5ms, p99 < 6ms", "p99 has two limits"),
            ("p99 < 5ms,", "'' is not understood"),
        ] {
            let refused = Objective::parse(text).unwrap_err();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}
