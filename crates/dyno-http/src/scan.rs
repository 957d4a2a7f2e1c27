//! Finds where a run of bytes of one class ends, sixteen bytes at a time.

const LANES: usize = 16;

const TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "the loop stops at 256")]
        let value = byte as u8;
        table[byte] = value.is_ascii_alphanumeric()
            || matches!(value, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~');
        byte += 1;
    }
    table
};

/// Whether `byte` is a `tchar` (RFC 9110, 5.6.2).
#[inline]
pub(crate) const fn is_token(byte: u8) -> bool {
    TOKEN[byte as usize]
}

/// First position from `at` on that holds no `tchar`; the length if there is none.
#[inline]
pub(crate) fn token_end(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|byte| is_token(*byte)) {
        at += 1;
    }
    at
}

/// First position from `at` on that is neither space nor tab.
#[inline]
pub(crate) fn blank_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// First position from `at` on that holds a control character other than tab.
#[inline]
pub(crate) fn text_end(bytes: &[u8], at: usize) -> usize {
    find(bytes, at, |byte| {
        (byte < b' ' && byte != b'\t') || byte == 0x7f
    })
}

/// First position from `at` on that a request target does not simply run across: `%`, and what RFC 3986 does not allow unescaped.
#[inline]
pub(crate) fn target_end(bytes: &[u8], at: usize) -> usize {
    find(bytes, at, |byte| {
        byte <= b' '
            || byte >= 0x7f
            || matches!(
                byte,
                b'"' | b'#'
                    | b'%'
                    | b'<'
                    | b'>'
                    | b'['
                    | b'\\'
                    | b']'
                    | b'^'
                    | b'`'
                    | b'{'
                    | b'|'
                    | b'}'
            )
    })
}

/// First position from `at` on whose byte is wanted.
///
/// Written so that the compiler turns the test into vector instructions: it has no branch, and the marks become one number.
#[inline]
fn find(bytes: &[u8], mut at: usize, wanted: impl Fn(u8) -> bool) -> usize {
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<LANES>) {
        let marks = u128::from_le_bytes(std::array::from_fn(|lane| {
            if wanted(block[lane]) { 0xff } else { 0 }
        }));
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += LANES;
    }
    while bytes.get(at).is_some_and(|byte| !wanted(*byte)) {
        at += 1;
    }
    at
}

/// First position from `at` on that holds a line feed; the length if there is none.
#[inline]
pub(crate) fn line_feed(bytes: &[u8], at: usize) -> usize {
    find(bytes, at, |byte| byte == b'\n')
}

/// First position from `at` on that holds no character of a registered name (RFC 3986, 3.2.2); a `%` counts as one only with its two digits.
#[inline]
pub(crate) fn name_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        match bytes.get(at) {
            Some(byte) if NAME[usize::from(*byte)] => at += 1,
            Some(b'%') if matches!(bytes.get(at + 1..at + 3), Some(digits) if digits.iter().all(u8::is_ascii_hexdigit)) =>
            {
                at += 3;
            }
            _ => return at,
        }
    }
}

const NAME: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "the loop stops at 256")]
        let value = byte as u8;
        table[byte] = value.is_ascii_alphanumeric()
            || matches!(
                value,
                b'-' | b'.' | b'_' | b'~' | b'!' | b'$' | b'&'..=b',' | b';' | b'='
            );
        byte += 1;
    }
    table
};
