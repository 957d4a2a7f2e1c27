//! Numbers for people and programs.

/// Sizes from the largest unit, in powers of two.
const SIZES: [(&str, f64); 3] = [
    ("GiB", 1_073_741_824.0),
    ("MiB", 1_048_576.0),
    ("KiB", 1024.0),
];

/// Formats a size in powers of two: `512 B`, `4.0 KiB`, `1.3 GiB`.
pub fn size(bytes: f64) -> String {
    for (unit, factor) in SIZES {
        // 1023.95 KiB would be printed as "1024.0 KiB": the next larger unit is used from there on.
        if bytes >= factor - factor / 20480.0 {
            return format!("{:.1} {unit}", bytes / factor);
        }
    }
    format!("{bytes:.0} B")
}

/// Formats a whole number with a comma between thousands.
pub fn thousands(number: u64) -> String {
    grouped(&number.to_string())
}

/// Formats a number with significant digits, without trailing zeros, like C's `%g`.
pub fn general(number: f64, digits: usize) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{number:.*e}", digits - 1);
    let (mantissa, exponent) = parts(&scientific);
    let most = i32::try_from(digits).unwrap_or(i32::MAX);
    if exponent < -4 || exponent >= most {
        return with_exponent(without_zeros(mantissa), exponent);
    }
    let decimals = usize::try_from(most - 1 - exponent).unwrap_or(0);
    without_zeros(&format!("{number:.decimals$}")).to_owned()
}

/// Like [`general`] with six digits, with a comma between thousands.
pub fn general_grouped(number: f64) -> String {
    let text = general(number, 6);
    if text.contains('e') {
        return text;
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction}", grouped(whole))
}

/// Formats a number with all its digits, without exponent: `5`, `0.0000025`.
pub fn exact(number: f64) -> String {
    format!("{number}")
}

/// Formats a number as the shortest text that parses to it, like Python: `300.0`, `1e-05`.
pub fn shortest(number: f64) -> String {
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = parts(&scientific);
    if (-4..16).contains(&exponent) || number == 0.0 {
        let plain = format!("{number}");
        return if plain.contains('.') {
            plain
        } else {
            plain + ".0"
        };
    }
    with_exponent(mantissa, exponent)
}

/// Rounds to decimals, ties to even, by the digits of the number itself.
pub fn rounded(number: f64, decimals: usize) -> f64 {
    format!("{number:.decimals$}").parse().unwrap_or(number)
}

fn parts(scientific: &str) -> (&str, i32) {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    (mantissa, exponent.parse().unwrap_or(0))
}

fn with_exponent(mantissa: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// Removes the trailing zeros of a fraction.
pub fn without_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

fn grouped(digits: &str) -> String {
    let (sign, digits) = digits
        .strip_prefix('-')
        .map_or(("", digits), |rest| ("-", rest));
    let mut text = sign.to_owned();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted() {
        for (bytes, expected) in [
            (0.0, "0 B"),
            (512.0, "512 B"),
            (4096.0, "4.0 KiB"),
            (1_048_550.0, "1.0 MiB"),
            (1.4e9, "1.3 GiB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
        for (number, digits, expected) in [
            (0.0, 3, "0"),
            (3.0, 3, "3"),
            (1.4349, 3, "1.43"),
            (0.000_123_4, 3, "0.000123"),
            (0.000_012_34, 3, "1.23e-05"),
            (1234.5, 3, "1.23e+03"),
            (999.96, 3, "1e+03"),
            (300.0, 6, "300"),
            (1_398.345_6, 6, "1398.35"),
        ] {
            assert_eq!(general(number, digits), expected);
        }
        for (number, expected) in [
            (300.0, "300"),
            (12_345.6, "12,345.6"),
            (123_456.0, "123,456"),
            (1_234_567.0, "1.23457e+06"),
        ] {
            assert_eq!(general_grouped(number), expected);
        }
        for (number, expected) in [
            (300.0, "300.0"),
            (0.0, "0.0"),
            (0.1, "0.1"),
            (0.000_01, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (1e16, "1e+16"),
            (123_456_789.25, "123456789.25"),
        ] {
            assert_eq!(shortest(number), expected);
        }
        for (number, decimals, expected) in [
            (2.5, 0, 2.0),
            (0.125, 2, 0.12),
            (2.675, 2, 2.67),
            (95.485_951_4, 6, 95.485_951),
        ] {
            assert!((rounded(number, decimals) - expected).abs() < 1e-12);
        }
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(thousands),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(exact(2.5e-6), "0.0000025");
    }
}
