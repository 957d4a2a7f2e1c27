//! A limit of a load, such as `p99 > 50ms`: parsing, and comparison with the measurement.

use dyno_load::format_time;

use super::trial::{Metric, Trial, median, metrics};
use crate::quantity;
use crate::table::{Kind, exact, general, rounded};

const EXAMPLES: &str = "write it like 'p99 > 50ms', 'errors > 0.1%' or 'rps < 1000'";
/// Counts that can also be limited as a percentage.
const SHARED: [&str; 4] = ["errors", "checks", "not_2xx", "resent"];
const SOME: &str = "rps, errors, checks, p50, p90, p99, p99.9, max, all_p99, service_p99, send_lag_p99, first_byte_p99 and the like";
/// Characters of the input that a message repeats.
const REPEATED: usize = 60;
/// Similarity from which a name is suggested.
const CLOSE: f64 = 0.6;

/// A condition on a figure of a load that fails the command.
pub struct Limit {
    /// The text as typed.
    pub text: String,
    metric: Metric,
    is_below: bool,
    /// In the unit of the figure; for a share, in per cent of the requests.
    value: f64,
    is_share: bool,
}

impl Limit {
    /// Parses `NAME > VALUE` or `NAME < VALUE`.
    ///
    /// Times need their unit (`50ms`); counts of errors, failed checks and answers other than 2xx may be a share of the requests
    /// (`0.1%`). `p99.9` is `p99_9`.
    pub fn parse(text: &str, is_open_loop: bool) -> Result<Self, String> {
        let text = text.trim();
        let shown: String = text.chars().take(REPEATED).collect();
        let given = format!("--fail-if '{shown}'");
        let Some((name, is_below, value)) = parts(text) else {
            return Err(format!("{given} is not understood; {EXAMPLES}"));
        };
        let metric = find(name, &given)?;
        let (value, is_share) = read_value(value, &metric, &given)?;
        if is_share && (value > 100.0 || (value >= 100.0 && !is_below)) {
            return Err(format!(
                "{given}: a share of the requests never exceeds 100 %; write it like 'errors > 0.1%'"
            ));
        }
        let is_scheduled = metric.name.starts_with("send_lag_") || metric.name == "unsent";
        if is_scheduled && !is_open_loop {
            return Err(format!(
                "--fail-if '{text}': requires an open loop; add --rate"
            ));
        }
        Ok(Self {
            text: text.to_owned(),
            metric,
            is_below,
            value,
            is_share,
        })
    }

    /// The measured value: the median of the trials that have the figure; `None` when no trial has it.
    ///
    /// Trials limited by the generator have no rates and times of the server.
    pub fn found(&self, trials: &[Trial]) -> Option<f64> {
        let is_counted = SHARED.contains(&self.metric.name.as_str());
        let own = trials
            .iter()
            .filter(|trial| is_counted || !trial.is_generator_limited());
        median(own.filter_map(|trial| self.figure(trial)).collect())
    }

    /// Whether a trial has answers and none of those that the limit is about.
    pub fn lacks_good_answers(&self, trials: &[Trial]) -> bool {
        let lacks = |trial: &Trial| trial.report.requests > 0 && trial.response.is_none();
        self.metric.is_of_good_answers() && trials.iter().any(lacks)
    }

    /// Whether every trial with answers measured the figure; a trial without a good answer has no times.
    pub fn is_measured(&self, trials: &[Trial]) -> bool {
        let lacks = |trial: &&Trial| {
            self.metric.kind == Kind::Time
                && trial.report.requests > 0
                && !trial.is_generator_limited()
                && self.figure(trial).is_none()
        };
        self.found(trials).is_some() && !trials.iter().any(|trial| lacks(&trial))
    }

    /// Whether the measured value is beyond the limit, which fails the command.
    pub fn is_broken_by(&self, found: f64) -> bool {
        if self.is_below {
            found < self.value
        } else {
            found > self.value
        }
    }

    /// The measured value, and by how much it exceeds the limit.
    pub fn description(&self, found: f64) -> String {
        let percent = 100.0 * (found - self.value).abs() / self.value;
        let apart = match percent {
            _ if self.value == 0.0 => String::new(),
            much if much >= 10.0 => format!("{} % ", grouped(much)),
            little => format!("{} % ", general(little, 2)),
        };
        let side = if self.is_below { "below" } else { "above" };
        format!(
            "{} is {}, {apart}{side} {}",
            self.metric.name,
            self.shown(found),
            self.shown(self.value)
        )
    }

    #[expect(clippy::cast_precision_loss, reason = "counts")]
    fn figure(&self, trial: &Trial) -> Option<f64> {
        let value = self.metric.figure(trial)?;
        if !self.is_share {
            return Some(value);
        }
        let ended = match self.metric.name.as_str() {
            "errors" => trial.report.ended(),
            _ => trial.report.requests,
        };
        (ended > 0).then(|| 100.0 * value / ended as f64)
    }

    fn shown(&self, value: f64) -> String {
        if self.is_share {
            format!("{} %", general(value, 3))
        } else if self.metric.kind == Kind::Time {
            format_time(value * 1e6)
        } else {
            exact(rounded(value, 3))
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a percentage above 0"
)]
fn grouped(percent: f64) -> String {
    crate::table::thousands(percent.round_ties_even() as u64)
}

/// Name, whether the operator is `<`, value.
fn parts(text: &str) -> Option<(&str, bool, &str)> {
    let end = text
        .find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_' || letter == '.'))?;
    let (name, rest) = text.split_at(end);
    let rest = rest.trim_start();
    let is_below = rest.starts_with('<');
    let value = rest.strip_prefix(['<', '>'])?.trim();
    (!name.is_empty() && !value.is_empty()).then_some((name, is_below, value))
}

fn find(name: &str, given: &str) -> Result<Metric, String> {
    let known = name.replace('.', "_");
    let mut all = metrics();
    if let Some(place) = all.iter().position(|metric| metric.name == known) {
        return Ok(all.swap_remove(place));
    }
    let closeness = |metric: &Metric| strsim::normalized_damerau_levenshtein(&metric.name, &known);
    let closest = all
        .iter()
        .max_by(|one, other| closeness(one).total_cmp(&closeness(other)))
        .filter(|metric| closeness(metric) >= CLOSE);
    let meant = closest.map_or_else(String::new, |metric| {
        format!("did you mean '{}'? ", metric.name)
    });
    let name: String = name.chars().take(40).collect();
    Err(format!(
        "{given}: there is no '{name}'; {meant}choose from: {SOME}"
    ))
}

/// The value, and whether it is a percentage.
fn read_value(text: &str, metric: &Metric, given: &str) -> Result<(f64, bool), String> {
    let name = &metric.name;
    if metric.kind == Kind::Time {
        if plain_number(text).is_some() {
            return Err(format!(
                "{given}: {name} is a time and needs its unit; write it like {text}ms"
            ));
        }
        let shown: String = text.chars().take(REPEATED).collect();
        let time = quantity::duration(text).map_err(|_| {
            format!("{given}: '{shown}' is not understood; write it like 40ms, 5s or 10m")
        })?;
        #[expect(clippy::cast_precision_loss, reason = "a time")]
        return Ok((time.0 as f64 / 1e6, false));
    }
    let number = text.strip_suffix('%');
    let is_share = number.is_some();
    let Some(value) = plain_number(number.unwrap_or(text).trim_end()) else {
        let shown: String = text.chars().take(40).collect();
        return Err(format!("{given}: '{shown}' is not a number; {EXAMPLES}"));
    };
    if is_share && !SHARED.contains(&name.as_str()) {
        return Err(format!(
            "{given}: {name} is not a share of the requests; percentages work for: {}",
            SHARED.join(", ")
        ));
    }
    Ok((value, is_share))
}

/// Parses digits with an optional fraction.
fn plain_number(text: &str) -> Option<f64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = |text: &str, most: usize| {
        (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    (are_digits(whole, 12) && are_digits(fraction, 9))
        .then(|| text.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Limit::parse(text, false).err().unwrap_or_default()
    }

    #[test]
    fn a_limit_is_parsed() {
        for (text, name, is_below, value, is_share) in [
            ("p99 > 50ms", "p99", false, 50.0, false),
            ("p99.9>1.5s", "p99_9", false, 1500.0, false),
            ("rps < 1000", "rps", true, 1000.0, false),
            ("errors > 0.1%", "errors", false, 0.1, true),
            (" not_2xx > 0 ", "not_2xx", false, 0.0, false),
            ("errors < 100 %", "errors", true, 100.0, true),
        ] {
            let limit = Limit::parse(text, false).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(limit.text, text.trim());
            assert_eq!(limit.metric.name, name);
            assert_eq!((limit.is_below, limit.is_share), (is_below, is_share));
            assert!((limit.value - value).abs() < 1e-12);
        }
        assert!(Limit::parse("send_lag_p99 > 1ms", true).is_ok());
    }

    #[test]
    fn a_wrong_limit_is_refused_with_an_example() {
        for (text, expected) in [
            (
                "p99 >> 5ms",
                "--fail-if 'p99 >> 5ms': '> 5ms' is not understood; write it like 40ms, 5s or 10m",
            ),
            ("p99", "--fail-if 'p99' is not understood; write it like"),
            ("> 5", "--fail-if '> 5' is not understood"),
            (
                "p99 > 50",
                "p99 is a time and needs its unit; write it like 50ms",
            ),
            ("p99 > soon", "'soon' is not understood; write it like 40ms"),
            ("pp > 1ms", "there is no 'pp'; choose from: rps,"),
            (
                "erors > 1",
                "there is no 'erors'; did you mean 'errors'? choose from: rps,",
            ),
            (
                "rps < 5%",
                "rps is not a share of the requests; percentages work for: errors, checks,",
            ),
            ("rps < many", "'many' is not a number; write it like"),
            (
                "errors > 100%",
                "a share of the requests never exceeds 100 %",
            ),
            ("send_lag_p99 > 1ms", "requires an open loop; add --rate"),
            ("unsent > 1", "requires an open loop; add --rate"),
        ] {
            let said = refused(text);
            assert!(said.contains(expected), "{text}: {said}");
        }
    }

    #[test]
    fn a_broken_limit_is_described_with_its_distance() {
        for (text, found, expected) in [
            ("p99 > 50ms", 75.0, "p99 is 75 ms, 50 % above 50 ms"),
            ("p99 > 1ns", 1.0, "p99 is 1 ms, 99,999,900 % above 1 ns"),
            ("rps < 1000", 990.0, "rps is 990, 1 % below 1000"),
            (
                "errors > 0.1%",
                0.1025,
                "errors is 0.102 %, 2.5 % above 0.1 %",
            ),
            ("not_2xx > 0", 100.0, "not_2xx is 100, above 0"),
        ] {
            let limit = Limit::parse(text, false).unwrap_or_else(|error| panic!("{error}"));
            assert!(limit.is_broken_by(found));
            assert_eq!(limit.description(found), expected);
        }
    }
}
