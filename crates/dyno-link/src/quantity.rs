//! Text of times, rates and shares in a link: exact, or refused.

use crate::units::{Nanos, Rate, Share};

/// Units of time, the largest first.
const TIMES: [(&str, u64); 4] = [
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Units of rates, the largest first.
const RATES: [(&str, u64); 5] = [
    ("tbit", 1_000_000_000_000),
    ("gbit", 1_000_000_000),
    ("mbit", 1_000_000),
    ("kbit", 1_000),
    ("bit", 1),
];

/// Longest time in a link: an hour.
pub(crate) const LONGEST: Nanos = Nanos(3_600_000_000_000);

const SLOWEST: u64 = 1_000;
const FASTEST: u64 = 1_000_000_000_000;

/// Billionths in one percent.
const PERCENT: u64 = 10_000_000;

/// Parse a time, `0` or with a unit; none if it is longer than an hour or finer than a nanosecond.
pub(crate) fn time(text: &str) -> Option<Nanos> {
    if text == "0" {
        return Some(Nanos::ZERO);
    }
    let nanos = with_unit(text, &TIMES)?;
    Some(Nanos(nanos)).filter(|time| *time <= LONGEST)
}

/// Parse a rate with its unit, in any case.
pub(crate) fn rate(text: &str) -> Option<Rate> {
    let bits = with_unit(&text.to_ascii_lowercase(), &RATES)?;
    if (SLOWEST..=FASTEST).contains(&bits) {
        Rate::new(bits)
    } else {
        None
    }
}

/// Parse a share below one: `0`, or percent.
pub(crate) fn loss(text: &str) -> Option<Share> {
    if text == "0" {
        return Some(Share::NONE);
    }
    let billionths = scaled(text.strip_suffix('%')?, PERCENT)?;
    let share = Share::from_billionths(u32::try_from(billionths).ok()?)?;
    (share.billionths() < Share::WHOLE).then_some(share)
}

/// Write a time in the largest unit without a fraction.
pub(crate) fn write_time(time: Nanos) -> String {
    in_largest(time.0, &TIMES)
}

/// Write a rate in the largest unit without a fraction.
pub(crate) fn write_rate(rate: Rate) -> String {
    in_largest(rate.bits_per_second(), &RATES)
}

/// Write a share in percent.
pub(crate) fn write_loss(loss: Share) -> String {
    let billionths = u64::from(loss.billionths());
    let (whole, fraction) = (billionths / PERCENT, billionths % PERCENT);
    let text = format!("{whole}.{fraction:07}");
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

fn in_largest(value: u64, units: &[(&str, u64)]) -> String {
    let found = units
        .iter()
        .find(|(_, factor)| value > 0 && value.is_multiple_of(*factor));
    match found {
        Some((unit, factor)) => format!("{}{unit}", value / factor),
        None => "0".to_owned(),
    }
}

fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let start = text.find(|character: char| character.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(start);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    scaled(number, *factor)
}

/// Multiply a decimal number by a factor; none if the product is not whole or the number is unreasonably long.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    const LONGEST_PART: usize = 15;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits =
        |text: &str| text.len() <= LONGEST_PART && text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || number.ends_with('.') {
        return None;
    }
    let places = u32::try_from(fraction.len()).expect("at most fifteen");
    let ten = 10_u128.pow(places);
    let parts: u128 = format!("{whole}{fraction}").parse().ok()?;
    let product = parts.checked_mul(u128::from(factor))?;
    if product.is_multiple_of(ten) {
        u64::try_from(product / ten).ok()
    } else {
        None
    }
}
