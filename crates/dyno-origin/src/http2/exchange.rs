//! Serves one request.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Instant;

use dyno_web::{Answer, Coding, Content, ECHO_BYTES, Fault, is_echo};
use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use http::Request;
use tokio::task::spawn_local;

use super::head;
use super::outgoing::{Outgoing, Then};
use super::request::{asked, note};
use super::session::{Completion, Flight, Session};
use crate::message::delivery::Delivery;
use crate::message::request::{Asked, MISDIRECTED, refusal};
use crate::message::request_stamp::RequestStamp;
use crate::message::script::Script;

/// A request that is being answered.
pub(super) struct Exchange {
    pub(super) flight: Flight,
    pub(super) asked: Asked,
    pub(super) stamp: RequestStamp,
    pub(super) answer: Answer,
    respond: SendResponse<Outgoing>,
    /// Set once the head has been sent.
    pub(super) stream: Option<SendStream<Outgoing>>,
}

/// The peer has cancelled the request, or closed the connection.
pub(super) struct Gone;

/// Answers a request: immediately, if there is nothing to wait for.
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
    let (stamp, answer) = note(session, &parts, &asked);
    if !session.info.is_for(&session.names.borrow().host) {
        let log = &session.worker().log;
        log.borrow_mut().answer(stamp.place, 421);
        refuse(session, &mut respond, 421, MISDIRECTED);
        return;
    }
    let echoes = asked.has_body() && is_echo(&session.names.borrow().target);
    let mut counters = session.worker().counters.borrow_mut();
    counters.chosen(&session.names.borrow().host, answer.status);
    drop(counters);
    let exchange = Exchange {
        flight: Flight::begin(session),
        asked,
        stamp,
        answer,
        respond,
        stream: None,
    };
    match exchange.at_once() {
        Some(delivery) => exchange.answer(&delivery),
        None => drop(spawn_local(exchange.in_time(body, echoes))),
    }
}

impl Exchange {
    pub(super) fn session(&self) -> &Rc<Session> {
        &self.flight.0
    }

    /// How the answer is sent, if it can be sent immediately and completely.
    fn at_once(&self) -> Option<Delivery> {
        if self.asked.has_body() || !self.answer.delay.duration().is_zero() {
            return None;
        }
        let delivery = self.delivery();
        let script = Script::new(&self.answer, delivery.content_bytes());
        script.is_whole().then_some(delivery)
    }

    /// Sends a complete answer immediately.
    fn answer(mut self, delivery: &Delivery) {
        self.open();
        if self.send_head(delivery, self.stamp.at, true).is_ok() {
            self.send_rest(delivery, 0);
        }
    }

    /// Answers at the planned time, step by step; `echoes`: with the content of the request.
    async fn in_time(mut self, body: RecvStream, echoes: bool) {
        let complete = if self.asked.has_body() {
            let Ok(content) = self.read(body, if echoes { ECHO_BYTES } else { 0 }).await else {
                return;
            };
            if echoes {
                self.answer.content = Content::echo(self.asked.method.as_str(), &content);
            }
            Instant::now()
        } else {
            self.stamp.at
        };
        self.open();
        let planned = complete + self.answer.delay.duration();
        let delivery = self.delivery();
        self.emit(&delivery, planned).await;
    }

    /// Reads a request's body; returns its first bytes, `most` of them, and discards the others.
    async fn read(&mut self, mut body: RecvStream, most: usize) -> Result<Vec<u8>, Gone> {
        if self.asked.expects_continue {
            self.send_interim(100);
        }
        let mut first = Vec::new();
        while let Some(piece) = body.data().await {
            let piece = piece.map_err(|_| Gone)?;
            first.extend_from_slice(&piece[..piece.len().min(most - first.len())]);
            body.flow_control()
                .release_capacity(piece.len())
                .map_err(|_| Gone)?;
        }
        Ok(first)
    }

    /// Sends interim answers, which precede the answer.
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
        // An invalid interim status of the web is skipped; it does not matter whether the peer has closed.
        if let Ok(head) = head::interim(status) {
            drop(self.respond.send_informational(head));
        }
    }

    /// Sends the head; returns when. Ends the stream with it if no content follows.
    pub(super) fn send_head(
        &mut self,
        delivery: &Delivery,
        planned: Instant,
        is_whole: bool,
    ) -> Result<Instant, Gone> {
        let worker = self.flight.0.worker();
        let date = worker.date.at(self.stamp.at_ns);
        let Ok(head) = head::answer(&self.answer, delivery, &date) else {
            let reason = "the answer of the web cannot be sent\n";
            refuse(&self.flight.0, &mut self.respond, 500, reason);
            return Err(Gone);
        };
        let is_end = is_whole && delivery.content_bytes() == 0 && !self.has_trailers(delivery);
        let stream = self.respond.send_response(head, is_end);
        self.stream = Some(stream.map_err(|_| Gone)?);
        let at = self
            .stamp
            .note_head(worker, &self.answer, delivery, planned);
        Ok(at)
    }

    /// Sends the content from `from` on, and the trailers.
    pub(super) fn send_rest(mut self, delivery: &Delivery, from: u64) {
        let Some(mut stream) = self.stream.take() else {
            return;
        };
        let has_trailers = self.has_trailers(delivery);
        let mut rest = self.part(delivery, from, delivery.content_bytes(), Then::Nothing);
        rest.then = Then::Complete(Completion {
            flight: self.flight,
            stamp: self.stamp,
            retires: !delivery.keep_alive,
        });
        // If the stream has ended meanwhile, nothing is sent, and the answer is not complete.
        if rest.from < rest.to {
            drop(stream.send_data(rest, !has_trailers));
        }
        if has_trailers {
            drop(stream.send_trailers(head::trailers()));
        }
    }

    /// A part of the content.
    pub(super) fn part(&self, delivery: &Delivery, from: u64, to: u64, then: Then) -> Outgoing {
        Outgoing {
            worker: self.session().worker().clone(),
            content: self.answer.content.clone(),
            coding: delivery.coding,
            from,
            to,
            then,
        }
    }

    fn has_trailers(&self, delivery: &Delivery) -> bool {
        delivery.has_content && delivery.trails(&self.answer)
    }

    fn delivery(&self) -> Delivery {
        let pages = &self.session().worker().pages;
        let (source, coding) = pages.source(&self.answer.content, self.answer.coding);
        Delivery::of(&self.answer, &self.asked, coding, source.bytes())
    }

    /// Waits until `moment`, unless the peer cancels the request first.
    pub(super) async fn wait(&mut self, moment: Instant) -> Result<(), Gone> {
        if Instant::now() >= moment {
            return Ok(());
        }
        let session = self.session().clone();
        let info = &session.info;
        let _waiting = info.connection.wait();
        let mut until = pin!(info.worker.timer.until(moment));
        poll_fn(|context| {
            if until.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(()));
            }
            self.poll_end(context).map(|()| Err(Gone))
        })
        .await
    }

    /// Sends nothing, and waits until the peer cancels the request.
    pub(super) async fn hold(&mut self) {
        poll_fn(|context| self.poll_end(context)).await;
    }

    /// Ready when the stream has ended, with or without an error.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.stream {
            Some(stream) => stream.poll_reset(context).map(drop),
            None => self.respond.poll_reset(context).map(drop),
        }
    }
}

/// Sends an answer that refuses the request.
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
