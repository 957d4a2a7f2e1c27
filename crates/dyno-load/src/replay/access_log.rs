//! Lines of access logs in the common and the combined format, as Apache and nginx write them. No I/O.

use super::time::At;
use super::{Line, NO_REQUEST, log_request, request_line};

/// Parses `host ident user [time] "request" status bytes "referer" "user agent"`; the last two may be absent, and
/// anything may follow.
pub(super) fn line(line: &[u8]) -> Result<Line, String> {
    let wrong = || {
        let text = String::from_utf8_lossy(&line[..line.len().min(60)]);
        format!(
            "{text:?} is no line of an access log: host ident user [time] \"request\" status bytes"
        )
    };
    let (at, rest) = time(line).ok_or_else(wrong)?;
    let (request, rest) = quoted(rest).ok_or_else(wrong)?;
    let mut fields = rest.trim_ascii_start().splitn(3, |byte| *byte == b' ');
    let status = fields.next().unwrap_or_default();
    let is_status = status.len() == 3 && status.iter().all(u8::is_ascii_digit) || status == b"-";
    if !is_status {
        return Err(wrong());
    }
    let mut headers = Vec::new();
    let mut rest = fields.nth(1).unwrap_or_default();
    for name in ["Referer", "User-Agent"] {
        let Some((value, after)) = quoted(rest) else {
            break;
        };
        rest = after;
        if !matches!(&value[..], b"-" | b"") {
            let value = String::from_utf8_lossy(&value).into_owned();
            headers.push((name.to_owned(), value));
        }
    }
    let Some((method, target)) = request_line(&request) else {
        return Ok(Line::Skipped(NO_REQUEST.to_owned()));
    };
    Ok(log_request(at, method, target, None, headers, None))
}

/// The time in the first brackets that have one, and what follows them: names of users may have brackets, too.
fn time(line: &[u8]) -> Option<(At, &[u8])> {
    let mut rest = line;
    loop {
        let open = rest.iter().position(|byte| *byte == b'[')?;
        rest = &rest[open + 1..];
        let close = rest.iter().position(|byte| *byte == b']')?;
        let text = std::str::from_utf8(&rest[..close]).ok();
        if let Some(at) = text.and_then(At::from_access_log) {
            return Some((at, &rest[close + 1..]));
        }
    }
}

/// The text in quotes at the beginning, without its escapes, and what follows it.
fn quoted(bytes: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = bytes.trim_ascii_start().strip_prefix(b"\"")?;
    let mut text = Vec::with_capacity(rest.len().min(256));
    loop {
        match rest {
            [b'"', after @ ..] => return Some((text, after)),
            [b'\\', b'x', high, low, after @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0);
                let value = digit(*high) * 16 + digit(*low);
                text.push(u8::try_from(value).unwrap_or(u8::MAX));
                rest = after;
            }
            [b'\\', escaped, after @ ..] => {
                text.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    other => *other,
                });
                rest = after;
            }
            [byte, after @ ..] => {
                text.push(*byte);
                rest = after;
            }
            [] => return None,
        }
    }
}
