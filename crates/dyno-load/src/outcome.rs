//! One request: its progress while it is sent, and its outcome.

use std::time::Instant;

use dyno_client::{AnswerHead, Exchanged, Failure, Receive};
use dyno_http::HttpVersion;

use crate::check::Checker;
use crate::slot::{Slot, Stage};
use crate::worker::Moment;

/// Outcome of one request.
pub(crate) struct Outcome {
    /// The number of its request loop.
    pub(crate) request_loop: usize,
    /// Which of the requests it was.
    pub(crate) place: usize,
    pub(crate) intended: Moment,
    /// Since when its request loop had nothing else to do.
    pub(crate) free: Moment,
    pub(crate) progress: Progress,
    pub(crate) result: Result<Exchanged, Failure>,
}

/// How far a request came.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    /// When it went out, if it did.
    pub(crate) sent: Option<Instant>,
    /// When its connection was ready, if it had to be opened.
    pub(crate) opened: Option<Instant>,
    /// Whether its connection was there before it: the server may have been about to close it.
    pub(crate) was_open: bool,
    /// Whether its connection had carried another before.
    pub(crate) reused: bool,
    /// Whether it failed so soon, and without a byte of an answer, that the server may not have seen it.
    pub(crate) crossed: bool,
    pub(crate) answer: Answer,
}

impl Progress {
    /// The connection of a request that is not out yet has become ready.
    pub(crate) fn opened_now(&mut self) {
        if self.sent.is_none() {
            self.opened = Some(Instant::now());
        }
    }
}

/// Properties of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) version: HttpVersion,
    pub(crate) content_bytes: u64,
}

impl Answer {
    /// Whether its status is 2xx or 3xx.
    #[inline]
    pub(crate) const fn is_success(self) -> bool {
        matches!(self.status, 200..400)
    }
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            status: 0,
            version: HttpVersion::Http11,
            content_bytes: 0,
        }
    }
}

/// Takes an answer for a request loop.
pub(crate) struct AnswerReceiver<'l> {
    pub(crate) slot: &'l Slot,
    pub(crate) checker: Option<&'l mut Checker>,
    pub(crate) answer: &'l mut Answer,
}

impl Receive for AnswerReceiver<'_> {
    #[inline]
    fn head(&mut self, head: &AnswerHead<'_>) -> Result<(), Failure> {
        self.slot.stage.set(Stage::Content);
        self.answer.status = head.status;
        self.answer.version = head.version;
        Ok(())
    }

    #[inline]
    fn content(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.answer.content_bytes += bytes.len() as u64;
        if let Some(checker) = &mut self.checker {
            checker.content(bytes);
        }
        Ok(())
    }
}
