//! Text of measured times: three digits and a unit.

/// Units from the largest, with the nanoseconds in each.
const UNITS: [(&str, f64); 4] = [("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)];

/// Writes a measured time with three digits that matter and a unit that suits: `250 ns`, `1.02 ms`, `12 s`.
#[must_use]
pub fn format_time(nanoseconds: f64) -> String {
    // 999.6 us would be printed as "1000 us": the next unit up takes over from where rounding would carry.
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
