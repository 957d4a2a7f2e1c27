//! Parses lines of lists that people and spreadsheets write.

/// Returns the entry on a line of a list; `None` for a blank line, and for a comment, which begins with `#`.
///
/// `number` counts from 1. The first line may begin with a byte order mark, each may end with a carriage return.
#[must_use]
pub fn entry(line: &[u8], number: u64) -> Option<&[u8]> {
    let line = match line.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) if number == 1 => rest,
        _ => line,
    };
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match line.trim_ascii_start().first() {
        None | Some(b'#') => None,
        Some(_) => Some(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_no_byte_order_mark_and_no_carriage_return() {
        for (line, number, expected) in [
            (&b"a"[..], 1, Some(&b"a"[..])),
            (b" a \r", 2, Some(b" a ")),
            (b"\xef\xbb\xbfa\r", 1, Some(b"a")),
            (b"\xef\xbb\xbfa", 2, Some(b"\xef\xbb\xbfa")),
            (b"\xef\xbb\xbf", 1, None),
            (b"a#b", 1, Some(b"a#b")),
            (b"\xef\xbb\xbf# a", 1, None),
            (b" \t# a", 2, None),
            (b"", 1, None),
            (b" \r", 1, None),
        ] {
            assert_eq!(entry(line, number), expected, "{line:?}");
        }
    }
}
