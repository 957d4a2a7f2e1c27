//! Rows of data for placeholders: CSV with a header row, or JSON objects, one a line.

use std::io::{self, BufRead, Read as _};

use csv::{ByteRecord, ErrorKind, ReaderBuilder, Trim};
use dyno_io::list;
use serde_json::{Map, Value};

use crate::jsonl::{on_one_line, reason};

/// Names of generated values, which no column may have.
pub(crate) const GENERATED: [&str; 4] = ["seq", "uuid", "random", "now"];
/// Longest value in a URL: longer ones exceed what servers accept.
const MAX_URL_VALUE_BYTES: usize = 8 << 10;

/// Rows of data, in one piece of memory.
#[derive(Debug, Default)]
pub struct Data {
    name: String,
    columns: Vec<String>,
    values: Vec<u8>,
    /// Where each value ends, row by row.
    ends: Vec<usize>,
    /// The line of each row.
    lines: Vec<u64>,
}

impl Data {
    /// Reads rows. JSON begins with `{`; anything else is CSV. `name` is that of the file, for messages.
    ///
    /// # Errors
    ///
    /// The fault with its line, and its cure.
    pub fn read(name: &str, mut reader: impl BufRead) -> Result<Self, String> {
        let mut data = Self {
            name: name.to_owned(),
            ..Self::default()
        };
        let (is_json, first) = is_json(&mut reader).map_err(|error| error.to_string())?;
        let whole = io::Cursor::new(first).chain(reader);
        if is_json {
            data.read_json(whole)?;
        } else {
            data.read_csv(whole)?;
        }
        if data.lines.is_empty() {
            return Err("there are no rows; write a row for each set of values".to_owned());
        }
        let taken = |column: &&String| GENERATED.contains(&column.as_str());
        match data.columns.iter().find(taken) {
            Some(column) => Err(format!(
                "{column:?} is the name of a generated value; rename the column"
            )),
            None => Ok(data),
        }
    }

    fn read_csv(&mut self, reader: impl io::Read) -> Result<(), String> {
        let mut reader = ReaderBuilder::new().trim(Trim::Headers).from_reader(reader);
        let header = reader.headers().map_err(|error| csv_reason(&error))?;
        self.columns = header.iter().map(ToOwned::to_owned).collect();
        for (place, column) in self.columns.iter().enumerate() {
            if self.columns[..place].contains(column) {
                return Err(format!(
                    "line 1: two columns are called {column:?}; rename one"
                ));
            }
        }
        let mut record = ByteRecord::new();
        while reader
            .read_byte_record(&mut record)
            .map_err(|error| csv_reason(&error))?
        {
            let line = record.position().map_or(0, csv::Position::line);
            self.push(line, record.iter());
        }
        Ok(())
    }

    fn read_json(&mut self, reader: impl BufRead) -> Result<(), String> {
        for (number, bytes) in (1..).zip(reader.split(b'\n')) {
            let bytes = bytes.map_err(|error| error.to_string())?;
            let Some(entry) = list::entry(&bytes, number) else {
                continue;
            };
            let row: Map<String, Value> = serde_json::from_slice(entry)
                .map_err(|error| format!("line {number}: {}", reason(&error)))?;
            if self.lines.is_empty() {
                self.columns = row.keys().cloned().collect();
            }
            let has = |key: &String| self.columns.contains(key);
            if let Some(key) = row.keys().find(|key| !has(key)) {
                return Err(format!(
                    "line {number}: the first row has no {key:?}; all rows need the same keys"
                ));
            }
            let mut values = Vec::with_capacity(self.columns.len());
            for column in &self.columns {
                values.push(match row.get(column) {
                    Some(Value::String(text)) => text.clone(),
                    Some(value) => value.to_string(),
                    None => {
                        return Err(format!(
                            "line {number}: {column:?} is missing; all rows need the same keys"
                        ));
                    }
                });
            }
            self.push(number, values.iter().map(String::as_bytes));
        }
        Ok(())
    }

    fn push<'v>(&mut self, line: u64, values: impl Iterator<Item = &'v [u8]>) {
        for value in values {
            self.values.extend_from_slice(value);
            self.ends.push(self.values.len());
        }
        self.lines.push(line);
    }

    /// The names of the columns.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// How many rows there are.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.lines.len()
    }

    /// A value.
    #[inline]
    pub(crate) fn value(&self, row: usize, column: usize) -> &[u8] {
        let place = row * self.columns.len() + column;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.values[start..self.ends[place]]
    }

    /// Checks that the values of a column can stand in a URL.
    pub(crate) fn check_for_url(&self, column: usize) -> Result<(), String> {
        for (row, line) in self.lines.iter().enumerate() {
            let bytes = self.value(row, column).len();
            if bytes > MAX_URL_VALUE_BYTES {
                return Err(format!(
                    "{}: line {line}: column {:?} has {bytes} bytes, too many for a URL; use at most {MAX_URL_VALUE_BYTES}",
                    self.name, self.columns[column]
                ));
            }
        }
        Ok(())
    }

    /// Checks that the values of a column can stand in a header.
    pub(crate) fn check_for_header(&self, column: usize) -> Result<(), String> {
        for (row, line) in self.lines.iter().enumerate() {
            let value = self.value(row, column);
            if let Some(byte) = value.iter().find(|byte| is_refused_in_header(**byte)) {
                let name = match byte {
                    b'\r' | b'\n' => "a line break".to_owned(),
                    0 => "a NUL".to_owned(),
                    byte => format!("the control character {byte:#04x}"),
                };
                return Err(format!(
                    "{}: line {line}: column {:?} has {name}, which no header may have; remove it",
                    self.name, self.columns[column]
                ));
            }
        }
        Ok(())
    }
}

const fn is_refused_in_header(byte: u8) -> bool {
    matches!(byte, 0..=8 | 10..=31 | 127)
}

/// Whether the first character other than white space is `{`; and what was read to see that.
fn is_json(reader: &mut impl BufRead) -> io::Result<(bool, Vec<u8>)> {
    let mut read = Vec::new();
    loop {
        let line = read.len();
        if reader.read_until(b'\n', &mut read)? == 0 {
            return Ok((false, read));
        }
        let number = if line == 0 { 1 } else { 2 };
        let text = read[line..].strip_suffix(b"\n").unwrap_or(&read[line..]);
        if let Some(entry) = list::entry(text, number) {
            return Ok((entry.trim_ascii_start().starts_with(b"{"), read));
        }
    }
}

fn csv_reason(error: &csv::Error) -> String {
    let line = error.position().map_or(1, csv::Position::line);
    match error.kind() {
        ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => {
            let plural = if *len == 1 { "" } else { "s" };
            format!(
                "line {line}: {len} value{plural} for {expected_len} columns; complete the row, or quote values with commas"
            )
        }
        ErrorKind::Utf8 { .. } => format!("line {line}: the header is not UTF-8"),
        _ => on_one_line(&error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Vec<Vec<String>>, String> {
        let data = Data::read("users.csv", text.as_bytes())?;
        let value = |row, column| String::from_utf8_lossy(data.value(row, column)).into_owned();
        let rows = (0..data.rows()).map(|row| {
            let columns = 0..data.columns().len();
            columns.map(|column| value(row, column)).collect()
        });
        Ok(std::iter::once(data.columns().to_vec())
            .chain(rows)
            .collect())
    }

    #[test]
    fn rows_are_read() {
        let expected = [["age", "user"], ["41", "anna"], ["7", "bob, \"jr\"\nx"]];
        for text in [
            "age,user\n41,anna\n\n7,\"bob, \"\"jr\"\"\nx\"\n",
            "\u{feff}age, user\r\n41,anna\r\n7,\"bob, \"\"jr\"\"\nx\"",
            "{\"age\": 41, \"user\": \"anna\"}\n\n{\"user\": \"bob, \\\"jr\\\"\\nx\", \"age\": 7}\n",
        ] {
            assert_eq!(read(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn faults_are_named_with_their_line() {
        for (text, expected) in [
            ("", "there are no rows; write a row for each set of values"),
            (
                "user\n",
                "there are no rows; write a row for each set of values",
            ),
            (
                "a,b\n1,2\n3\n",
                "line 3: 1 value for 2 columns; complete the row, or quote values with commas",
            ),
            (
                "a,a\n1,2\n",
                "line 1: two columns are called \"a\"; rename one",
            ),
            (
                "seq\n1\n",
                "\"seq\" is the name of a generated value; rename the column",
            ),
            (
                "{\"a\": 1}\n{\"b\": 1}",
                "line 2: the first row has no \"b\"; all rows need the same keys",
            ),
            (
                "{\"a\": 1, \"b\": 2}\n{\"a\": 1}",
                "line 2: \"b\" is missing; all rows need the same keys",
            ),
            (
                "{\"a\": 1}\n{\"a\"",
                "line 2: column 4: EOF while parsing an object",
            ),
        ] {
            assert_eq!(read(text).unwrap_err(), expected, "{text}");
        }
    }

    #[test]
    fn a_value_that_would_end_a_header_is_named() {
        let data = Data::read("users.csv", &b"a,b\n1,2\n3,\"4\n5\"\n"[..]).unwrap();
        assert_eq!(data.check_for_header(0), Ok(()));
        assert_eq!(
            data.check_for_header(1).unwrap_err(),
            "users.csv: line 3: column \"b\" has a line break, which no header may have; remove it"
        );
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(rows in proptest::collection::vec(("[^\0]*", ".*"), 1..20)) {
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(["a", "b"]).unwrap();
            let mut lines = String::new();
            for (a, b) in &rows {
                writer.write_record([a, b]).unwrap();
                writeln!(lines, "{}", serde_json::json!({"a": a, "b": b})).unwrap();
            }
            let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            let pairs: Vec<_> = rows.iter().map(|(a, b)| vec![a.clone(), b.clone()]).collect();
            prop_assert_eq!(&read(&text).unwrap()[1..], &pairs[..]);
            prop_assert_eq!(&read(&lines).unwrap()[1..], &pairs[..]);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            if let Ok(data) = Data::read("f", &bytes[..]) {
                prop_assert!(data.rows() > 0);
                prop_assert_eq!(data.ends.len(), data.rows() * data.columns.len());
            }
        }
    }
}
