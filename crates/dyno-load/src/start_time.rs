//! Parser of start times: ISO 8601 in the forms of the standard libraries.

const NS: i64 = 1_000_000_000;
const NANOSECOND_DIGITS: usize = 9;

/// A time since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartTime {
    /// Nanoseconds since 1970 (UTC).
    pub ns: i64,
    /// The value of the last digit: a second without a fraction.
    pub precision_ns: i64,
}

/// Parses `2024-10-21T12:34:56` with a `T`, `t` or space in the middle, from 1970 to 2199.
///
/// Seconds or a fraction may be absent (some libraries drop them when they are zero). `Z`, `z`, `UTC`, `+02:00`, `+0200`, `+02` or
/// no offset, which means UTC, may follow, and then a zone name in brackets, which is ignored.
#[must_use]
pub fn read(text: &str) -> Option<StartTime> {
    let (minute, rest) = text.split_at_checked("2024-10-21T12:34".len())?;
    let minute = minutes(minute.as_bytes())?;
    let (second, precision_ns, zone) = match rest.chars().next() {
        Some(':') => seconds(&rest[1..])?,
        None | Some('Z' | 'z' | '+' | '-' | '[' | ' ') => (0, NS, rest),
        Some(_) => return None,
    };
    Some(StartTime {
        ns: (minute - offset_minutes(zone)?) * 60 * NS + second,
        precision_ns,
    })
}

/// Minutes from the epoch to a date and time of day.
fn minutes(text: &[u8]) -> Option<i64> {
    let &[
        y0,
        y1,
        y2,
        y3,
        b'-',
        m0,
        m1,
        b'-',
        d0,
        d1,
        between,
        h0,
        h1,
        b':',
        n0,
        n1,
    ] = text
    else {
        return None;
    };
    let year = number([y0, y1])? * 100 + number([y2, y3])?;
    let (month, day) = (number([m0, m1])?, number([d0, d1])?);
    let (hour, minute) = (number([h0, h1])?, number([n0, n1])?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    let is_moment = (1970..2200).contains(&year)
        && (1..=days).contains(&day)
        && matches!(between, b'T' | b't' | b' ')
        && hour < 24
        && minute < 60;
    // In a year that begins in March, the leap day is the last one.
    let (march_year, since_march) = (year - i64::from(month < 3), (month + 9) % 12);
    let leap_days = march_year / 4 - march_year / 100 + march_year / 400;
    let of_year = (153 * since_march + 2) / 5 + day - 1;
    let days = 365 * march_year + leap_days + of_year - 719_468;
    is_moment.then_some((days * 24 + hour) * 60 + minute)
}

/// Nanoseconds of `56.789`, the value of the last digit, and the rest of the text.
fn seconds(text: &str) -> Option<(i64, i64, &str)> {
    let (second, rest) = text.split_at_checked(2)?;
    // A leap second counts as the first second of the next minute.
    let whole = number(second.as_bytes().try_into().ok()?).filter(|&second| second <= 60)? * NS;
    let Some(fraction) = rest.strip_prefix('.') else {
        return Some((whole, NS, rest));
    };
    let length = fraction.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, zone) = fraction.split_at(length);
    if digits.is_empty() || zone.starts_with('.') {
        return None;
    }
    let mut precision_ns = NS;
    let mut ns = whole;
    for digit in digits.bytes().take(NANOSECOND_DIGITS) {
        precision_ns /= 10;
        ns += i64::from(digit - b'0') * precision_ns;
    }
    Some((ns, precision_ns, zone))
}

/// Minutes that a zone is ahead of UTC.
fn offset_minutes(zone: &str) -> Option<i64> {
    let zone = without_name(zone);
    let utc = zone.trim_start_matches(' ');
    if utc.is_empty() || utc.eq_ignore_ascii_case("z") || utc.eq_ignore_ascii_case("utc") {
        return Some(0);
    }
    let zone = zone.strip_prefix(char::is_whitespace).unwrap_or(zone);
    let (hour, minute) = match *zone.as_bytes() {
        [_, h0, h1] => ([h0, h1], *b"00"),
        [_, h0, h1, m0, m1] | [_, h0, h1, b':', m0, m1] => ([h0, h1], [m0, m1]),
        _ => return None,
    };
    let (hour, minute) = (number(hour)?, number(minute)?);
    let offset = hour * 60 + minute;
    match zone.as_bytes()[0] {
        _ if hour >= 24 || minute >= 60 => None,
        b'+' => Some(offset),
        b'-' => Some(-offset),
        _ => None,
    }
}

/// A zone without a name in brackets and the space before it.
fn without_name(zone: &str) -> &str {
    let named = || {
        let (before, name) = zone.strip_suffix(']')?.rsplit_once('[')?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_+/:.-".contains(&byte);
        let before = before.strip_suffix(char::is_whitespace).unwrap_or(before);
        name.bytes().all(is_name).then_some(before)
    };
    named().unwrap_or(zone)
}

fn number(digits: [u8; 2]) -> Option<i64> {
    let [tens, ones] = digits.map(|digit| digit.wrapping_sub(b'0'));
    (tens < 10 && ones < 10).then(|| i64::from(tens * 10 + ones))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    /// 2024-10-21T12:00:00Z.
    const NOON: i64 = 1_729_512_000 * NS;

    #[test]
    fn each_form_has_its_time_and_precision() {
        for (text, ns, precision_ns) in [
            ("2024-10-21T12:00:00", NOON, NS),
            ("2024-10-21T12:00:00Z", NOON, NS),
            ("2024-10-21t12:00:00z", NOON, NS),
            ("2024-10-21 12:00:00 UTC", NOON, NS),
            ("2024-10-21T12:00:00.5Z", NOON + NS / 2, 100 * MS),
            ("2024-10-21T12:00:00.123Z", NOON + 123 * MS, MS),
            (
                "2024-10-21T12:00:00.123456+00:00",
                NOON + 123_456_000,
                1_000,
            ),
            ("2024-10-21T12:00:00.123456789Z", NOON + 123_456_789, 1),
            ("2024-10-21T12:00:00.1234567891Z", NOON + 123_456_789, 1),
            ("2024-10-21T14:00:00.000+02:00", NOON, MS),
            ("2024-10-21T14:00:00.000+0200", NOON, MS),
            ("2024-10-21T14:00:00+02", NOON, NS),
            ("2024-10-21 08:30:00.25 -0330", NOON + NS / 4, 10 * MS),
            (
                "2024-10-21T14:00:00.1+02:00[Europe/Berlin]",
                NOON + NS / 10,
                100 * MS,
            ),
            ("2024-10-21T12:00", NOON, NS),
            ("2024-10-21T12:00Z", NOON, NS),
            ("2024-10-21T14:00+02:00[Europe/Berlin]", NOON, NS),
            ("2024-10-21T12:00 [UTC]", NOON, NS),
            ("2024-10-21T11:59:60Z", NOON, NS),
            ("2024-10-21T12:00:00\u{3000}+00", NOON, NS),
            ("1970-01-01T00:00:00+01:00", -3_600 * NS, NS),
        ] {
            let read = read(text);
            assert_eq!(read, Some(StartTime { ns, precision_ns }), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "now",
            "1729512000",
            "2024-10-21",
            "2024-13-21T12:00:00Z",
            "2024-00-21T12:00:00Z",
            "2024-10-32T12:00:00Z",
            "2024-10-00T12:00:00Z",
            "2023-02-29T12:00:00Z",
            "2100-02-29T12:00:00Z",
            "2024-10-21T24:00:00Z",
            "2024-10-21T12:60:00Z",
            "2024-10-21T12:00:61Z",
            "2024-10-21T12:00:0",
            "2024-10-21T12:00.5",
            "2024-10-21T12.00.00",
            "2024-10-21_12:00:00",
            "2024-10-21T12:00:00.",
            "2024-10-21T12:00:00.Z",
            "2024-10-21T12:00:00.1.2",
            "2024-10-21T12:00:00,5",
            "2024-10-21T12:00:00+25:00",
            "2024-10-21T12:00:00+02:60",
            "2024-10-21T12:00:00+1",
            "2024-10-21T12:00:00  +02",
            "2024-10-21T12:00:00 EST",
            "2024-10-21T12:00:00[a b]",
            "2024-10-21T12:00:00+é0",
            "1969-12-31T23:59:59Z",
            "2200-01-01T00:00:00Z",
            "+2024-10-21T12:00:0",
            "2024-10-21T12:00:00.٣",
            "é024-10-21T12:00:00",
            "日本日本日本日本日本日本日本",
            "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn every_day_follows_the_one_before() {
        let mut day = 0;
        for year in 1970..2200 {
            for month in 1..=12 {
                for of_month in 1..=31 {
                    let text = format!("{year}-{month:02}-{of_month:02}T00:00:00Z");
                    if let Some(start) = read(&text) {
                        assert_eq!(start.ns, day * 86_400 * NS, "{text}");
                        day += 1;
                    }
                }
            }
        }
        // 230 years; every fourth is a leap year, except 2100.
        assert_eq!(day, 230 * 365 + 56);
    }
}
