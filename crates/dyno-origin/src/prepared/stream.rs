//! One stream for all classes of pages: the text coded once, flushed at the length of each class.
//!
//! A page is a beginning of the one text, so its coded form is a beginning of the one stream, with an end of a few bytes.
//! That is 8 MiB of work for a coding, where coding each class on its own would be 225 MiB.

use std::io;

use dyno_web::{CLASSES, Class};

use super::coder::{Coder, End};
use super::source::Source;

/// The last class of each stage: a stage is served as soon as it is coded, the short and frequent pages first.
const STAGES: [usize; STAGE_COUNT] = [CLASSES / 2 - 1, CLASSES * 3 / 4 - 1, CLASSES - 1];
/// How many stages a stream has.
pub(crate) const STAGE_COUNT: usize = 3;

/// The stage that holds a class.
pub(crate) fn stage_of(class: Class) -> usize {
    STAGES
        .iter()
        .position(|&last| class.index() <= last)
        .expect("the last stage holds the last class")
}

/// The coded form of the classes up to some class.
#[derive(Debug)]
pub(crate) struct Stream {
    coded: Box<[u8]>,
    classes: Vec<(usize, End)>,
}

impl Stream {
    /// The coded page of `class`, which must be among those of the stream.
    pub(crate) fn page(&self, class: Class) -> Source<'_> {
        let (length, end) = &self.classes[class.index()];
        Source::ended(&self.coded[..*length], end.as_bytes())
    }

    /// Codes the pages of all classes of `text`; hands over each stage as it is done.
    pub(crate) fn prepare(
        text: &[u8],
        mut coder: impl Coder,
        mut done: impl FnMut(usize, Self),
    ) -> io::Result<()> {
        let mut classes = Vec::with_capacity(CLASSES);
        let mut coded_bytes = 0;
        for class in Class::all() {
            let bytes = usize::try_from(class.bytes()).map_err(io::Error::other)?;
            coder.extend(&text[coded_bytes..bytes])?;
            coded_bytes = bytes;
            classes.push((coder.coded().len(), coder.end()));
            if let Some(stage) = STAGES.iter().position(|&last| last == class.index()) {
                let stream = Self {
                    coded: coder.coded().into(),
                    classes: classes.clone(),
                };
                done(stage, stream);
            }
        }
        Ok(())
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

    /// Decodes the page of every class, with both what a stage and what the whole stream serves.
    fn check(coder: impl Coder, decode: impl Fn(&[u8]) -> Vec<u8>) -> f64 {
        let mut stages = Vec::new();
        Stream::prepare(text(), coder, |stage, stream| {
            assert_eq!(stage, stages.len());
            stages.push(stream);
        })
        .unwrap();
        assert_eq!(stages.len(), STAGE_COUNT);
        for class in Class::all() {
            let page = stages[stage_of(class)].page(class);
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
        let ratio = text().len() as f64 / stages[STAGE_COUNT - 1].coded.len() as f64;
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
}
