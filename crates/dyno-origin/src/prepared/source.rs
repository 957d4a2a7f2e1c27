//! Content as references to memory: never copied, cut anywhere.

/// Bytes to send, borrowed from the prepared contents.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'p> {
    shape: Shape<'p>,
    bytes: u64,
}

#[derive(Debug, Clone, Copy)]
enum Shape<'p> {
    /// One piece, repeated.
    Repeated(&'p [u8]),
    /// A piece, followed by its end.
    Ended(&'p [u8], &'p [u8]),
}

impl<'p> Source<'p> {
    /// No bytes.
    pub(crate) const EMPTY: Self = Self {
        shape: Shape::Repeated(&[]),
        bytes: 0,
    };

    /// One piece.
    pub(crate) fn whole(piece: &'p [u8]) -> Self {
        Self::repeated(piece, piece.len() as u64)
    }

    /// `piece`, repeated and cut so that it is `bytes` long; `piece` must not be empty unless `bytes` is 0.
    pub(crate) fn repeated(piece: &'p [u8], bytes: u64) -> Self {
        Self {
            shape: Shape::Repeated(piece),
            bytes,
        }
    }

    /// `start`, then `end`.
    pub(crate) fn ended(start: &'p [u8], end: &'p [u8]) -> Self {
        Self {
            shape: Shape::Ended(start, end),
            bytes: (start.len() + end.len()) as u64,
        }
    }

    /// Length in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The first `bytes` bytes, or all if there are fewer.
    pub(crate) fn cut(self, bytes: u64) -> Self {
        Self {
            bytes: self.bytes.min(bytes),
            ..self
        }
    }

    /// Returns the contiguous bytes from `offset` on: empty only at the end.
    #[inline]
    pub(crate) fn from(&self, offset: u64) -> &'p [u8] {
        let rest = clip(self.bytes.saturating_sub(offset));
        let piece: &'p [u8] = match self.shape {
            Shape::Repeated([]) => &[],
            Shape::Repeated(piece) => &piece[clip(offset % piece.len() as u64)..],
            Shape::Ended(start, end) => match start.get(clip(offset)..) {
                Some(piece) if !piece.is_empty() => piece,
                _ => end.get(clip(offset) - start.len()..).unwrap_or_default(),
            },
        };
        &piece[..piece.len().min(rest)]
    }
}

/// Converts to a length in memory.
fn clip(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &Source<'_>) -> Vec<u8> {
        let mut all = Vec::new();
        loop {
            let piece = source.from(all.len() as u64);
            if piece.is_empty() {
                return all;
            }
            all.extend_from_slice(piece);
        }
    }

    #[test]
    fn every_shape_reads_as_it_says() {
        let cases = [
            (Source::EMPTY, ""),
            (Source::whole(b"abc"), "abc"),
            (Source::repeated(b"abc", 8), "abcabcab"),
            (Source::repeated(b"abc", 2), "ab"),
            (Source::ended(b"abc", b"de"), "abcde"),
            (Source::ended(b"", b"de"), "de"),
            (Source::ended(b"abc", b"de").cut(4), "abcd"),
            (Source::ended(b"abc", b"de").cut(2), "ab"),
            (Source::whole(b"abc").cut(9), "abc"),
        ];
        for (source, expected) in cases {
            assert_eq!(read(&source), expected.as_bytes());
            assert_eq!(source.bytes(), expected.len() as u64);
        }
    }
}
