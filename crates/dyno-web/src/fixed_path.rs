//! Paths with the same answer on every host, with httpbin's names where it has them.

use crate::answer::{Answer, Content, Drip, Request};
use crate::coding::Coding;
use crate::content::{PLAIN_DOCUMENT, UTF8_DOCUMENT};
use crate::framing::Framing;
use crate::units::Nanos;

/// Maximum values of numbers in a path or a query.
const MOST_BYTES: u64 = 1 << 30;
const MOST_MS: u64 = 3_600_000;
const MOST_LINES: u64 = 1_000_000;

/// The answer to a fixed path; `None` for any other. `json_document` supplies the JSON document.
pub(crate) fn answer(
    request: &Request<'_>,
    json_document: impl Fn() -> &'static str,
) -> Option<Answer> {
    let (path, query) = request
        .target
        .split_once('?')
        .unwrap_or((request.target, ""));
    let (name, argument) = match path.strip_prefix('/')?.split_once('/') {
        Some((name, argument)) => (name, Some(argument)),
        None => (&path[1..], None),
    };
    let json = |coding| Answer {
        coding,
        ..document(json_document(), "application/json")
    };
    let answer = match (name, argument) {
        ("plain", None) => Some(document(PLAIN_DOCUMENT, "text/plain; charset=utf-8")),
        ("json", None) => coding(query).map(|coding| json(only(request, coding))),
        ("echo", None) => Some(echo(request)),
        ("encoding", Some("utf8")) => Some(document(UTF8_DOCUMENT, "text/plain; charset=utf-8")),
        ("gzip", None) => Some(json(request.accepted.choose(Coding::Gzip))),
        ("brotli", None) => Some(json(only(request, Coding::Br))),
        ("zstd", None) => Some(json(only(request, Coding::Zstd))),
        ("bytes", Some(count)) => {
            number(count, MOST_BYTES).map(|bytes| text(200, Content::Text { bytes }))
        }
        ("delay", Some(ms)) => number(ms, MOST_MS).map(|ms| Answer {
            delay: Nanos::from_millis(ms),
            ..document(PLAIN_DOCUMENT, "text/plain; charset=utf-8")
        }),
        ("status", Some(status)) => number(status, 599)
            .filter(|&status| status >= 200)
            .map(status_only),
        ("redirect", Some(count)) => number(count, 1_000).map(redirect),
        ("stream", Some(count)) => number(count, MOST_LINES).map(lines),
        ("drip", None) => drip(query),
        _ => return None,
    };
    let extra = parameter(query, "delay_ms", MOST_MS);
    match (answer, extra) {
        (Some(answer), Ok(extra)) => Some(Answer {
            delay: answer.delay + Nanos::from_millis(extra.unwrap_or(0)),
            ..answer
        }),
        _ => Some(document_status(
            400,
            "the path or its query has a value out of range\n",
        )),
    }
}

/// `/echo`: the method and the content of the request.
fn echo(request: &Request<'_>) -> Answer {
    text(200, Content::echo(request.method, request.content))
}

fn document(document: &'static str, content_type: &'static str) -> Answer {
    Answer {
        content_type,
        ..Answer::new(200, Content::Document(document))
    }
}

fn document_status(status: u16, text: &'static str) -> Answer {
    Answer {
        status,
        ..document(text, "text/plain; charset=utf-8")
    }
}

fn only(request: &Request<'_>, coding: Coding) -> Coding {
    if request.accepted.accepts(coding) {
        coding
    } else {
        Coding::Identity
    }
}

fn text(status: u16, content: Content) -> Answer {
    Answer {
        content_type: "text/plain; charset=utf-8",
        ..Answer::new(status, content)
    }
}

fn status_only(status: u64) -> Answer {
    text(u16::try_from(status).expect("at most 599"), Content::Empty)
}

fn redirect(count: u64) -> Answer {
    let location = if count <= 1 {
        "/plain".to_owned()
    } else {
        format!("/redirect/{}", count - 1)
    };
    Answer::redirect(302, location, Nanos::ZERO)
}

fn lines(count: u64) -> Answer {
    Answer {
        framing: Framing::Chunked,
        content_type: "application/json",
        ..Answer::new(200, Content::Lines { count })
    }
}

/// `/drip?duration_ms=2000&numbytes=10`: `numbytes` bytes, spread evenly over `duration_ms`.
fn drip(query: &str) -> Option<Answer> {
    let bytes = parameter(query, "numbytes", MOST_BYTES).ok()?.unwrap_or(10);
    let duration_ms = parameter(query, "duration_ms", MOST_MS)
        .ok()?
        .unwrap_or(2_000);
    // Waits are at least a millisecond: long contents are sent in larger pieces.
    let pieces = bytes.clamp(1, duration_ms.max(1));
    let piece = bytes.div_ceil(pieces).max(1);
    let waits = bytes.div_ceil(piece).saturating_sub(1).max(1);
    let every = Nanos(Nanos::from_millis(duration_ms).0 / waits);
    Some(Answer {
        drip: Some(Drip {
            bytes: piece,
            every,
        }),
        ..text(200, Content::Text { bytes })
    })
}

fn number(text: &str, most: u64) -> Option<u64> {
    text.parse().ok().filter(|&number| number <= most)
}

/// The coding in a query; `None` for an unknown one.
fn coding(query: &str) -> Option<Coding> {
    let Some(name) = value(query, "coding") else {
        return Some(Coding::Identity);
    };
    let mut all = Coding::COMPRESSED.into_iter().chain([Coding::Identity]);
    all.find(|coding| coding.name() == name)
}

/// The number `name` in a query; an error when it is not a number, or out of range.
fn parameter(query: &str, name: &str, most: u64) -> Result<Option<u64>, ()> {
    match value(query, name) {
        Some(value) => number(value, most).map(Some).ok_or(()),
        None => Ok(None),
    }
}

/// The first value of `name` in a query.
fn value<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{ECHO_BYTES, is_echo};
    use crate::coding::Accepted;
    use crate::scheme::Scheme;

    fn ask(target: &str) -> Option<Answer> {
        let request = Request {
            accepted: Accepted::parse(b"gzip"),
            ..Request::first(Scheme::Http, "any.test", target)
        };
        answer(&request, || &JSON_DOCUMENT)
    }

    #[test]
    fn fixed_paths_answer() {
        let cases: [(&str, u16, u64, u64); 18] = [
            ("/plain", 200, 13, 0),
            ("/plain?delay_ms=40", 200, 13, 40),
            ("/json", 200, 16_384, 0),
            ("/json?n=1&coding=gzip&delay_ms=5", 200, 16_384, 5),
            ("/json?coding=lzma", 400, 47, 0),
            ("/encoding/utf8", 200, UTF8_DOCUMENT.len() as u64, 0),
            ("/bytes/0", 200, 0, 0),
            ("/bytes/1000000", 200, 1_000_000, 0),
            ("/bytes/9999999999", 400, 47, 0),
            ("/delay/250", 200, 13, 250),
            ("/delay/250?delay_ms=250", 200, 13, 500),
            ("/status/404", 404, 0, 0),
            ("/status/42", 400, 47, 0),
            ("/stream/3", 200, 3 * STREAM_LINE.len() as u64, 0),
            ("/drip?duration_ms=1000&numbytes=11", 200, 11, 1_000),
            ("/drip?duration_ms=x", 400, 47, 0),
            ("/gzip", 200, 16_384, 0),
            ("/zstd", 200, 16_384, 0),
        ];
        for (target, status, bytes, planned_ms) in cases {
            let answer = ask(target).unwrap();
            let seen = (
                answer.status,
                answer.content.bytes(),
                answer.planned().0 / 1_000_000,
            );
            assert_eq!(seen, (status, bytes, planned_ms), "{target}");
        }
    }

    use crate::content::{JSON_DOCUMENT, STREAM_LINE};

    #[test]
    fn the_utf8_document_has_different_counts_of_bytes_characters_and_units() {
        let (bytes, characters) = (UTF8_DOCUMENT.len(), UTF8_DOCUMENT.chars().count());
        let units = UTF8_DOCUMENT.encode_utf16().count();
        assert!(characters < units && units < bytes);
    }

    #[test]
    fn codings_follow_the_request() {
        assert_eq!(ask("/gzip").unwrap().coding, Coding::Gzip);
        assert_eq!(ask("/brotli").unwrap().coding, Coding::Identity);
        let of_json = |query: &str| ask(&format!("/json{query}")).unwrap().coding;
        assert_eq!(of_json("?coding=gzip"), Coding::Gzip);
        for query in ["", "?n=7", "?coding=identity", "?coding=br&coding=gzip"] {
            assert_eq!(of_json(query), Coding::Identity, "{query}");
        }
    }

    #[test]
    fn an_echo_has_the_method_and_the_content() {
        let long = vec![b'x'; ECHO_BYTES + 1];
        let cases: [(&str, &str, &[u8], u64); 5] = [
            ("/echo", "GET", b"", 4),
            ("/echo", "DELETE", b"", 7),
            ("/echo?n=1", "POST", "h\u{f6}rt".as_bytes(), 10),
            ("/echo", "PUT", &[0, 255], 6),
            ("/echo", "POST", &long, 5 + ECHO_BYTES as u64),
        ];
        for (target, method, content, bytes) in cases {
            let request = Request {
                method,
                content,
                ..Request::first(Scheme::Http, "any.test", target)
            };
            let answer = answer(&request, || &JSON_DOCUMENT).unwrap();
            assert_eq!((answer.status, answer.content.bytes()), (200, bytes));
            assert!(is_echo(target));
            let Content::Made(echoed) = answer.content else {
                panic!("made for this request")
            };
            let kept = &content[..content.len().min(ECHO_BYTES)];
            assert_eq!(*echoed, *[method.as_bytes(), b"\n", kept].concat());
        }
        for other in ["/", "/echo/", "/echoes", "/plain?echo", "/a/echo"] {
            assert!(!is_echo(other), "{other}");
        }
    }

    #[test]
    fn redirects_count_down() {
        assert_eq!(
            ask("/redirect/2").unwrap().location.as_deref(),
            Some("/redirect/1")
        );
        assert_eq!(
            ask("/redirect/1").unwrap().location.as_deref(),
            Some("/plain")
        );
    }

    #[test]
    fn other_paths_are_not_fixed() {
        for target in ["/", "/plain/", "/index.html", "/bytes", "/json/x", "*", ""] {
            assert!(ask(target).is_none(), "{target}");
        }
    }
}
