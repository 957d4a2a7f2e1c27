//! A piece of an outgoing message: stored bytes, or the size line of a chunk.

/// Longest size line of a chunk: 16 digits.
pub(crate) const LINE_BYTES: usize = 18;

/// Contiguous bytes of one kind.
pub(crate) enum Piece<'m> {
    Bytes(&'m [u8]),
    /// The size line of a chunk of that length.
    SizeLine(usize),
}

impl Piece<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Bytes(bytes) => bytes.len(),
            Self::SizeLine(length) => digits(*length) + 2,
        }
    }
}

/// Number of hexadecimal digits of a length.
fn digits(length: usize) -> usize {
    (usize::BITS - length.leading_zeros()).div_ceil(4).max(1) as usize
}

/// Writes the size line of a chunk.
pub(crate) fn size_line(length: usize, line: &mut [u8; LINE_BYTES]) -> &[u8] {
    let digits = digits(length);
    let mut rest = length;
    for place in (0..digits).rev() {
        line[place] = b"0123456789abcdef"[rest & 15];
        rest >>= 4;
    }
    line[digits..digits + 2].copy_from_slice(b"\r\n");
    &line[..digits + 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_lines_are_hexadecimal() {
        let cases: [(usize, &[u8]); 4] = [
            (1, b"1\r\n"),
            (16, b"10\r\n"),
            (255, b"ff\r\n"),
            (16_384, b"4000\r\n"),
        ];
        for (length, line) in cases {
            assert_eq!(size_line(length, &mut [0; LINE_BYTES]), line);
            assert_eq!(Piece::SizeLine(length).len(), line.len());
        }
    }
}
