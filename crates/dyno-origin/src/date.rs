//! The value of the `Date` field, formatted once a second.

use std::cell::Cell;
use std::time::{Duration, UNIX_EPOCH};

/// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
pub(crate) type Text = [u8; 29];

/// The last formatted value, with its second.
#[derive(Debug)]
pub(crate) struct Date(Cell<(u64, Text)>);

impl Default for Date {
    fn default() -> Self {
        Self(Cell::new((0, format(0))))
    }
}

impl Date {
    /// Formats a moment.
    pub(crate) fn at(&self, unix_ns: u64) -> Text {
        let second = unix_ns / 1_000_000_000;
        let (made, text) = self.0.get();
        if made == second {
            return text;
        }
        let text = format(second);
        self.0.set((second, text));
        text
    }
}

/// The second after a value.
pub(crate) fn next(text: &Text) -> Text {
    let moment = std::str::from_utf8(text)
        .ok()
        .and_then(|text| httpdate::parse_http_date(text).ok());
    let since = moment.and_then(|moment| moment.duration_since(UNIX_EPOCH).ok());
    since.map_or(*text, |since| format(since.as_secs() + 1))
}

fn format(second: u64) -> Text {
    let text = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(second));
    text.as_bytes()
        .try_into()
        .expect("of that length until the year 9999")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_changes_with_the_second() {
        let date = Date::default();
        let cases: [(u64, &[u8; 29]); 3] = [
            (784_111_777_999_999_999, b"Sun, 06 Nov 1994 08:49:37 GMT"),
            (784_111_778_000_000_000, b"Sun, 06 Nov 1994 08:49:38 GMT"),
            (0, b"Thu, 01 Jan 1970 00:00:00 GMT"),
        ];
        for (unix_ns, text) in cases {
            assert_eq!(&date.at(unix_ns), text);
        }
        assert_eq!(next(cases[0].1), *cases[1].1);
    }
}
