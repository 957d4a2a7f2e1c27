//! Bytes of odd answers: the head of an ordinary answer, changed as its oddity says, and odd chunks.

use std::io::Write as _;

use dyno_web::Oddity;

use crate::message::delivery::CHUNK_BYTES;
use crate::prepared::Source;

/// Field lines of [`Oddity::ManyFields`]: more than a client that stops at 100 reads.
const MANY: usize = 150;
/// Bytes of the cookies of [`Oddity::LongHead`], one of 4 KiB a field, as browsers accept them.
const COOKIES: usize = 12;
const COOKIE_BYTES: usize = 4_000;

/// Changes a whole head as an oddity says; those that concern the content alone leave it as it is.
pub(super) fn rewrite_head(head: &mut Vec<u8>, oddity: Oddity) {
    match oddity {
        Oddity::FoldedField => add(head, b"X-Folded: one\r\n two\r\n\tthree\r\n"),
        Oddity::BareLf => head.retain(|&byte| byte != b'\r'),
        Oddity::SpaceBeforeColon => {
            if let Some(colon) = find(head, b": ") {
                head.insert(colon, b' ');
            }
        }
        Oddity::RepeatedLength => {
            if let Some(name) = find(head, b"Content-Length: ") {
                let start = name + b"Content-Length: ".len();
                let digits = head[start..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_digit());
                let length = head[start..start + digits.count()].to_vec();
                let second = [b", ", length.as_slice()].concat();
                let end = start + length.len();
                head.splice(end..end, second);
            }
        }
        Oddity::LowerCaseVersion => head[..4].make_ascii_lowercase(),
        Oddity::LineWithoutColon => add(head, b"this line is no field\r\n"),
        Oddity::HighBytes => add(head, b"X-Powered-By: caf\xe9 \x80\xff\r\n"),
        Oddity::EmptyLineFirst => drop(head.splice(0..0, *b"\r\n")),
        Oddity::ManyFields => {
            let mut fields = Vec::new();
            for place in 0..MANY {
                // Writing to memory cannot fail.
                let _ = write!(fields, "X-Field-{place}: {place}\r\n");
            }
            add(head, &fields);
        }
        Oddity::LongHead => {
            let mut fields = Vec::new();
            for place in 0..COOKIES {
                let value = "0123456789".repeat(COOKIE_BYTES / 10);
                let _ = write!(fields, "Set-Cookie: c{place}={value}; Path=/\r\n");
            }
            add(head, &fields);
        }
        Oddity::IdentityTransfer => add(head, b"Transfer-Encoding: identity\r\n"),
        Oddity::UnknownCoding => add(head, b"Content-Encoding: none\r\n"),
        Oddity::Cookie => add(head, b"Set-Cookie: visited=1; Path=/\r\n"),
        oddity if oddity.has_raw_location() => decode_location(head),
        _ => {}
    }
}

/// Adds the length of a content in chunks, which are what counts (RFC 9112, section 6.3).
pub(super) fn add_length(head: &mut Vec<u8>, bytes: u64) {
    add(head, format!("Content-Length: {bytes}\r\n").as_bytes());
}

/// The content in odd chunks, with their end.
pub(super) fn chunks(source: Source<'_>, oddity: Oddity) -> Option<Vec<u8>> {
    let (line_end, extensions): (&str, &[&str]) = match oddity {
        Oddity::BareLfChunks => ("\n", &[""]),
        Oddity::ChunkExtensions => (
            "\r\n",
            &[";", ";=b", " ; name", ";name=\"a; b \\\" c\"", ";a=b;c=d"],
        ),
        _ => return None,
    };
    let mut extensions = extensions.iter().cycle();
    let long = format!(";long={}", "x".repeat(5_000));
    let mut offset = 0;
    let mut out = Vec::new();
    while offset < source.bytes() {
        let piece = source.from(offset);
        let length = piece
            .len()
            .min(usize::try_from(CHUNK_BYTES).unwrap_or(usize::MAX));
        // The first chunk has a long extension, where there are any.
        let extension = match oddity {
            Oddity::ChunkExtensions if offset == 0 => long.as_str(),
            _ => extensions.next().copied().unwrap_or_default(),
        };
        let _ = write!(out, "{length:x}{extension}{line_end}");
        out.extend_from_slice(&piece[..length]);
        out.extend_from_slice(line_end.as_bytes());
        offset += length as u64;
    }
    let _ = write!(out, "0{line_end}{line_end}");
    Some(out)
}

/// Adds field lines at the end of a head.
fn add(head: &mut Vec<u8>, lines: &[u8]) {
    let end = head.len() - b"\r\n".len();
    head.splice(end..end, lines.iter().copied());
}

fn find(bytes: &[u8], searched: &[u8]) -> Option<usize> {
    bytes
        .windows(searched.len())
        .position(|window| window == searched)
}

/// Replaces `%XX` in the value of `Location` by the byte.
fn decode_location(head: &mut Vec<u8>) {
    let Some(name) = find(head, b"\r\nLocation: ") else {
        return;
    };
    let start = name + b"\r\nLocation: ".len();
    let Some(length) = find(&head[start..], b"\r\n") else {
        return;
    };
    let mut decoded = Vec::with_capacity(length);
    let mut rest = &head[start..start + length];
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(value) if byte == b'%' => {
                decoded.push(value);
                rest = &after[2..];
            }
            _ => {
                decoded.push(byte);
                rest = after;
            }
        }
    }
    head.splice(start..start + length, decoded);
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] =
        b"HTTP/1.1 302 Found\r\nDate: x\r\nLocation: /d%E9 %20\r\nContent-Length: 12\r\n\r\n";

    #[test]
    fn heads_are_changed_in_one_place() {
        let cases: [(Oddity, &[u8]); 8] = [
            (
                Oddity::FoldedField,
                b"HTTP/1.1 302 Found\r\nDate: x\r\nLocation: /d%E9 %20\r\nContent-Length: 12\r\nX-Folded: one\r\n two\r\n\tthree\r\n\r\n",
            ),
            (
                Oddity::BareLf,
                b"HTTP/1.1 302 Found\nDate: x\nLocation: /d%E9 %20\nContent-Length: 12\n\n",
            ),
            (
                Oddity::SpaceBeforeColon,
                b"HTTP/1.1 302 Found\r\nDate : x\r\nLocation: /d%E9 %20\r\nContent-Length: 12\r\n\r\n",
            ),
            (
                Oddity::RepeatedLength,
                b"HTTP/1.1 302 Found\r\nDate: x\r\nLocation: /d%E9 %20\r\nContent-Length: 12, 12\r\n\r\n",
            ),
            (
                Oddity::LowerCaseVersion,
                b"http/1.1 302 Found\r\nDate: x\r\nLocation: /d%E9 %20\r\nContent-Length: 12\r\n\r\n",
            ),
            (
                Oddity::EmptyLineFirst,
                b"\r\nHTTP/1.1 302 Found\r\nDate: x\r\nLocation: /d%E9 %20\r\nContent-Length: 12\r\n\r\n",
            ),
            (
                Oddity::LocationLatin1,
                b"HTTP/1.1 302 Found\r\nDate: x\r\nLocation: /d\xe9  \r\nContent-Length: 12\r\n\r\n",
            ),
            (Oddity::RedirectDrips, HEAD),
        ];
        for (oddity, expected) in cases {
            let mut head = HEAD.to_vec();
            rewrite_head(&mut head, oddity);
            assert_eq!(
                head.escape_ascii().to_string(),
                expected.escape_ascii().to_string(),
                "{oddity:?}"
            );
        }
    }

    #[test]
    fn chunks_are_odd_in_their_lines_alone() {
        let source = Source::whole(b"hello");
        assert_eq!(
            chunks(source, Oddity::BareLfChunks).unwrap(),
            b"5\nhello\n0\n\n"
        );
        let extended = chunks(source, Oddity::ChunkExtensions).unwrap();
        assert!(
            extended.starts_with(b"5;long=xxx") && extended.ends_with(b"x\r\nhello\r\n0\r\n\r\n")
        );
        assert!(chunks(source, Oddity::BareLf).is_none());
    }
}
