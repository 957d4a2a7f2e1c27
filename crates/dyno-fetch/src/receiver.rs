//! Receiver of one answer: its head decides whether content is dropped, checked or saved.

use std::cell::Cell;
use std::io;
use std::task::{Context, Poll};
use std::time::Instant;

use dyno_client::{AnswerHead, Failure, Reach, Receive};
use url::Url;

use crate::coding::{Decoding, Sink, TURN_BYTES};
use crate::connect::Stage;
use crate::redirect;
use crate::save::Saving;
use crate::shared::Shared;

/// Least work to charge for a piece of content, in bytes of a longer one.
const LEAST_WORK: usize = 64;

/// Content that is kept for a check of JSON; a longer one is too long.
const MAX_JSON_BYTES: u64 = 64 << 20;

/// Content of a redirect that is read so that its connection can be kept. A longer one is not worth it.
const MAX_SKIPPED_BYTES: u64 = 64 << 10;

/// Receiver of one answer.
pub(crate) struct Receiver<'s> {
    shared: &'s Shared,
    at: &'s Url,
    stage: &'s Cell<Stage>,
    pub status: u16,
    /// Whether a head came.
    pub answered: bool,
    /// Where it sends to.
    pub next: Option<Url>,
    /// Where it came from.
    pub reach: Option<Reach>,
    pub content_type: Option<String>,
    /// The codings that the content still has.
    pub content_encoding: Option<String>,
    decoding: Decoding,
    /// Since other tasks had their turn, in bytes.
    work: usize,
    pub taken: DecodedContent,
    skipped: u64,
    /// When the head of a redirect came.
    redirected: Option<Instant>,
    pub wire_bytes: u64,
}

/// Content, decoded.
pub(crate) struct DecodedContent {
    pub length: u64,
    most: u64,
    pub sink: BodySink,
    /// Why it could not be kept.
    failed: Option<io::Error>,
}

/// Destination of decoded content.
pub(crate) enum BodySink {
    Nothing,
    Memory(Vec<u8>),
    File(Saving),
}

impl<'s> Receiver<'s> {
    pub(crate) fn new(shared: &'s Shared, at: &'s Url, stage: &'s Cell<Stage>) -> Self {
        Self {
            shared,
            at,
            stage,
            status: 0,
            answered: false,
            next: None,
            reach: None,
            content_type: None,
            content_encoding: None,
            decoding: Decoding::default(),
            work: 0,
            taken: DecodedContent {
                length: 0,
                most: shared.options.max_content,
                sink: BodySink::Nothing,
                failed: None,
            },
            skipped: 0,
            redirected: None,
            wire_bytes: 0,
        }
    }

    /// The answer is whole.
    pub(crate) fn end(&self) -> Result<(), Failure> {
        if self.next.is_some() {
            Ok(())
        } else {
            self.decoding.end()
        }
    }

    /// Result of a step, or why content could not be saved.
    fn or_save_error<T>(&mut self, step: Result<T, Failure>) -> Result<T, Failure> {
        match self.taken.failed.take() {
            Some(error) => Err(self.shared.cannot_save(error)),
            None => step,
        }
    }

    /// When the answer began to come, if the failure is only that the rest of a redirect's content was not worth reading.
    pub(crate) fn enough(&self) -> Option<Instant> {
        self.redirected.filter(|_| self.skipped > MAX_SKIPPED_BYTES)
    }
}

impl Receive for Receiver<'_> {
    fn head(&mut self, head: &AnswerHead<'_>) -> Result<(), Failure> {
        self.stage.set(Stage::Content);
        self.answered = true;
        self.status = head.status;
        if redirect::is_redirect(head.status)
            && let Some(location) = head.field("location")
        {
            self.next = Some(redirect::resolve(self.at, location)?);
            self.redirected = Some(Instant::now());
            return Ok(());
        }
        self.decoding = Decoding::new(head.fields("content-encoding"), self.taken.most)?;
        if self.decoding.keeps() {
            let names: Vec<_> = head.fields("content-encoding").collect();
            let names = names.join(&b", "[..]);
            self.content_encoding = Some(String::from_utf8_lossy(&names).into_owned());
        }
        if self.decoding.is_identity()
            && head
                .content_length()
                .is_some_and(|length| length > self.taken.most)
        {
            return Err(Failure::ContentTooLong);
        }
        if let Some(folder) = &mut *self.shared.folder.borrow_mut() {
            let saving = folder.begin().map_err(|error| self.shared.give_up(error))?;
            self.taken.sink = BodySink::File(saving);
            let content_type = head
                .field("content-type")
                .map(|value| String::from_utf8_lossy(value).into_owned());
            self.content_type = content_type;
        } else if self.shared.options.check_json {
            self.taken.sink = BodySink::Memory(Vec::new());
            self.taken.most = self.taken.most.min(MAX_JSON_BYTES);
        }
        Ok(())
    }

    #[inline]
    fn content(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.wire_bytes += bytes.len() as u64;
        if self.next.is_some() {
            self.skipped += bytes.len() as u64;
            return if self.enough().is_some() {
                Err(Failure::ContentTooLong)
            } else {
                Ok(())
            };
        }
        self.work += bytes.len().max(LEAST_WORK);
        let taken = self.decoding.take(bytes, &mut self.taken);
        self.or_save_error(taken)
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        let shared = self.shared;
        let mut room = shared.room.borrow_mut();
        let advanced = self.decoding.advance(&mut room, &mut self.taken);
        self.work += self.or_save_error(advanced)?;
        if self.work < TURN_BYTES {
            return Poll::Ready(Ok(()));
        }
        self.work = 0;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Sink for DecodedContent {
    #[inline]
    fn take(&mut self, piece: &[u8]) -> Result<(), Failure> {
        self.length += piece.len() as u64;
        if self.length > self.most {
            return Err(Failure::ContentTooLong);
        }
        match &mut self.sink {
            BodySink::Nothing => Ok(()),
            BodySink::Memory(content) => {
                content.extend_from_slice(piece);
                Ok(())
            }
            BodySink::File(saving) => saving.take(piece).map_err(|error| {
                let failure = Failure::Io(error.kind());
                self.failed = Some(error);
                failure
            }),
        }
    }
}
