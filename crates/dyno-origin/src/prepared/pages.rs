//! The pages of a web: prepared by threads of their own while the origin starts, shared by all that serve.

use std::io;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use dyno_web::{Class, Coding, Content, JSON_DOCUMENT, Model, STREAM_LINE, WRONG_DOCUMENT, text};
use tokio::sync::watch;

use super::coder::{Brotli, Gzip, Zstd};
use super::document::CodedDocument;
use super::give_way;
use super::source::Source;
use super::stream::{STAGE_COUNT, Stream, stage_of};

type Stages = [OnceLock<Stream>; STAGE_COUNT];

/// Many lines, so that a long content of them lies in few pieces.
static LINES: LazyLock<String> = LazyLock::new(|| STREAM_LINE.repeat(1_000));

/// All contents of a web.
#[derive(Debug)]
pub(crate) struct Pages {
    text: OnceLock<Vec<u8>>,
    streams: [Stages; 3],
    documents: [CodedDocument; 2],
    /// Told whenever something is ready.
    ready: watch::Sender<()>,
}

/// The threads that prepare pages.
#[derive(Debug)]
pub(crate) struct Preparation(Mutex<Vec<JoinHandle<io::Result<()>>>>);

impl Pages {
    /// Begins to prepare the pages of a web.
    pub(crate) fn begin(model: &Model) -> io::Result<(Arc<Self>, Preparation)> {
        let pages = Arc::new(Self {
            text: OnceLock::new(),
            streams: <[Stages; 3]>::default(),
            documents: [&JSON_DOCUMENT, &WRONG_DOCUMENT].map(|it| CodedDocument::new(it)),
            ready: watch::Sender::new(()),
        });
        let ratio = model.compression_ratio();
        let codings: Vec<Coding> = model
            .codings()
            .into_iter()
            .filter(|&coding| coding != Coding::Identity)
            .collect();
        let beginning = pages.clone();
        let begun = thread::Builder::new()
            .name("text".to_owned())
            .spawn(move || {
                give_way();
                beginning.text.get_or_init(|| text(ratio));
                beginning.ready.send_replace(());
                thread::scope(|scope| {
                    let pages = &beginning;
                    let all: Vec<_> = codings
                        .iter()
                        .map(|&coding| scope.spawn(move || pages.prepare(coding)))
                        .collect();
                    all.into_iter()
                        .try_for_each(|one| one.join().expect("coding does not panic"))
                })
            })?;
        Ok((pages, Preparation(Mutex::new(vec![begun]))))
    }

    fn prepare(&self, coding: Coding) -> io::Result<()> {
        let Some(place) = place(coding) else {
            return Ok(());
        };
        let text = self.text.get().expect("the text came first");
        let done = |stage: usize, stream| {
            self.streams[place][stage].get_or_init(|| stream);
            self.ready.send_replace(());
        };
        match coding {
            Coding::Identity => Ok(()),
            Coding::Gzip => Stream::prepare(text, Gzip::new(), done),
            Coding::Br => Stream::prepare(text, Brotli::new(), done),
            Coding::Zstd => Stream::prepare(text, Zstd::new()?, done),
        }
    }

    /// The bytes of a content, with the coding they are in; waits for what is not prepared yet.
    pub(crate) async fn source(&self, content: Content, coding: Coding) -> (Source<'_>, Coding) {
        if let Some(found) = self.prepared(content, coding) {
            return found;
        }
        let mut ready = self.ready.subscribe();
        loop {
            if let Some(found) = self.prepared(content, coding) {
                return found;
            }
            ready
                .changed()
                .await
                .expect("the sender is a part of the pages");
        }
    }

    /// As [`Pages::source`], if it is prepared.
    pub(crate) fn prepared(
        &self,
        content: Content,
        coding: Coding,
    ) -> Option<(Source<'_>, Coding)> {
        let found = match content {
            Content::Empty => (Source::EMPTY, Coding::Identity),
            Content::Page(class) => (self.page(class, coding)?, coding),
            Content::Text { bytes } => {
                (Source::repeated(self.text.get()?, bytes), Coding::Identity)
            }
            Content::Lines { count } => {
                let bytes = count * STREAM_LINE.len() as u64;
                (Source::repeated(LINES.as_bytes(), bytes), Coding::Identity)
            }
            Content::Document(document) => {
                // Documents are few, and fewer of them are ever coded.
                let known = self.documents.iter().find(|known| known.is(document));
                match known.and_then(|known| known.get(coding)) {
                    Some(coded) => (Source::whole(coded), coding),
                    None => (Source::whole(document.as_bytes()), Coding::Identity),
                }
            }
        };
        Some(found)
    }

    fn page(&self, class: Class, coding: Coding) -> Option<Source<'_>> {
        match place(coding) {
            None => Some(Source::whole(self.text.get()?).cut(class.bytes())),
            Some(place) => Some(self.streams[place][stage_of(class)].get()?.page(class)),
        }
    }
}

fn place(coding: Coding) -> Option<usize> {
    Coding::COMPRESSED
        .iter()
        .position(|&compressed| compressed == coding)
}

impl Preparation {
    /// Adds a thread to wait for.
    pub(crate) fn add(&self, thread: JoinHandle<io::Result<()>>) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(thread);
    }

    /// Waits until all is prepared.
    pub(crate) fn wait(&self) -> io::Result<()> {
        let threads = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().expect("preparing does not panic"))
    }
}
