//! Checks of an answer: status, length, hash or a value of its JSON. No I/O.

use std::mem::discriminant;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Longest content that is buffered for a check of JSON; a longer one counts as wrong.
const MAX_JSON_BYTES: usize = 64 << 20;

/// A condition that an answer must meet.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Check {
    /// The status code.
    Status(u16),
    /// Bytes of content, before any decoding.
    Length(u64),
    /// The SHA-256 of the content.
    Sha256([u8; 32]),
    /// A value in JSON content.
    Json {
        /// Its place: a JSON pointer (RFC 6901).
        pointer: String,
        /// The required value.
        value: Value,
    },
}

/// Numbers of answers by the result of their checks; the first failed check counts, in this order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// All checks passed.
    pub right: u64,
    /// Unexpected status.
    pub wrong_status: u64,
    /// Unexpected length.
    pub wrong_length: u64,
    /// Unexpected SHA-256.
    pub wrong_content: u64,
    /// Not JSON, or an unexpected value.
    pub wrong_json: u64,
}

impl Checked {
    /// Answers that failed a check.
    #[must_use]
    pub const fn wrong(&self) -> u64 {
        self.wrong_status + self.wrong_length + self.wrong_content + self.wrong_json
    }

    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: &Self) {
        self.right += other.right;
        self.wrong_status += other.wrong_status;
        self.wrong_length += other.wrong_length;
        self.wrong_content += other.wrong_content;
        self.wrong_json += other.wrong_json;
    }
}

impl Check {
    /// Reads `status=200`, `length=13`, `sha256=HEX` or `json=/pointer=value`.
    ///
    /// # Errors
    ///
    /// A message with the correct form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let form = || {
            format!(
                "{text:?} is not a check: write status=200, length=13, sha256=HEX or json=/pointer=value"
            )
        };
        let (kind, value) = text.split_once('=').ok_or_else(form)?;
        match kind {
            "status" => match value.parse() {
                Ok(status @ 100..=999) => Ok(Self::Status(status)),
                _ => Err(form()),
            },
            "length" => value.parse().map(Self::Length).map_err(|_| form()),
            "sha256" => from_hexadecimal(value)
                .map(Self::Sha256)
                .ok_or_else(|| format!("{value:?} is not a SHA-256: it has 64 hexadecimal digits")),
            "json" => {
                let (pointer, value) = value.split_once('=').ok_or_else(form)?;
                if !pointer.is_empty() && !pointer.starts_with('/') {
                    return Err(format!(
                        "{pointer:?} is not a JSON pointer: it starts with /"
                    ));
                }
                // Text that is not JSON is taken as a string, so that users can write json=/name=anna.
                let value =
                    serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
                Ok(Self::Json {
                    pointer: pointer.to_owned(),
                    value,
                })
            }
            _ => Err(form()),
        }
    }
}

fn from_hexadecimal(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// The checks of one answer: its own, and the shared checks of all other kinds.
pub(crate) fn of_one(own: Vec<Check>, shared: &Arc<[Check]>) -> Arc<[Check]> {
    if own.is_empty() {
        return shared.clone();
    }
    let is_own = |check: &Check| {
        let same = |own: &Check| discriminant(own) == discriminant(check);
        own.iter().any(same)
    };
    let others: Vec<Check> = shared
        .iter()
        .filter(|check| !is_own(check))
        .cloned()
        .collect();
    others.into_iter().chain(own).collect()
}

/// Checks the answers of one connection, one at a time, as their content arrives.
#[derive(Debug, Clone)]
pub(crate) struct Checker {
    /// Checks of the current answer.
    checks: Arc<[Check]>,
    hashes: bool,
    keeps: bool,
    hash: Sha256,
    kept: Vec<u8>,
    overflowed: bool,
}

impl Checker {
    pub(crate) fn new() -> Self {
        Self {
            checks: Arc::default(),
            hashes: false,
            keeps: false,
            hash: Sha256::new(),
            kept: Vec::new(),
            overflowed: false,
        }
    }

    /// Begins an answer with its checks.
    pub(crate) fn restart(&mut self, checks: &Arc<[Check]>) {
        if !Arc::ptr_eq(&self.checks, checks) {
            self.checks = checks.clone();
            let has = |kind: fn(&Check) -> bool| checks.iter().any(kind);
            self.hashes = has(|check| matches!(check, Check::Sha256(_)));
            self.keeps = has(|check| matches!(check, Check::Json { .. }));
        }
        if self.hashes {
            self.hash.reset();
        }
        self.kept.clear();
        self.overflowed = false;
    }

    /// Adds a piece of the answer's content.
    pub(crate) fn content(&mut self, bytes: &[u8]) {
        if self.hashes {
            self.hash.update(bytes);
        }
        if self.keeps {
            if self.kept.len() + bytes.len() > MAX_JSON_BYTES {
                self.overflowed = true;
            } else {
                self.kept.extend_from_slice(bytes);
            }
        }
    }

    /// Ends the answer, counts it as right or wrong, and returns whether it is right; `None` for an answer without
    /// checks.
    pub(crate) fn end(&mut self, status: u16, length: u64, checked: &mut Checked) -> Option<bool> {
        if self.checks.is_empty() {
            return None;
        }
        let hash: Option<[u8; 32]> = self.hashes.then(|| self.hash.finalize_reset().into());
        let json: Option<Value> = (self.keeps && !self.overflowed)
            .then(|| serde_json::from_slice(&self.kept).ok())
            .flatten();
        let wrong = |check: &&Check| match check {
            Check::Status(right) => *right != status,
            Check::Length(right) => *right != length,
            Check::Sha256(right) => hash.as_ref() != Some(right),
            Check::Json { pointer, value } => {
                json.as_ref().and_then(|json| json.pointer(pointer)) != Some(value)
            }
        };
        let order = |check: &&Check| match check {
            Check::Status(_) => 0,
            Check::Length(_) => 1,
            Check::Sha256(_) => 2,
            Check::Json { .. } => 3,
        };
        let failed = self.checks.iter().filter(wrong).min_by_key(order);
        let count = match failed {
            None => &mut checked.right,
            Some(Check::Status(_)) => &mut checked.wrong_status,
            Some(Check::Length(_)) => &mut checked.wrong_length,
            Some(Check::Sha256(_)) => &mut checked.wrong_content,
            Some(Check::Json { .. }) => &mut checked.wrong_json,
        };
        *count += 1;
        Some(failed.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELLO: &str = "sha256=dffd6021bb2bd5b0af676290809ec3a53191dd81c7f70a4b28688a362182986f";

    #[test]
    fn checks_are_read() {
        let json = |pointer: &str, value: Value| {
            Some(Check::Json {
                pointer: pointer.to_owned(),
                value,
            })
        };
        let cases = [
            ("status=200", Some(Check::Status(200))),
            ("status=99", None),
            ("status=", None),
            ("length=0", Some(Check::Length(0))),
            ("length=-1", None),
            ("sha256=abc", None),
            ("json=/0/numbers=123123", json("/0/numbers", 123_123.into())),
            ("json=/name=anna", json("/name", "anna".into())),
            ("json=/name=\"1\"", json("/name", "1".into())),
            ("json==null", json("", Value::Null)),
            ("json=name=1", None),
            ("json=/name", None),
            ("colour=red", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(Check::parse(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn the_first_thing_wrong_counts() {
        let checks = ["length=13", "status=200", HELLO, "json=/a=1"];
        let (of_hello, of_json) = (&checks[..3], &checks[3..]);
        let right = Checked {
            right: 1,
            ..Checked::default()
        };
        let wrong_status = Checked {
            wrong_status: 1,
            ..Checked::default()
        };
        let wrong_length = Checked {
            wrong_length: 1,
            ..Checked::default()
        };
        let wrong_content = Checked {
            wrong_content: 1,
            ..Checked::default()
        };
        let wrong_json = Checked {
            wrong_json: 1,
            ..Checked::default()
        };
        let cases: [(_, _, &[u8], _); 7] = [
            (of_hello, 200, b"Hello, World!", &right),
            (of_hello, 500, b"oops", &wrong_status),
            (of_hello, 200, b"oops", &wrong_length),
            (of_hello, 200, b"Hello, world!", &wrong_content),
            (of_json, 200, b"Hello", &wrong_json),
            (of_json, 200, b"{\"a\":2}", &wrong_json),
            (of_json, 200, b"{\"a\":1}", &right),
        ];
        let mut checker = Checker::new();
        for (checks, status, content, expected) in cases {
            let checks = parsed(checks).into();
            // The second answer of a connection is judged like the first.
            for answers in 1..=2 {
                let mut counts = Checked::default();
                checker.restart(&checks);
                for piece in content.chunks(3) {
                    checker.content(piece);
                }
                let is_right = checker.end(status, content.len() as u64, &mut counts);
                assert_eq!(is_right, Some(counts.right == 1));
                assert_eq!(&counts, expected, "answer {answers}: {content:?}");
            }
        }
    }

    fn parsed(texts: &[&str]) -> Vec<Check> {
        let parse = |text: &&str| Check::parse(text).unwrap();
        texts.iter().map(parse).collect()
    }

    #[test]
    fn a_check_of_its_own_takes_the_place_of_what_all_share() {
        let shared: Arc<[Check]> = parsed(&["status=200", "length=13"]).into();
        let cases: [(&[&str], &[&str]); 4] = [
            (&[], &["status=200", "length=13"]),
            (&["status=404"], &["length=13", "status=404"]),
            (
                &["json=/a=1", "json=/b=2"],
                &["status=200", "length=13", "json=/a=1", "json=/b=2"],
            ),
            (&["length=0", "status=204"], &["length=0", "status=204"]),
        ];
        for (own, all) in cases {
            assert_eq!(of_one(parsed(own), &shared)[..], parsed(all)[..], "{own:?}");
        }
    }

    #[test]
    fn an_answer_of_which_nothing_must_hold_is_not_counted() {
        let (mut checker, mut counts) = (Checker::new(), Checked::default());
        checker.restart(&Arc::default());
        checker.content(b"whatever");
        assert_eq!(checker.end(500, 8, &mut counts), None);
        assert_eq!(counts, Checked::default());
    }
}
