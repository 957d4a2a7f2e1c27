//! The start of a content, on one line of a message.

use std::fmt::Write as _;

/// Returns the first characters of text, or the first bytes of other content, with control characters escaped;
/// `...` follows where it is shortened.
pub(crate) fn preview(bytes: &[u8], most: usize) -> String {
    let mut line = String::new();
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        // The last character was cut off.
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => {
            let shown = bytes.len().min(most / 4);
            let _ = write!(line, "{}", bytes[..shown].escape_ascii());
            if shown < bytes.len() {
                line.push_str("...");
            }
            return line;
        }
    };
    let mut left = most;
    for character in text.chars() {
        let escaped = match character {
            // Of what else is escaped, some reverses the direction of a line.
            '"' | '\'' | '\\' => None,
            _ => Some(character.escape_debug()),
        };
        let width = escaped.as_ref().map_or(1, ExactSizeIterator::len);
        if width > left {
            line.push_str("...");
            break;
        }
        left -= width;
        match escaped {
            None => line.push(character),
            Some(escaped) => line.extend(escaped),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::preview;

    #[test]
    fn content_is_shown_on_one_line() {
        for (content, expected) in [
            (&b"{\"error\":\"no\"}"[..], "{\"error\":\"no\"}"),
            (b"a\r\nb\t\x1b[2", "a\\r\\nb\\t\\u{1b}[2"),
            (b"a\r\nb\t\x1b[2J", "a\\r\\nb\\t\\u{1b}[2..."),
            ("\u{202e}\u{fc}".as_bytes(), "\\u{202e}\u{fc}"),
            (b"0123456789abcdefghij", "0123456789abcdef..."),
            (b"caf\xc3", "caf"),
            (b"\xff\0A", "\\xff\\x00A"),
            (b"\xff\xfe\xfd\xfc\xfb", "\\xff\\xfe\\xfd\\xfc..."),
            (b"", ""),
        ] {
            assert_eq!(preview(content, 16), expected, "{content:?}");
        }
    }

    proptest! {
        #[test]
        fn a_preview_is_short_and_moves_no_cursor(content: Vec<u8>, most in 4..200_usize) {
            let line = preview(&content, most);
            prop_assert!(!line.chars().any(char::is_control));
            prop_assert!(line.chars().count() <= most + 3);
        }
    }
}
