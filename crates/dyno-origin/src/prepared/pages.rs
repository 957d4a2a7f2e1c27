//! The pages of a web: prepared by threads of their own while the origin starts, shared by all that serve.

use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use dyno_web::{Class, Coding, Content, JSON_DOCUMENT, Model, STREAM_LINE, text};
use tokio::sync::watch;

use super::coder::{Brotli, Gzip, Zstd};
use super::document::CodedDocument;
use super::give_way;
use super::source::Source;
use super::stream::{STAGE_COUNT, Stream, stage_of};

type Stages = [OnceLock<Stream>; STAGE_COUNT];

/// All contents of a web.
#[derive(Debug)]
pub(crate) struct Pages {
    text: OnceLock<Vec<u8>>,
    streams: [Stages; 3],
    document: CodedDocument,
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
            document: CodedDocument::default(),
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
        match content {
            Content::Empty => (Source::EMPTY, Coding::Identity),
            Content::Page(class) => self.page(class, coding).await,
            Content::Text { bytes } => {
                (Source::repeated(self.text().await, bytes), Coding::Identity)
            }
            Content::Lines { count } => {
                let line = STREAM_LINE.as_bytes();
                (
                    Source::repeated(line, count * line.len() as u64),
                    Coding::Identity,
                )
            }
            Content::Document(document) => {
                // Documents are few, and only one of them is ever coded.
                let is_json = std::ptr::eq(document, JSON_DOCUMENT.as_str());
                match self.document.get(coding).filter(|_| is_json) {
                    Some(coded) => (Source::whole(coded), coding),
                    None => (Source::whole(document.as_bytes()), Coding::Identity),
                }
            }
        }
    }

    async fn page(&self, class: Class, coding: Coding) -> (Source<'_>, Coding) {
        match place(coding) {
            None => (Source::whole(self.text().await).cut(class.bytes()), coding),
            Some(place) => {
                let stage = &self.streams[place][stage_of(class)];
                (self.when_ready(stage).await.page(class), coding)
            }
        }
    }

    async fn text(&self) -> &[u8] {
        self.when_ready(&self.text).await
    }

    async fn when_ready<'p, T>(&'p self, cell: &'p OnceLock<T>) -> &'p T {
        if let Some(value) = cell.get() {
            return value;
        }
        let mut ready = self.ready.subscribe();
        loop {
            if let Some(value) = cell.get() {
                return value;
            }
            ready
                .changed()
                .await
                .expect("the sender is a part of the pages");
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
