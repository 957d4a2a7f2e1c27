//! Sends the steps of an answer over HTTP/1.1, which has neither streams nor GOAWAY.

use std::time::Instant;

use dyno_web::{Answer, Nanos, Oddity};

use super::exchange::Exchange;
use super::{End, odd};
use crate::message::answer_cache::{CacheKey, CachedAnswer};
use crate::message::delivery::Delivery;
use crate::message::head;
use crate::message::outgoing::Outgoing;
use crate::message::request::Asked;
use crate::message::request_stamp::RequestStamp;
use crate::message::script::{GARBAGE, LastBytes, Script, Step};
use crate::prepared::Source;
use crate::wire::Outlet;

/// An answer, with everything that its steps need.
pub(super) struct Reply<'a> {
    pub(super) answer: &'a Answer,
    pub(super) asked: &'a Asked,
    pub(super) delivery: &'a Delivery,
    pub(super) source: Source<'a>,
    pub(super) stamp: RequestStamp,
    /// When it is due.
    pub(super) planned: Instant,
    /// The request, if its answer may be cached.
    pub(super) again: Option<Box<CacheKey>>,
}

impl<S: Outlet> Exchange<'_, S> {
    /// Sends the head and the content of an answer whose chunks are odd; returns false for any other.
    async fn has_sent_odd_chunks(&mut self, reply: &Reply<'_>) -> Result<bool, End> {
        let odd = reply.answer.oddity.filter(|_| reply.delivery.has_content);
        let Some(chunks) = odd.and_then(|oddity| odd::chunks(reply.source, oddity)) else {
            return Ok(false);
        };
        self.head.extend_from_slice(&chunks);
        self.write_head().await?;
        Ok(true)
    }

    #[cold]
    fn rewrite_head(&mut self, oddity: Oddity, content_bytes: u64) {
        odd::rewrite_head(&mut self.head, oddity);
        if oddity == Oddity::LengthAndChunked {
            odd::add_length(&mut self.head, content_bytes);
        }
    }

    /// Sends an answer, step by step.
    pub(super) async fn emit(&mut self, mut reply: Reply<'_>) -> Result<(), End> {
        let Reply {
            answer,
            delivery,
            source,
            stamp,
            planned,
            ..
        } = reply;
        let worker = self.worker;
        let content_bytes = delivery.content_bytes();
        let mut head_at = planned;
        // A head is sent together with the content that follows.
        let mut is_head_due = false;
        let mut had_peer_ended = false;
        for step in Script::new(answer, content_bytes) {
            let (from, to, end) = match step {
                Step::WaitUntilDue => {
                    if answer.delay > Nanos::ZERO {
                        self.wait(planned).await?;
                    }
                    continue;
                }
                Step::Head => {
                    let date = worker.date.at(stamp.at_ns);
                    if let Err(error) =
                        head::write(&mut self.head, answer, delivery, reply.asked, &date)
                    {
                        let reason = format!("the answer of the web cannot be sent: {error}\n");
                        return self.refuse(500, &reason).await;
                    }
                    if let Some(oddity) = answer.oddity {
                        self.rewrite_head(oddity, source.bytes());
                    }
                    had_peer_ended = self.has_peer_ended;
                    head_at = if had_peer_ended {
                        // Noted when the peer has received the answer.
                        Instant::now()
                    } else {
                        stamp.note_head(worker, answer, delivery, planned)
                    };
                    if let Some(key) = reply.again.take().filter(|_| !had_peer_ended) {
                        let whole = delivery.whole(&self.head, answer, source);
                        let cached = CachedAnswer::new(*key, answer, delivery, &whole, &date);
                        worker.answer_cache.borrow_mut().keep(cached);
                    }
                    is_head_due = true;
                    continue;
                }
                Step::WaitAfterHead(after) => {
                    self.wait(head_at + after).await?;
                    continue;
                }
                Step::Body { from, to } => (from, to, &b""[..]),
                Step::Rest { from } => {
                    if is_head_due && self.has_sent_odd_chunks(&reply).await? {
                        is_head_due = false;
                        continue;
                    }
                    (from, content_bytes, delivery.end(answer))
                }
                Step::Close(last) => {
                    if last == LastBytes::Garbage {
                        self.head.clear();
                        self.head.extend_from_slice(GARBAGE);
                        self.write_head().await?;
                    }
                    return Err(End::Close);
                }
                Step::EndStream => return Err(End::Close),
                Step::ResetStream | Step::ResetConnection => return Err(End::Reset),
                Step::Hold => return Err(self.hold().await),
            };
            let head = if std::mem::take(&mut is_head_due) {
                self.head.as_slice()
            } else {
                b""
            };
            let part = Outgoing {
                from,
                to,
                end,
                ..delivery.whole(head, answer, source)
            };
            part.send(self.stream).await.map_err(|_| End::Gone)?;
        }
        if had_peer_ended {
            self.until_received().await?;
            stamp.note_head(worker, answer, delivery, planned + head_at.elapsed());
            stamp.note_end(worker);
            return Err(End::Gone);
        }
        stamp.note_end(worker);
        if answer.oddity == Some(Oddity::NoCloseNotify) {
            Err(End::WithoutNotice)
        } else if delivery.keep_alive {
            Ok(())
        } else {
            Err(End::Close)
        }
    }
}
