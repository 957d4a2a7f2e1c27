//! One request with its answer.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use dyno_web::{Answer, Coding, Content, Fault};
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::Request;
use tokio::task::spawn_local;

use super::head;
use super::outgoing::{Outgoing, Then};
use super::request::{asked, note};
use super::session::{Completion, Flight, Session};
use crate::message::arrived::Arrived;
use crate::message::delivery::Delivery;
use crate::message::request::{Asked, MISDIRECTED, refusal};
use crate::worker::Worker;

/// A request that is being answered.
pub(super) struct Exchange {
    pub(super) flight: Flight,
    pub(super) asked: Asked,
    pub(super) arrived: Arrived,
    pub(super) answer: Answer,
    pub(super) respond: SendResponse<Outgoing>,
}

/// What is known once the content is at hand.
#[derive(Clone, Copy)]
pub(super) struct Prepared {
    pub(super) coding: Coding,
    pub(super) bytes: u64,
}

/// The peer has given the request up, or has gone.
pub(super) struct Gone;

/// Answers a request: at once, where nothing is to be waited for.
pub(super) fn begin(
    session: &Rc<Session>,
    request: Request<RecvStream>,
    mut respond: SendResponse<Outgoing>,
) {
    let (parts, body) = request.into_parts();
    let method = dyno_http::Method::from_token(parts.method.as_str().as_bytes());
    if let Some((status, reason)) = method.and_then(refusal) {
        refuse(session, &mut respond, status, reason);
        return;
    }
    let asked = asked(&parts, &body);
    let (arrived, answer) = note(session, &parts, &asked);
    if !session.accepted.is_for(&session.names.borrow().host) {
        let log = &session.worker().log;
        log.borrow_mut().answer(arrived.place, 421);
        refuse(session, &mut respond, 421, MISDIRECTED);
        return;
    }
    let mut counters = session.worker().counters.borrow_mut();
    counters.chosen(&session.names.borrow().host, answer.status);
    drop(counters);
    let exchange = Exchange {
        flight: Flight::begin(session),
        asked,
        arrived,
        answer,
        respond,
    };
    match exchange.at_once() {
        Some(prepared) => exchange.answer(prepared),
        None => drop(spawn_local(exchange.in_time(body))),
    }
}

impl Exchange {
    pub(super) fn session(&self) -> &Rc<Session> {
        &self.flight.0
    }

    /// What is needed to answer without waiting for anything.
    fn at_once(&self) -> Option<Prepared> {
        let Answer {
            fault, drip, delay, ..
        } = self.answer;
        let is_whole = matches!(fault, None | Some(Fault::RedirectLoop)) && drip.is_none();
        if self.asked.has_body() || !is_whole || !delay.duration().is_zero() {
            return None;
        }
        let pages = &self.session().worker().pages;
        let (source, coding) = pages.source(self.answer.content, self.answer.coding);
        Some(Prepared {
            coding,
            bytes: source.bytes(),
        })
    }

    /// Sends a whole answer, now.
    fn answer(mut self, prepared: Prepared) {
        self.open();
        let planned = self.arrived.at;
        self.send(prepared, planned);
    }

    /// Answers when the time has come, as the fault has it.
    async fn in_time(mut self, body: RecvStream) {
        let complete = if self.asked.has_body() {
            if self.drain(body).await.is_err() {
                return;
            }
            Instant::now()
        } else {
            self.arrived.at
        };
        self.open();
        let planned = complete + self.answer.delay.duration();
        let worker = self.session().worker().clone();
        let (content, coding) = (self.answer.content, self.answer.coding);
        let (source, coding) = worker.pages.source(content, coding);
        let prepared = Prepared {
            coding,
            bytes: source.bytes(),
        };
        if self.answer.fault == Some(Fault::StallHeaders) {
            self.hold().await;
        } else if self.wait(planned).await.is_ok() {
            self.send_in_pieces(prepared, planned).await;
        }
    }

    /// Reads a request's body and forgets it.
    async fn drain(&mut self, mut body: RecvStream) -> Result<(), Gone> {
        if self.asked.expects_continue {
            self.send_interim(100);
        }
        while let Some(piece) = body.data().await {
            let bytes = piece.map_err(|_| Gone)?.len();
            body.flow_control()
                .release_capacity(bytes)
                .map_err(|_| Gone)?;
        }
        Ok(())
    }

    /// What comes before the answer.
    fn open(&mut self) {
        if let Some(fault) = self.answer.fault {
            self.session().worker().counters.borrow_mut().fault(fault);
            if fault == Fault::GoAway {
                self.session().refuse(self.respond.stream_id());
            }
        }
        if let Some(status) = self.answer.interim {
            self.send_interim(status);
        }
    }

    fn send_interim(&mut self, status: u16) {
        // A web's interim status that is none is not sent; a peer that has gone does not miss it.
        if let Ok(head) = head::interim(status) {
            drop(self.respond.send_informational(head));
        }
    }

    /// Sends the head, and hands back the stream for the content; nothing if there is no more to send.
    pub(super) fn send_head(
        &mut self,
        delivery: &Delivery,
        planned: Instant,
        is_end: bool,
    ) -> Option<SendStream<Outgoing>> {
        let worker = self.flight.0.worker();
        let date = worker.date.at(self.arrived.at_ns);
        let Ok(head) = head::answer(&self.answer, delivery, &date) else {
            let reason = "the web's own answer cannot be sent\n";
            refuse(&self.flight.0, &mut self.respond, 500, reason);
            return None;
        };
        let stream = self.respond.send_response(head, is_end).ok()?;
        self.arrived
            .note_head(worker, &self.answer, delivery, planned);
        Some(stream)
    }

    /// Sends the whole answer.
    pub(super) fn send(mut self, prepared: Prepared, planned: Instant) {
        let delivery = self.delivery(prepared);
        let has_content = delivery.has_content && prepared.bytes > 0;
        let trails = delivery.has_content && delivery.trails(&self.answer);
        let Some(mut stream) = self.send_head(&delivery, planned, !has_content && !trails) else {
            return;
        };
        let whole = Outgoing {
            worker: self.session().worker().clone(),
            content: self.answer.content,
            coding: prepared.coding,
            from: 0,
            to: if has_content { prepared.bytes } else { 0 },
            then: self.complete(&delivery),
        };
        // On a stream that has ended meanwhile nothing is sent, or complete.
        if has_content {
            drop(stream.send_data(whole, !trails));
        }
        if trails {
            drop(stream.send_trailers(head::trailers()));
        }
    }

    pub(super) fn delivery(&self, prepared: Prepared) -> Delivery {
        Delivery::of(&self.answer, &self.asked, prepared.coding, prepared.bytes)
    }

    /// What is left to do when the last of the content has been handed over.
    pub(super) fn complete(self, delivery: &Delivery) -> Then {
        Then::Complete(Completion {
            flight: self.flight,
            arrived: self.arrived,
            retires: !delivery.keep_alive,
        })
    }

    /// Waits until `moment`, unless the peer gives the request up before.
    async fn wait(&mut self, moment: Instant) -> Result<(), Gone> {
        let accepted = &self.flight.0.accepted;
        let worker = &accepted.worker;
        let _waiting = accepted.connection.wait();
        wait(worker, moment, |context| self.respond.poll_reset(context)).await
    }

    /// Sends nothing, and waits until the peer gives the request up.
    pub(super) async fn hold(&mut self) {
        // In whichever way it ends.
        drop(poll_fn(|context| self.respond.poll_reset(context)).await);
    }
}

/// Waits until `moment`, unless the stream that `poll_end` watches ends before.
pub(super) async fn wait(
    worker: &Worker,
    moment: Instant,
    mut poll_end: impl FnMut(&mut Context<'_>) -> Poll<Result<Reason, h2::Error>>,
) -> Result<(), Gone> {
    if Instant::now() >= moment {
        return Ok(());
    }
    let mut until = pin!(worker.timer.until(moment));
    poll_fn(|context| {
        if until.as_mut().poll(context).is_ready() {
            return Poll::Ready(Ok(()));
        }
        poll_end(context).map(|_| Err(Gone))
    })
    .await
}

/// Answers that a request is refused.
fn refuse(
    session: &Session,
    respond: &mut SendResponse<Outgoing>,
    status: u16,
    reason: &'static str,
) {
    let worker = session.worker();
    let Ok(head) = head::refusal(status, reason, &worker.date.at(worker.clock.now().unix_ns))
    else {
        return;
    };
    let Ok(mut stream) = respond.send_response(head, false) else {
        return;
    };
    worker.counters.borrow_mut().status(status);
    let content = Outgoing {
        worker: worker.clone(),
        content: Content::Document(reason),
        coding: Coding::Identity,
        from: 0,
        to: reason.len() as u64,
        then: Then::Nothing,
    };
    drop(stream.send_data(content, true));
}
