//! Cache of complete answers by the bytes of the request head.
//!
//! An answer of a web is a function of the request, so a repeated head is neither parsed nor answered again. Comparing
//! it takes a tenth of the time, and a short answer in one piece costs the kernel less than a separate head and
//! content. Load generators repeat their requests; a crawl does not, and pays for two comparisons and a copy of each
//! head.

use std::cell::RefCell;
use std::rc::Rc;

use dyno_http::HttpVersion;
use dyno_web::{Answer, Coding, Nanos, Scheme};

use super::answer_bytes::AnswerBytes;
use super::delivery::Delivery;
use super::outgoing::Outgoing;
use super::request_stamp::RequestStamp;
use crate::date::{self, Date};

/// Number of cached answers: load generators request few URLs at a time.
const MAX_ANSWERS: usize = 8;
/// Longest request head that is cached.
const MAX_REQUEST_BYTES: usize = 2 << 10;
/// Longest answer that is cached: longer ones gain nothing from being in one piece.
const MAX_ANSWER_BYTES: u64 = 64 << 10;

/// The cached answers of one thread.
#[derive(Debug, Default)]
pub(crate) struct AnswerCache {
    answers: Vec<Rc<CachedAnswer>>,
    oldest: usize,
    /// The last uncached request head: if it is repeated, its answer is cached.
    last: Vec<u8>,
}

/// A request with a cached answer, with everything that its accounting needs.
#[derive(Debug)]
pub(crate) struct CacheKey {
    pub(crate) scheme: Scheme,
    pub(crate) head: Vec<u8>,
    pub(crate) host: Box<str>,
    pub(crate) version: HttpVersion,
    pub(crate) user_agent: Vec<u8>,
    /// The stamp of an earlier equal request.
    pub(crate) stamp: RequestStamp,
}

/// A request with its answer.
#[derive(Debug)]
pub(crate) struct CachedAnswer {
    pub(crate) key: CacheKey,
    pub(crate) status: u16,
    pub(crate) coding: Coding,
    answer: RefCell<Rc<AnswerBytes>>,
}

impl AnswerCache {
    /// Returns the answer to the request at the start of `received`.
    pub(crate) fn find(&self, scheme: Scheme, received: &[u8]) -> Option<Rc<CachedAnswer>> {
        let found = self
            .answers
            .iter()
            .find(|cached| received.starts_with(&cached.key.head) && cached.key.scheme == scheme)?;
        Some(found.clone())
    }

    /// Notes the head of an uncached request; returns whether it equals the one before.
    pub(crate) fn is_again(&mut self, head: &[u8]) -> bool {
        if self.last == head {
            return true;
        }
        self.last.clear();
        if head.len() <= MAX_REQUEST_BYTES {
            self.last.extend_from_slice(head);
        }
        false
    }

    /// Caches an answer in place of the oldest.
    pub(crate) fn keep(&mut self, cached: Option<CachedAnswer>) {
        let Some(cached) = cached.map(Rc::new) else {
            return;
        };
        match self.answers.get_mut(self.oldest) {
            Some(oldest) => *oldest = cached,
            None => self.answers.push(cached),
        }
        self.oldest = (self.oldest + 1) % MAX_ANSWERS;
    }
}

impl CachedAnswer {
    /// Creates an entry, if the answer is short and sent immediately and completely.
    pub(crate) fn new(
        key: CacheKey,
        answer: &Answer,
        delivery: &Delivery,
        whole: &Outgoing<'_>,
        date: &date::Text,
    ) -> Option<Self> {
        let is_plain = answer.fault.is_none()
            && answer.interim.is_none()
            && answer.drip.is_none()
            && answer.delay == Nanos::ZERO
            && delivery.keep_alive;
        if !is_plain || whole.to > MAX_ANSWER_BYTES {
            return None;
        }
        let bytes = whole.gather();
        let date_at = bytes.windows(date.len()).position(|place| place == date)?;
        Some(Self {
            key,
            status: answer.status,
            coding: delivery.coding,
            answer: RefCell::new(Rc::new(AnswerBytes::undated(bytes, date_at))),
        })
    }

    /// Length of the request head.
    pub(crate) fn head_bytes(&self) -> usize {
        self.key.head.len()
    }

    /// The answer with the date of this moment.
    pub(crate) fn answer(&self, unix_ns: u64, date: &Date) -> Rc<AnswerBytes> {
        let second = unix_ns / 1_000_000_000;
        let mut answer = self.answer.borrow_mut();
        if answer.second != second {
            // A connection that has not sent all of the old answer keeps a reference to it.
            *answer = Rc::new(answer.dated(second, &date.at(unix_ns)));
        }
        answer.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_that_comes_twice_in_a_row_is_seen() {
        let mut cache = AnswerCache::default();
        let long = vec![b'a'; MAX_REQUEST_BYTES + 1];
        let heads: [(&[u8], bool); 7] = [
            (b"a", false),
            (b"b", false),
            (b"b", true),
            (b"b", true),
            (b"a", false),
            (&long, false),
            (&long, false),
        ];
        for (head, is_again) in heads {
            assert_eq!(cache.is_again(head), is_again);
        }
    }
}
