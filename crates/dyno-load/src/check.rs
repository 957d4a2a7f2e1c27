//! Checks of an answer: their texts, their order, and the counts of their results. No I/O.

use std::fmt::{self, Display};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use regex::bytes::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::preview::preview;

/// Largest compiled form of a regular expression.
const MAX_REGEX_BYTES: usize = 1 << 20;
/// Least similarity of a kind to the one that is suggested instead, 0 to 1.
const CLOSE_KIND: f64 = 0.6;
/// Characters that a message shows of a check's text.
const SHOWN_CHARACTERS: usize = 60;

/// A condition that an answer must meet. Content is that after decoding.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Check {
    /// The status code.
    Status(u16),
    /// A header.
    Header {
        /// Its name, in any case.
        name: String,
        /// The value of one of its lines; `None` if any will do.
        value: Option<String>,
    },
    /// Bytes of content, before any decoding.
    Length(u64),
    /// The SHA-256 of the content.
    Sha256([u8; 32]),
    /// Text in the content.
    Contains(String),
    /// A pattern that matches anywhere in the content.
    Regex(Pattern),
    /// A value in JSON content.
    Json {
        /// Its place: a JSON pointer (RFC 6901).
        pointer: String,
        /// The required value.
        value: Value,
    },
}

/// A compiled regular expression over bytes, equal to others of the same text.
#[derive(Debug, Clone)]
pub struct Pattern(Arc<Regex>);

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for Pattern {}

impl Hash for Pattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_str().hash(state);
    }
}

impl Pattern {
    fn compile(text: &str) -> Result<Self, String> {
        let parsed = regex_syntax::ParserBuilder::new()
            .utf8(false)
            .build()
            .parse(text);
        if let Err(error) = parsed {
            let (offset, reason) = match &error {
                regex_syntax::Error::Parse(error) => {
                    (error.span().start.offset, error.kind().to_string())
                }
                regex_syntax::Error::Translate(error) => {
                    (error.span().start.offset, error.kind().to_string())
                }
                error => (0, error.to_string()),
            };
            let character = text
                .get(..offset)
                .map_or(0, |before| before.chars().count())
                + 1;
            return Err(format!("character {character}: {reason}"));
        }
        let built = RegexBuilder::new(text).size_limit(MAX_REGEX_BYTES).build();
        built
            .map(|regex| Self(Arc::new(regex)))
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => "it needs more than 1 MiB of memory".to_owned(),
                error => error.to_string(),
            })
    }

    pub(crate) fn is_match(&self, content: &[u8]) -> bool {
        self.0.is_match(content)
    }
}

/// Kinds of checks, in the order in which they are made: the first that fails counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Kind {
    Status,
    Header,
    Length,
    Sha256,
    Contains,
    Regex,
    Json,
}

impl Kind {
    const ALL: [Self; 7] = [
        Self::Status,
        Self::Header,
        Self::Length,
        Self::Sha256,
        Self::Contains,
        Self::Regex,
        Self::Json,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Header => "header",
            Self::Length => "length",
            Self::Sha256 => "sha256",
            Self::Contains => "contains",
            Self::Regex => "regex",
            Self::Json => "json",
        }
    }

    /// Its form, with an example of a value.
    const fn form(self) -> &'static str {
        match self {
            Self::Status => "status=200",
            Self::Header => "header='Name: value'",
            Self::Length => "length=13",
            Self::Sha256 => "sha256=HEX",
            Self::Contains => "contains=TEXT",
            Self::Regex => "regex=PATTERN",
            Self::Json => "json=/pointer=value",
        }
    }

    /// The kind with this name.
    fn named(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| {
            let closeness = |kind: Self| strsim::normalized_damerau_levenshtein(kind.name(), name);
            let closest = Self::ALL
                .into_iter()
                .max_by(|one, other| closeness(*one).total_cmp(&closeness(*other)))
                .filter(|kind| closeness(*kind) >= CLOSE_KIND);
            match closest {
                Some(kind) => format!("no such check; did you mean {}?", kind.form()),
                None => format!(
                    "no such check; choose from: {}",
                    Self::ALL.map(Self::form).join(", ")
                ),
            }
        })
    }
}

/// Numbers of answers by the result of their checks; the first failed check counts, in this order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// All checks passed.
    pub right: u64,
    /// Unexpected status.
    pub wrong_status: u64,
    /// No such header, or an unexpected value.
    pub wrong_header: u64,
    /// Unexpected length.
    pub wrong_length: u64,
    /// Unexpected SHA-256.
    pub wrong_content: u64,
    /// Text that is not in the content.
    pub wrong_contains: u64,
    /// A pattern that matches nothing in the content.
    pub wrong_regex: u64,
    /// Not JSON, or an unexpected value.
    pub wrong_json: u64,
}

/// Parts of the names of fields whose values are secret.
const SECRET: [&str; 12] = [
    "api-key",
    "api_key",
    "apikey",
    "authorization",
    "cookie",
    "credential",
    "passwd",
    "password",
    "secret",
    "session",
    "signature",
    "token",
];

/// Whether the name of a header field, or of a key in JSON, says that its value is secret.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|part| name.contains(part))
}

/// The first wrong answer by one kind of check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckExample {
    /// The kind of the check.
    #[serde(skip)]
    pub(crate) kind: Kind,
    /// The failed check.
    pub check: String,
    /// The answer, shortened.
    pub got: String,
}

impl Display for CheckExample {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "wrong by {}: got {}", self.check, self.got)
    }
}

impl Checked {
    /// Answers that failed a check.
    #[must_use]
    pub fn wrong(&self) -> u64 {
        self.by_check().iter().map(|(_, count)| count).sum()
    }

    /// Wrong answers by the failed check, with its name in tables.
    #[must_use]
    pub const fn by_check(&self) -> [(&'static str, u64); 7] {
        [
            ("status", self.wrong_status),
            ("header", self.wrong_header),
            ("length", self.wrong_length),
            ("content", self.wrong_content),
            ("contains", self.wrong_contains),
            ("regex", self.wrong_regex),
            ("json", self.wrong_json),
        ]
    }

    /// Counts an answer that failed a check of this kind.
    pub(crate) const fn count_wrong(&mut self, kind: Kind) {
        let count = match kind {
            Kind::Status => &mut self.wrong_status,
            Kind::Header => &mut self.wrong_header,
            Kind::Length => &mut self.wrong_length,
            Kind::Sha256 => &mut self.wrong_content,
            Kind::Contains => &mut self.wrong_contains,
            Kind::Regex => &mut self.wrong_regex,
            Kind::Json => &mut self.wrong_json,
        };
        *count += 1;
    }

    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: &Self) {
        self.right += other.right;
        self.wrong_status += other.wrong_status;
        self.wrong_header += other.wrong_header;
        self.wrong_length += other.wrong_length;
        self.wrong_content += other.wrong_content;
        self.wrong_contains += other.wrong_contains;
        self.wrong_regex += other.wrong_regex;
        self.wrong_json += other.wrong_json;
    }
}

impl Check {
    /// The check as it is stored and printed: with `***` in place of a secret value.
    pub(crate) fn without_secret(&self) -> Self {
        let hidden = || "***".to_owned();
        match self {
            Self::Header { name, value } if is_secret(name) => Self::Header {
                name: name.clone(),
                value: value.as_ref().map(|_| hidden()),
            },
            Self::Json { pointer, .. } if is_secret(pointer) => Self::Json {
                pointer: pointer.clone(),
                value: hidden().into(),
            },
            other => other.clone(),
        }
    }

    /// Reads `status=200`, `header=Name: value`, `length=13`, `sha256=HEX`, `contains=TEXT`, `regex=PATTERN` or
    /// `json=/pointer=value`.
    ///
    /// # Errors
    ///
    /// A message in one line, with the correct form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let kind = Kind::named(name).map_err(|reason| format!("{}: {reason}", shown(text)))?;
        let form = |reason: &str| format!("{}: {reason}; write {}", shown(text), kind.form());
        match kind {
            Kind::Status => match value.parse() {
                Ok(status @ 100..=999) => Ok(Self::Status(status)),
                _ => Err(form("not a status code")),
            },
            Kind::Header => {
                let (name, value) = match value.split_once(':') {
                    Some((name, value)) => (name, Some(value.trim().to_owned())),
                    None => (value, None),
                };
                let is_token =
                    |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
                if name.is_empty() {
                    return Err(form("the name of the header is missing"));
                }
                if !name.bytes().all(is_token) {
                    return Err(form(&format!("{:?} is no name of a header", shown(name))));
                }
                Ok(Self::Header {
                    name: name.to_owned(),
                    value,
                })
            }
            Kind::Length => value
                .parse()
                .map(Self::Length)
                .map_err(|_| form("not a number of bytes")),
            Kind::Sha256 => from_hexadecimal(value)
                .map(Self::Sha256)
                .ok_or_else(|| form("a SHA-256 has 64 hexadecimal digits")),
            Kind::Contains | Kind::Regex if value.is_empty() => {
                Err(form("every content has the empty text"))
            }
            Kind::Contains => Ok(Self::Contains(value.to_owned())),
            Kind::Regex => Pattern::compile(value)
                .map(Self::Regex)
                .map_err(|reason| format!("{}: {reason}; correct the pattern", shown(text))),
            Kind::Json => {
                let (pointer, value) = value
                    .split_once('=')
                    .ok_or_else(|| form("the value is missing"))?;
                if !pointer.is_empty() && !pointer.starts_with('/') {
                    return Err(form("a JSON pointer starts with /"));
                }
                // Text that is not JSON is taken as a string, so that users can write json=/name=anna.
                let value =
                    serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
                Ok(Self::Json {
                    pointer: pointer.to_owned(),
                    value,
                })
            }
        }
    }

    pub(crate) const fn kind(&self) -> Kind {
        match self {
            Self::Status(_) => Kind::Status,
            Self::Header { .. } => Kind::Header,
            Self::Length(_) => Kind::Length,
            Self::Sha256(_) => Kind::Sha256,
            Self::Contains(_) => Kind::Contains,
            Self::Regex(_) => Kind::Regex,
            Self::Json { .. } => Kind::Json,
        }
    }
}

/// A check as a message shows it: shortened.
impl Display for Check {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}=", self.kind().name())?;
        match self {
            Self::Status(status) => write!(formatter, "{status}"),
            Self::Header { name, value: None } => formatter.write_str(&shown(name)),
            Self::Header {
                name,
                value: Some(value),
            } => formatter.write_str(&quoted(&format!("{name}: {value}"))),
            Self::Length(length) => write!(formatter, "{length}"),
            Self::Sha256(hash) => formatter.write_str(&hexadecimal(*hash)),
            Self::Contains(text) => formatter.write_str(&quoted(text)),
            Self::Regex(pattern) => formatter.write_str(&quoted(pattern.0.as_str())),
            Self::Json { pointer, value } => {
                write!(
                    formatter,
                    "{}={}",
                    shown(pointer),
                    shown(&value.to_string())
                )
            }
        }
    }
}

/// The start of a text, on one line.
fn shown(text: &str) -> String {
    preview(text.as_bytes(), SHOWN_CHARACTERS)
}

/// The start of a text, in the quotes that it does not have.
fn quoted(text: &str) -> String {
    let quote = if text.contains('"') { '\'' } else { '"' };
    format!("{quote}{}{quote}", shown(text))
}

/// The start of a hash, as it is shown.
pub(crate) fn hexadecimal([a, b, c, d, ..]: [u8; 32]) -> String {
    format!("{:08x}...", u32::from_be_bytes([a, b, c, d]))
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

/// The checks of one answer, in the order of their kinds: its own, and the shared checks of all other kinds.
pub(crate) fn of_one(own: Vec<Check>, shared: &Arc<[Check]>) -> Arc<[Check]> {
    if own.is_empty() && shared.is_sorted_by_key(Check::kind) {
        return shared.clone();
    }
    let is_own = |check: &Check| own.iter().any(|own| own.kind() == check.kind());
    let others = shared.iter().filter(|check| !is_own(check)).cloned();
    let mut all: Vec<Check> = others.collect();
    all.extend(own);
    all.sort_by_key(Check::kind);
    all.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_read() {
        let json = |pointer: &str, value: Value| {
            Some(Check::Json {
                pointer: pointer.to_owned(),
                value,
            })
        };
        let header = |name: &str, value: Option<&str>| {
            Some(Check::Header {
                name: name.to_owned(),
                value: value.map(str::to_owned),
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
            ("contains=a=b", Some(Check::Contains("a=b".to_owned()))),
            ("contains= ", Some(Check::Contains(" ".to_owned()))),
            ("contains=", None),
            ("regex=", None),
            ("regex=(", None),
            ("header=A: b: c ", header("A", Some("b: c"))),
            ("header=A", header("A", None)),
            ("header=A:", header("A", Some(""))),
            ("header=", None),
            ("header=: b", None),
            ("header=a b: c", None),
            ("colour=red", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(Check::parse(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn a_mistake_is_named_with_its_cure() {
        let forms = "status=200, header='Name: value', length=13, sha256=HEX, contains=TEXT, regex=PATTERN, json=/pointer=value";
        for (text, expected) in [
            (
                "body=x",
                format!("body=x: no such check; choose from: {forms}"),
            ),
            (
                "contain=x",
                "contain=x: no such check; did you mean contains=TEXT?".to_owned(),
            ),
            ("ok", format!("ok: no such check; choose from: {forms}")),
            (
                "contains",
                "contains: every content has the empty text; write contains=TEXT".to_owned(),
            ),
            (
                "status=2xx",
                "status=2xx: not a status code; write status=200".to_owned(),
            ),
            (
                "header=: x",
                "header=: x: the name of the header is missing; write header='Name: value'"
                    .to_owned(),
            ),
            (
                "contains=",
                "contains=: every content has the empty text; write contains=TEXT".to_owned(),
            ),
            (
                "regex=\u{fc}(b",
                "regex=\u{fc}(b: character 2: unclosed group; correct the pattern".to_owned(),
            ),
            (
                "regex=\\w{5000}",
                "regex=\\w{5000}: it needs more than 1 MiB of memory; correct the pattern"
                    .to_owned(),
            ),
            (
                "json=name=1",
                "json=name=1: a JSON pointer starts with /; write json=/pointer=value".to_owned(),
            ),
        ] {
            assert_eq!(Check::parse(text).unwrap_err(), expected);
        }
    }

    #[test]
    fn patterns_are_equal_where_their_texts_are() {
        let [one, same, other] = ["regex=a", "regex=a", "regex=b"].map(Check::parse);
        assert_eq!(one, same);
        assert_ne!(one, other);
        let Ok(Check::Regex(pattern)) = Check::parse(r"regex=(?i)\xff.?OK\d") else {
            panic!("it is a pattern");
        };
        // Without (?-u) it is a character, of two bytes in UTF-8.
        assert!(pattern.is_match("\u{ff} ok7".as_bytes()) && !pattern.is_match(b"\xff ok7"));
        let Ok(Check::Regex(pattern)) = Check::parse(r"regex=(?-u)\xff") else {
            panic!("it is a pattern");
        };
        assert!(pattern.is_match(b"\0\xff"));
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
            (&["status=404"], &["status=404", "length=13"]),
            (
                &["json=/a=1", "json=/b=2"],
                &["status=200", "length=13", "json=/a=1", "json=/b=2"],
            ),
            (&["length=0", "status=204"], &["status=204", "length=0"]),
        ];
        for (own, all) in cases {
            assert_eq!(of_one(parsed(own), &shared)[..], parsed(all)[..], "{own:?}");
        }
    }
}
