//! Sends cached answers: in the cached loop as much as the kernel accepts at once, on any other connection completely.

use std::io;
use std::net::TcpStream;
use std::rc::Rc;

use super::End;
use super::exchange::Exchange;
use super::sending::write;
use crate::accounting::note_cached_request;
use crate::message::answer_bytes::AnswerBytes;
use crate::message::answer_cache::CachedAnswer;
use crate::message::request_stamp::RequestStamp;
use crate::wire::Outlet;
use crate::worker::Worker;

/// Number of consecutive cached answers after which a connection moves to the cached loop.
const CACHED_LOOP_FROM: u32 = 4;

/// The rest of an answer that is still to be sent.
#[derive(Debug)]
pub(crate) struct Rest {
    answer: Rc<AnswerBytes>,
    sent: usize,
    stamp: RequestStamp,
}

impl CachedAnswer {
    /// Answers on a connection that was used before, as far as the kernel accepts it at once; returns the rest.
    pub(crate) fn answer_at_once(
        &self,
        worker: &Worker,
        connection: u64,
        stream: &TcpStream,
    ) -> io::Result<Option<Rest>> {
        let stamp = note_cached_request(worker, connection, &self.key, true);
        let _in_flight = worker.shared.in_flight();
        stamp.note_answer(worker, self.status, self.coding, stamp.at);
        let answer = self.answer(stamp.at_ns, &worker.date);
        worker.begin_sending();
        let sent = answer.send_at_once(stream)?;
        worker.live().sent_bytes.add(sent as u64);
        if sent < answer.bytes().len() {
            return Ok(Some(Rest {
                answer,
                sent,
                stamp,
            }));
        }
        stamp.note_end(worker);
        Ok(None)
    }
}

impl Rest {
    /// Sends the rest.
    pub(crate) async fn send(self, stream: &mut impl Outlet, worker: &Worker) -> Result<(), End> {
        let _in_flight = worker.shared.in_flight();
        write(stream, &self.answer.bytes()[self.sent..]).await?;
        self.stamp.note_end(worker);
        Ok(())
    }
}

impl<S: Outlet> Exchange<'_, S> {
    /// Answers a request that equals an earlier one.
    pub(super) async fn answer_again(&mut self, cached: &CachedAnswer) -> Result<(), End> {
        let worker = self.worker;
        let stamp = note_cached_request(worker, self.info.number, &cached.key, self.is_reused);
        self.is_reused = true;
        let _in_flight = worker.shared.in_flight();
        self.input.consume(cached.key.head.len());
        stamp.note_answer(worker, cached.status, cached.coding, stamp.at);
        let answer = cached.answer(stamp.at_ns, &worker.date);
        answer.send(self.stream).await?;
        stamp.note_end(worker);
        self.again += 1;
        let is_for_loop = self.again >= CACHED_LOOP_FROM && self.input.bytes().is_empty();
        if is_for_loop && self.stream.wire().is_some() {
            return Err(End::ToCachedLoop);
        }
        Ok(())
    }
}
