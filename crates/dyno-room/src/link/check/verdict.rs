//! Compares a measured link with its settings; pure.
#![expect(
    clippy::cast_precision_loss,
    reason = "tolerances and figures for people, of numbers far below 2^53"
)]

use std::fmt::Write;

use dyno_link::{Link, Path};

use super::plan::{Plan, Train};
use crate::link::account::{Goodput, LinkMeasured};

/// Relative tolerance of a figure.
const SHARE: f64 = 0.05;
/// Absolute tolerance of a time; the larger one applies.
const TIME_NS: f64 = 500_000.0;
/// With random loss, a train has an additional tolerance of so many standard deviations of its loss.
const DEVIATIONS: f64 = 3.0;
/// Minimum number of returned round trips.
const ENOUGH: u64 = 3;

/// Return why the link does not match its settings; none if it does.
pub(super) fn reason(link: &Link, plan: &Plan, measured: &LinkMeasured) -> Option<String> {
    let mut misses = Vec::new();
    misses.extend(round_trip_miss(link, plan, measured));
    for (way, path, train, goodput) in [
        ("up", &link.up, plan.up, &measured.up),
        ("down", &link.down, plan.down, &measured.down),
    ] {
        misses.extend(train.and_then(|train| goodput_miss(way, path, &train, goodput)));
    }
    if misses.is_empty() {
        return None;
    }
    Some(format!(
        "the link is not as requested: {}; use a slower link, a less busy machine, or a CPU of its own",
        misses.join(", ")
    ))
}

fn round_trip_miss(link: &Link, plan: &Plan, measured: &LinkMeasured) -> Option<String> {
    let asked = plan.round_trip.0 as f64;
    let off = (link.round_trip().0 as f64 * SHARE).max(TIME_NS);
    match measured.rtt_ns.p50 {
        Some(found) if measured.rtt_ns.count >= ENOUGH => {
            let found = found as f64;
            ((found - asked).abs() > off).then(|| {
                format!(
                    "a round trip takes {} instead of {}",
                    time(found),
                    time(asked)
                )
            })
        }
        _ => Some(format!(
            "{} of {} probes came back",
            measured.rtt_ns.count, plan.probes
        )),
    }
}

fn goodput_miss(way: &str, path: &Path, train: &Train, goodput: &Goodput) -> Option<String> {
    let asked = goodput.expected_bits_per_s? as f64;
    let Some(found) = goodput.goodput_bits_per_s else {
        return Some(format!("nothing arrives {way}"));
    };
    let found = found as f64;
    let loss = path.loss.as_f64();
    // Standard deviation of the share that arrives of n packets, relative to that share.
    let deviation = (loss / ((1.0 - loss) * train.packets as f64)).sqrt();
    let off = asked * (SHARE + DEVIATIONS * deviation);
    ((found - asked).abs() > off).then(|| {
        format!(
            "{way} it carries {} of payload instead of {}",
            rate(found),
            rate(asked)
        )
    })
}

/// Return one line that compares the requested with the measured link.
pub(super) fn line(link: &Link, measured: &LinkMeasured) -> String {
    let found = measured
        .rtt_ns
        .p50
        .map_or_else(|| "none".to_owned(), |found| time(found as f64));
    let asked = time(link.round_trip().0 as f64);
    let mut text = format!("link: asked rtt {asked}, measured {found}");
    for (way, goodput) in [("up", &measured.up), ("down", &measured.down)] {
        if let Some(expected) = goodput.expected_bits_per_s {
            let found = goodput
                .goodput_bits_per_s
                .map_or_else(|| "nothing".to_owned(), |found| rate(found as f64));
            // Writing to a String never fails.
            let _ = write!(
                text,
                "; {way} asked {} of payload, measured {found}",
                rate(expected as f64)
            );
        }
    }
    text
}

/// Format a time: `40 ms`, `40.02 ms`, `250 us`.
fn time(nanoseconds: f64) -> String {
    match nanoseconds {
        0.0 => "0 ms".to_owned(),
        short if short < 1e6 => format!("{} us", digits(short / 1e3)),
        long => format!("{} ms", digits(long / 1e6)),
    }
}

/// Format a rate: `978 Mbit/s`.
fn rate(bits_per_s: f64) -> String {
    match bits_per_s {
        small if small < 1e6 => format!("{} kbit/s", digits(small / 1e3)),
        middle if middle < 1e9 => format!("{} Mbit/s", digits(middle / 1e6)),
        large => format!("{} Gbit/s", digits(large / 1e9)),
    }
}

/// Format about four digits without trailing zeros.
fn digits(figure: f64) -> String {
    let decimals = match figure {
        tall if tall >= 1000.0 => 0,
        middle if middle >= 100.0 => 1,
        _ => 2,
    };
    let text = format!("{figure:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::account::RoundTrips;

    fn measured(
        rtt_ns: u64,
        up: Option<u64>,
        down: Option<u64>,
        plan: &Plan,
        link: &Link,
    ) -> LinkMeasured {
        let goodput = |train: Option<Train>, path: &Path, found| Goodput {
            goodput_bits_per_s: found,
            expected_bits_per_s: train.and_then(|train| train.goodput(path)),
            lost_share: None,
        };
        LinkMeasured {
            rtt_ns: RoundTrips {
                count: 40,
                p50: Some(rtt_ns),
                ..RoundTrips::default()
            },
            up: goodput(plan.up, &link.up, up),
            down: goodput(plan.down, &link.down, down),
        }
    }

    #[test]
    fn the_tolerance_is_five_per_cent_or_half_a_millisecond() {
        for (text, rtt_ns, goodput, held) in [
            ("rtt=40ms", 41_900_000, None, true),
            ("rtt=40ms", 42_100_000, None, false),
            ("rtt=40ms", 37_900_000, None, false),
            ("rtt=1ms", 1_490_000, None, true),
            ("rtt=1ms", 1_510_000, None, false),
            ("rate=1gbit", 20_000, Some(981_000_000), true),
            ("rate=1gbit", 20_000, Some(1_040_000_000), false),
            ("rate=1gbit", 20_000, Some(925_000_000), false),
            ("rate=1gbit", 20_000, None, false),
            ("rate=1mbit,loss=20%", 600_000, Some(600_000), true),
        ] {
            let link: Link = text.parse().unwrap();
            let plan = Plan::of(&link, None);
            let found = measured(rtt_ns, goodput, goodput, &plan, &link);
            let reason = reason(&link, &plan, &found);
            assert_eq!(
                reason.is_none(),
                held,
                "{text} {rtt_ns} {goodput:?}: {reason:?}"
            );
        }
    }

    #[test]
    fn lines_compare_request_and_measurement() {
        let link: Link = "rtt=40ms,up.rate=20mbit".parse().unwrap();
        let plan = Plan::of(&link, None);
        let found = measured(40_023_456, Some(19_500_000), None, &plan, &link);
        assert_eq!(
            line(&link, &found),
            "link: asked rtt 40 ms, measured 40.02 ms; up asked 19.63 Mbit/s of payload, measured 19.5 Mbit/s"
        );
        let slow = measured(52_000_000, Some(10_000_000), None, &plan, &link);
        assert_eq!(
            reason(&link, &plan, &slow).unwrap(),
            "the link is not as requested: a round trip takes 52 ms instead of 40.02 ms, up it carries 10 Mbit/s of payload instead of 19.63 Mbit/s; use a slower link, a less busy machine, or a CPU of its own"
        );
    }

    #[test]
    fn a_silent_link_does_not_match() {
        let link: Link = "rtt=40ms".parse().unwrap();
        let plan = Plan::of(&link, None);
        let mut silent = measured(0, None, None, &plan, &link);
        silent.rtt_ns = RoundTrips::default();
        assert!(
            reason(&link, &plan, &silent)
                .unwrap()
                .contains("0 of 40 probes")
        );
    }
}
