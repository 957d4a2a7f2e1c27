//! Parsers of quantities: `600s`, `40ms`, `2GiB`, `1500`.

use std::time::Duration;

use dyno_web::Nanos;

/// Parses a time: a decimal number of seconds, or one with `ns`, `us`, `ms`, `s`, `m` (or `min`), `h`, `d`.
pub fn duration(text: &str) -> Result<Nanos, String> {
    const UNITS: [(&str, u64); 9] = [
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
    let (number, unit) = split(text, &UNITS, 1_000_000_000);
    scaled(number, unit)
        .map(Nanos)
        .ok_or_else(|| format!("{text:?} is not a time: write 5, 2.5s, 800ms or 10m"))
}

/// Like [`duration`], for the standard library's type.
pub fn standard_duration(text: &str) -> Result<Duration, String> {
    duration(text).map(Nanos::duration)
}

/// Parses a size: bytes, or a number with `KiB`, `MiB`, `GiB` (powers of two) or `KB`, `MB`, `GB` (powers of ten).
pub fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 7] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("B", 1),
    ];
    let (number, unit) = split(text, &UNITS, 1);
    scaled(number, unit)
        .ok_or_else(|| format!("{text:?} is not a size: write 512MiB, 2GiB or a number of bytes"))
}

/// Like [`bytes`], for the memory of a program; refuses less than 1 MiB, in which no program starts.
pub fn memory(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        little if little < 1 << 20 => Err(format!(
            "{text:?} is too little for any program: write 1MiB or more, such as 2GiB"
        )),
        enough => Ok(enough),
    }
}

fn split<'t>(text: &'t str, units: &[(&str, u64)], default: u64) -> (&'t str, u64) {
    let text = text.trim();
    let found = units
        .iter()
        .find_map(|(name, factor)| Some((text.strip_suffix(name)?.trim_end(), *factor)));
    found.unwrap_or((text, default))
}

/// A decimal number times a factor, exact, rounded down to whole units.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0
        || fraction.len() > 15
        || !digits(whole)
        || !digits(fraction)
    {
        return None;
    }
    let whole: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let parts: u128 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().ok()?
    };
    let below_one = parts * u128::from(factor) / 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    whole
        .checked_mul(factor)?
        .checked_add(u64::try_from(below_one).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_parse() {
        let cases = [
            ("5", Some(5_000_000_000)),
            ("2.5", Some(2_500_000_000)),
            ("800ms", Some(800_000_000)),
            ("0.25ms", Some(250_000)),
            ("10m", Some(600_000_000_000)),
            ("10min", Some(600_000_000_000)),
            ("5\u{b5}s", Some(5_000)),
            ("1.5d", Some(129_600_000_000_000)),
            ("600 s", Some(600_000_000_000)),
            (".5s", Some(500_000_000)),
            ("", None),
            ("s", None),
            ("-5", None),
            ("5 apples", None),
            ("1e3", None),
            ("99999999999999h", None),
        ];
        for (text, expected) in cases {
            assert_eq!(duration(text).ok().map(|nanos| nanos.0), expected, "{text}");
        }
    }

    #[test]
    fn sizes_parse() {
        let cases = [
            ("2GiB", Some(2 << 30)),
            ("1.5KiB", Some(1_536)),
            ("10MB", Some(10_000_000)),
            ("64", Some(64)),
            ("64B", Some(64)),
            ("2G", None),
        ];
        for (text, expected) in cases {
            assert_eq!(bytes(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn a_memory_limit_is_at_least_1_mib() {
        for (text, expected) in [
            ("1MiB", Some(1 << 20)),
            ("2GiB", Some(2 << 30)),
            ("1048575", None),
            ("3", None),
            ("0", None),
            ("lots", None),
        ] {
            assert_eq!(memory(text).ok(), expected, "{text}");
        }
    }
}
