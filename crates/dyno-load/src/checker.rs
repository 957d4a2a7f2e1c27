//! Checks the answers of one connection, and describes the first wrong ones. No I/O.

use std::sync::Arc;

use dyno_client::coding::{Decoding, PIECE_BYTES, Sink, TURN_BYTES};
use dyno_client::{AnswerHead, Failure};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::check::{Check, CheckExample, Checked, hexadecimal, is_secret};
use crate::preview::preview;

/// Longest content that is buffered for a check, and longest decoded content; a longer one counts as wrong.
const MAX_CONTENT_BYTES: usize = 64 << 20;
/// Content that is kept to describe a wrong answer.
const PREVIEW_BYTES: usize = 1 << 10;
/// Characters of content in a description.
const PREVIEW_CHARACTERS: usize = 120;
/// Content that is decoded in one step. Smaller than a fetcher's, because each answer clears this memory.
const ROOM_BYTES: usize = 16 << 10;

/// Checks the answers of one connection, one at a time, as they arrive.
///
/// The head decides what is done with the content. A coded content is decoded when the answer has ended: the time of
/// decoding is in none of its times, and a decoder needs no memory between answers.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what is needed, and what is done, are independent"
)]
pub(crate) struct Checker {
    /// Checks of the current answer, in the order of their kinds.
    checks: Arc<[Check]>,
    /// Whether any is of the SHA-256, of other content, or of the length.
    needs_hash: bool,
    needs_content: bool,
    length: Option<u64>,
    /// Whether the method is HEAD.
    is_head: bool,
    /// Index of the failed check of status or header.
    wrong: Option<usize>,
    /// The value of the header of that check.
    value: Option<Vec<u8>>,
    /// The content codings; `None` if the content is as it was sent.
    coding: Option<Vec<u8>>,
    /// What is done with the content of the current answer: whether it is hashed, and bytes of it that are kept.
    hashes: bool,
    keeps: usize,
    hash: Sha256,
    kept: Vec<u8>,
    overflowed: bool,
}

/// A wrong answer: the index of the failed check, and the difference.
struct Wrong {
    index: usize,
    /// Follows the length of the content in a description: `, not JSON`.
    detail: String,
    /// Whether the start of the content explains it.
    shows_content: bool,
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "what a search for the first wrong one returns"
)]
impl Wrong {
    fn content(index: usize, detail: impl Into<String>) -> Option<Self> {
        Some(Self {
            index,
            detail: detail.into(),
            shows_content: true,
        })
    }

    /// Content that is missing or cannot be checked.
    fn unchecked(index: usize, reason: impl Into<String>) -> Option<Self> {
        Some(Self {
            index,
            detail: format!(": {}", reason.into()),
            shows_content: false,
        })
    }
}

impl Checker {
    pub(crate) fn new() -> Self {
        Self {
            checks: Arc::default(),
            needs_hash: false,
            needs_content: false,
            length: None,
            is_head: false,
            wrong: None,
            value: None,
            coding: None,
            hashes: false,
            keeps: 0,
            hash: Sha256::new(),
            kept: Vec::new(),
            overflowed: false,
        }
    }

    /// Begins an answer with its checks; `is_head` says whether the method is HEAD.
    pub(crate) fn restart(&mut self, checks: &Arc<[Check]>, is_head: bool) {
        if !Arc::ptr_eq(&self.checks, checks) {
            debug_assert!(checks.is_sorted_by_key(Check::kind));
            self.checks = checks.clone();
            let has = |kind: fn(&Check) -> bool| checks.iter().any(kind);
            self.needs_hash = has(|check| matches!(check, Check::Sha256(_)));
            self.needs_content = has(|check| {
                matches!(
                    check,
                    Check::Contains(_) | Check::Regex(_) | Check::Json { .. }
                )
            });
            self.length = checks.iter().find_map(|check| match check {
                Check::Length(length) => Some(*length),
                _ => None,
            });
        }
        self.is_head = is_head;
        self.wrong = None;
        self.value = None;
        self.coding = None;
        self.hashes = false;
        self.keeps = 0;
        if self.needs_hash {
            self.hash.reset();
        }
        self.kept.clear();
        self.overflowed = false;
    }

    /// Whether content is read for a check, which takes time after the end of the answer.
    pub(crate) const fn reads_content(&self) -> bool {
        self.needs_hash || self.needs_content
    }

    /// Checks the head of the answer, and decides what is done with its content.
    pub(crate) fn head(&mut self, head: &AnswerHead<'_>) {
        let is_wrong = |check: &Check| match check {
            Check::Status(right) => *right != head.status,
            Check::Header { name, value } => {
                let mut values = head.fields(name);
                match value {
                    None => values.next().is_none(),
                    Some(right) => !values.any(|value| value.trim_ascii() == right.as_bytes()),
                }
            }
            _ => false,
        };
        self.wrong = self.checks.iter().position(is_wrong);
        if let Some(index) = self.wrong {
            if let Check::Header { name, .. } = &self.checks[index] {
                self.value = head.field(name).map(<[u8]>::to_vec);
            }
            self.coding = coding(head);
            self.keeps = PREVIEW_BYTES;
        } else if self.needs_content || self.needs_hash {
            self.coding = coding(head);
            let is_buffered = self.needs_content || self.coding.is_some();
            self.hashes = self.needs_hash && self.coding.is_none();
            self.keeps = if is_buffered {
                MAX_CONTENT_BYTES
            } else {
                PREVIEW_BYTES
            };
        } else if let Some(right) = self.length
            && head.content_length() != Some(right)
        {
            self.coding = coding(head);
            self.keeps = PREVIEW_BYTES;
        }
    }

    /// Adds a piece of the answer's content, as it was sent.
    #[inline]
    pub(crate) fn content(&mut self, bytes: &[u8]) {
        if self.hashes {
            self.hash.update(bytes);
        }
        if self.keeps > 0 {
            let room = self.keeps - self.kept.len();
            self.overflowed |= bytes.len() > room;
            self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }

    /// Ends the answer, counts it as right or wrong, and returns whether it is right; `None` for an answer without
    /// checks. `examples` gets the first wrong answer of each kind of check.
    pub(crate) fn end(
        &mut self,
        status: u16,
        length: u64,
        checked: &mut Checked,
        examples: &mut Vec<CheckExample>,
    ) -> Option<bool> {
        if self.checks.is_empty() {
            return None;
        }
        let wrong = match self.wrong {
            Some(index) => Wrong::content(index, ""),
            None => self.wrong_content(status, length),
        };
        let Some(wrong) = wrong else {
            checked.right += 1;
            return Some(true);
        };
        let kind = self.checks[wrong.index].kind();
        checked.count_wrong(kind);
        if examples.iter().all(|example| example.kind != kind) {
            examples.push(self.example(&wrong, status, length));
        }
        Some(false)
    }

    /// The first failed check of length or content.
    fn wrong_content(&mut self, status: u16, length: u64) -> Option<Wrong> {
        let checks = self.checks.clone();
        let mut of_content = checks.iter().enumerate().skip_while(|(_, check)| {
            matches!(
                check,
                Check::Status(_) | Check::Header { .. } | Check::Length(_)
            )
        });
        let is_length = |check: &Check| matches!(check, Check::Length(right) if *right != length);
        if let Some(index) = checks.iter().position(is_length) {
            return Wrong::content(index, "");
        }
        let first = of_content.clone().next()?.0;
        if self.is_head {
            return Wrong::unchecked(first, "an answer to HEAD has no content");
        }
        if matches!(status, 204 | 304) {
            return Wrong::unchecked(
                first,
                format!("an answer of status {status} has no content"),
            );
        }
        if self.overflowed && self.keeps == MAX_CONTENT_BYTES {
            return Wrong::unchecked(first, "too long to be checked, more than 64 MiB");
        }
        let decoded;
        let content = match &self.coding {
            None => &self.kept,
            Some(coding) => {
                let result;
                (decoded, result) = decode(coding, &self.kept, MAX_CONTENT_BYTES);
                match result {
                    Ok(()) => &decoded,
                    Err(Failure::ContentTooLong) => {
                        return Wrong::unchecked(
                            first,
                            "too long to be checked, more than 64 MiB decoded",
                        );
                    }
                    Err(_) => return Wrong::unchecked(first, "the coding is corrupt or cut off"),
                }
            }
        };
        let mut json: Option<Option<Value>> = None;
        of_content.find_map(|(index, check)| match check {
            Check::Sha256(right) => {
                let hash: [u8; 32] = if self.hashes {
                    self.hash.finalize_reset().into()
                } else {
                    Sha256::digest(content).into()
                };
                if hash == *right {
                    None
                } else {
                    Wrong::content(index, format!(", sha256={}", hexadecimal(hash)))
                }
            }
            Check::Contains(text) => {
                let is_found = memchr::memmem::find(content, text.as_bytes()).is_some();
                if is_found {
                    None
                } else {
                    Wrong::content(index, "")
                }
            }
            Check::Regex(pattern) => {
                if pattern.is_match(content) {
                    None
                } else {
                    Wrong::content(index, "")
                }
            }
            Check::Json { pointer, value } => {
                let json = json.get_or_insert_with(|| serde_json::from_slice(content).ok());
                match json.as_ref().map(|json| json.pointer(pointer)) {
                    Some(Some(found)) if found == value => None,
                    Some(Some(_)) if is_secret(pointer) => {
                        Wrong::content(index, format!(", {} is ***", place(pointer)))
                    }
                    Some(Some(found)) => {
                        let found = preview(found.to_string().as_bytes(), 40);
                        Wrong::content(index, format!(", {} is {found}", place(pointer)))
                    }
                    Some(None) => Wrong::content(index, format!(", {} is missing", place(pointer))),
                    None => Wrong::content(index, ", not JSON"),
                }
            }
            Check::Status(_) | Check::Header { .. } | Check::Length(_) => None,
        })
    }

    /// Describes a wrong answer. Seldom: once for each kind of check.
    #[cold]
    fn example(&self, wrong: &Wrong, status: u16, length: u64) -> CheckExample {
        let check = &self.checks[wrong.index];
        let got = match (check, &self.value) {
            (Check::Header { name, .. }, None) => format!("{status}, no header {name}"),
            (Check::Header { name, .. }, Some(_)) if is_secret(name) => {
                format!("{status}, {name}: ***")
            }
            (Check::Header { name, .. }, Some(value)) => {
                format!("{status}, {name}: {}", preview(value, PREVIEW_CHARACTERS))
            }
            _ => format!(
                "{status}, {}{}",
                self.content_words(length),
                self.ending(wrong)
            ),
        };
        CheckExample {
            kind: check.kind(),
            check: check.without_secret().to_string(),
            got,
        }
    }

    /// The length and the coding of the content: `31 bytes of gzip`.
    fn content_words(&self, length: u64) -> String {
        let bytes = if length == 1 { "byte" } else { "bytes" };
        let of = self.coding.as_ref().map_or(String::new(), |coding| {
            let unknown = if is_known(coding) {
                ""
            } else {
                ", which is unknown"
            };
            format!(" of {}{unknown}", preview(coding, 40))
        });
        format!("{length} {bytes}{of}")
    }

    /// What is wrong, and the start of the content where that is not the reason.
    fn ending(&self, wrong: &Wrong) -> String {
        let detail = &wrong.detail;
        if !wrong.shows_content || self.kept.is_empty() {
            return detail.clone();
        }
        let start = &self.kept[..self.kept.len().min(PREVIEW_BYTES)];
        let text = match &self.coding {
            None => preview(start, PREVIEW_CHARACTERS),
            // Not all of it: it may be cut off, and is decoded as far as possible.
            Some(coding) => preview(
                &decode(coding, &self.kept, PREVIEW_BYTES).0,
                PREVIEW_CHARACTERS,
            ),
        };
        format!("{detail}: {text}")
    }
}

/// A JSON pointer as a description names it.
fn place(pointer: &str) -> String {
    if pointer.is_empty() {
        "it".to_owned()
    } else {
        preview(pointer.as_bytes(), 40)
    }
}

/// The values of `Content-Encoding`.
fn coding(head: &AnswerHead<'_>) -> Option<Vec<u8>> {
    head.field("content-encoding")?;
    let values: Vec<&[u8]> = head.fields("content-encoding").collect();
    Some(values.join(&b", "[..]))
}

/// Whether content of this coding is decoded; if not, it is checked as it was sent.
fn is_known(coding: &[u8]) -> bool {
    Decoding::new([coding].into_iter(), 0).is_ok_and(|decoding| !decoding.keeps())
}

/// Decodes content, and returns what was decoded before it failed, too.
fn decode(coding: &[u8], coded: &[u8], most: usize) -> (Vec<u8>, Result<(), Failure>) {
    let mut content = Content {
        bytes: Vec::new(),
        most,
    };
    let result = content.decode(coding, coded);
    (content.bytes, result)
}

/// Decoded content of at most this length.
struct Content {
    bytes: Vec<u8>,
    most: usize,
}

impl Content {
    fn decode(&mut self, coding: &[u8], coded: &[u8]) -> Result<(), Failure> {
        let mut decoding = Decoding::new([coding].into_iter(), self.most as u64)?;
        let mut room = [0; ROOM_BYTES];
        for piece in coded.chunks(PIECE_BYTES) {
            decoding.take(piece, self)?;
            while decoding.advance(&mut room, self)? >= TURN_BYTES {}
        }
        decoding.end()
    }
}

impl Sink for Content {
    fn take(&mut self, piece: &[u8]) -> Result<(), Failure> {
        let room = self.most - self.bytes.len();
        self.bytes
            .extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            return Err(Failure::ContentTooLong);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use http::{HeaderMap, HeaderName, HeaderValue};
    use proptest::prelude::*;

    use super::*;

    const HELLO: &str = "sha256=dffd6021bb2bd5b0af676290809ec3a53191dd81c7f70a4b28688a362182986f";

    fn parsed(texts: &[&str]) -> Arc<[Check]> {
        let parse = |text: &&str| Check::parse(text).unwrap();
        let own = texts.iter().map(parse).collect();
        crate::check::of_one(own, &Arc::default())
    }

    struct Answer<'a> {
        status: u16,
        headers: &'a [(&'a str, &'a str)],
        content: &'a [u8],
    }

    /// Checks an answer twice; returns the counts of the second, and the description of the first.
    fn check(checker: &mut Checker, texts: &[&str], answer: &Answer<'_>) -> (Checked, String) {
        let checks = parsed(texts);
        let mut headers = HeaderMap::new();
        for (name, value) in answer.headers {
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        let (mut counts, mut examples) = (Checked::default(), Vec::new());
        for _ in 0..2 {
            counts = Checked::default();
            checker.restart(&checks, false);
            checker.head(&AnswerHead::of_http2(answer.status, &headers));
            for piece in answer.content.chunks(3000) {
                checker.content(piece);
            }
            let length = answer.content.len() as u64;
            let is_right = checker.end(answer.status, length, &mut counts, &mut examples);
            assert_eq!(is_right, Some(counts.right == 1));
            assert_eq!(counts.right + counts.wrong(), 1);
        }
        assert!(examples.len() <= 1, "one for each kind");
        let example = examples.first().map(ToString::to_string);
        (counts, example.unwrap_or_default())
    }

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn deflate(content: &[u8]) -> Vec<u8> {
        let mut encoder =
            flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn brotli(content: &[u8]) -> Vec<u8> {
        let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
        encoder.write_all(content).unwrap();
        encoder.into_inner()
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table")]
    fn the_first_failed_check_counts_and_is_described() {
        let hello = &b"Hello, World!"[..];
        let headers = &[("a", "1"), ("a", "2"), ("b", "x")][..];
        for (checks, status, content, failed, expected) in [
            (
                &[
                    "length=13",
                    "status=200",
                    HELLO,
                    "contains=World",
                    "regex=^H.*!$",
                ][..],
                200,
                hello,
                "",
                "",
            ),
            (
                &["header=A: 2", "header=B", "header=a:1"],
                200,
                hello,
                "",
                "",
            ),
            (
                &["length=13", "status=200", HELLO],
                500,
                b"oops\n",
                "status",
                r"wrong by status=200: got 500, 5 bytes: oops\n",
            ),
            (
                &["status=200"],
                500,
                b"",
                "status",
                "wrong by status=200: got 500, 0 bytes",
            ),
            (
                &["header=A: 3", "length=1"],
                200,
                hello,
                "header",
                r#"wrong by header="A: 3": got 200, A: 1"#,
            ),
            (
                &["header=C", "contains=x"],
                200,
                hello,
                "header",
                "wrong by header=C: got 200, no header C",
            ),
            (
                &["length=13", HELLO],
                200,
                b"o",
                "length",
                "wrong by length=13: got 200, 1 byte: o",
            ),
            (
                &[HELLO, "contains=world"],
                200,
                b"Hello, world!",
                "content",
                "wrong by sha256=dffd6021...: got 200, 13 bytes, sha256=315f5bdb...: Hello, world!",
            ),
            (
                &[r#"contains="ok":1"#, "json=/a=1"],
                200,
                br#"{"error":"no such user"}"#,
                "contains",
                r#"wrong by contains='"ok":1': got 200, 24 bytes: {"error":"no such user"}"#,
            ),
            (
                &["regex=^ok$", "json=/a=1"],
                200,
                b"\xff\0ok",
                "regex",
                r#"wrong by regex="^ok$": got 200, 4 bytes: \xff\x00ok"#,
            ),
            (
                &["json=/a=1"],
                200,
                hello,
                "json",
                "wrong by json=/a=1: got 200, 13 bytes, not JSON: Hello, World!",
            ),
            (
                &["json=/a=1"],
                200,
                br#"{"a":2}"#,
                "json",
                r#"wrong by json=/a=1: got 200, 7 bytes, /a is 2: {"a":2}"#,
            ),
            (
                &["json=/a=1"],
                200,
                b"[]",
                "json",
                "wrong by json=/a=1: got 200, 2 bytes, /a is missing: []",
            ),
            (
                &["json=/a=1"],
                204,
                b"",
                "json",
                "wrong by json=/a=1: got 204, 0 bytes: an answer of status 204 has no content",
            ),
            (&["status=204", "length=0"], 204, b"", "", ""),
        ] {
            let mut checker = Checker::new();
            let answer = Answer {
                status,
                headers,
                content,
            };
            let (counts, example) = check(&mut checker, checks, &answer);
            let counted = counts.by_check().into_iter().find(|(_, count)| *count > 0);
            assert_eq!(
                (counted.map_or("", |(name, _)| name), &example[..]),
                (failed, expected)
            );
        }
    }

    #[test]
    fn secret_values_are_in_no_example() {
        for (typed, headers, content, expected) in [
            (
                "header=Set-Cookie: planted",
                &[("set-cookie", "planted too")][..],
                &b""[..],
                r#"wrong by header="Set-Cookie: ***": got 200, Set-Cookie: ***"#,
            ),
            (
                "header=Authorization: planted",
                &[],
                b"",
                r#"wrong by header="Authorization: ***": got 200, no header Authorization"#,
            ),
            (
                "json=/user/token=\"planted\"",
                &[],
                b"{\"user\": {\"token\": 7}}",
                "wrong by json=/user/token=\"***\": got 200, 22 bytes, /user/token is ***",
            ),
        ] {
            let mut checker = Checker::new();
            let answer = Answer {
                status: 200,
                headers,
                content,
            };
            let (_, example) = check(&mut checker, &[typed], &answer);
            assert!(example.starts_with(expected), "{example}");
        }
    }

    #[test]
    fn an_answer_to_head_has_no_content_to_check() {
        let checks = parsed(&["status=200", "contains=a"]);
        let (mut counts, mut examples) = (Checked::default(), Vec::new());
        let mut checker = Checker::new();
        checker.restart(&checks, true);
        checker.head(&AnswerHead::of_http2(200, &HeaderMap::new()));
        assert_eq!(checker.end(200, 0, &mut counts, &mut examples), Some(false));
        assert_eq!(
            examples[0].to_string(),
            r#"wrong by contains="a": got 200, 0 bytes: an answer to HEAD has no content"#
        );
    }

    #[test]
    fn checks_of_content_are_made_after_decoding() {
        let hello = b"Hello, World!";
        let sent = |coding, content: &[u8], texts: &[&str]| {
            let answer = Answer {
                status: 200,
                headers: &[("content-encoding", coding)],
                content,
            };
            check(&mut Checker::new(), texts, &answer).1
        };
        let checks = [HELLO, "contains=World", "regex=^H"];
        for (coding, content) in [
            ("gzip", gzip(hello)),
            ("GZIP", gzip(hello)),
            ("deflate", deflate(hello)),
            ("br", brotli(hello)),
            ("zstd", zstd::encode_all(&hello[..], 3).unwrap()),
            ("gzip, br", brotli(&gzip(hello))),
            ("identity", hello.to_vec()),
            ("UTF-8", hello.to_vec()),
        ] {
            let length = format!("length={}", content.len());
            let all = [&checks[..], &[&length]].concat();
            assert_eq!(sent(coding, &content, &all), "", "{coding}");
        }
        let coded = gzip(hello);
        let bomb = gzip(&vec![b'a'; MAX_CONTENT_BYTES + 1]);
        let just = gzip(&vec![b'a'; MAX_CONTENT_BYTES]);
        for (coding, content, texts, expected) in [
            (
                "gzip",
                &coded,
                "contains=x",
                "33 bytes of gzip: Hello, World!".to_owned(),
            ),
            (
                "gzip",
                &coded,
                "status=201",
                "33 bytes of gzip: Hello, World!".to_owned(),
            ),
            (
                "gzip",
                &coded,
                "length=13",
                "33 bytes of gzip: Hello, World!".to_owned(),
            ),
            (
                "rot13",
                &b"Uryyb".to_vec(),
                "contains=x",
                "5 bytes of rot13, which is unknown: Uryyb".to_owned(),
            ),
            (
                "gzip",
                &coded[..coded.len() - 1].to_vec(),
                "contains=W",
                "32 bytes of gzip: the coding is corrupt or cut off".to_owned(),
            ),
            (
                "br",
                &coded,
                "contains=W",
                "33 bytes of br: the coding is corrupt or cut off".to_owned(),
            ),
            (
                "gzip",
                &bomb,
                "contains=a",
                format!(
                    "{} bytes of gzip: too long to be checked, more than 64 MiB decoded",
                    bomb.len()
                ),
            ),
            ("gzip", &just, "contains=a", String::new()),
        ] {
            let example = sent(coding, content, &[texts]);
            let got = example.split_once("got 200, ").map_or("", |(_, got)| got);
            assert_eq!(got, expected);
        }
    }

    #[test]
    fn content_that_is_too_long_is_wrong() {
        let mut checker = Checker::new();
        let content = vec![b'a'; MAX_CONTENT_BYTES + 1];
        let answer = Answer {
            status: 200,
            headers: &[],
            content: &content,
        };
        let (counts, example) = check(&mut checker, &["contains=a"], &answer);
        assert_eq!(counts.wrong_contains, 1);
        assert!(
            example.ends_with("bytes: too long to be checked, more than 64 MiB"),
            "{example}"
        );
        assert!(checker.kept.capacity() <= 2 * MAX_CONTENT_BYTES);
        // A hash needs no memory.
        let (counts, _) = check(&mut Checker::new(), &[HELLO], &answer);
        assert_eq!(counts.wrong_content, 1);
        let mut checker = Checker::new();
        check(&mut checker, &[HELLO], &answer);
        assert!(checker.kept.capacity() < 2 * PREVIEW_BYTES);
    }

    #[test]
    fn an_answer_without_checks_is_not_counted() {
        let (mut checker, mut counts) = (Checker::new(), Checked::default());
        checker.restart(&Arc::default(), false);
        checker.head(&AnswerHead::of_http2(500, &HeaderMap::new()));
        checker.content(b"any");
        assert_eq!(checker.end(500, 3, &mut counts, &mut Vec::new()), None);
        assert_eq!(counts, Checked::default());
    }

    proptest! {
        #[test]
        fn decoded_content_is_checked_as_if_it_was_sent_so(content: Vec<u8>, coded: bool, text in "[ab]{1,2}") {
            let contains = format!("contains={text}");
            let regex = format!("regex={text}");
            let sent = if coded { gzip(&content) } else { content.clone() };
            let coding = [("content-encoding", "gzip")];
            let answer = Answer {
                status: 200,
                headers: if coded { &coding } else { &[] },
                content: &sent,
            };
            let has = content.windows(text.len()).any(|part| part == text.as_bytes());
            for check_text in [contains, regex] {
                let (counts, _) = check(&mut Checker::new(), &[&check_text], &answer);
                prop_assert_eq!(counts.right == 1, has);
            }
        }
    }
}
