//! One stream for all classes of pages: the text is compressed once, and flushed at the length of each class.
//!
//! Each page is a prefix of the same text, so its compressed form is a prefix of the same stream, followed by a few
//! bytes. That is 8 MiB of work per coding; compressing each class separately would be 225 MiB.

use std::io;

use dyno_web::{CLASSES, Class};

use super::coder::{Coder, End};
use super::source::Source;

/// The compressed form of the pages of all classes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Stream {
    coded: Box<[u8]>,
    classes: Vec<(usize, End)>,
}

/// Bytes per class in [`Stream::to_bytes`]: where its compressed form is cut, and its end.
const CLASS_BYTES: usize = size_of::<u64>() + End::STORED_BYTES;

impl Stream {
    /// The compressed page of `class`.
    pub(crate) fn page(&self, class: Class) -> Source<'_> {
        let (length, end) = &self.classes[class.index()];
        Source::ended(&self.coded[..*length], end.as_bytes())
    }

    /// Compresses the pages of all classes of `text`.
    pub(crate) fn code(text: &[u8], mut coder: impl Coder) -> io::Result<Self> {
        let mut classes = Vec::with_capacity(CLASSES);
        let mut coded_bytes = 0;
        for class in Class::all() {
            let bytes = usize::try_from(class.bytes()).map_err(io::Error::other)?;
            coder.extend(&text[coded_bytes..bytes])?;
            coded_bytes = bytes;
            classes.push((coder.coded().len(), coder.end()));
        }
        Ok(Self {
            coded: coder.coded().into(),
            classes,
        })
    }

    /// The stored form: the classes, then the compressed bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(CLASSES * CLASS_BYTES + self.coded.len());
        for (length, end) in &self.classes {
            bytes.extend((*length as u64).to_le_bytes());
            bytes.extend(end.to_bytes());
        }
        bytes.extend(&self.coded);
        bytes
    }

    /// Parses the result of [`Stream::to_bytes`]; `None` if the bytes are invalid.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (stored, coded) = bytes.split_at_checked(CLASSES * CLASS_BYTES)?;
        let class = |stored: &[u8]| {
            let (length, end) = stored.split_first_chunk()?;
            let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
            Some((length, End::from_bytes(end.try_into().ok()?)?)).filter(|_| length <= coded.len())
        };
        Some(Self {
            classes: stored
                .chunks(CLASS_BYTES)
                .map(class)
                .collect::<Option<_>>()?,
            coded: coded.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::sync::OnceLock;

    use super::super::coder::{Brotli, Gzip, Zstd};
    use super::*;

    fn text() -> &'static [u8] {
        static TEXT: OnceLock<Vec<u8>> = OnceLock::new();
        TEXT.get_or_init(|| dyno_web::text(5))
    }

    /// Decodes the page of every class, from a stream that was stored and read again.
    fn check(coder: impl Coder, decode: impl Fn(&[u8]) -> Vec<u8>) -> f64 {
        let made = Stream::code(text(), coder).unwrap();
        let stream = Stream::from_bytes(&made.to_bytes()).unwrap();
        assert!(stream == made);
        for class in Class::all() {
            let page = stream.page(class);
            let bytes = [page.from(0), page.from(page.from(0).len() as u64)].concat();
            assert_eq!(bytes.len() as u64, page.bytes());
            let plain = decode(&bytes);
            let length = usize::try_from(class.bytes()).unwrap();
            assert!(
                plain == text()[..length],
                "class {} of {length} bytes",
                class.index()
            );
        }
        #[expect(clippy::cast_precision_loss, reason = "megabytes")]
        let ratio = text().len() as f64 / stream.coded.len() as f64;
        ratio
    }

    #[test]
    fn gzip_pages_of_all_classes_decode() {
        let ratio = check(Gzip::new(), |coded| {
            let mut decoder = flate2::bufread::GzDecoder::new(coded);
            let mut plain = Vec::new();
            decoder.read_to_end(&mut plain).unwrap();
            assert!(decoder.into_inner().is_empty(), "bytes after the end");
            plain
        });
        assert!(
            (4.4..5.6).contains(&ratio),
            "{ratio:.2}: flushing must not cost the model's ratio of 5"
        );
    }

    #[test]
    fn brotli_pages_of_all_classes_decode() {
        check(Brotli::new(), |coded| {
            let mut plain = Vec::new();
            brotli::BrotliDecompress(&mut &coded[..], &mut plain).unwrap();
            plain
        });
    }

    #[test]
    fn zstd_pages_of_all_classes_decode() {
        check(Zstd::new().unwrap(), |coded| {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(coded)
                .unwrap()
                .single_frame();
            let mut plain = Vec::new();
            decoder.read_to_end(&mut plain).unwrap();
            assert!(decoder.finish().is_empty(), "bytes after the end");
            plain
        });
    }

    #[test]
    fn what_was_never_a_stream_is_none() {
        let stream = Stream::code(text(), Zstd::new().unwrap()).unwrap();
        let bytes = stream.to_bytes();
        assert_eq!(
            Stream::from_bytes(&bytes[..CLASSES * CLASS_BYTES - 1]),
            None
        );
        let shorter = &bytes[..bytes.len() - 1];
        assert_eq!(
            Stream::from_bytes(shorter),
            None,
            "the last class lies beyond it"
        );
        let mut long_end = bytes.clone();
        long_end[CLASS_BYTES - 1] = u8::MAX;
        assert_eq!(Stream::from_bytes(&long_end), None);
    }
}
