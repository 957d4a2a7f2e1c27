//! Parser of a client's output: lenient in form, safe with any bytes.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

use dyno_load::start_time;

/// Longer lines are not results; the limit bounds the memory for a line without an end.
pub const LONGEST_LINE: usize = 64 * 1024;
/// 31 years: beyond that, the sum with a start time exceeds 63 bits.
const LONGEST_DURATION_MS: f64 = 1e12;

/// The fields of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample<'l> {
    pub url: &'l str,
    /// A status, or the name of an error, which may contain spaces.
    pub code: &'l str,
    pub status: Option<u16>,
    pub start_ns: i64,
    pub precision_ns: i64,
    pub duration_ns: i64,
    /// Absent when unknown.
    pub body_length: Option<i64>,
}

impl<'l> Sample<'l> {
    /// Parses a line; `None` if it is not a result.
    ///
    /// The line is split at its last four commas, because a URL may contain commas; spaces around fields are ignored. A
    /// code of three digits from 100 to 599 is a status. The duration is in milliseconds, with or without decimals. The
    /// length is a whole number; an empty or negative length is unknown. After an error, any other text counts as
    /// unknown, too.
    pub fn read(line: &'l str) -> Option<Self> {
        if line.len() > LONGEST_LINE {
            return None;
        }
        let mut fields = line.rsplitn(5, ',').map(str::trim);
        let mut field = || fields.next();
        let (length, duration, start, code, url) =
            (field()?, field()?, field()?, field()?, field()?);
        if url.is_empty() || code.is_empty() {
            return None;
        }
        let status = status(code);
        let body_length: Option<i64> = length.parse().ok();
        if status.is_some() && body_length.is_none() && !length.is_empty() {
            return None;
        }
        let start = start_time::read(start)?;
        Some(Self {
            url,
            code,
            status,
            start_ns: start.ns,
            precision_ns: start.precision_ns,
            duration_ns: duration_ns(duration)?,
            body_length: body_length.filter(|&length| length >= 0),
        })
    }
}

fn status(code: &str) -> Option<u16> {
    let is_status = matches!(code.as_bytes(), [b'1'..=b'5', b'0'..=b'9', b'0'..=b'9']);
    code.parse().ok().filter(|_| is_status)
}

fn duration_ns(text: &str) -> Option<i64> {
    let ms = text.parse().ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^63")]
    let ns = |ms: f64| (ms * 1e6).round_ties_even() as i64;
    (0.0..=LONGEST_DURATION_MS).contains(&ms).then(|| ns(ms))
}

/// Bytes of a line that are read at once.
const PIECE_BYTES: u64 = 1 << 16;

/// Splits a stream into lines.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    /// Whether to ignore a last line without line feed.
    cut_short: bool,
    number: u64,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub fn new(input: R, cut_short: bool) -> Self {
        Self {
            input,
            cut_short,
            number: 0,
            line: Vec::new(),
        }
    }

    /// Returns the next line that is not empty, with its number from 1, without trailing carriage returns; invalid
    /// UTF-8 is replaced.
    ///
    /// A line that is too long is cut after the limit.
    pub fn next(&mut self) -> io::Result<Option<(u64, Cow<'_, str>)>> {
        loop {
            let has_end = self.read_line()?;
            if !has_end && (self.cut_short || self.line.is_empty()) {
                return Ok(None);
            }
            self.number += 1;
            if let Some(last) = self.line.iter().rposition(|&byte| byte != b'\r') {
                let line = &self.line[..=last];
                let text = str::from_utf8(line)
                    .map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed);
                return Ok(Some((self.number, text)));
            }
        }
    }

    /// Reads a line; returns whether it has a line feed, which only the last one may lack. Empty at the end.
    fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        loop {
            let kept = self.line.len();
            let mut some = self.input.by_ref().take(PIECE_BYTES);
            let read = some.read_until(b'\n', &mut self.line)?;
            let has_end = self.line.last() == Some(&b'\n');
            self.line.truncate(self.line.len() - usize::from(has_end));
            if kept > LONGEST_LINE {
                // One more byte marks a line as too long; carriage returns do not count.
                let more = self.line[kept..]
                    .iter()
                    .find(|&&byte| byte != b'\r')
                    .copied();
                self.line.truncate(kept);
                self.line.extend(more);
            }
            if has_end || read == 0 {
                return Ok(has_end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use proptest::prelude::*;

    use super::*;

    const TIME: &str = "2024-10-21T12:00:00.000Z";
    const MS: i64 = 1_000_000;
    const GOOD: &str = "https://a.example,200,2024-10-21T12:00:00.000Z,12,3";

    fn cut(output: &[u8], cut_short: bool, buffer: usize) -> Vec<(u64, String)> {
        let mut lines = Lines::new(BufReader::with_capacity(buffer, output), cut_short);
        let next = || {
            let (number, text) = lines.next().unwrap()?;
            Some((number, text.into_owned()))
        };
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_sample_is_parsed() {
        for (fields, status, duration_ns, body_length) in [
            ("https://a;200;12.345;678", Some(200), 12_345_000, Some(678)),
            ("https://a;404;5000;0", Some(404), 5_000 * MS, Some(0)),
            ("https://a;TimeoutError;5001;", None, 5_001 * MS, None),
            ("https://a;no route to host;3;", None, 3 * MS, None),
            ("https://a/?x=1,2,3;200;1;2", Some(200), MS, Some(2)),
            ("https://a;000;1;", None, MS, None),
            ("https://a;600;1;", None, MS, None),
            ("https://a;+20;1;", None, MS, None),
            ("https://a;2000;1;", None, MS, None),
            ("https://a;200;1;-1", Some(200), MS, None),
            ("https://a;200;1;+3", Some(200), MS, Some(3)),
            ("https://a;Reset;1;undefined", None, MS, None),
            ("https://a;Reset;1;7", None, MS, Some(7)),
            ("https://a;200;1e3;3", Some(200), 1_000 * MS, Some(3)),
            ("https://a;200;-0;3", Some(200), 0, Some(3)),
            ("https://a;200;0.0000015;3", Some(200), 2, Some(3)),
            ("https://a;200;0.0000025;3", Some(200), 2, Some(3)),
            (
                "https://a;200;1e12;",
                Some(200),
                1_000_000_000_000 * MS,
                None,
            ),
            ("nonsense with spaces;InvalidUrl;0;", None, 0, None),
            ("\u{feff}u;200;1;2", Some(200), MS, Some(2)),
        ] {
            let fields: Vec<&str> = fields.split(';').collect();
            let [url, code, duration, length] = fields[..] else {
                unreachable!("{fields:?}");
            };
            let sample = Sample {
                url,
                code,
                status,
                start_ns: 1_729_512_000_000 * MS,
                precision_ns: MS,
                duration_ns,
                body_length,
            };
            let line = format!("{url},{code},{TIME},{duration},{length}");
            assert_eq!(Sample::read(&line), Some(sample), "{line}");
            let spaced = format!(" {url}\t, {code} ,\u{3000}{TIME} , {duration},{length} ");
            assert_eq!(Sample::read(&spaced), Some(sample), "{spaced}");
        }
    }

    #[test]
    fn other_lines_are_no_samples() {
        for line in [
            "Server listening on port 8080",
            "https://a.example,200",
            "https://a.example,200,2024-10-21T12:00:00.000Z,12",
            ",200,2024-10-21T12:00:00.000Z,12,3",
            "https://a.example,,2024-10-21T12:00:00.000Z,12,3",
            "https://a.example,200,yesterday,12,3",
            "https://a.example,200,2024-10-21T12:00:00.000Z,,3",
            "https://a.example,200,2024-10-21T12:00:00.000Z,NaN,3",
            "https://a.example,200,2024-10-21T12:00:00.000Z,inf,3",
            "https://a.example,200,2024-10-21T12:00:00.000Z,-1,3",
            "https://a.example,200,2024-10-21T12:00:00.000Z,1e300,3",
            "https://a.example,200,2024-10-21T12:00:00.000Z,1000000000000.0002,3",
            "https://a.example,200,2024-10-21T12:00:00.000Z,12,many",
            "https://a.example,200,2024-10-21T12:00:00.000Z,12,3.5",
            "https://a.example,200,2024-10-21T12:00:00.000Z,12,9223372036854775808",
            "\0",
            "\u{1b}[31m",
            ",,,,",
            ",,,,,,,,",
        ] {
            assert_eq!(Sample::read(line), None, "{line}");
        }
    }

    #[test]
    fn a_line_of_the_greatest_length_is_parsed() {
        let rest = ",200,2024-10-21T12:00:00.000Z,12,3";
        for first in ["x", ","] {
            let url = first.to_owned() + &"x".repeat(LONGEST_LINE - rest.len() - 1);
            assert!(Sample::read(&format!("{url}{rest}")).is_some());
            assert!(Sample::read(&format!("{url}x{rest}")).is_none());
        }
    }

    #[test]
    fn empty_lines_are_skipped_and_numbered() {
        let output = format!("\n\r\n\n{GOOD}\r\r\n\n\r");
        assert_eq!(cut(output.as_bytes(), false, 4096), [(4, GOOD.to_owned())]);
        assert_eq!(cut(b"", false, 4096), []);
        assert_eq!(cut(b" \n", false, 4096), [(1, " ".to_owned())]);
    }

    #[test]
    fn invalid_utf_8_is_replaced() {
        let read = cut(b"a\xff\xfe oops\n\x80\x81\n\xe2\x82\n", false, 4096);
        let texts: Vec<&str> = read.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(
            texts,
            ["a\u{fffd}\u{fffd} oops", "\u{fffd}\u{fffd}", "\u{fffd}"]
        );
    }

    #[test]
    fn an_unfinished_last_line_of_a_killed_client_is_ignored() {
        let output = b"first\nsecond";
        assert_eq!(cut(output, false, 4096).len(), 2);
        assert_eq!(cut(output, true, 4096), [(1, "first".to_owned())]);
        assert_eq!(cut(b"first\nsecond\n", true, 4096).len(), 2);
        assert_eq!(cut(b"seco", true, 4096), []);
    }

    #[test]
    fn an_endless_line_is_one_line_in_bounded_memory() {
        let endless = vec![b'x'; 20 << 20];
        let output = [b"first\n", endless.as_slice(), b"\nlast\n"].concat();
        for cut_short in [false, true] {
            let read = cut(&output, cut_short, 4096);
            assert_eq!((read[0].1.as_str(), read[2].1.as_str()), ("first", "last"));
            assert!((LONGEST_LINE + 1..4 * LONGEST_LINE).contains(&read[1].1.len()));
        }
        assert_eq!(cut(&endless, false, 4096).len(), 1);
        assert_eq!(cut(&endless, true, 4096), []);
    }

    #[test]
    fn any_number_of_carriage_returns_ends_a_line() {
        let returns = vec![b'\r'; 1 << 20];
        let output = [
            b"first",
            returns.as_slice(),
            b"\n",
            &returns,
            b"\n",
            &returns,
            b"x\n",
        ]
        .concat();
        let read = cut(&output, false, 4096);
        assert_eq!(read[0], (1, "first".to_owned()));
        assert_eq!((read[1].0, read.len()), (3, 2));
        assert!(read[1].1.len() > LONGEST_LINE);
    }

    fn output() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just(GOOD.as_bytes().to_vec()),
            prop::sample::select(vec![",", "\n", "\r", "\r\n", "é", " ", "200", TIME])
                .prop_map(|text| text.as_bytes().to_vec()),
            prop::collection::vec(any::<u8>(), 0..8),
        ];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn reads_of_any_size_give_the_same_lines(
            output in output(), cut_short: bool, buffer in 1_usize..64,
        ) {
            prop_assert_eq!(cut(&output, cut_short, buffer), cut(&output, cut_short, 1 << 16));
        }

        #[test]
        fn lines_are_those_of_the_whole_text(output in output(), cut_short: bool) {
            let end = output.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
            let whole = if cut_short { &output[..end] } else { &output };
            let text = String::from_utf8_lossy(whole);
            let lines = (1..).zip(text.split('\n').map(|line| line.trim_end_matches('\r')));
            let expected: Vec<(u64, String)> = lines
                .filter(|(_, line)| !line.is_empty())
                .map(|(number, line)| (number, line.to_owned()))
                .collect();
            prop_assert_eq!(cut(&output, cut_short, 4096), expected);
        }

        #[test]
        fn any_line_is_parsed_or_refused(line in ".{0,80}") {
            if let Some(sample) = Sample::read(&line) {
                prop_assert!(!sample.url.is_empty() && !sample.code.is_empty() && sample.duration_ns >= 0);
            }
        }
    }
}
