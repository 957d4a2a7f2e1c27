//! Reads the rows of a shard again: each must be whole, and their URLs must be the lines of the shard.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};

use dyno_fetch::{COLUMN_NAMES, Fingerprint, hex};
use hdrhistogram::Histogram;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::manifest::Form;

/// Longest row. A line of a list has up to 1 MiB, and a row as JSON may repeat it after each of its redirects.
const MAX_ROW_BYTES: u64 = 64 << 20;
/// Longest duration, in nanoseconds: longer than any timeout.
const MAX_DURATION_NS: u64 = 1_000_000_000_000_000;

/// What the rows of shards say.
#[derive(Debug)]
pub struct Figures {
    /// Number of rows.
    pub rows: u64,
    /// Of their URLs.
    pub fingerprint: Fingerprint,
    /// Rows by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Rows by error.
    pub errors: BTreeMap<String, u64>,
    /// Of all rows, in nanoseconds.
    pub durations: Histogram<u64>,
}

impl Default for Figures {
    fn default() -> Self {
        Self {
            rows: 0,
            fingerprint: Fingerprint::default(),
            statuses: BTreeMap::new(),
            errors: BTreeMap::new(),
            durations: Histogram::new_with_bounds(1, MAX_DURATION_NS, 3).expect("valid bounds"),
        }
    }
}

/// Why rows cannot be read.
#[derive(Debug)]
pub enum Failed {
    /// The file of rows cannot be read.
    Read(io::Error),
    /// The copy of the rows cannot be written.
    Write(io::Error),
    /// This line is not a row.
    Line(u64),
}

/// Length and digest of the rows that were read.
#[derive(Debug, PartialEq, Eq)]
pub struct Extent {
    /// In bytes.
    pub bytes: u64,
    /// SHA-256.
    pub sha256: String,
    /// Whether the first line has the names of the columns.
    pub column_names: bool,
}

impl Figures {
    /// Adds rows; copies them to `copy`, without the names of the columns, which are not a row in any form.
    pub fn add(
        &mut self,
        mut rows: impl BufRead,
        form: Form,
        copy: &mut impl Write,
    ) -> Result<Extent, Failed> {
        let (mut bytes, mut digest, mut line) = (0, Sha256::new(), Vec::new());
        let mut column_names = false;
        for number in 1.. {
            line.clear();
            let read = (&mut rows).take(MAX_ROW_BYTES).read_until(b'\n', &mut line);
            let count = read.map_err(Failed::Read)?;
            if count == 0 {
                break;
            }
            bytes += count as u64;
            digest.update(&line);
            if number == 1 && form == Form::Csv && line == COLUMN_NAMES {
                column_names = true;
                continue;
            }
            let row = line
                .strip_suffix(b"\n")
                .and_then(|row| Row::read(row, form));
            self.take(&row.ok_or(Failed::Line(number))?);
            copy.write_all(&line).map_err(Failed::Write)?;
        }
        Ok(Extent {
            bytes,
            sha256: hex(&digest.finalize()),
            column_names,
        })
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a negative duration is no row, and longer ones than the histogram's are cut to its end"
    )]
    fn take(&mut self, row: &Row) {
        self.rows += 1;
        self.fingerprint.add(&row.url);
        match &row.code {
            Code::Status(status) => *self.statuses.entry(*status).or_default() += 1,
            Code::Error(name) => {
                if let Some(count) = self.errors.get_mut(name) {
                    *count += 1;
                } else {
                    self.errors.insert(name.clone(), 1);
                }
            }
        }
        self.durations
            .saturating_record((row.duration_ms * 1e6) as u64);
    }
}

/// A row in any form.
#[derive(Debug, PartialEq)]
struct Row {
    url: Vec<u8>,
    code: Code,
    duration_ms: f64,
}

#[derive(Debug, PartialEq, Eq)]
enum Code {
    Status(u16),
    Error(String),
}

/// The keys of a row as JSON that count.
#[derive(Debug, Deserialize)]
struct JsonRow {
    url: String,
    status: Option<u16>,
    error: Option<String>,
    duration_ms: f64,
}

impl Row {
    /// Returns `None` for a line that is not a row.
    fn read(line: &[u8], form: Form) -> Option<Self> {
        let row = match form {
            Form::Jsonl => Self::of_json(line)?,
            Form::Csv => {
                let (url, rest) = unquoted(line)?;
                Self::of_fields(url, std::str::from_utf8(rest).ok()?)?
            }
            Form::Contract => {
                // Only the URL may have further commas.
                let mut commas = line
                    .iter()
                    .enumerate()
                    .rev()
                    .filter(|(_, byte)| **byte == b',');
                let (end, _) = commas.nth(3)?;
                Self::of_fields(
                    line[..end].to_vec(),
                    std::str::from_utf8(&line[end + 1..]).ok()?,
                )?
            }
        };
        (row.duration_ms >= 0.0 && row.duration_ms.is_finite()).then_some(row)
    }

    fn of_json(line: &[u8]) -> Option<Self> {
        let row: JsonRow = serde_json::from_slice(line).ok()?;
        let code = match (row.error, row.status) {
            (Some(error), _) => Code::Error(error),
            (None, Some(status)) => Code::Status(status),
            (None, None) => return None,
        };
        Some(Self {
            url: row.url.into_bytes(),
            code,
            duration_ms: row.duration_ms,
        })
    }

    /// Reads the fields after the URL: code, start, duration, length.
    fn of_fields(url: Vec<u8>, rest: &str) -> Option<Self> {
        let mut fields = rest.split(',');
        let mut next = || fields.next().filter(|field| !field.is_empty());
        let (code, _, duration, length) = (next()?, next()?, next()?, next()?);
        if fields.next().is_some() || length.parse::<u64>().is_err() {
            return None;
        }
        let code = match code.parse() {
            Ok(status) => Code::Status(status),
            Err(_) if code.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                Code::Error(code.to_owned())
            }
            Err(_) => return None,
        };
        Some(Self {
            url,
            code,
            duration_ms: duration.parse().ok()?,
        })
    }
}

/// Splits off the first field, quoted as in RFC 4180 or not.
fn unquoted(line: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let Some(mut rest) = line.strip_prefix(b"\"") else {
        let end = line.iter().position(|byte| *byte == b',')?;
        return Some((line[..end].to_vec(), &line[end + 1..]));
    };
    let mut url = Vec::new();
    loop {
        let end = rest.iter().position(|byte| *byte == b'"')?;
        url.extend_from_slice(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.split_first()? {
            (b'"', after) => {
                url.push(b'"');
                rest = after;
            }
            (b',', after) => return Some((url, after)),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    const REST: &str = "2026-11-22T01:38:19.061934Z,212.204,1256";

    fn add(text: &[u8], form: Form) -> Result<(Figures, Vec<u8>), Failed> {
        let (mut figures, mut copy) = (Figures::default(), Vec::new());
        let extent = figures.add(text, form, &mut copy)?;
        assert_eq!(extent.bytes, text.len() as u64);
        Ok((figures, copy))
    }

    #[test]
    fn every_form_has_the_same_figures() {
        let urls = ["https://a.test/", "https://a.test/b,\"c\"", "no url"];
        let codes = ["200", "HostNotFound", "200"];
        let mut texts = [String::new(), String::new(), String::new()];
        for (url, code) in urls.iter().zip(codes) {
            let quoted = if url.contains(',') {
                format!("\"{}\"", url.replace('"', "\"\""))
            } else {
                (*url).to_owned()
            };
            writeln!(texts[0], "{quoted},{code},{REST}").unwrap();
            writeln!(texts[1], "{url},{code},{REST}").unwrap();
            let (status, error) = match code.parse::<u16>() {
                Ok(status) => (Some(status), None),
                Err(_) => (None, Some(code)),
            };
            let row = serde_json::json!({"url": url, "status": status, "error": error, "duration_ms": 212.204});
            writeln!(texts[2], "{row}").unwrap();
        }
        let mut expected = Fingerprint::default();
        for url in urls {
            expected.add(url.as_bytes());
        }
        for (text, form) in texts.iter().zip([Form::Csv, Form::Contract, Form::Jsonl]) {
            let (figures, copy) = add(text.as_bytes(), form).unwrap();
            assert_eq!(
                (figures.rows, figures.fingerprint),
                (3, expected),
                "{form:?}"
            );
            assert_eq!(figures.statuses, BTreeMap::from([(200, 2)]));
            assert_eq!(
                figures.errors,
                BTreeMap::from([("HostNotFound".to_owned(), 1)])
            );
            assert!((212_000_000..213_000_000).contains(&figures.durations.max()));
            assert_eq!(copy, text.as_bytes());
        }
        let names = String::from_utf8(COLUMN_NAMES.to_vec()).unwrap();
        let (figures, copy) = add((names.clone() + &texts[0]).as_bytes(), Form::Csv).unwrap();
        assert_eq!((figures.rows, copy), (3, texts[0].clone().into_bytes()));
        // In another form, or on another line, the names are a damaged row.
        let refused = add((names.clone() + &texts[1]).as_bytes(), Form::Contract);
        assert!(matches!(refused, Err(Failed::Line(1))));
        let refused = add((names.clone() + &names).as_bytes(), Form::Csv);
        assert!(matches!(refused, Err(Failed::Line(2))));
    }

    #[test]
    fn a_damaged_row_is_named_by_its_line() {
        let row = format!("https://a.test/,200,{REST}\n");
        for damaged in [
            "x\n",
            "\n",
            "\"https://a.test/,200,2026,1.0,1\n",
            "a,200,2026,1.0\n",
            "a,200,2026,1.0,1,1\n",
            "a,,2026,1.0,1\n",
            "a,200,2026,x,1\n",
            "a,200,2026,-1.0,1\n",
            "a,200,2026,NaN,1\n",
            "a,200,2026,1.0,-1\n",
            "a,2x/,2026,1.0,1\n",
            "\"a\"b,200,2026,1.0,1\n",
            "https://a.test/,200,2026,1.0,1",
        ] {
            let text = format!("{row}{damaged}");
            let refused = add(text.as_bytes(), Form::Csv);
            assert!(
                matches!(refused, Err(Failed::Line(2))),
                "{damaged:?}: {refused:?}"
            );
        }
        for damaged in [
            "{}\n",
            "{\"url\":\"a\",\"status\":null,\"error\":null,\"duration_ms\":1}\n",
            "{\"url\":\n",
            "[]\n",
        ] {
            let refused = add(damaged.as_bytes(), Form::Jsonl);
            assert!(matches!(refused, Err(Failed::Line(1))), "{damaged:?}");
        }
    }
}
