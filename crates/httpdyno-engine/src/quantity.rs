//! Parsers of quantities: `600s`, `40ms`, `2GiB`, `1500`.

use std::time::Duration;

use dyno_web::Nanos;

/// Parses a time: a decimal number of seconds, or one with `ns`, `us`, `ms`, `s`, `m` (or `min`), `h`, `d`.
pub fn duration(text: &str) -> Result<Nanos, String> {
    dyno_load::parse_time_ns(text).map(Nanos)
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
    dyno_load::parse_scaled(text, &UNITS, 1)
        .ok_or_else(|| format!("{text:?} is not a size: write 512MiB, 2GiB or a number of bytes"))
}

/// Like [`bytes`], for the memory of a program; refuses less than 1 MiB, because no program starts with that.
pub fn memory(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        little if little < 1 << 20 => Err(format!(
            "{text:?} is too little for any program: write 1MiB or more, such as 2GiB"
        )),
        enough => Ok(enough),
    }
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
