//! Answers to requests that are kept: on a parked connection as far as the kernel takes them at once, on any other whole.

use std::io;
use std::net::TcpStream;
use std::rc::Rc;

use super::End;
use super::arrival::arrive_again;
use super::exchange::Exchange;
use super::sending::write;
use crate::message::arrived::Arrived;
use crate::message::kept::Kept;
use crate::message::ready::Ready;
use crate::wire::Outlet;
use crate::worker::Worker;

/// After so many kept ones in a row, the next will be one, too.
const PARKED_FROM: u32 = 4;

/// What is left to send of an answer.
#[derive(Debug)]
pub(crate) struct Rest {
    answer: Rc<Ready>,
    sent: usize,
    arrived: Arrived,
}

impl Kept {
    /// Answers on a connection that was used before, as far as the kernel takes it at once; says what is left.
    pub(crate) fn answer_at_once(
        &self,
        worker: &Worker,
        connection: u64,
        stream: &TcpStream,
    ) -> io::Result<Option<Rest>> {
        let arrived = arrive_again(worker, connection, &self.same, true);
        let _in_flight = worker.shared.in_flight();
        arrived.note_answer(worker, self.status, self.coding, arrived.at);
        let answer = self.answer(arrived.at_ns, &worker.date);
        worker.begin_sending();
        let sent = answer.send_at_once(stream)?;
        worker.live().sent_bytes.add(sent as u64);
        if sent < answer.bytes().len() {
            return Ok(Some(Rest {
                answer,
                sent,
                arrived,
            }));
        }
        arrived.note_end(worker);
        Ok(None)
    }
}

impl Rest {
    /// Sends it.
    pub(crate) async fn send(self, stream: &mut impl Outlet, worker: &Worker) -> Result<(), End> {
        let _in_flight = worker.shared.in_flight();
        write(stream, &self.answer.bytes()[self.sent..]).await?;
        self.arrived.note_end(worker);
        Ok(())
    }
}

impl<S: Outlet> Exchange<'_, S> {
    /// A request that is the same as one before, with its answer.
    pub(super) async fn answer_again(&mut self, kept: &Kept) -> Result<(), End> {
        let worker = self.worker;
        let arrived = arrive_again(worker, self.accepted.number, &kept.same, self.is_reused);
        self.is_reused = true;
        let _in_flight = worker.shared.in_flight();
        self.input.consume(kept.same.head.len());
        arrived.note_answer(worker, kept.status, kept.coding, arrived.at);
        let answer = kept.answer(arrived.at_ns, &worker.date);
        answer.send(self.stream).await?;
        arrived.note_end(worker);
        self.again += 1;
        let is_parked = self.again >= PARKED_FROM && self.input.bytes().is_empty();
        if is_parked && self.stream.wire().is_some() {
            return Err(End::Parked);
        }
        Ok(())
    }
}
