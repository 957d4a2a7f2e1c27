//! Serves requests one after another on one connection.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use dyno_http::request::Parser;
use dyno_http::{Limits, Parse, Tolerance, Version, body};
use dyno_web::{ECHO_BYTES, Request, is_echo};
use tokio::io::AsyncWriteExt;

use super::emit::Reply;
use super::sending::write;
use super::{End, LINGER};
use crate::accounting::note_request;
use crate::connection_info::ConnectionInfo;
use crate::live::InFlight;
use crate::message::Input;
use crate::message::answer_cache::CacheKey;
use crate::message::delivery::Delivery;
use crate::message::head;
use crate::message::request::{Asked, MISDIRECTED, Names, refusal};
use crate::message::request_stamp::RequestStamp;
use crate::prepared::Pages;
use crate::wire::Outlet;
use crate::worker::Worker;

const HEAD_BYTES: usize = 64 << 10;

/// Rules for requests: RFC 9112, plus characters in targets that browsers do not escape.
const LIMITS: Limits = Limits {
    head_bytes: HEAD_BYTES,
    target_bytes: 16 << 10,
    // As many as fit: each field has at least four bytes.
    fields: HEAD_BYTES / 4,
    chunk_line_bytes: 4 << 10,
    chunk_extension_bytes: 16 << 10,
    trailer_bytes: 8 << 10,
    tolerance: Tolerance {
        unescaped_target: true,
        ..Tolerance::NONE
    },
};

/// Interval at which the kernel is queried whether a peer has received everything.
const ASKED_EVERY: Duration = Duration::from_millis(1);

/// A connection between two requests, with the memory that it reuses for each.
pub(crate) struct Exchange<'c, S> {
    pub(super) stream: &'c mut S,
    pub(super) worker: &'c Worker,
    pub(super) head: Vec<u8>,
    pub(super) info: &'c ConnectionInfo,
    pub(super) input: Input,
    parser: Parser,
    names: Names,
    pub(super) is_reused: bool,
    /// The current request, as long as its peer is known to wait.
    in_flight: Option<InFlight<'c>>,
    /// Whether the peer has ended its side. It may have closed the connection or may still read: only a write shows
    /// which.
    pub(super) has_peer_ended: bool,
    /// Number of consecutive cached answers.
    pub(super) again: u32,
}

/// The head of a request.
struct Received {
    asked: Asked,
    stamp: RequestStamp,
    /// The key of its cached answer, if the request came before.
    again: Option<Box<CacheKey>>,
}

/// Like [`serve`], on a connection that was used before.
pub(crate) async fn go_on<S: Outlet>(stream: &mut S, info: &ConnectionInfo, input: Input) -> End {
    let mut exchange = Exchange::new(stream, info, input);
    exchange.is_reused = true;
    exchange.run().await
}

/// Serves requests until the connection ends, beginning with the bytes in `input`; returns how it is to end.
pub(crate) async fn serve<S: Outlet>(stream: &mut S, info: &ConnectionInfo, input: Input) -> End {
    Exchange::new(stream, info, input).run().await
}

impl<'c, S: Outlet> Exchange<'c, S> {
    fn new(stream: &'c mut S, info: &'c ConnectionInfo, input: Input) -> Self {
        Self {
            stream,
            worker: &info.worker,
            head: Vec::with_capacity(512),
            info,
            input,
            parser: Parser::new(LIMITS),
            names: Names::default(),
            is_reused: false,
            in_flight: None,
            has_peer_ended: false,
            again: 0,
        }
    }

    async fn run(mut self) -> End {
        loop {
            if let Err(end) = self.next().await {
                return end;
            }
        }
    }

    /// Serves one request.
    async fn next(&mut self) -> Result<(), End> {
        if self.input.bytes().is_empty() {
            self.fill().await?;
        }
        let scheme = self.info.scheme;
        let cache = &self.worker.answer_cache;
        let cached = cache.borrow().find(scheme, self.input.bytes());
        if let Some(cached) = cached.filter(|cached| self.info.is_for(&cached.key.host)) {
            return self.answer_again(&cached).await;
        }
        let answered = self.answer().await;
        self.in_flight = None;
        answered
    }

    /// Serves a request that has no cached answer.
    async fn answer(&mut self) -> Result<(), End> {
        self.again = 0;
        let Received {
            asked,
            stamp,
            again,
        } = self.receive().await?;
        let worker = self.worker;
        self.in_flight = Some(worker.shared.in_flight());
        let mut content = Vec::new();
        let complete = if asked.has_body() {
            content = self.read(&asked).await?;
            Instant::now()
        } else {
            stamp.at
        };
        let answer = Pages::coded(worker.web.answer(&Request {
            method: asked.method.as_str(),
            content: &content,
            scheme: self.info.scheme,
            host: &self.names.host,
            target: &self.names.target,
            accepted: asked.codings,
            has_cookie: self.names.has_cookie,
            earlier: worker.earlier(&self.names),
        }));
        // An answer whose bytes or order are odd is made anew for each request.
        let again = again.filter(|_| !worker.web.is_odd(&self.names.host));
        {
            let mut counters = worker.counters.borrow_mut();
            if let Some(fault) = answer.fault.filter(|_| answer.oddity.is_none()) {
                counters.fault(fault);
            }
            counters.chosen(&self.names.host, answer.status);
        }
        if let Some(interim) = answer.interim
            && asked.version == Version::Http11
            && head::write_interim(&mut self.head, interim).is_ok()
        {
            self.write_head().await?;
        }
        let planned = complete + answer.delay.duration();
        let (source, coding) = worker.pages.source(&answer.content, answer.coding);
        let delivery = Delivery::of(&answer, &asked, coding, source.bytes());
        self.emit(Reply {
            answer: &answer,
            asked: &asked,
            delivery: &delivery,
            source,
            stamp,
            planned,
            again,
        })
        .await
    }

    /// Waits for the head of a request.
    async fn receive(&mut self) -> Result<Received, End> {
        loop {
            let problem = match self.parser.parse(self.input.bytes()) {
                Ok(Parse::Partial) => {
                    self.fill().await?;
                    continue;
                }
                Ok(Parse::Complete { head, bytes }) => {
                    if let Some((status, reason)) = refusal(head.method) {
                        return self.refuse(status, reason).await;
                    }
                    let asked = Asked::of(&head);
                    self.names.take(&head, self.info.scheme);
                    let user_agent = head.fields.get("user-agent").unwrap_or_default();
                    let stamp = note_request(
                        self.worker,
                        self.info,
                        &self.names,
                        user_agent,
                        self.is_reused,
                        asked.version.into(),
                    );
                    self.is_reused = true;
                    if !self.info.is_for(&self.names.host) {
                        self.worker.log.borrow_mut().answer(stamp.place, 421);
                        return self.refuse(421, MISDIRECTED).await;
                    }
                    let head_bytes = &self.input.bytes()[..bytes];
                    let again = !asked.has_body()
                        && self.worker.answer_cache.borrow_mut().is_again(head_bytes);
                    let again = again.then(|| {
                        Box::new(CacheKey {
                            scheme: self.info.scheme,
                            head: head_bytes.to_vec(),
                            host: self.names.host.as_str().into(),
                            version: asked.version.into(),
                            user_agent: user_agent.to_vec(),
                            stamp,
                        })
                    });
                    self.input.consume(bytes);
                    return Ok(Received {
                        asked,
                        stamp,
                        again,
                    });
                }
                Err(error) => (
                    error.problem.status(),
                    format!("the request is malformed: {error}\n"),
                ),
            };
            return self.refuse(problem.0, &problem.1).await;
        }
    }

    /// Receives more bytes.
    async fn fill(&mut self) -> Result<(), End> {
        match self.input.fill(self.stream).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(End::Close),
            Err(_) => Err(End::Gone),
        }
    }

    /// Reads a request's body; returns the part of it that determines the answer, and discards the rest.
    async fn read(&mut self, asked: &Asked) -> Result<Vec<u8>, End> {
        if asked.expects_continue && self.input.bytes().is_empty() {
            self.head.clear();
            self.head
                .extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
            self.write_head().await?;
        }
        let mut decoder = body::Decoder::new(asked.framing, &LIMITS);
        let mut first = Vec::new();
        let most = if is_echo(&self.names.target) {
            ECHO_BYTES
        } else {
            0
        };
        loop {
            let bytes = self.input.bytes();
            let read = if first.len() < most {
                decoder.decode(bytes).map(|step| {
                    let piece = &bytes[step.content];
                    first.extend_from_slice(&piece[..piece.len().min(most - first.len())]);
                    (step.consumed, step.done)
                })
            } else {
                let drained = decoder.drain(bytes);
                drained.map(|drained| (drained.consumed, drained.done))
            };
            match read {
                Ok((consumed, done)) => {
                    self.input.consume(consumed);
                    if done {
                        return Ok(first);
                    }
                    // A piece of content may follow at once.
                    if !self.input.bytes().is_empty() {
                        continue;
                    }
                }
                Err(error) => {
                    let reason = format!("the request's body is malformed: {error}\n");
                    return self.refuse(error.problem.status(), &reason).await;
                }
            }
            if !self.input.fill(self.stream).await.map_err(|_| End::Gone)? {
                return Err(End::Gone);
            }
        }
    }

    /// Sends an answer that refuses the request.
    pub(super) async fn refuse<T>(&mut self, status: u16, reason: &str) -> Result<T, End> {
        let date = self.worker.date.at(self.worker.clock.now().unix_ns);
        if head::write_refusal(&mut self.head, status, reason, &date).is_ok() {
            self.worker.counters.borrow_mut().status(status);
            self.write_head().await?;
        }
        Err(End::Close)
    }

    /// Sends the bytes in `head`.
    pub(super) async fn write_head(&mut self) -> Result<(), End> {
        write(self.stream, &self.head).await
    }

    /// Waits until `moment`. If the peer ends a TLS connection first, it has given up the request; with TCP alone, it
    /// may have ended only its own side.
    pub(super) async fn wait(&mut self, moment: Instant) -> Result<(), End> {
        if Instant::now() >= moment {
            return Ok(());
        }
        let (input, stream) = (&mut self.input, &mut *self.stream);
        let _waiting = self.info.connection.wait();
        let (in_flight, has_peer_ended) = (&mut self.in_flight, &mut self.has_peer_ended);
        let mut until = pin!(self.worker.timer.until(moment));
        poll_fn(|context| {
            if until.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ok(()));
            }
            // Bytes that arrive meanwhile belong to the next request.
            while input.has_room() && !*has_peer_ended {
                match input.poll_fill(context, stream) {
                    Poll::Ready(Ok(true)) => {}
                    Poll::Ready(Ok(false)) if stream.wire().is_some() => {
                        *has_peer_ended = true;
                        *in_flight = None;
                    }
                    Poll::Ready(_) => return Poll::Ready(Err(End::Gone)),
                    Poll::Pending => break,
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Ends the connection, and waits until the peer has received everything. A peer that has closed both directions
    /// resets it instead.
    pub(super) async fn until_received(&mut self) -> Result<(), End> {
        self.stream.shutdown().await.map_err(|_| End::Gone)?;
        let last = Instant::now() + LINGER;
        while let Some(wire) = self.stream.wire()
            && !wire.is_received().map_err(|_| End::Gone)?
            && Instant::now() < last
        {
            self.worker.timer.until(Instant::now() + ASKED_EVERY).await;
        }
        Ok(())
    }

    /// Sends nothing more, and waits until the peer closes.
    pub(super) async fn hold(&mut self) -> End {
        loop {
            self.input.clear();
            if !matches!(self.input.fill(self.stream).await, Ok(true)) {
                return End::Gone;
            }
        }
    }
}
