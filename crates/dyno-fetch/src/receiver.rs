//! Receiver of one answer: the head decides whether content is dropped, checked or saved.

use std::cell::Cell;
use std::io;
use std::task::{Context, Poll};
use std::time::Instant;

use dyno_client::coding::{Decoding, Sink, TURN_BYTES};
use dyno_client::{AnswerHead, Failure, Reach, Receive};
use url::Url;

use crate::connect::Stage;
use crate::redirect;
use crate::save::Saving;
use crate::shared::Shared;

/// Minimum work that a piece of content counts for, in bytes.
const LEAST_WORK: usize = 64;

/// Longest content that is buffered for a check of JSON; a longer one fails as too long.
const MAX_JSON_BYTES: u64 = 64 << 20;

/// Longest content of a redirect that is read in order to reuse the connection; after a longer one the connection
/// is closed.
const MAX_SKIPPED_BYTES: u64 = 64 << 10;

/// Receiver of one answer.
pub(crate) struct Receiver<'s> {
    shared: &'s Shared,
    at: &'s Url,
    stage: &'s Cell<Stage>,
    pub status: u16,
    /// Whether a head was received.
    pub answered: bool,
    /// Target of the redirect.
    pub next: Option<Url>,
    /// Address that it came from.
    pub reach: Option<Reach>,
    pub content_type: Option<String>,
    /// Codings that were not decoded.
    pub content_encoding: Option<String>,
    decoding: Decoding,
    /// Bytes processed since other tasks had a turn.
    work: usize,
    pub taken: DecodedContent,
    skipped: u64,
    /// When the head of a redirect was received.
    redirected: Option<Instant>,
    pub wire_bytes: u64,
}

/// Decoded content.
pub(crate) struct DecodedContent {
    pub length: u64,
    most: u64,
    pub sink: BodySink,
    /// Reason why it could not be saved.
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

    /// Checks that the answer is complete.
    pub(crate) fn end(&self) -> Result<(), Failure> {
        if self.next.is_some() {
            Ok(())
        } else {
            self.decoding.end()
        }
    }

    /// The result of a step, or the error of saving the content.
    fn or_save_error<T>(&mut self, step: Result<T, Failure>) -> Result<T, Failure> {
        match self.taken.failed.take() {
            Some(error) => Err(self.shared.cannot_save(error)),
            None => step,
        }
    }

    /// When the answer began, if the only failure is that the content of a redirect was too long to read.
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
