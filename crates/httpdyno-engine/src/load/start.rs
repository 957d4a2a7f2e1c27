//! `--start-at`, `--clock`: the start of one of several generators, at a moment of a reference's clock.

use std::fmt::{self, Display};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use clap::Args;
use dyno_load::{ClockRecord, Plan, format_time, start_time};
use dyno_web::OneOrigin;

use crate::against::{AgainstError, OtherClock, Reading, Session};
use crate::clock_setting::Settings;
use crate::messages::print_message;
use crate::quantity;

/// Time before the start at which the clock is compared and connections are opened.
const LEAD: Duration = Duration::from_secs(3);
/// Interval at which a long wait looks at the stop flag.
const STOP_CHECK: Duration = Duration::from_millis(50);
/// A wait that is announced.
const LONG_WAIT: Duration = Duration::from_secs(5);
const NS: i64 = 1_000_000_000;

/// The options of the start.
#[derive(Debug, Args)]
pub struct StartOptions {
    /// Start at this moment: 2030-01-01T12:00:00Z, or seconds since 1970; connections are opened 3 s before [default: at once]
    #[arg(long, value_name = "TIME", value_parser = StartMoment::parse)]
    pub start_at: Option<StartMoment>,
    /// Compare this machine's clock with that of httpdyno clock, or of an origin, at this URL, before and after the load; the start is by that clock
    #[arg(long, value_name = "URL", value_parser = OneOrigin::parse)]
    pub clock: Option<OneOrigin>,
    /// Largest accepted error of a clock, and step of it during the load
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = quantity::standard_duration)]
    pub clock_bound: Duration,
}

impl StartOptions {
    /// The largest accepted error.
    pub fn bound_ns(&self) -> i64 {
        i64::try_from(self.clock_bound.as_nanos()).unwrap_or(i64::MAX)
    }
}

/// The moment of a start, in Unix time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartMoment {
    pub unix_ns: i64,
}

impl StartMoment {
    /// Parses `2030-01-01T12:00:00Z`, without a zone in UTC, or a decimal number of seconds since 1970.
    fn parse(text: &str) -> Result<Self, String> {
        let read = start_time::read(text).map(|read| read.ns);
        let unix_ns = read.or_else(|| decimal_seconds(text)).ok_or_else(|| {
            format!("{text:?} is not a moment: write 2030-01-01T12:00:00Z, or seconds since 1970")
        })?;
        Ok(Self { unix_ns })
    }
}

fn decimal_seconds(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits(whole) || !are_digits(fraction) {
        return None;
    }
    let fraction: i64 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
    whole
        .parse::<i64>()
        .ok()?
        .checked_mul(NS)?
        .checked_add(fraction)
}

/// Why nothing was sent, in one line.
#[derive(Debug)]
pub struct NotStarted(String);

impl Display for NotStarted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for NotStarted {}

impl From<AgainstError> for NotStarted {
    fn from(error: AgainstError) -> Self {
        Self(format!("--clock {error}"))
    }
}

/// A load whose start was waited for.
#[derive(Debug)]
pub struct Started {
    /// When it starts.
    pub moment: Instant,
    /// The comparison before it; `None` without a reference.
    first: Option<(Reading, Settings)>,
}

/// Waits until shortly before the start, and compares the clock.
pub fn wait(
    options: &StartOptions,
    start: StartMoment,
    plan: &Plan,
    stop: &AtomicBool,
) -> Result<Started, NotStarted> {
    let compare = || {
        options
            .clock
            .as_ref()
            .map(|url| compare(url, options.bound_ns()))
    };
    // Compared at once, too, so that a reference that cannot be reached is known before a long wait.
    let first = compare().transpose()?;
    let left = left_until(start, first.as_ref())?;
    let lead = LEAD.saturating_add(plan.opening_time());
    if left > lead + LONG_WAIT {
        print_message(format_args!("starts in {} s", left.as_secs()));
    }
    sleep(left.saturating_sub(lead), stop);
    let first = if left > lead {
        compare().transpose()?
    } else {
        first
    };
    let left = left_until(start, first.as_ref())?;
    Ok(Started {
        moment: Instant::now() + left,
        first,
    })
}

/// Time until the start, by the clock of the reference.
fn left_until(
    start: StartMoment,
    compared: Option<&(Reading, Settings)>,
) -> Result<Duration, NotStarted> {
    let ahead_ns = compared.map_or(0, |(reading, _)| reading.ahead_ns());
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ns = i64::try_from(now.unwrap_or_default().as_nanos()).unwrap_or(i64::MAX);
    left_ns(start, now_ns, ahead_ns).map(Duration::from_nanos)
}

/// Nanoseconds until the start at a time of this clock; the reference is `ahead_ns` ahead of it.
fn left_ns(start: StartMoment, now_ns: i64, ahead_ns: i64) -> Result<u64, NotStarted> {
    let left_ns = start
        .unix_ns
        .saturating_sub(ahead_ns)
        .saturating_sub(now_ns);
    #[expect(clippy::cast_precision_loss, reason = "shown to people")]
    u64::try_from(left_ns).map_err(|_| {
        NotStarted(format!(
            "--start-at: that moment was {} ago; name a later one, the same for all generators",
            format_time(left_ns.saturating_neg() as f64)
        ))
    })
}

fn sleep(time: Duration, stop: &AtomicBool) {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now())
        && !left.is_zero()
        && !stop.load(Ordering::Relaxed)
    {
        thread::sleep(left.min(STOP_CHECK));
    }
}

/// Compares the clocks; refuses a comparison with a larger error.
fn compare(reference: &OneOrigin, most_ns: i64) -> Result<(Reading, Settings), NotStarted> {
    let (mut session, identity) = Session::open(reference)?;
    session.check_version(&identity)?;
    let compared = session.read_clock()?;
    let bound_ns = compared.reading.bound_ns();
    if bound_ns > most_ns {
        #[expect(clippy::cast_precision_loss, reason = "shown to people")]
        let [bound, most] = [bound_ns, most_ns].map(|time_ns| format_time(time_ns as f64));
        return Err(NotStarted(format!(
            "--clock {reference}: the clocks are known within {bound} only (at most {most}), since the network is slow; choose a nearer reference, or accept more with --clock-bound"
        )));
    }
    Ok((compared.reading, compared.settings))
}

/// A late start as one line for the caller; other errors as they are.
pub fn explain_late(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref() {
        Some(dyno_load::Error::Late(_)) => NotStarted(format!(
            "--start-at: {error}; name a later moment, the same for all generators"
        ))
        .into(),
        _ => error,
    }
}

impl Started {
    /// The clock before and after the load; `None` without a reference.
    pub fn clock(&self, options: &StartOptions) -> Option<ClockRecord> {
        let (reference, first) = options.clock.as_ref().zip(self.first)?;
        let last = compare(reference, i64::MAX).ok();
        Some(clock_record(reference.to_string(), first, last))
    }
}

fn clock_record(
    reference: String,
    (first, before): (Reading, Settings),
    last: Option<(Reading, Settings)>,
) -> ClockRecord {
    let Some((last, after)) = last else {
        return ClockRecord {
            reference,
            ahead_ns: first.ahead_ns(),
            drifted_ns: 0,
            stepped_ns: 0,
            bound_ns: None,
        };
    };
    let stepped_ns = after.step_since(before);
    let report = OtherClock::new(first, last).report();
    ClockRecord {
        reference,
        ahead_ns: report.ahead_ns,
        drifted_ns: report.drifted_ns,
        stepped_ns,
        bound_ns: Some(report.bound_ns.saturating_add(stepped_ns.saturating_abs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::against::Exchange;
    use crate::clock_setting::Setting;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_moment_is_parsed() {
        for (text, unix_ns) in [
            ("2024-10-21T12:00:00Z", 1_729_512_000 * NS),
            ("2024-10-21T14:00:00.25+02:00", 1_729_512_000 * NS + NS / 4),
            ("1729512000", 1_729_512_000 * NS),
            ("1729512000.25", 1_729_512_000 * NS + NS / 4),
            ("1729512000.0000000019", 1_729_512_000 * NS + 1),
        ] {
            assert_eq!(
                StartMoment::parse(text),
                Ok(StartMoment { unix_ns }),
                "{text}"
            );
        }
        for text in [
            "",
            "now",
            "12:00",
            "-5",
            "1.",
            ".5",
            "1e9",
            "99999999999999999999",
            "9999999999999",
            "+5s",
        ] {
            assert!(StartMoment::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_start_is_by_the_clock_of_the_reference() {
        let start = StartMoment { unix_ns: 100 * NS };
        for (now_ns, ahead_ns, left_ns) in [
            (90 * NS, 0, Some(10 * NS)),
            (90 * NS, 4 * NS, Some(6 * NS)),
            (90 * NS, -4 * NS, Some(14 * NS)),
            (100 * NS, 0, Some(0)),
            (97 * NS, 4 * NS, None),
        ] {
            let found = super::left_ns(start, now_ns, ahead_ns).ok();
            assert_eq!(
                found,
                left_ns.and_then(|left_ns| u64::try_from(left_ns).ok())
            );
        }
        let late = super::left_ns(start, 103 * NS + 200 * MS, 0).unwrap_err();
        assert!(
            late.to_string().contains("that moment was 3.2 s ago"),
            "{late}"
        );
    }

    #[test]
    fn a_constant_offset_is_corrected_and_a_step_is_refused() {
        // A round trip of 200 us: half of it is the error.
        let at = |at_ns: i64, ahead_ns: i64, here_ns: i64| {
            let exchange = Exchange {
                asked_ns: at_ns,
                there_ns: at_ns + 100_000 + ahead_ns,
                answered_ns: at_ns + 200_000,
            };
            let setting = |ns| Setting::of(ns, 300);
            let settings = Settings {
                here: setting(here_ns),
                there: setting(7 * NS),
            };
            (Reading::best_of(&[exchange]).unwrap(), settings)
        };
        let first = at(NS, 40 * NS, 0);
        for (last, bound_ns, problem) in [
            (Some(at(61 * NS, 40 * NS, 0)), Some(100_001), None),
            // 20 ppm of drift.
            (
                Some(at(61 * NS, 40 * NS + 1_200_000, 0)),
                Some(100_001),
                None,
            ),
            // This clock was set back by 5 ms: the other one is further ahead.
            (
                Some(at(61 * NS, 40 * NS + 5 * MS, -5 * MS)),
                Some(5_100_001),
                Some("was set by -5 ms"),
            ),
            (
                Some(at(61 * NS, 40 * NS + 900_000, -900_000)),
                Some(1_000_001),
                Some("was set by -900 us"),
            ),
            // Both readings hide a step of the other clock that its setting shows not: more than clocks drift.
            (
                Some(at(2 * NS, 40 * NS + 5 * MS, 0)),
                Some(5_100_001),
                Some("known within 5.1 ms"),
            ),
            (None, None, Some("could not be read after the load")),
        ] {
            let record = clock_record("http://a:8090".to_owned(), first, last);
            assert_eq!((record.ahead_ns, record.bound_ns), (40 * NS, bound_ns));
            let found = record.problem(MS);
            assert_eq!(found.is_some(), problem.is_some(), "{found:?}");
            let found = found.unwrap_or_default();
            assert!(found.contains(problem.unwrap_or_default()), "{found}");
            assert!(bound_ns.is_none() || record.problem(6 * MS).is_none());
        }
    }
}
