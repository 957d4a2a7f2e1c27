//! Receiver of one answer: the head decides whether content is dropped, checked or saved.

use std::io;
use std::task::{Context, Poll};
use std::time::{Duration, Instant, SystemTime};

use dyno_client::coding::{Decoding, Sink, TURN_BYTES};
use dyno_client::{AnswerHead, Failure, Reach, Receive};
use dyno_http::HttpVersion;
use url::Url;

use crate::details::Trail;
use crate::redirect;
use crate::retry_after;
use crate::robots;
use crate::save::Saving;
use crate::shared::Shared;
use crate::stage_clock::Stage;
use crate::warc::{self, Capture};

/// Minimum work that a piece of content counts for, in bytes.
const LEAST_WORK: usize = 64;

/// Longest content that is buffered for a check of JSON; a longer one fails as too long.
const MAX_JSON_BYTES: u64 = 64 << 20;

/// Longest content of a redirect that is read in order to reuse the connection; after a longer or incomplete one the
/// connection is closed.
const MAX_SKIPPED_BYTES: u64 = 64 << 10;

/// Receiver of one answer.
pub(crate) struct Receiver<'s> {
    shared: &'s Shared,
    at: &'s Url,
    pub trail: &'s Trail,
    pub status: u16,
    /// Whether a head was received.
    pub answered: bool,
    /// Target of the redirect.
    pub next: Option<Url>,
    /// How long the server asks to wait before the next request.
    pub retry_after: Option<Duration>,
    /// Address that it came from.
    pub reach: Option<Reach>,
    /// Values of the fields `Set-Cookie` of a redirect.
    pub set_cookies: Vec<Box<[u8]>>,
    pub content_type: Option<String>,
    /// Codings that were not decoded.
    pub content_encoding: Option<String>,
    decoding: Decoding,
    /// Bytes processed since other tasks had a turn.
    work: usize,
    pub taken: DecodedContent,
    purpose: Purpose,
    skipped: u64,
    /// When the head was received, if the rest may stay unread.
    began: Option<Instant>,
    pub wire_bytes: u64,
    /// Whether TLS ended without `close_notify` after the content.
    pub no_close_notify: bool,
    /// Failure of a content of which the received part is kept.
    pub failure: Option<Failure>,
    /// Why the rest of an answer was not read, if that is no error.
    pub unread: Option<Failure>,
    /// The exchange, if it is archived.
    pub capture: Option<Capture<'s>>,
}

/// What the content of an answer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// It is the answer to a URL of the list.
    Page,
    /// It is a `robots.txt`.
    Robots,
    /// It decides nothing, as that of a redirect.
    Nothing,
}

/// Decoded content.
pub(crate) struct DecodedContent {
    pub length: u64,
    most: u64,
    /// Whether the beginning of a longer content is kept.
    keeps_partial: bool,
    /// Whether it is only the beginning.
    pub is_partial: bool,
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
    pub(crate) fn new(shared: &'s Shared, at: &'s Url, trail: &'s Trail) -> Self {
        Self {
            shared,
            at,
            trail,
            status: 0,
            answered: false,
            next: None,
            retry_after: None,
            reach: None,
            set_cookies: Vec::new(),
            content_type: None,
            content_encoding: None,
            decoding: Decoding::default(),
            work: 0,
            taken: DecodedContent {
                length: 0,
                most: shared.options.max_content,
                keeps_partial: shared.options.keep_partial,
                is_partial: false,
                sink: BodySink::Nothing,
                failed: None,
            },
            purpose: Purpose::Page,
            skipped: 0,
            began: None,
            wire_bytes: 0,
            no_close_notify: false,
            failure: None,
            unread: None,
            capture: None,
        }
    }

    /// Keeps the content in memory, as much of it as [`robots`] parses, whatever the options say.
    pub(crate) fn for_robots(mut self) -> Self {
        self.purpose = Purpose::Robots;
        // One byte more shows that it is longer.
        self.taken.most = robots::MAX_BYTES as u64 + 1;
        self.taken.keeps_partial = true;
        self.taken.sink = BodySink::Memory(Vec::new());
        self
    }

    /// Checks that the answer is complete.
    pub(crate) fn end(&self) -> Result<(), Failure> {
        if self.purpose == Purpose::Nothing || self.taken.is_partial {
            Ok(())
        } else {
            self.decoding.end()
        }
    }

    /// When the answer began, if its rest is not needed: the content of a redirect decides nothing, and of a long one
    /// the beginning may be enough.
    pub(crate) fn enough(&self) -> Option<Instant> {
        let is_enough = self.purpose == Purpose::Nothing || self.taken.is_partial;
        self.began.filter(|_| is_enough)
    }

    /// Whether the content was cut short or too long, and is kept.
    pub(crate) const fn is_partial(&self) -> bool {
        self.failure.is_some() || self.taken.is_partial
    }

    /// Returns the failure, or this receiver if the received part of the content is to be kept.
    pub(crate) fn kept(mut self, failure: Failure) -> Result<Self, Failure> {
        let is_kept = self.shared.options.keep_partial
            && matches!(self.taken.sink, BodySink::File(_))
            && !self.shared.is_broken();
        if !is_kept {
            return Err(failure);
        }
        self.failure = Some(failure);
        Ok(self)
    }

    /// The result of a step, or the error of saving the content.
    fn or_save_error<T>(&mut self, step: Result<T, Failure>) -> Result<T, Failure> {
        match self.taken.failed.take() {
            Some(error) => Err(self.shared.cannot_save(error)),
            None => step,
        }
    }

    /// The result of archiving bytes, which ends the crawl if it fails.
    #[inline]
    fn or_archive_error(&self, taken: Option<Result<(), warc::Error>>) -> Result<(), Failure> {
        match taken {
            None | Some(Ok(())) => Ok(()),
            Some(Err(error)) => Err(self.shared.give_up(error)),
        }
    }
}

impl Receive for Receiver<'_> {
    const NAMES_ERRORS: bool = true;

    #[inline]
    fn received(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let taken = self.capture.as_mut().map(|capture| capture.take(bytes));
        self.or_archive_error(taken)
    }

    fn head(&mut self, head: &AnswerHead<'_>) -> Result<(), Failure> {
        self.trail.set(Stage::Content);
        self.answered = true;
        self.status = head.status;
        if head.version == HttpVersion::Http2 {
            let taken = self
                .capture
                .as_mut()
                .map(|capture| capture.http2_head(head));
            self.or_archive_error(taken)?;
        }
        if redirect::is_redirect(head.status) {
            self.next = redirect::target(self.at, head.fields("location"))?;
            if self.next.is_some() {
                self.purpose = Purpose::Nothing;
                self.set_cookies = head.fields("set-cookie").map(Box::from).collect();
                self.trail.set(Stage::Skipping);
                self.trail.note(|details| details.head(head, true));
                self.began = Some(Instant::now());
                return Ok(());
            }
        }
        if retry_after::may_pause(head.status) && self.shared.pauses.borrow().is_used() {
            let value = head.field("retry-after");
            self.retry_after = value.and_then(|value| retry_after::parse(value, SystemTime::now()));
        }
        if self.purpose == Purpose::Robots && !matches!(head.status, 200..300) {
            self.purpose = Purpose::Nothing;
            self.trail.set(Stage::Skipping);
            self.began = Some(Instant::now());
            return Ok(());
        }
        if self.shared.options.is_head && self.purpose != Purpose::Robots {
            self.trail.note(|details| details.head(head, true));
            return Ok(());
        }
        self.began = self.taken.keeps_partial.then(Instant::now);
        self.decoding = Decoding::new(head.fields("content-encoding"), self.taken.most)?;
        let is_decoded = !self.decoding.keeps();
        self.trail.note(|details| details.head(head, is_decoded));
        if !is_decoded {
            let names: Vec<_> = head.fields("content-encoding").collect();
            let names = names.join(&b", "[..]);
            self.content_encoding = Some(String::from_utf8_lossy(&names).into_owned());
        }
        if self.decoding.is_identity()
            && !self.taken.keeps_partial
            && head
                .content_length()
                .is_some_and(|length| length > self.taken.most)
        {
            return Err(Failure::ContentTooLong);
        }
        if self.purpose == Purpose::Robots {
            return Ok(());
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
        self.trail.progressed();
        let taken = self.capture.as_mut().map(|capture| capture.payload(bytes));
        self.or_archive_error(taken)?;
        if self.purpose == Purpose::Nothing {
            self.skipped += bytes.len() as u64;
            return if self.skipped > MAX_SKIPPED_BYTES {
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
        self.trail.progressed();
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Sink for DecodedContent {
    #[inline]
    fn take(&mut self, piece: &[u8]) -> Result<(), Failure> {
        let rest = self.most - self.length;
        if piece.len() as u64 <= rest {
            return self.keep(piece);
        }
        if self.keeps_partial {
            self.keep(&piece[..usize::try_from(rest).unwrap_or(piece.len())])?;
            self.is_partial = true;
        }
        Err(Failure::ContentTooLong)
    }
}

impl DecodedContent {
    #[inline]
    fn keep(&mut self, piece: &[u8]) -> Result<(), Failure> {
        self.length += piece.len() as u64;
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
