//! A limit of a load, such as `p99 > 50ms`: parsing, and comparison with the measurement.

use dyno_load::format_time;

use super::trial::{Metric, Trial, label_metrics, median, metrics};
use crate::quantity;
use crate::table::{Kind, exact, general, rounded};

const EXAMPLES: &str = "write it like 'p99 > 50ms', 'errors > 0.1%' or 'rps < 1000'";
/// Counts that can also be limited as a percentage.
const SHARED: [&str; 4] = ["errors", "checks", "not_2xx", "resent"];
const SOME: &str = "rps, errors, checks, p50, p90, p99, p99.9, max, all_p99, service_p99, send_lag_p99, first_byte_p99 and others";
/// Number of characters of the input that a message repeats.
const REPEATED: usize = 60;
/// Similarity from which a name is suggested.
const CLOSE: f64 = 0.6;

/// A condition on a figure of a load that fails the command.
pub struct Limit {
    /// The text as typed.
    pub text: String,
    metric: Metric,
    is_below: bool,
    /// In the unit of the figure; a percentage is relative to the requests.
    value: f64,
    is_share: bool,
}

impl Limit {
    /// Parses `NAME > VALUE` or `NAME < VALUE`.
    ///
    /// Times need a unit (`50ms`); counts of errors, failed checks and answers other than 2xx may be a percentage of
    /// the requests (`0.1%`). `p99.9` means `p99_9`.
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
        let is_scheduled = metric.label.is_none() && metric.name.starts_with("send_lag_")
            || metric.name == "unsent";
        if is_scheduled && !is_open_loop {
            return Err(format!(
                "--fail-if '{text}': requires an open loop; add --rate or --stages"
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

    /// Refuses a label that no request has.
    pub fn check_label(&self, labels: &[String]) -> Result<(), String> {
        let Some(label) = self
            .metric
            .label
            .as_ref()
            .filter(|label| !labels.contains(label))
        else {
            return Ok(());
        };
        let shown: String = label.chars().take(REPEATED).collect();
        let given = format!("--fail-if '{}': there is no label '{shown}'", self.text);
        let names = labels.iter().map(String::as_str);
        Err(match closest(names, label) {
            Some(meant) => format!("{given}; did you mean '{meant}'?"),
            None if labels.is_empty() => format!(
                "{given}, since all requests have the same; write \"label\": ... in --requests-file"
            ),
            None => {
                let some: Vec<&str> = labels.iter().take(10).map(String::as_str).collect();
                format!("{given}; choose from: {}", some.join(", "))
            }
        })
    }

    /// The measured value: the median of the trials that have the figure; `None` if no trial has it.
    ///
    /// Trials limited by the generator do not show rates and times of the server.
    pub fn found(&self, trials: &[Trial]) -> Option<f64> {
        let is_counted = SHARED.contains(&self.metric.name.as_str());
        let own = trials
            .iter()
            .filter(|trial| is_counted || !trial.is_generator_limited());
        median(own.filter_map(|trial| self.figure(trial)).collect())
    }

    /// Whether a trial has answers, but no good ones for a limit on good answers.
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
            self.metric.full_name(),
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
        let (requests, errors) = match self.metric.label_of(trial) {
            Some(of) => (of.requests, of.errors_total),
            None => (trial.report.requests, trial.report.errors_total),
        };
        let ended = match self.metric.name.as_str() {
            "errors" => requests + errors,
            _ => requests,
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
    let (name, rest) = text.split_at(text.find(['<', '>'])?);
    let name = name.trim_end();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '.';
    if !name.chars().all(is_plain) && of_label(name).is_none() {
        return None;
    }
    let is_below = rest.starts_with('<');
    let value = rest.strip_prefix(['<', '>'])?.trim();
    (!name.is_empty() && !value.is_empty()).then_some((name, is_below, value))
}

fn find(name: &str, given: &str) -> Result<Metric, String> {
    let known = name.replace('.', "_");
    let mut all = metrics();
    all.push(Metric::found());
    if let Some(place) = all.iter().position(|metric| metric.name == known) {
        return Ok(all.swap_remove(place));
    }
    if let Some(metric) = of_label(name) {
        return Ok(metric);
    }
    let names = all.iter().map(|metric| metric.name.as_str());
    let meant = closest(names, &known)
        .map_or_else(String::new, |metric| format!("did you mean '{metric}'? "));
    let name: String = name.chars().take(40).collect();
    Err(format!(
        "{given}: there is no '{name}'; {meant}choose from: {SOME}"
    ))
}

/// The figure of a label: `checkout.p99`, `/a.b.p99.9`.
fn of_label(name: &str) -> Option<Metric> {
    name.match_indices('.').find_map(|(place, _)| {
        let (label, figure) = (name[..place].trim(), name[place + 1..].replace('.', "_"));
        let mut metrics = label_metrics(label).into_iter();
        metrics.find(|metric| !label.is_empty() && metric.name == figure)
    })
}

/// The most similar name.
fn closest<'n>(names: impl Iterator<Item = &'n str>, to: &str) -> Option<&'n str> {
    let closeness = |name: &str| strsim::normalized_damerau_levenshtein(name, to);
    names
        .max_by(|one, other| closeness(one).total_cmp(&closeness(other)))
        .filter(|name| closeness(name) >= CLOSE)
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
        for (text, label, name) in [
            ("cart.p99 > 5ms", "cart", "p99"),
            ("/a.b/{{user}}.p99.9 > 5ms", "/a.b/{{user}}", "p99_9"),
            ("add to cart.errors>1%", "add to cart", "errors"),
        ] {
            let limit = Limit::parse(text, false).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(
                (limit.metric.label.as_deref(), &*limit.metric.name),
                (Some(label), name)
            );
        }
    }

    #[test]
    fn an_unknown_label_is_refused() {
        let known = ["cart", "(other)"].map(ToOwned::to_owned);
        let check =
            |text: &str, labels: &[String]| Limit::parse(text, false).unwrap().check_label(labels);
        assert_eq!(check("cart.p99 > 5ms", &known), Ok(()));
        assert_eq!(check("p99 > 5ms", &[]), Ok(()));
        let given = "--fail-if 'crt.p99 > 5ms': there is no label 'crt'";
        for (text, labels, expected) in [
            (
                "crt.p99 > 5ms",
                &known[..],
                format!("{given}; did you mean 'cart'?"),
            ),
            (
                "crt.p99 > 5ms",
                &[],
                format!(
                    "{given}, since all requests have the same; write \"label\": ... in --requests-file"
                ),
            ),
            (
                "x.p99 > 5ms",
                &known[..],
                "--fail-if 'x.p99 > 5ms': there is no label 'x'; choose from: cart, (other)"
                    .to_owned(),
            ),
        ] {
            assert_eq!(check(text, labels).unwrap_err(), expected);
        }
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
            (
                "send_lag_p99 > 1ms",
                "requires an open loop; add --rate or --stages",
            ),
            (
                "cart.p98 > 1ms",
                "there is no 'cart.p98'; choose from: rps,",
            ),
            ("two words > 1ms", "is not understood; write it like"),
            (
                "unsent > 1",
                "requires an open loop; add --rate or --stages",
            ),
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
