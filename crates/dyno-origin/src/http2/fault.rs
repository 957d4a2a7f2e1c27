//! Answers that are not sent at once and whole: as their fault has them, or a few bytes at a time.

use std::future::poll_fn;
use std::time::Instant;

use dyno_web::{Drip, Fault, Layer};
use h2::{Reason, SendStream};
use tokio::sync::oneshot;

use super::exchange::{Exchange, Gone, Prepared, wait};
use super::outgoing::{Outgoing, Then};
use super::session::Order;
use crate::message::delivery::Delivery;

impl Exchange {
    /// Sends the answer as its fault has it; one without a fault is whole.
    pub(super) async fn send_in_pieces(mut self, prepared: Prepared, planned: Instant) {
        let fault = self.answer.fault;
        if let Some(order) = fault.and_then(|fault| self.instead_of_head(fault)) {
            self.session().order(order);
            // A stream that is let go would be reset first.
            return self.hold().await;
        }
        let delivery = self.delivery(prepared);
        let has_content = delivery.has_content && prepared.bytes > 0;
        match (fault, self.answer.drip) {
            (_, Some(drip)) if has_content => {
                if let Some(stream) = self.send_head(&delivery, planned, false) {
                    self.drip(stream, &delivery, prepared, drip).await;
                }
            }
            (Some(fault), None) if fault.layer() == Layer::Body => {
                let half = if has_content { prepared.bytes / 2 } else { 0 };
                if let Some(stream) = self.send_head(&delivery, planned, false) {
                    self.cut(stream, prepared, half, fault).await;
                }
            }
            _ => self.send(prepared, planned),
        }
    }

    /// What a fault of the head does to the connection instead of sending one.
    fn instead_of_head(&self, fault: Fault) -> Option<Order> {
        match fault {
            Fault::EmptyReply => Some(Order::Close),
            Fault::ResetBeforeHeaders => Some(Order::Reset),
            Fault::GarbageHead => Some(Order::Garbage),
            Fault::GoAway => Some(self.session().go_away()),
            _ => None,
        }
    }

    /// Sends half of the content, then what the fault has instead of the rest.
    async fn cut(
        self,
        mut stream: SendStream<Outgoing>,
        prepared: Prepared,
        half: u64,
        fault: Fault,
    ) {
        if half > 0
            && self
                .send_piece(&mut stream, prepared, 0, half)
                .await
                .is_err()
        {
            return;
        }
        match fault {
            Fault::StreamReset => return stream.send_reset(Reason::INTERNAL_ERROR),
            Fault::ShortBody => {
                let nothing = self.piece(prepared, half, half, Then::Nothing);
                // A stream that has ended needs no end.
                return drop(stream.send_data(nothing, true));
            }
            Fault::ResetMidBody => self.session().order(Order::Reset),
            Fault::ShortChunked => self.session().order(Order::Close),
            _ => {}
        }
        drop(poll_fn(|context| stream.poll_reset(context)).await);
    }

    /// Sends the content a few bytes at a time, each piece at its moment: a late one does not delay the next.
    async fn drip(
        self,
        mut stream: SendStream<Outgoing>,
        delivery: &Delivery,
        prepared: Prepared,
        drip: Drip,
    ) {
        let start = Instant::now();
        let accepted = self.session().accepted.clone();
        let worker = accepted.worker.clone();
        let mut sent = 0;
        for piece in 0_u32.. {
            let moment = start + drip.every.duration().saturating_mul(piece);
            let _waiting = accepted.connection.wait();
            if wait(&worker, moment, |context| stream.poll_reset(context))
                .await
                .is_err()
            {
                return;
            }
            let to = prepared.bytes.min(sent + drip.bytes.max(1));
            if to == prepared.bytes {
                let mut last = self.piece(prepared, sent, to, Then::Nothing);
                last.then = self.complete(delivery);
                return drop(stream.send_data(last, true));
            }
            if self
                .send_piece(&mut stream, prepared, sent, to)
                .await
                .is_err()
            {
                return;
            }
            sent = to;
        }
    }

    /// Sends a part of the content, and waits until it has been handed over.
    async fn send_piece(
        &self,
        stream: &mut SendStream<Outgoing>,
        prepared: Prepared,
        from: u64,
        to: u64,
    ) -> Result<(), Gone> {
        let (sent, waiting) = oneshot::channel();
        let piece = self.piece(prepared, from, to, Then::Tell(sent));
        stream.send_data(piece, false).map_err(|_| Gone)?;
        waiting.await.map_err(|_| Gone)
    }

    fn piece(&self, prepared: Prepared, from: u64, to: u64, then: Then) -> Outgoing {
        Outgoing {
            worker: self.session().worker().clone(),
            content: self.answer.content,
            coding: prepared.coding,
            from,
            to,
            then,
        }
    }
}
