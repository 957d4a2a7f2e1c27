//! The row that is printed for a URL: `url,code,start_time,duration,body_length`, or its details as JSON.

use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dyno_client::Failure;

/// First line of rows as CSV.
pub const HEADER: &[u8] = b"url,code,start_time,duration,body_length\n";

/// Forms of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowFormat {
    /// Fields separated by commas; only the URL may contain further commas, and is not quoted.
    #[default]
    Contract,
    /// The same fields, quoted as in RFC 4180. Lines end in a line feed.
    Csv,
    /// A JSON object with the details of the URL.
    Jsonl,
}

/// Outcome of a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// The status of the last answer.
    Status(u16),
    /// The failure, if there is no complete answer.
    Failure(Failure),
    /// The content failed the check of `CHECK`.
    CheckFailed,
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// The line as read, without its end.
    pub url: &'a [u8],
    /// Its outcome.
    pub code: Code,
    /// When the URL started.
    pub start: SystemTime,
    /// Time from the start to the last byte.
    pub duration: Duration,
    /// Bytes of content, decoded.
    pub length: u64,
}

impl Row<'_> {
    /// Appends the row of the contract with its line end.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.url);
        self.write_rest(out);
    }

    /// Appends the row with its URL quoted where RFC 4180 asks for it. No other field needs quotes.
    pub fn write_csv(&self, out: &mut Vec<u8>) {
        let is_special = |byte: &u8| matches!(byte, b',' | b'"' | b'\r' | b'\n');
        if self.url.iter().any(is_special) {
            out.push(b'"');
            for part in self.url.split_inclusive(|byte| *byte == b'"') {
                out.extend_from_slice(part);
                if part.ends_with(b"\"") {
                    out.push(b'"');
                }
            }
            out.push(b'"');
        } else {
            out.extend_from_slice(self.url);
        }
        self.write_rest(out);
    }

    /// Appends all fields after the URL.
    fn write_rest(&self, out: &mut Vec<u8>) {
        let length = match self.code {
            Code::Failure(_) => 0,
            Code::Status(_) | Code::CheckFailed => self.length,
        };
        let micros = self.duration.as_micros();
        let start = Timestamp(self.start);
        let written = match self.code {
            Code::Status(status) => write!(out, ",{status}"),
            Code::Failure(failure) => write!(out, ",{}", failure.name()),
            Code::CheckFailed => write!(out, ",CheckFailed"),
        };
        let written = written.and_then(|()| {
            writeln!(
                out,
                ",{start},{}.{:03},{length}",
                micros / 1_000,
                micros % 1_000
            )
        });
        written.expect("a vector takes all bytes");
    }
}

/// Formats a time as RFC 3339, in UTC, with microseconds.
#[derive(Debug, Clone, Copy)]
pub struct Timestamp(pub SystemTime);

impl std::fmt::Display for Timestamp {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let since = self.0.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
        let (year, month, day) = date(days);
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        let micros = since.subsec_micros();
        write!(
            formatter,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z"
        )
    }
}

/// The date this many days after 1970-01-01. Computed in years that begin in March, so that a leap day comes last.
const fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_OF_400_YEARS: u64 = 146_097;
    // Days from 0000-03-01 to 1970-01-01.
    let days = days + 719_468;
    let (era, day_of_era) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    (era * 400 + year_of_era + (month <= 2) as u64, month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rows_have_the_form_of_the_contract() {
        let row = |code, length| {
            let mut out = Vec::new();
            let start = UNIX_EPOCH + Duration::from_micros(1_763_771_898_000_042);
            let duration = Duration::from_nanos(12_003_999);
            Row {
                url: b"https://a.test/b,c",
                code,
                start,
                duration,
                length,
            }
            .write(&mut out);
            String::from_utf8(out).unwrap()
        };
        let with = |code: &str, length| {
            format!("https://a.test/b,c,{code},2025-11-22T00:38:18.000042Z,12.003,{length}\n")
        };
        assert_eq!(row(Code::Status(404), 7), with("404", 7));
        assert_eq!(
            row(Code::Failure(Failure::HostNotFound), 7),
            with("HostNotFound", 0)
        );
        assert_eq!(row(Code::CheckFailed, 7), with("CheckFailed", 7));
    }

    /// Reads the URL of a row as RFC 4180 defines it, and the rest of the row.
    fn read_url(row: &[u8]) -> (Vec<u8>, &[u8]) {
        let Some(mut rest) = row.strip_prefix(b"\"") else {
            let end = row.iter().position(|byte| *byte == b',').unwrap();
            assert!(!row[..end].iter().any(|byte| b"\"\r\n".contains(byte)));
            return (row[..end].to_vec(), &row[end..]);
        };
        let mut url = Vec::new();
        loop {
            let end = rest.iter().position(|byte| *byte == b'"').unwrap();
            url.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            match rest.strip_prefix(b"\"") {
                Some(after) => {
                    url.push(b'"');
                    rest = after;
                }
                None => return (url, rest),
            }
        }
    }

    proptest! {
        #[test]
        fn any_url_is_read_back_from_csv(url in prop::collection::vec(
            prop_oneof![Just(b','), Just(b'"'), Just(b'\r'), any::<u8>()], 1..40,
        )) {
            let row = Row {
                url: &url,
                code: Code::Status(200),
                start: UNIX_EPOCH,
                duration: Duration::ZERO,
                length: 1,
            };
            let (mut csv, mut contract) = (Vec::new(), Vec::new());
            row.write_csv(&mut csv);
            row.write(&mut contract);
            let (read, rest) = read_url(&csv);
            prop_assert_eq!(&read, &url);
            prop_assert_eq!(rest, &contract[url.len()..]);
        }
    }

    #[test]
    fn days_have_their_dates() {
        // Output of `date -u -d @$((days * 86400))`.
        let cases = [
            (0, (1970, 1, 1)),
            (58, (1970, 2, 28)),
            (59, (1970, 3, 1)),
            (789, (1972, 2, 29)),
            (10_956, (1999, 12, 31)),
            (11_016, (2000, 2, 29)),
            (20_779, (2026, 11, 22)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
        ];
        for (days, expected) in cases {
            assert_eq!(date(days), expected, "{days}");
        }
    }
}
