//! Texts with placeholders, taken apart once, and their bytes for one request. No I/O but the clock of `{{now}}`.

use std::fmt::{self, Display};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use dyno_client::{ContentFile, Segment, Upload, http2};

use crate::data::{Data, GENERATED};
use crate::jsonl::on_one_line;

/// Begins and ends a placeholder.
pub(crate) const OPEN: &str = "{{";
const CLOSE: &str = "}}";
/// Stands for `{{` itself.
const ESCAPED: &str = "{{{{";
const ESCAPE: &str = "{{{{ stands for two braces";
/// Similarity from which a name is suggested.
const CLOSE_NAME: f64 = 0.6;

/// Source of a placeholder's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// A column of the data.
    Column(usize),
    /// The number of the request, from 1.
    Seq,
    /// A random UUID, one for each request.
    Uuid,
    /// A random whole number, both ends included; a new one for each placeholder.
    Random {
        /// The lowest.
        low: i64,
        /// The highest.
        high: i64,
    },
    /// The time, in milliseconds since 1970 (UTC).
    Now,
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text as it is.
    Text(String),
    /// A placeholder.
    Value(Value),
}

/// Takes a text apart.
///
/// # Errors
///
/// The placeholder that is wrong, and its cure.
pub fn parse(text: &str, columns: Option<&[String]>) -> Result<Vec<Piece>, String> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(OPEN) {
        literal.push_str(&rest[..start]);
        rest = &rest[start..];
        if let Some(after) = rest.strip_prefix(ESCAPED) {
            literal.push_str(OPEN);
            rest = after;
            continue;
        }
        let inner = &rest[OPEN.len()..];
        let Some(end) = inner.find(CLOSE) else {
            let shown: String = rest.chars().take(20).collect();
            return Err(format!("{shown:?} is not closed; write }}}}, or {ESCAPE}"));
        };
        if !literal.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut literal)));
        }
        let value = value(inner[..end].trim(), columns);
        pieces.push(Piece::Value(value.map_err(|reason| on_one_line(&reason))?));
        rest = &inner[end + CLOSE.len()..];
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        pieces.push(Piece::Text(literal));
    }
    Ok(pieces)
}

fn value(name: &str, columns: Option<&[String]>) -> Result<Value, String> {
    let known = columns.unwrap_or_default();
    if let Some(place) = known.iter().position(|column| column == name) {
        return Ok(Value::Column(place));
    }
    let words: Vec<&str> = name.split_whitespace().collect();
    match words[..] {
        ["seq"] => return Ok(Value::Seq),
        ["uuid"] => return Ok(Value::Uuid),
        ["now"] => return Ok(Value::Now),
        ["random", low, high] => {
            return match (low.parse(), high.parse()) {
                (Ok(low), Ok(high)) if low <= high => Ok(Value::Random { low, high }),
                (Ok(_), Ok(_)) => Err(format!(
                    "{{{{{name}}}}}: the lower number comes first; write {{{{random {high} {low}}}}}"
                )),
                _ => Err(format!(
                    "{{{{{name}}}}}: not a range of whole numbers; write it like {{{{random 1 100}}}}"
                )),
            };
        }
        ["random", ..] => {
            return Err(format!(
                "{{{{{name}}}}}: not a range; write it like {{{{random 1 100}}}}"
            ));
        }
        _ => {}
    }
    let shown: String = name.chars().take(40).collect();
    let closeness = |other: &str| strsim::normalized_damerau_levenshtein(other, name);
    let names = known.iter().map(String::as_str).chain(GENERATED);
    let closest = names
        .max_by(|one, other| closeness(one).total_cmp(&closeness(other)))
        .filter(|other| closeness(other) >= CLOSE_NAME);
    Err(match (closest, columns) {
        (Some(meant), _) => format!("{{{{{shown}}}}} is unknown; did you mean {{{{{meant}}}}}?"),
        (None, None) => format!(
            "{{{{{shown}}}}} is a column of no data; add --data FILE, or choose from: seq, uuid, random 1 100, now; {ESCAPE}"
        ),
        (None, Some(columns)) => format!(
            "{{{{{shown}}}}} is unknown; choose from: {}, seq, uuid, random 1 100, now; {ESCAPE}",
            columns.join(", ")
        ),
    })
}

/// How rows of data are picked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pick {
    /// In turn.
    #[default]
    Sequence,
    /// Each request takes any.
    Random,
    /// Each row once; the load ends when the data does.
    Unique,
}

impl Pick {
    /// Its name in options and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sequence => "sequence",
            Self::Random => "random",
            Self::Unique => "unique",
        }
    }
}

/// Source of the values of all placeholders: a pure function of the seed and the number of the request.
#[derive(Debug, Clone, Default)]
pub struct Values {
    /// Rows, where there are any.
    pub data: Option<Arc<Data>>,
    /// How they are picked.
    pub pick: Pick,
    /// Of generated values and random rows.
    pub seed: u64,
}

impl Values {
    /// Rows of which each request uses another; `None` if requests may share rows.
    #[must_use]
    pub fn rows_to_use_once(&self) -> Option<u64> {
        let rows = self.data.as_ref().map(|data| data.rows() as u64);
        rows.filter(|_| self.pick == Pick::Unique)
    }

    /// The row of a request. Where several requests in turn would always meet the same rows, each pass over both lists begins one
    /// row later.
    fn row(&self, index: u64, requests: u64) -> usize {
        let rows = self.data.as_deref().map_or(1, Data::rows).max(1) as u64;
        let row = match self.pick {
            Pick::Sequence => {
                let divisor = common_divisor(rows, requests);
                let pass = (rows / divisor).saturating_mul(requests);
                (index % rows + index / pass % divisor) % rows
            }
            Pick::Random => below(self.draw(index, u64::MAX), rows),
            Pick::Unique => index % rows,
        };
        usize::try_from(row).expect("below a length in memory")
    }

    /// 64 random bits, the same for the same request and place.
    fn draw(&self, index: u64, place: u64) -> u64 {
        mixed(mixed(mixed(self.seed) ^ index) ^ place)
    }
}

const fn common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// A step of `SplitMix64` (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014).
const fn mixed(word: u64) -> u64 {
    let word = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// Scales random bits to a number below `count`; the bias is at most `count` / 2^64.
const fn below(word: u64, count: u64) -> u64 {
    ((word as u128 * count as u128) >> 64) as u64
}

/// A part of a message.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    Text(Box<[u8]>),
    Value(Value),
    /// Percent-encoded.
    Encoded(Value),
    /// Of the content, in bytes.
    Length,
    /// A file, in a content.
    File(Arc<ContentFile>),
}

/// A message with placeholders.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    pub(crate) is_head: bool,
    /// HTTP/1.1: the whole head; HTTP/2: path and query.
    pub(crate) head: Vec<Part>,
    /// HTTP/2: fields by their place.
    pub(crate) fields: Vec<(usize, Vec<Part>)>,
    pub(crate) content: Vec<Part>,
    /// Whether the content is sent in pieces, and then whether after the server's consent.
    pub(crate) upload: Option<bool>,
}

impl Template {
    /// Whether it has random values.
    pub(crate) fn is_random(&self) -> bool {
        let fields = self.fields.iter().flat_map(|(_, parts)| parts);
        let mut parts = self.head.iter().chain(fields).chain(&self.content);
        parts.any(|part| {
            let (Part::Value(value) | Part::Encoded(value)) = part else {
                return false;
            };
            matches!(value, Value::Uuid | Value::Random { .. })
        })
    }
}

/// One request as it is written.
pub(crate) struct Filling<'v> {
    values: &'v Values,
    index: u64,
    row: usize,
    /// Values drawn so far.
    drawn: u64,
    length: u64,
}

impl<'v> Filling<'v> {
    /// Begins request number `index`, from 0, of requests of which the first comes again after `cycle`.
    pub(crate) fn new(values: &'v Values, index: u64, cycle: u64) -> Self {
        Self {
            values,
            index,
            row: values.row(index, cycle),
            drawn: 0,
            length: 0,
        }
    }

    /// Writes the content, whose length the head needs.
    pub(crate) fn write_content(&mut self, template: &Template, out: &mut Vec<u8>) {
        out.clear();
        self.write(&template.content, out);
        self.length = out.len() as u64;
    }

    /// Writes a content that is sent in pieces.
    #[cold]
    pub(crate) fn write_upload(&mut self, template: &Template, expects: bool) -> Arc<Upload> {
        let mut segments = Vec::new();
        let mut files = template.content.iter().filter_map(|part| match part {
            Part::File(file) => Some(file),
            _ => None,
        });
        for parts in template.content.split(|part| matches!(part, Part::File(_))) {
            let mut bytes = Vec::new();
            self.write(parts, &mut bytes);
            segments.push(Segment::Bytes(bytes.into()));
            segments.extend(files.next().cloned().map(Segment::File));
        }
        self.length = segments.iter().map(Segment::length).sum();
        Arc::new(Upload::new(segments, expects))
    }

    pub(crate) fn write(&mut self, parts: &[Part], out: &mut Vec<u8>) {
        for part in parts {
            match part {
                Part::Text(text) => out.extend_from_slice(text),
                Part::Length => push(out, self.length),
                // Its place in the content is between the segments.
                Part::File(_) => {}
                Part::Value(value) => self.write_value(*value, out, false),
                Part::Encoded(value) => self.write_value(*value, out, true),
            }
        }
    }

    fn write_value(&mut self, value: Value, out: &mut Vec<u8>, is_encoded: bool) {
        match value {
            Value::Column(column) => {
                let data = self.values.data.as_deref();
                let value = data.map_or(&b""[..], |data| data.value(self.row, column));
                if is_encoded {
                    encode(value, out);
                } else {
                    out.extend_from_slice(value);
                }
            }
            Value::Seq => push(out, self.index + 1),
            Value::Uuid => {
                let [high, low] =
                    [u64::MAX - 1, u64::MAX - 2].map(|place| self.values.draw(self.index, place));
                push(out, Uuid(high, low));
            }
            Value::Random { low, high } => {
                let word = self.values.draw(self.index, self.drawn);
                self.drawn += 1;
                let count = high.abs_diff(low).checked_add(1);
                let above = count.map_or(word, |count| below(word, count));
                push(out, low.wrapping_add_unsigned(above));
            }
            Value::Now => {
                let since = SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap_or_default();
                push(out, since.as_millis());
            }
        }
    }

    /// Writes path, query and fields of a message of HTTP/2.
    pub(crate) fn write_http2(
        &mut self,
        template: &Template,
        request: &mut http2::Request,
        text: &mut Vec<u8>,
    ) {
        let mut written = |parts: &[Part], filling: &mut Self| {
            text.clear();
            filling.write(parts, text);
            Bytes::copy_from_slice(text)
        };
        let target = written(&template.head, self);
        let mut uri = request.head.uri().clone().into_parts();
        uri.path_and_query = http::uri::PathAndQuery::from_maybe_shared(target).ok();
        if let Ok(uri) = http::Uri::from_parts(uri) {
            *request.head.uri_mut() = uri;
        }
        let mut fields = request.head.headers_mut().values_mut().enumerate();
        for (place, parts) in &template.fields {
            let value = http::HeaderValue::from_maybe_shared(written(parts, self));
            // Places increase, and values were checked when the load began.
            if let (Some((_, field)), Ok(value)) = (fields.find(|(at, _)| at == place), value) {
                *field = value;
            }
        }
    }
}

/// A random UUID: version 4 (RFC 9562, 5.4).
struct Uuid(u64, u64);

impl Display for Uuid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(high, low) = self;
        write!(
            formatter,
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            high >> 16 & 0xffff,
            high & 0xfff,
            low >> 48 & 0x3fff | 0x8000,
            low & 0xffff_ffff_ffff
        )
    }
}

fn push(out: &mut Vec<u8>, value: impl Display) {
    use std::io::Write as _;
    write!(out, "{value}").expect("memory takes what is written");
}

/// Percent-encodes all but unreserved characters (RFC 3986, 2.3), so that a value stays within its component.
fn encode(value: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in value {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte);
        } else {
            let [high, low] = [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]);
            out.extend([b'%', high, low]);
        }
    }
}

/// Percent-encodes a text, but for its placeholders.
pub(crate) fn encode_text(text: &str, out: &mut String) {
    let encoded = |text: &str, out: &mut String| {
        let mut bytes = Vec::with_capacity(text.len());
        encode(text.as_bytes(), &mut bytes);
        out.extend(bytes.into_iter().map(char::from));
    };
    let mut rest = text;
    while let Some(start) = rest.find(OPEN) {
        encoded(&rest[..start], out);
        rest = &rest[start..];
        if let Some(after) = rest.strip_prefix(ESCAPED) {
            encoded(OPEN, out);
            rest = after;
            continue;
        }
        // One that is not closed stays, and is named when the text is taken apart.
        let end = rest.find(CLOSE).map_or(rest.len(), |end| end + CLOSE.len());
        out.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    encoded(rest, out);
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_text_is_taken_apart() {
        let columns = ["user".to_owned(), "first name".to_owned()];
        let text = |text: &str| Piece::Text(text.to_owned());
        let cases = [
            ("", vec![]),
            ("a}}{b", vec![text("a}}{b")]),
            ("{{user}}", vec![Piece::Value(Value::Column(0))]),
            (
                "a{{ first name }}b",
                vec![text("a"), Piece::Value(Value::Column(1)), text("b")],
            ),
            (
                "{{{{user}}{{seq}}",
                vec![text("{{user}}"), Piece::Value(Value::Seq)],
            ),
            (
                "{{random -5  7}}{{uuid}}{{now}}",
                vec![
                    Piece::Value(Value::Random { low: -5, high: 7 }),
                    Piece::Value(Value::Uuid),
                    Piece::Value(Value::Now),
                ],
            ),
        ];
        for (given, expected) in cases {
            assert_eq!(
                parse(given, Some(&columns)).as_ref(),
                Ok(&expected),
                "{given}"
            );
        }
    }

    #[test]
    fn a_wrong_placeholder_is_named_with_its_cure() {
        let columns = ["user".to_owned()];
        for (given, columns, expected) in [
            (
                "a{{usr}}",
                Some(&columns[..]),
                "{{usr}} is unknown; did you mean {{user}}?",
            ),
            ("{{sq}}", None, "{{sq}} is unknown; did you mean {{seq}}?"),
            (
                "{{x}}",
                Some(&columns[..]),
                "{{x}} is unknown; choose from: user, seq, uuid, random 1 100, now; {{{{ stands for two braces",
            ),
            (
                "{{name}}",
                None,
                "{{name}} is a column of no data; add --data FILE, or choose from: seq, uuid, random 1 100, now; {{{{ stands for two braces",
            ),
            (
                "{{user",
                None,
                "\"{{user\" is not closed; write }}, or {{{{ stands for two braces",
            ),
            (
                "{{random 9 1}}",
                None,
                "{{random 9 1}}: the lower number comes first; write {{random 1 9}}",
            ),
            (
                "{{random a 1}}",
                None,
                "{{random a 1}}: not a range of whole numbers; write it like {{random 1 100}}",
            ),
            (
                "{{random 1}}",
                None,
                "{{random 1}}: not a range; write it like {{random 1 100}}",
            ),
        ] {
            assert_eq!(parse(given, columns).unwrap_err(), expected);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(texts in proptest::collection::vec("[^{}]{1,9}", 0..9), lowest in i64::MIN..i64::MAX - 5) {
            let columns = ["user".to_owned()];
            let mut pieces: Vec<Piece> = Vec::new();
            for (number, text) in texts.into_iter().enumerate() {
                pieces.push(Piece::Text(text));
                let low = lowest;
                pieces.push(Piece::Value([
                    Value::Column(0),
                    Value::Seq,
                    Value::Random { low, high: low + 5 },
                ][number % 3]));
            }
            let written: String = pieces.iter().map(|piece| match piece {
                Piece::Text(text) => text.replace(OPEN, ESCAPED),
                Piece::Value(Value::Random { low, high }) => format!("{{{{random {low} {high}}}}}"),
                Piece::Value(Value::Seq) => "{{ seq}}".to_owned(),
                Piece::Value(_) => "{{user }}".to_owned(),
            }).collect();
            prop_assert_eq!(parse(&written, Some(&columns)), Ok(pieces));
        }

        #[test]
        fn any_value_stays_in_its_component(value: Vec<u8>) {
            let mut encoded = Vec::new();
            encode(&value, &mut encoded);
            let text = String::from_utf8(encoded).unwrap();
            let url = url::Url::parse(&format!("http://a.test/x{text}/y?z={text}#f")).unwrap();
            prop_assert_eq!(url.path(), format!("/x{text}/y"));
            prop_assert_eq!(url.query(), Some(&*format!("z={text}")));
        }

        #[test]
        fn every_pass_has_every_row(rows in 1_usize..30, requests in 1_u64..30, first in 0_u64..1000) {
            let text = format!("a\n{}", "1\n".repeat(rows));
            let values = Values {
                data: Some(Arc::new(Data::read("a.csv", text.as_bytes()).unwrap())),
                ..Values::default()
            };
            let length = rows as u64 * requests;
            let all = first * length..(first + 1) * length;
            let pairs: HashSet<_> = all.map(|index| (index % requests, values.row(index, requests))).collect();
            prop_assert_eq!(pairs.len() as u64, length);
        }
    }
}
