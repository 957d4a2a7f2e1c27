//! Search for the end of a run of bytes of one class, sixteen bytes at a time.
//!
//! `wide` uses SSE2 and NEON, which every x86-64 and `AArch64` processor has, without `unsafe` and without run-time detection.

use wide::u8x16;

const LANES: usize = 16;

/// Return whether `byte` is a `tchar` (RFC 9110, 5.6.2).
#[inline]
pub(crate) const fn is_token(byte: u8) -> bool {
    TOKEN[byte as usize]
}

/// Return the first position from `at` on without a `tchar`; the length if there is none.
#[inline]
pub(crate) fn token_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at = find(bytes, at, |block| {
            let letter = within(block | u8x16::splat(0x20), b'a', b'z');
            !(letter | within(block, b'0', b'9') | block.simd_eq(u8x16::splat(b'-')))
        });
        // The other token characters are too rare to spend an instruction on each.
        match bytes.get(at) {
            Some(byte) if is_token(*byte) => at += 1,
            _ => return at,
        }
    }
}

/// Return the first position from `at` on with neither space nor tab.
#[inline]
pub(crate) fn blank_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t') = bytes.get(at) {
        at += 1;
    }
    at
}

/// Return the first position from `at` on with a control character other than tab.
#[inline]
pub(crate) fn text_end(bytes: &[u8], at: usize) -> usize {
    find(bytes, at, |block| {
        let tab = block.simd_eq(u8x16::splat(b'\t'));
        (within(block, 0, 0x1f) & !tab) | block.simd_eq(u8x16::splat(0x7f))
    })
}

/// Return the first position from `at` on with a `%` or a character that RFC 3986 does not allow in a request target.
#[inline]
pub(crate) fn target_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        // Letters, digits and adjacent characters, which cover `-./` `:;` `=` `?@` `_` `~` and `!$&'()*+,` of the allowed ones.
        at = find(bytes, at, |block| {
            !(within(block, b'&', b';')
                | within(block, b'?', b'Z')
                | within(block, b'a', b'z')
                | block.simd_eq(u8x16::splat(b'=')))
        });
        match bytes.get(at) {
            Some(b'!' | b'$' | b'_' | b'~') => at += 1,
            _ => return at,
        }
    }
}

/// Return the first position from `at` on with a line feed; the length if there is none.
#[inline]
pub(crate) fn line_feed(bytes: &[u8], at: usize) -> usize {
    find(bytes, at, |block| block.simd_eq(u8x16::splat(b'\n')))
}

/// Return the first position from `at` on without a character of a registered name (RFC 3986, 3.2.2); a `%` counts only with its two digits.
#[inline]
pub(crate) fn name_end(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at = find(bytes, at, |block| {
            let letter = within(block | u8x16::splat(0x20), b'a', b'z');
            !(letter | within(block, b'0', b'9') | within(block, b'-', b'.'))
        });
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

/// Mark the bytes from `first` to `last`.
#[inline]
fn within(block: u8x16, first: u8, last: u8) -> u8x16 {
    let distance = block - u8x16::splat(first);
    distance.min(u8x16::splat(last - first)).simd_eq(distance)
}

/// Return the first position from `at` on that `marks` marks; the length if there is none.
#[inline]
fn find(bytes: &[u8], mut at: usize, marks: impl Fn(u8x16) -> u8x16) -> usize {
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<LANES>) {
        let found = marks(u8x16::new(*block)).to_bitmask();
        if found != 0 {
            return at + found.trailing_zeros() as usize;
        }
        at += LANES;
    }
    // The last block overlaps bytes that were already searched.
    let Some(block) = bytes.last_chunk::<LANES>() else {
        return find_in_few(bytes, at, marks);
    };
    let start = bytes.len() - LANES;
    let found = marks(u8x16::new(*block)).to_bitmask() & (u32::MAX << (at - start));
    bytes.len().min(start + found.trailing_zeros() as usize)
}

/// Search like [`find`] in less than a block.
#[cold]
fn find_in_few(bytes: &[u8], at: usize, marks: impl Fn(u8x16) -> u8x16) -> usize {
    let mut block = [0; LANES];
    block[..bytes.len()].copy_from_slice(bytes);
    let found = marks(u8x16::new(block)).to_bitmask() & (u32::MAX << at);
    bytes.len().min(found.trailing_zeros() as usize)
}

const TOKEN: [bool; 256] = table(b"!#$%&'*+-.^_`|~");
const NAME: [bool; 256] = table(b"-._~!$&'()*+,;=");

/// Make a table of letters, digits and `others`.
const fn table(others: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = byte.is_ascii_alphanumeric();
        byte += 1;
    }
    let mut index = 0;
    while index < others.len() {
        table[others[index] as usize] = true;
        index += 1;
    }
    table
}
