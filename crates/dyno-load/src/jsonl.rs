//! Requests from lines of JSON.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::PathBuf;

use bytes::Bytes;
use dyno_io::list;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use thiserror::Error;

use crate::check::Check;

/// Description of one request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Described {
    /// The URL of the request.
    pub url: String,
    /// The method, if the line has one.
    pub method: Option<String>,
    /// The headers, in order.
    pub headers: Vec<(String, String)>,
    /// The body, if the line has one.
    pub body: Option<Bytes>,
    /// The file with its body; [`Preparation::add_with_body`](crate::Preparation::add_with_body) takes the content.
    pub body_file: Option<PathBuf>,
    /// The fields of a form (`application/x-www-form-urlencoded`) as its body.
    pub form: Option<Vec<(String, String)>>,
    /// Whether its content was given as bytes, which have no placeholders.
    pub is_base64: bool,
    /// Its name in the report, where it has one of its own.
    pub label: Option<String>,
    /// How often it is sent, relative to the others; 1 where none is given.
    pub weight: Option<f64>,
    /// Checks of the answer, in addition to those of all requests.
    pub checks: Vec<Check>,
}

/// A line that does not describe a request.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {reason}")]
pub struct LineError {
    /// Number of the line, from 1.
    pub line: u64,
    /// What is wrong, and how to correct it.
    pub reason: String,
}

/// The keys of [`Line`].
const KEYS: [&str; 11] = [
    "at",
    "url",
    "method",
    "headers",
    "body",
    "body_base64",
    "body_file",
    "form",
    "check",
    "label",
    "weight",
];
/// Characters of a label.
const MAX_LABEL: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    at: Option<serde_json::Value>,
    url: String,
    method: Option<String>,
    #[serde(default)]
    headers: Pairs,
    body: Option<String>,
    body_base64: Option<String>,
    body_file: Option<PathBuf>,
    form: Option<Pairs>,
    #[serde(default)]
    check: Vec<String>,
    label: Option<String>,
    weight: Option<f64>,
}

/// `{"a": "b"}` or `[["a", "b"], ...]`; only the second form can repeat a name.
#[derive(Default)]
struct Pairs(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Pairs;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("pairs of texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    pairs.push(entry);
                }
                Ok(Pairs(pairs))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = list.next_element()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }

            fn visit_unit<E: de::Error>(self) -> Result<Pairs, E> {
                Ok(Pairs::default())
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// Checks with a regular expression by their text: each is compiled once, however many lines have it.
pub(crate) type Compiled = HashMap<String, Check>;

fn check(text: &str, compiled: &mut Compiled) -> Result<Check, String> {
    if let Some(check) = compiled.get(text) {
        return Ok(check.clone());
    }
    let check = Check::parse(text)?;
    if matches!(check, Check::Regex(_)) {
        compiled.insert(text.to_owned(), check.clone());
    }
    Ok(check)
}

/// Parses one line.
fn line(text: &str, compiled: &mut Compiled) -> Result<Described, String> {
    match timed_line(text, compiled)? {
        (None, described) => Ok(described),
        (Some(_), _) => {
            Err("at: only --replay FILE sends requests at their times; leave it out".to_owned())
        }
    }
}

/// Parses one line, which may have a time: its value of `at`.
///
/// # Errors
///
/// The reason why the line does not describe a request.
pub(crate) fn timed_line(
    text: &str,
    compiled: &mut Compiled,
) -> Result<(Option<serde_json::Value>, Described), String> {
    // serde would also accept an array of the values in the order of the fields.
    if !text.trim_start().starts_with('{') {
        return Err("expected an object: {\"url\": ...}".to_owned());
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let line: Line = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let key = error.path().to_string();
        let reason = reason(error.inner());
        // For an unknown key, serde's message has its name already.
        let root = key.split(['.', '[']).next().unwrap_or_default();
        if KEYS.contains(&root) {
            let cure = if matches!(root, "form" | "headers") {
                "; write {\"name\": \"value\"} or [[\"name\", \"value\"]]"
            } else {
                ""
            };
            format!("{}: {reason}{cure}", on_one_line(&format!("\"{key}\"")))
        } else {
            reason
        }
    })?;
    json.end().map_err(|error| reason(&error))?;
    let contents = [
        ("body", line.body.is_some()),
        ("body_base64", line.body_base64.is_some()),
        ("body_file", line.body_file.is_some()),
        ("form", line.form.is_some()),
    ];
    let mut given = contents.iter().filter(|(_, is_given)| *is_given);
    if let (Some((one, _)), Some((other, _))) = (given.next(), given.next()) {
        return Err(format!("both {one} and {other}; keep one"));
    }
    let is_base64 = line.body_base64.is_some();
    let body = match (line.body, line.body_base64) {
        (Some(text), None) => Some(text.into()),
        (None, Some(coded)) => {
            use base64::Engine as _;
            let decoded = base64::engine::general_purpose::STANDARD.decode(coded);
            Some(
                decoded
                    .map_err(|error| format!("body_base64: {error}"))?
                    .into(),
            )
        }
        (None, None) | (Some(_), Some(_)) => None,
    };
    if let Some(label) = &line.label
        && (label.trim().is_empty()
            || label.chars().count() > MAX_LABEL
            || label.chars().any(char::is_control))
    {
        return Err(format!(
            "label: {}: write 1 to {MAX_LABEL} characters on one line",
            on_one_line(&format!("{label:?}"))
        ));
    }
    if let Some(weight) = line.weight.filter(|weight| *weight <= 0.0) {
        return Err(format!(
            "weight: {weight} is not positive; write a number above 0"
        ));
    }
    let checks = line.check.iter().map(|text| check(text, compiled));
    let described = Described {
        url: line.url,
        method: line.method,
        headers: line.headers.0,
        body,
        body_file: line.body_file,
        form: line.form.map(|pairs| pairs.0),
        is_base64,
        label: line.label,
        weight: line.weight,
        checks: checks
            .collect::<Result<_, _>>()
            .map_err(|reason| format!("check: {reason}"))?,
    };
    Ok((line.at, described))
}

/// Returns the message of the JSON parser with the column, without its own count of lines.
pub(crate) fn reason(error: &serde_json::Error) -> String {
    let text = on_one_line(&error.to_string());
    let suffix = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&suffix) {
        Some(reason) => format!("column {}: {reason}", error.column()),
        None => text,
    }
}

/// A message that quotes the input, with characters escaped that would break the line or move a terminal's cursor.
pub(crate) fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

/// Yields the described requests with their line numbers, counted from 1; skips blank lines and comments.
///
/// An item is an error if its line does not describe a request or cannot be read.
pub fn lines(reader: impl BufRead) -> impl Iterator<Item = Result<(u64, Described), LineError>> {
    let mut compiled = Compiled::new();
    (1..)
        .zip(reader.split(b'\n'))
        .filter_map(move |(number, bytes)| {
            let read = bytes.map_err(|error| error.to_string()).and_then(|bytes| {
                let Some(entry) = list::entry(&bytes, number) else {
                    return Ok(None);
                };
                let text = std::str::from_utf8(entry)
                    .map_err(|error| format!("byte {} is not UTF-8", error.valid_up_to() + 1))?;
                line(text, &mut compiled).map(Some)
            });
            let failed = |reason| LineError {
                line: number,
                reason,
            };
            let described = read.map_err(failed).transpose()?;
            Some(described.map(|described| (number, described)))
        })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(text: &[u8]) -> Result<Vec<(u64, Described)>, LineError> {
        lines(text).collect()
    }

    #[test]
    fn lines_are_read() {
        let text = br#"{"url": "http://a.test/1"}

{"url": "http://a.test/2", "method": "POST", "headers": {"a": "b"}, "body": "text"}
{"url": "http://a.test/3", "headers": [["a", "b"], ["a", "c"]], "body_base64": "AAE=", "check": ["status=404"]}
{"url": "http://a.test/4", "form": {"a": "b c", "d": ""}}
{"url": "http://a.test/5", "form": [["a", "b"], ["a", "c"]]}
{"url": "http://a.test/6", "body_file": "order.json"}"#;
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [
            Described {
                url: "http://a.test/1".to_owned(),
                ..Described::default()
            },
            Described {
                url: "http://a.test/2".to_owned(),
                method: Some("POST".to_owned()),
                headers: vec![pair("a", "b")],
                body: Some("text".into()),
                ..Described::default()
            },
            Described {
                url: "http://a.test/3".to_owned(),
                headers: vec![pair("a", "b"), pair("a", "c")],
                body: Some(vec![0, 1].into()),
                is_base64: true,
                checks: vec![Check::Status(404)],
                ..Described::default()
            },
            Described {
                url: "http://a.test/4".to_owned(),
                form: Some(vec![pair("a", "b c"), pair("d", "")]),
                ..Described::default()
            },
            Described {
                url: "http://a.test/5".to_owned(),
                form: Some(vec![pair("a", "b"), pair("a", "c")]),
                ..Described::default()
            },
            Described {
                url: "http://a.test/6".to_owned(),
                body_file: Some("order.json".into()),
                ..Described::default()
            },
        ];
        let numbered: Vec<_> = [1, 3, 4, 5, 6, 7].into_iter().zip(expected).collect();
        assert_eq!(all(text).unwrap(), numbered);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let cases: [(&[u8], &str); 19] = [
            (
                b"{\"url\": \"\", \"weight\": 0}",
                "line 1: weight: 0 is not positive; write a number above 0",
            ),
            (
                b"{\"url\": \"\", \"weight\": \"2\"}",
                "line 1: \"weight\": column 25: invalid type: string \"2\", expected f64",
            ),
            (
                b"{\"url\": \"\", \"label\": \" \"}",
                "line 1: label: \" \": write 1 to 100 characters on one line",
            ),
            (
                b"{\"url\": \"http://a.test\"}\n{",
                "line 2: column 1: EOF while parsing an object",
            ),
            (b"\n\n[]", "line 3: expected an object: {\"url\": ...}"),
            (b"{}", "line 1: column 2: missing field `url`"),
            (
                b"{\"url\": 7}",
                "line 1: \"url\": column 9: invalid type: integer `7`, expected a string",
            ),
            (
                b"{\"url\": \"\", \"heavy!\": 2}",
                "line 1: column 20: unknown field `heavy!`, expected one of `at`, `url`, `method`, `headers`, `body`, `body_base64`, `body_file`, `form`, `check`, `label`, `weight`",
            ),
            (
                b"{\"url\": \"\", \"headers\": \"a: b\"}",
                "line 1: \"headers\": column 29: invalid type: string \"a: b\", expected pairs of texts; write {\"name\": \"value\"} or [[\"name\", \"value\"]]",
            ),
            (
                b"{\"url\": \"\", \"headers\": {\"a\": 5}}",
                "line 1: \"headers.a\": column 30: invalid type: integer `5`, expected a string; write {\"name\": \"value\"} or [[\"name\", \"value\"]]",
            ),
            (
                b"{\"url\": \"\", \"body\": \"\", \"body_base64\": \"\"}",
                "line 1: both body and body_base64; keep one",
            ),
            (
                b"{\"url\": \"\", \"form\": {}, \"body_file\": \"a\"}",
                "line 1: both body_file and form; keep one",
            ),
            (
                b"{\"url\": \"\", \"form\": {\"a\": 5}}",
                "line 1: \"form.a\": column 27: invalid type: integer `5`, expected a string; write {\"name\": \"value\"} or [[\"name\", \"value\"]]",
            ),
            (
                b"{\"url\": \"\", \"body_file\": 5}",
                "line 1: \"body_file\": column 26: invalid type: integer `5`, expected path string",
            ),
            (
                b"{\"url\": \"\", \"body_base64\": \"?\"}",
                "line 1: body_base64: Invalid symbol 63, offset 0.",
            ),
            (
                b"{\"a\\nb\\u001b[2J\": 1}",
                "line 1: column 16: unknown field `a\\nb\\u{1b}[2J`, expected one of `at`, `url`, `method`, `headers`, `body`, `body_base64`, `body_file`, `form`, `check`, `label`, `weight`",
            ),
            (
                b"{\"url\": \"\", \"check\": \"status=200\"}",
                "line 1: \"check\": column 33: invalid type: string \"status=200\", expected a sequence",
            ),
            (
                b"{\"url\": \"\", \"check\": [\"colour=red\"]}",
                "line 1: check: colour=red: no such check; choose from: status=200, header='Name: value', length=13, sha256=HEX, contains=TEXT, regex=PATTERN, json=/pointer=value",
            ),
            (b"\xff", "line 1: byte 1 is not UTF-8"),
        ];
        for (text, expected) in cases {
            let found = all(text).unwrap_err().to_string();
            assert_eq!(found, expected, "{}", String::from_utf8_lossy(text));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>) {
            if let Err(error) = all(&bytes) {
                prop_assert!(error.line >= 1);
                prop_assert!(error.line <= bytes.split(|byte| *byte == b'\n').count() as u64);
            }
        }

        #[test]
        fn what_was_written_is_read(
            url: String,
            method: Option<String>,
            headers: Vec<(String, String)>,
            body: Option<String>,
        ) {
            let value = serde_json::json!({
                "url": url, "method": method, "headers": headers, "body": body,
            });
            let described = line(&value.to_string(), &mut Compiled::new()).unwrap();
            prop_assert_eq!(described, Described {
                url, method, headers, body: body.map(Bytes::from), ..Described::default()
            });
        }
    }
}
