//! Requests that came before, byte for byte, with their answers ready to be sent.
//!
//! What a web answers is a function of the request, so that the same head again needs neither be read nor be answered anew:
//! comparing it takes a tenth of the time, and a short answer that lies in one piece costs the kernel less than head and
//! content do. A load generator asks like that; a crawl does not, and pays for two comparisons and a copy of its heads.

use std::cell::RefCell;
use std::rc::Rc;

use dyno_http::Version;
use dyno_web::{Answer, Coding, Nanos, Scheme};

use super::arrived::Arrived;
use super::delivery::Delivery;
use super::outgoing::Outgoing;
use super::ready::Ready;
use crate::date::{self, Date};

/// How many are kept, each in place of the oldest: load generators ask for few URLs at a time.
const KEPT: usize = 8;
/// The longest head that is kept.
const MOST_REQUEST_BYTES: usize = 2 << 10;
/// The longest answer that is kept: longer ones gain nothing from lying in one piece.
const MOST_ANSWER_BYTES: u64 = 64 << 10;

/// What one thread keeps.
#[derive(Debug, Default)]
pub(crate) struct Repeated {
    kept: Vec<Rc<Kept>>,
    oldest: usize,
    /// The head that came last of those not kept: when it comes again, it is.
    last: Vec<u8>,
}

/// A request, as far as anything is noted of it.
#[derive(Debug)]
pub(crate) struct Same {
    pub(crate) scheme: Scheme,
    pub(crate) head: Vec<u8>,
    pub(crate) host: Box<str>,
    pub(crate) version: Version,
    pub(crate) user_agent: Vec<u8>,
    /// An arrival of it.
    pub(crate) arrived: Arrived,
}

/// A request with its answer.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) same: Same,
    pub(crate) status: u16,
    pub(crate) coding: Coding,
    answer: RefCell<Rc<Ready>>,
}

impl Repeated {
    /// The kept request that `received` begins with.
    pub(crate) fn find(&self, scheme: Scheme, received: &[u8]) -> Option<Rc<Kept>> {
        let found = self
            .kept
            .iter()
            .find(|kept| received.starts_with(&kept.same.head) && kept.same.scheme == scheme)?;
        Some(found.clone())
    }

    /// Notes the head of a request that is not kept; whether it was the last one before, too.
    pub(crate) fn is_again(&mut self, head: &[u8]) -> bool {
        if self.last == head {
            return true;
        }
        self.last.clear();
        if head.len() <= MOST_REQUEST_BYTES {
            self.last.extend_from_slice(head);
        }
        false
    }

    /// Keeps a request with its answer.
    pub(crate) fn keep(&mut self, kept: Option<Kept>) {
        let Some(kept) = kept.map(Rc::new) else {
            return;
        };
        match self.kept.get_mut(self.oldest) {
            Some(oldest) => *oldest = kept,
            None => self.kept.push(kept),
        }
        self.oldest = (self.oldest + 1) % KEPT;
    }
}

impl Kept {
    /// `same` with its answer, if that goes out at once, whole, and short.
    pub(crate) fn new(
        same: Same,
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
        if !is_plain || whole.to > MOST_ANSWER_BYTES {
            return None;
        }
        let bytes = whole.gather();
        let date_at = bytes.windows(date.len()).position(|place| place == date)?;
        Some(Self {
            same,
            status: answer.status,
            coding: delivery.coding,
            answer: RefCell::new(Rc::new(Ready::undated(bytes, date_at))),
        })
    }

    /// How long the request is.
    pub(crate) fn head_bytes(&self) -> usize {
        self.same.head.len()
    }

    /// The answer as it is sent at a moment.
    pub(crate) fn answer(&self, unix_ns: u64, date: &Date) -> Rc<Ready> {
        let second = unix_ns / 1_000_000_000;
        let mut answer = self.answer.borrow_mut();
        if answer.second != second {
            // Whoever has not sent all of the old one yet goes on with it.
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
        let mut repeated = Repeated::default();
        let long = vec![b'a'; MOST_REQUEST_BYTES + 1];
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
            assert_eq!(repeated.is_again(head), is_again);
        }
    }
}
