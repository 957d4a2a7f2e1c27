//! Writes CSV rows (RFC 4180), for millions of rows: the crate `csv` takes twice as long.

use super::printed::Sample;

/// The header row.
pub const COLUMNS: &[u8] = b"line,url,code,status,start_ns,precision_ns,duration_ns,body_length\n";

/// A reusable buffer for one row.
#[derive(Default)]
pub struct Row {
    bytes: Vec<u8>,
    digits: itoa::Buffer,
}

impl Row {
    /// The row of a sample and its line number.
    pub fn of_sample(&mut self, line: u64, sample: &Sample<'_>) -> &[u8] {
        self.begin(line, sample.url);
        self.text(sample.code);
        self.number(sample.status);
        self.number(Some(sample.start_ns));
        self.number(Some(sample.precision_ns));
        self.number(Some(sample.duration_ns));
        self.number(sample.body_length);
        self.bytes.push(b'\n');
        &self.bytes
    }

    /// The row of a line that is not a sample: the first two columns only.
    pub fn of_garbage(&mut self, line: u64, text: &str) -> &[u8] {
        self.begin(line, text);
        self.bytes.extend_from_slice(b",,,,,,\n");
        &self.bytes
    }

    fn begin(&mut self, line: u64, text: &str) {
        self.bytes.clear();
        let digits = self.digits.format(line);
        self.bytes.extend_from_slice(digits.as_bytes());
        self.text(text);
    }

    fn number(&mut self, number: Option<impl itoa::Integer>) {
        self.bytes.push(b',');
        if let Some(number) = number {
            let digits = self.digits.format(number);
            self.bytes.extend_from_slice(digits.as_bytes());
        }
    }

    fn text(&mut self, text: &str) {
        self.bytes.push(b',');
        if text.bytes().any(|byte| b",\"\r\n".contains(&byte)) {
            self.bytes.push(b'"');
            let doubled = text.replace('"', "\"\"");
            self.bytes.extend_from_slice(doubled.as_bytes());
            self.bytes.push(b'"');
        } else {
            self.bytes.extend_from_slice(text.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn written_rows_are_read_back(
            url in "[a,\"\r\n é]{0,9}", code in "[a,\"\r\n é]{0,9}", line: u64, status: Option<u16>,
            (start_ns, precision_ns, duration_ns) in any::<(i64, i64, i64)>(), body_length: Option<i64>,
        ) {
            let (url, code) = (url.as_str(), code.as_str());
            let sample = Sample { url, code, status, start_ns, precision_ns, duration_ns, body_length };
            let mut row = Row::default();
            let table = [COLUMNS, row.of_garbage(line, url)].concat();
            let table = [&table, row.of_sample(line, &sample)].concat();
            let mut reader = csv::Reader::from_reader(table.as_slice());
            let rows: Vec<Vec<String>> = reader.deserialize().collect::<Result<_, _>>().unwrap();
            let (line, empty) = (line.to_string(), || String::new());
            let text = |number: Option<i64>| number.map_or_else(empty, |number| number.to_string());
            let (garbage, sample) = (&rows[0], &rows[1]);
            prop_assert_eq!(&garbage[..2], [line.clone(), url.to_owned()]);
            prop_assert!(garbage[2..].iter().all(String::is_empty));
            let numbers = [status.map(i64::from), Some(start_ns), Some(precision_ns), Some(duration_ns), body_length];
            let expected = [vec![line, url.to_owned(), code.to_owned()], numbers.map(text).to_vec()].concat();
            prop_assert_eq!(sample, &expected);
        }
    }
}
