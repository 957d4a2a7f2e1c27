//! `Retry-After` of an answer (RFC 9110, 10.2.3). No I/O; the clock is passed in.

use std::time::{Duration, SystemTime};

/// Whether an answer with this status may ask to be requested again later.
#[must_use]
pub const fn may_pause(status: u16) -> bool {
    matches!(status, 429 | 503)
}

/// Parses the value of `Retry-After`, seconds or an HTTP date, into the time from `now`: zero for a date in the past,
/// at most `u32::MAX` seconds. `None` if it is neither.
#[must_use]
pub fn parse(value: &[u8], now: SystemTime) -> Option<Duration> {
    let text = std::str::from_utf8(value).ok()?.trim_ascii();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let seconds = text.parse().unwrap_or(u32::MAX);
        return Some(Duration::from_secs(seconds.into()));
    }
    let moment = httpdate::parse_http_date(text).ok()?;
    let after = moment.duration_since(now).unwrap_or_default();
    Some(after.min(Duration::from_secs(u32::MAX.into())))
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use proptest::prelude::*;

    use super::*;

    /// 2015-10-21 07:28:00 UTC.
    const NOW_S: u64 = 1_445_412_480;

    fn parsed_s(value: &[u8]) -> Option<u64> {
        let now = UNIX_EPOCH + Duration::from_secs(NOW_S);
        parse(value, now).map(|after| after.as_secs())
    }

    #[test]
    fn seconds_and_dates_are_read_and_all_else_is_refused() {
        let cases: [(&[u8], Option<u64>); 17] = [
            (b"0", Some(0)),
            (b"120", Some(120)),
            (b" 007 ", Some(7)),
            (b"4294967295", Some(4_294_967_295)),
            (b"99999999999999999999999", Some(4_294_967_295)),
            (b"Wed, 21 Oct 2015 07:28:30 GMT", Some(30)),
            (b"Wed, 21 Oct 2015 07:28:00 GMT", Some(0)),
            (b"Wed, 21 Oct 2015 07:27:59 GMT", Some(0)),
            (b"Wednesday, 21-Oct-15 07:29:00 GMT", Some(60)),
            (b"Wed Oct 21 07:29:00 2015", Some(60)),
            (b"", None),
            (b"-1", None),
            (b"+1", None),
            (b"1.5", None),
            (b"soon", None),
            (b"Wed, 32 Oct 2015 07:28:00 GMT", None),
            (b"\xff", None),
        ];
        for (value, expected) in cases {
            let text = String::from_utf8_lossy(value);
            assert_eq!(parsed_s(value), expected, "{text}");
        }
    }

    #[test]
    fn only_two_statuses_pause() {
        let pauses: Vec<u16> = (100..600).filter(|status| may_pause(*status)).collect();
        assert_eq!(pauses, [429, 503]);
    }

    proptest! {
        #[test]
        fn written_values_are_read_back(seconds in any::<u32>(), ahead in 0..1_000_000_000_u64) {
            prop_assert_eq!(parsed_s(seconds.to_string().as_bytes()), Some(seconds.into()));
            let date = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(NOW_S + ahead));
            prop_assert_eq!(parsed_s(date.as_bytes()), Some(ahead));
        }

        #[test]
        fn no_value_is_too_strange(value in prop::collection::vec(any::<u8>(), 0..40)) {
            prop_assert!(parsed_s(&value).is_none_or(|seconds| seconds <= u32::MAX.into()));
        }
    }
}
