//! The pages of a web: created, or read from a cache, before the origin serves; all threads share them.

use std::io;
use std::sync::{LazyLock, Once};
use std::thread;

use dyno_web::{
    Answer, Class, Coding, Content, JSON_DOCUMENT, Model, STREAM_LINE, WRONG_DOCUMENT, text,
};

use super::coder::{Brotli, Coder, Gzip, Zstd};
use super::document::{self, CodedDocument};
use super::source::Source;
use super::stream::Stream;
use crate::cache::Cache;

/// Many lines, so that a long content consists of few pieces.
static LINES: LazyLock<String> = LazyLock::new(|| STREAM_LINE.repeat(1_000));

/// All contents of a web.
#[derive(Debug)]
pub(crate) struct Pages {
    text: Vec<u8>,
    /// In the order of [`Coding::COMPRESSED`]; `None` for a coding that the web never serves.
    streams: [Option<Stream>; 3],
    documents: [CodedDocument; 2],
}

impl Pages {
    /// Reads the pages of a web from `cache`, or creates them, in seconds, and stores them there; calls `making` before
    /// it creates any.
    pub(crate) fn prepare(model: &Model, cache: &Cache, making: fn(&Cache)) -> io::Result<Self> {
        let text = text(model.compression_ratio());
        let shelf = Shelf {
            cache,
            digest: blake3::hash(&text),
            making,
            said: Once::new(),
        };
        let codings = model.codings();
        let streams = thread::scope(|scope| {
            let all = Coding::COMPRESSED.map(|coding| {
                let (text, shelf) = (&text, &shelf);
                let is_served = codings.contains(&coding);
                is_served.then(|| scope.spawn(move || stream(coding, text, shelf)))
            });
            all.map(|one| one.map(|one| one.join().expect("coding does not panic")))
        });
        let [gzip, br, zstd] = streams.map(Option::transpose);
        Ok(Self {
            text,
            streams: [gzip?, br?, zstd?],
            documents: [
                CodedDocument::new(&JSON_DOCUMENT)?,
                CodedDocument::new(&WRONG_DOCUMENT)?,
            ],
        })
    }

    /// The bytes of a content, with their coding.
    pub(crate) fn source<'p>(
        &'p self,
        content: &'p Content,
        coding: Coding,
    ) -> (Source<'p>, Coding) {
        match *content {
            Content::Empty => (Source::EMPTY, Coding::Identity),
            Content::Page(class) => self.page(class, coding),
            Content::Text { bytes } => (Source::repeated(&self.text, bytes), Coding::Identity),
            Content::Lines { count } => {
                let bytes = count * STREAM_LINE.len() as u64;
                (Source::repeated(LINES.as_bytes(), bytes), Coding::Identity)
            }
            // Its bytes are coded already: see `coded`.
            Content::Made(ref document) => (Source::whole(document), coding),
            Content::Document(document) => {
                // There are few documents, and even fewer are compressed.
                let known = self.documents.iter().find(|known| known.is(document));
                match known.and_then(|known| known.get(coding)) {
                    Some(coded) => (Source::whole(coded), coding),
                    None => (Source::whole(document.as_bytes()), Coding::Identity),
                }
            }
        }
    }

    /// Replaces the document that was made for an answer by its coded form.
    pub(crate) fn coded(answer: Answer) -> Answer {
        match &answer.content {
            Content::Made(document) if answer.coding != Coding::Identity => {
                // Writing to memory cannot fail.
                match document::coded(answer.coding, document) {
                    Ok(coded) => Answer {
                        content: Content::Made(coded.into()),
                        ..answer
                    },
                    Err(_) => Answer {
                        coding: Coding::Identity,
                        ..answer
                    },
                }
            }
            _ => answer,
        }
    }

    fn page(&self, class: Class, coding: Coding) -> (Source<'_>, Coding) {
        let coded = Coding::COMPRESSED
            .iter()
            .zip(&self.streams)
            .find_map(|(&compressed, stream)| stream.as_ref().filter(|_| compressed == coding));
        match coded {
            Some(stream) => (stream.page(class), coding),
            None => (
                Source::whole(&self.text).cut(class.bytes()),
                Coding::Identity,
            ),
        }
    }
}

/// Where the streams of a text are stored.
struct Shelf<'c> {
    cache: &'c Cache,
    digest: blake3::Hash,
    making: fn(&Cache),
    said: Once,
}

fn stream(coding: Coding, text: &[u8], shelf: &Shelf<'_>) -> io::Result<Stream> {
    match coding {
        Coding::Identity => unreachable!("not among the compressed ones"),
        Coding::Gzip => shelf.stream(text, Gzip::new()),
        Coding::Br => shelf.stream(text, Brotli::new()),
        Coding::Zstd => shelf.stream(text, Zstd::new()?),
    }
}

impl Shelf<'_> {
    fn stream<C: Coder>(&self, text: &[u8], coder: C) -> io::Result<Stream> {
        let name = format!("{}-{}", C::MADE_BY.replace(' ', "-"), self.digest.to_hex());
        if let Some(kept) = self.cache.get(&name)
            && let Some(stream) = Stream::from_bytes(&kept)
        {
            return Ok(stream);
        }
        self.said.call_once(|| (self.making)(self.cache));
        let stream = Stream::code(text, coder)?;
        self.cache.keep(&name, &stream.to_bytes());
        Ok(stream)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Returns the bytes that `pages` serve of the longest and of the shortest page, in every coding.
    fn served(pages: &Pages) -> Vec<(Vec<u8>, Coding)> {
        let ends = [Class::all().next(), Class::all().last()];
        let mut all = Vec::new();
        for class in ends.into_iter().flatten() {
            for coding in [Coding::Identity].into_iter().chain(Coding::COMPRESSED) {
                let content = Content::Page(class);
                let (source, coding) = pages.source(&content, coding);
                let start = source.from(0);
                all.push(([start, source.from(start.len() as u64)].concat(), coding));
            }
        }
        all
    }

    #[test]
    fn pages_are_made_once_and_then_taken_from_the_cache() {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let making = |_: &Cache| {
            MADE.fetch_add(1, Ordering::Relaxed);
        };
        let folder = std::env::temp_dir().join(format!("dyno-pages-{}", std::process::id()));
        drop(std::fs::remove_dir_all(&folder));
        let model =
            "name = 'test'\nseed = 1\n[content]\ncodings = { gzip = 0.3, br = 0.3, zstd = 0.3 }";
        let model = Model::from_toml(model).unwrap();
        let cache = Cache::at(folder.clone());
        let made = served(&Pages::prepare(&model, &cache, making).unwrap());
        assert_eq!(MADE.load(Ordering::Relaxed), 1);
        let kept = served(&Pages::prepare(&model, &cache, making).unwrap());
        assert_eq!(MADE.load(Ordering::Relaxed), 1);
        assert!(made == kept);
        // A corrupt stream is created again, without the others.
        let first = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap();
        let whole = std::fs::read(first.path()).unwrap();
        std::fs::write(first.path(), &whole[1..]).unwrap();
        assert!(served(&Pages::prepare(&model, &cache, making).unwrap()) == made);
        assert_eq!(MADE.load(Ordering::Relaxed), 2);
        assert!(std::fs::read(first.path()).unwrap() == whole);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_coding_that_the_web_never_serves_is_never_made() {
        let model = Model::from_toml("name = 'test'\nseed = 1").unwrap();
        let pages = Pages::prepare(&model, &Cache::none(), |_| panic!("nothing to make")).unwrap();
        assert!(
            served(&pages)
                .iter()
                .all(|(_, coding)| *coding == Coding::Identity)
        );
    }
}
