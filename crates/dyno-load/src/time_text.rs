//! Formats measured times: three digits and a unit.

/// Units from the largest, with the nanoseconds in each.
const UNITS: [(&str, f64); 4] = [("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)];

/// Formats a time with three significant digits and a suitable unit: `250 ns`, `1.02 ms`, `12 s`.
#[must_use]
pub fn format_time(nanoseconds: f64) -> String {
    // Without the factor, 999.6 us would print as "1000 us"; it selects the next larger unit where rounding would
    // carry.
    let fits = |(_, factor): &&(&str, f64)| nanoseconds.abs() >= factor * 0.9995;
    let (unit, factor) = UNITS.iter().find(fits).unwrap_or(&UNITS[3]);
    let value = nanoseconds / factor;
    let decimals = match value.abs() {
        0.0 => 0,
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    let text = format!("{value:.decimals$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text} {unit}")
}

/// Units of time, in nanoseconds.
const UNITS_NS: [(&str, u64); 9] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// Parses a time into nanoseconds: a decimal number of seconds, or one with `ns`, `us`, `ms`, `s`, `m` (or `min`), `h`, `d`.
///
/// # Errors
///
/// The correct form.
pub fn parse_time_ns(text: &str) -> Result<u64, String> {
    parse_scaled(text, &UNITS_NS, 1_000_000_000)
        .ok_or_else(|| format!("{text:?} is not a time: write 5, 2.5s, 800ms or 10m"))
}

/// Parses a decimal number with one of some units, or with the default one; exact, rounded down to whole numbers.
#[must_use]
pub fn parse_scaled(text: &str, units: &[(&str, u64)], default: u64) -> Option<u64> {
    let text = text.trim();
    let found = units
        .iter()
        .find_map(|(name, factor)| Some((text.strip_suffix(name)?.trim_end(), *factor)));
    let (number, factor) = found.unwrap_or((text, default));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0
        || fraction.len() > 15
        || !digits(whole)
        || !digits(fraction)
    {
        return None;
    }
    let whole: u64 = format!("0{whole}").parse().ok()?;
    let parts: u128 = format!("0{fraction}").parse().ok()?;
    let below_one = parts * u128::from(factor) / 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    whole
        .checked_mul(factor)?
        .checked_add(u64::try_from(below_one).ok()?)
}

/// Writes a time in the largest unit that has a whole number of it, as [`parse_time_ns`] reads it.
pub(crate) fn write_time_ns(time_ns: u64) -> String {
    let units = UNITS_NS.iter().rev();
    let mut whole = units.filter(|(name, factor)| {
        !matches!(*name, "min" | "d" | "\u{b5}s") && time_ns.is_multiple_of(*factor) && time_ns > 0
    });
    let (unit, factor) = whole.next().unwrap_or(&("s", 1));
    format!("{}{unit}", time_ns / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_three_digits_and_a_unit() {
        let cases = [
            (0.0, "0 ns"),
            (0.25, "0.25 ns"),
            (250.0, "250 ns"),
            (999.4, "999 ns"),
            (999.6, "1 us"),
            (1_020_000.0, "1.02 ms"),
            (12_000_000_000.0, "12 s"),
            (95_485_951.0, "95.5 ms"),
            (451_000_000.0, "451 ms"),
            (3_600_000_000_000.0, "3600 s"),
            (-1500.0, "-1.5 us"),
        ];
        for (nanoseconds, expected) in cases {
            assert_eq!(format_time(nanoseconds), expected);
        }
    }
}
