//! Content codings that can stop anywhere: a stream is flushed at a byte, and an end of a few bytes makes it whole.

use std::io::{self, Write};

use flate2::{Compress, Compression, FlushCompress};

/// The bytes that make a flushed stream a whole one.
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
}

/// A coding in progress.
pub(crate) trait Coder {
    /// Codes `text`, such that all of it can be decoded from what is coded so far.
    fn extend(&mut self, text: &[u8]) -> io::Result<()>;
    /// All that is coded so far.
    fn coded(&self) -> &[u8];
    /// What to send after that, if nothing more is to come.
    fn end(&self) -> End;
}

/// RFC 1952. Level 6, which is what the model's ratio is measured with.
pub(crate) struct Gzip {
    deflate: Compress,
    coded: Vec<u8>,
    checksum: crc32fast::Hasher,
    text_bytes: u32,
}

impl Gzip {
    pub(crate) fn new() -> Self {
        // Deflate; no name, no time; made on an unknown system.
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
            // With room left, nothing was held back.
            if rest.is_empty() && self.coded.len() < self.coded.capacity() {
                return Ok(());
            }
        }
    }

    fn coded(&self) -> &[u8] {
        &self.coded
    }

    /// A last block of fixed codes that holds nothing, then checksum and length.
    fn end(&self) -> End {
        let checksum = self.checksum.clone().finalize().to_le_bytes();
        End::new(&[&[0x03, 0x00][..], &checksum, &self.text_bytes.to_le_bytes()].concat())
    }
}

/// RFC 7932. Quality 5: what servers choose for content that is not stored.
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
    fn extend(&mut self, text: &[u8]) -> io::Result<()> {
        self.0.write_all(text)?;
        self.0.flush()
    }

    fn coded(&self) -> &[u8] {
        self.0.get_ref()
    }

    /// A meta-block that is the last one, and empty: both bits set, at the start of a byte.
    fn end(&self) -> End {
        End::new(&[0x03])
    }
}

/// RFC 8878. Level 3, the library's own; neither length nor checksum in the frame, which would belong to one class only.
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
    fn extend(&mut self, text: &[u8]) -> io::Result<()> {
        self.0.write_all(text)?;
        self.0.flush()
    }

    fn coded(&self) -> &[u8] {
        self.0.get_ref()
    }

    /// A raw block that is the last one, of no bytes.
    fn end(&self) -> End {
        End::new(&[0x01, 0x00, 0x00])
    }
}
