//! Content codings that can be cut anywhere: the stream is flushed at a byte, and a few bytes then complete it.

use std::io::{self, Write};

use flate2::{Compress, Compression, FlushCompress};

/// The bytes that complete a flushed stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    bytes: [u8; 10],
    length: u8,
}

impl End {
    fn new(end: &[u8]) -> Self {
        let mut bytes = [0; 10];
        bytes[..end.len()].copy_from_slice(end);
        Self {
            bytes,
            length: u8::try_from(end.len()).expect("at most 10 bytes"),
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Length of its stored form.
    pub(crate) const STORED_BYTES: usize = 11;

    /// The stored form.
    pub(crate) fn to_bytes(self) -> [u8; Self::STORED_BYTES] {
        let mut stored = [self.length; Self::STORED_BYTES];
        stored[..self.bytes.len()].copy_from_slice(&self.bytes);
        stored
    }

    /// Parses the result of [`End::to_bytes`]; `None` if the bytes are invalid.
    pub(crate) fn from_bytes(stored: &[u8; Self::STORED_BYTES]) -> Option<Self> {
        let [bytes @ .., length] = *stored;
        (usize::from(length) <= bytes.len()).then_some(Self { bytes, length })
    }
}

/// A content coding in progress.
pub(crate) trait Coder {
    /// Name, version and level of the coder: other ones may produce other bytes.
    const MADE_BY: &'static str;
    /// Compresses `text` and flushes, so that all of it can be decoded from the output so far.
    fn extend(&mut self, text: &[u8]) -> io::Result<()>;
    /// The output so far.
    fn coded(&self) -> &[u8];
    /// Returns the bytes that end the stream here.
    fn end(&self) -> End;
}

/// RFC 1952. Level 6, with which the model's compression ratio was measured.
pub(crate) struct Gzip {
    deflate: Compress,
    coded: Vec<u8>,
    checksum: crc32fast::Hasher,
    text_bytes: u32,
}

impl Gzip {
    pub(crate) fn new() -> Self {
        // Deflate; no name, no time; unknown operating system.
        let header = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
        Self {
            deflate: Compress::new(Compression::new(6), false),
            coded: header.to_vec(),
            checksum: crc32fast::Hasher::new(),
            text_bytes: 0,
        }
    }
}

impl Coder for Gzip {
    const MADE_BY: &'static str = "gzip level 6 zlib-rs 0.6.8";

    fn extend(&mut self, text: &[u8]) -> io::Result<()> {
        self.checksum.update(text);
        // RFC 1952: the length modulo 2^32.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the field holds the length modulo 2^32"
        )]
        let length = text.len() as u32;
        self.text_bytes = self.text_bytes.wrapping_add(length);
        let mut rest = text;
        loop {
            self.coded.reserve(rest.len() / 2 + 64);
            let before = self.deflate.total_in();
            self.deflate
                .compress_vec(rest, &mut self.coded, FlushCompress::Sync)
                .map_err(io::Error::other)?;
            let taken =
                usize::try_from(self.deflate.total_in() - before).map_err(io::Error::other)?;
            rest = &rest[taken..];
            // If the output has room left, nothing is pending.
            if rest.is_empty() && self.coded.len() < self.coded.capacity() {
                return Ok(());
            }
        }
    }

    fn coded(&self) -> &[u8] {
        &self.coded
    }

    /// An empty last block with fixed codes, then checksum and length.
    fn end(&self) -> End {
        let checksum = self.checksum.clone().finalize().to_le_bytes();
        End::new(&[&[0x03, 0x00][..], &checksum, &self.text_bytes.to_le_bytes()].concat())
    }
}

/// RFC 7932. Quality 5, which servers use for content that is compressed on the fly.
pub(crate) struct Brotli(brotli::CompressorWriter<Vec<u8>>);

impl Brotli {
    pub(crate) fn new() -> Self {
        const BUFFER_BYTES: usize = 1 << 16;
        const QUALITY: u32 = 5;
        const WINDOW_LOG: u32 = 22;
        Self(brotli::CompressorWriter::new(
            Vec::new(),
            BUFFER_BYTES,
            QUALITY,
            WINDOW_LOG,
        ))
    }
}

impl Coder for Brotli {
    const MADE_BY: &'static str = "brotli quality 5 brotli 9.1.1";

    fn extend(&mut self, text: &[u8]) -> io::Result<()> {
        self.0.write_all(text)?;
        self.0.flush()
    }

    fn coded(&self) -> &[u8] {
        self.0.get_ref()
    }

    /// An empty last meta-block: both bits set, at the start of a byte.
    fn end(&self) -> End {
        End::new(&[0x03])
    }
}

/// RFC 8878. Level 3, the library's default. The frame has neither length nor checksum, which would be valid for one
/// class only.
pub(crate) struct Zstd(zstd::stream::write::Encoder<'static, Vec<u8>>);

impl Zstd {
    pub(crate) fn new() -> io::Result<Self> {
        const LEVEL: i32 = 3;
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), LEVEL)?;
        encoder.include_checksum(false)?;
        encoder.include_contentsize(false)?;
        Ok(Self(encoder))
    }
}

impl Coder for Zstd {
    const MADE_BY: &'static str = "zstd level 3 zstd-sys 2.1.2+zstd.1.5.7";

    fn extend(&mut self, text: &[u8]) -> io::Result<()> {
        self.0.write_all(text)?;
        self.0.flush()
    }

    fn coded(&self) -> &[u8] {
        self.0.get_ref()
    }

    /// An empty last raw block.
    fn end(&self) -> End {
        End::new(&[0x01, 0x00, 0x00])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_named_after_the_version_that_made_it() {
        let locked = include_str!("../../../../Cargo.lock");
        for made_by in [Gzip::MADE_BY, Brotli::MADE_BY, Zstd::MADE_BY] {
            let mut words = made_by.rsplit(' ');
            let (version, library) = (words.next().unwrap(), words.next().unwrap());
            let line = format!("name = \"{library}\"\nversion = \"{version}\"\n");
            assert!(
                locked.contains(&line),
                "the version in Cargo.lock differs from {made_by}"
            );
        }
    }

    #[test]
    fn an_end_is_kept_as_it_is() {
        for end in [&b""[..], b"a", b"0123456789"] {
            let end = End::new(end);
            assert_eq!(End::from_bytes(&end.to_bytes()), Some(end));
        }
        assert_eq!(End::from_bytes(&[11; End::STORED_BYTES]), None);
    }
}
