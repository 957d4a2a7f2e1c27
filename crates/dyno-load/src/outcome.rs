//! One request: its progress while it is sent, and its outcome.

use std::time::Instant;

use dyno_client::{AnswerHead, Exchanged, Failure, Receive};
use dyno_http::HttpVersion;

use crate::checker::Checker;
use crate::slot::{Slot, Stage};
use crate::worker::Moment;

/// Outcome of one request.
pub(crate) struct Outcome {
    /// Index of the request loop.
    pub(crate) request_loop: usize,
    /// Index of the request in the list.
    pub(crate) place: usize,
    pub(crate) intended: Moment,
    /// When the request loop became free for this request.
    pub(crate) free: Moment,
    pub(crate) progress: Progress,
    pub(crate) result: Result<Exchanged, Failure>,
}

/// Stages that a request has passed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    /// When the request was sent; `None` if it was not.
    pub(crate) sent: Option<Instant>,
    /// When its new connection was ready; `None` on a kept connection.
    pub(crate) opened: Option<Instant>,
    /// Whether its connection was open before: the server may have been about to close it.
    pub(crate) was_open: bool,
    /// Whether its connection carried another request before.
    pub(crate) reused: bool,
    /// Number of its server's address, once it is sent.
    pub(crate) address: usize,
    /// Whether it failed so soon, and without a byte of an answer, that the server may not have seen the request.
    pub(crate) crossed: bool,
    pub(crate) answer: Answer,
}

impl Progress {
    /// Notes that the connection of a request that is not sent yet has become ready.
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

/// Receives an answer for a request loop.
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
        if let Some(checker) = &mut self.checker {
            checker.head(head);
        }
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
