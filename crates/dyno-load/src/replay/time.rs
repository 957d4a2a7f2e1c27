//! Times of log lines: ISO 8601, the form of access logs, and numbers since 1970. No clock, no I/O.

use crate::start_time;

const NS: i64 = 1_000_000_000;
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// When a request was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct At {
    /// Since 1970, or since the start of the recording.
    pub(super) ns: i64,
    /// The value of the last digit.
    pub(super) precision_ns: i64,
    /// Whether it counts from the start of the recording.
    pub(super) is_relative: bool,
}

impl At {
    /// Reads a time of day, or a number since 1970.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text
            .strip_prefix('[')
            .and_then(|text| text.strip_suffix(']'))
            .unwrap_or(text);
        let start = start_time::read(text).or_else(|| start_time::read(&iso(text)?));
        start.map_or_else(
            || Self::since_1970(text),
            |start| {
                Some(Self {
                    ns: start.ns,
                    precision_ns: start.precision_ns,
                    is_relative: false,
                })
            },
        )
    }

    /// Reads the time in brackets of an access log, `10/Oct/2000:13:55:36 -0700`.
    pub(super) fn from_access_log(text: &str) -> Option<Self> {
        let start = start_time::read(&iso(text)?)?;
        Some(Self {
            ns: start.ns,
            precision_ns: start.precision_ns,
            is_relative: false,
        })
    }

    /// Reads a number since 1970: seconds, or by its size milliseconds, microseconds or nanoseconds.
    pub(super) fn since_1970(text: &str) -> Option<Self> {
        let whole = text.split('.').next()?;
        let whole: i64 = whole.parse().ok().filter(|whole| *whole >= 0)?;
        let unit_ns = match whole {
            ..100_000_000_000 => NS,
            100_000_000_000..100_000_000_000_000 => 1_000_000,
            100_000_000_000_000..100_000_000_000_000_000 => 1_000,
            _ => 1,
        };
        decimal(text, unit_ns, false)
    }

    /// Reads a number of seconds since the start of the recording.
    pub(super) fn since_start(number: &serde_json::Number) -> Option<Self> {
        decimal(&number.to_string(), NS, true)
    }

    /// The moment this much earlier, where the time is finer than a second.
    pub(super) const fn before(self, ns: i64) -> Self {
        if self.precision_ns < NS && ns > 0 {
            return Self {
                ns: self.ns.saturating_sub(ns),
                ..self
            };
        }
        self
    }
}

/// Nanoseconds of a decimal number of seconds.
pub(super) fn seconds(text: &str) -> Option<i64> {
    decimal(text, NS, true).map(|at| at.ns)
}

fn decimal(text: &str, unit_ns: i64, is_relative: bool) -> Option<At> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let mut ns = whole.parse::<i64>().ok()?.checked_mul(unit_ns)?;
    let mut precision_ns = unit_ns;
    if text.contains('.') {
        for digit in fraction.bytes() {
            precision_ns /= 10;
            ns = ns.checked_add(i64::from(digit - b'0') * precision_ns)?;
        }
    }
    Some(At {
        ns,
        precision_ns: precision_ns.max(1),
        is_relative,
    })
}

/// The time of an access log in ISO 8601.
fn iso(text: &str) -> Option<String> {
    let (day, rest) = text.split_once('/')?;
    let (month, rest) = rest.split_once('/')?;
    let (year, time) = rest.split_once(':')?;
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    Some(format!("{year}-{month:02}-{day:0>2}T{time}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2024-10-21T12:00:00Z.
    const NOON: i64 = 1_729_512_000 * NS;

    #[test]
    fn times_are_read_in_every_form() {
        for (text, expected) in [
            ("21/Oct/2024:12:00:00 +0000", Some((NOON, NS))),
            (
                "[21/Oct/2024:14:00:00.250 +0200]",
                Some((NOON + NS / 4, 1_000_000)),
            ),
            ("2024-10-21T12:00:00+00:00", Some((NOON, NS))),
            ("2024-10-21T12:00:00.5Z", Some((NOON + NS / 2, NS / 10))),
            ("1729512000", Some((NOON, NS))),
            ("1729512000.123", Some((NOON + 123_000_000, 1_000_000))),
            ("1729512000123", Some((NOON + 123_000_000, 1_000_000))),
            ("1729512000123456", Some((NOON + 123_456_000, 1_000))),
            ("1729512000123456789", Some((NOON + 123_456_789, 1))),
            ("21/Okt/2024:12:00:00 +0000", None),
            ("-5", None),
            ("1e3", None),
            ("", None),
            ("-", None),
            ("99999999999999999999", None),
        ] {
            let found = At::from_text(text);
            assert_eq!(found.map(|at| (at.ns, at.precision_ns)), expected, "{text}");
        }
    }

    #[test]
    fn only_fine_times_go_back_by_the_time_of_the_request() {
        let [fine, coarse] =
            ["1729512000.500", "1729512000"].map(|text| At::from_text(text).unwrap());
        assert_eq!(fine.before(NS).ns, NOON - NS / 2);
        assert_eq!(coarse.before(NS), coarse);
    }
}
