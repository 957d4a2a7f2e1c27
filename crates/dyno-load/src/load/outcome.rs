//! What becomes of one request while its lane carries it, and at its end.

use std::time::Instant;

use super::check::Checker;
use super::slot::{Slot, Stage};
use super::worker::Moment;
use crate::transport::{AnswerHead, Exchanged, Failure, Receive, Version};

/// What came of one request.
pub(super) struct Outcome {
    /// The number of its lane.
    pub(super) lane: usize,
    /// Which of the requests it was.
    pub(super) place: usize,
    pub(super) intended: Moment,
    /// Since when its lane had nothing else to do.
    pub(super) free: Moment,
    pub(super) progress: Progress,
    pub(super) result: Result<Exchanged, Failure>,
}

/// How far a request came.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Progress {
    /// When it went out, if it did.
    pub(super) sent: Option<Instant>,
    /// When its connection was ready, if it had to be opened.
    pub(super) opened: Option<Instant>,
    /// Whether its connection was there before it: the server may have been about to close it.
    pub(super) was_open: bool,
    /// Whether its connection had carried another before.
    pub(super) reused: bool,
    /// Whether it failed so soon, and without a byte of an answer, that the server may not have seen it.
    pub(super) crossed: bool,
    pub(super) answer: Answer,
}

impl Progress {
    /// The connection of a request that is not out yet has become ready.
    pub(super) fn opened_now(&mut self) {
        if self.sent.is_none() {
            self.opened = Some(Instant::now());
        }
    }
}

/// What an answer said of itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) version: Version,
    pub(super) content_bytes: u64,
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            status: 0,
            version: Version::Http11,
            content_bytes: 0,
        }
    }
}

/// Takes an answer for a lane.
pub(super) struct Taking<'l> {
    pub(super) slot: &'l Slot,
    pub(super) checker: Option<&'l mut Checker>,
    pub(super) answer: &'l mut Answer,
}

impl Receive for Taking<'_> {
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
