//! The hot loop: one request after another on one connection, or on one of its streams.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Instant;

use dyno_client::{Exchanged, Failure};

use crate::checker::Checker;
use crate::filler::Filler;
use crate::http1_pool::Http1Pool;
use crate::http2_pool::Http2Pool;
use crate::outcome::{AnswerReceiver, Outcome, Progress};
use crate::prepared::{Message, Prepared};
use crate::schedule::Claim;
use crate::slot::{Slot, Stage};
use crate::worker::{Moment, Worker};

/// Attempts for one request when servers close its connections just as it is sent.
const MAX_ATTEMPTS: u32 = 3;
/// The first and the longest rest after consecutive failures; each is twice the one before.
const FIRST_REST_NS: u64 = 10_000_000;
const LONGEST_REST_NS: u64 = 1_000_000_000;

/// Sends requests one at a time.
pub(crate) struct RequestLoop {
    worker: Rc<Worker>,
    /// Its index in the worker's table.
    number: usize,
    /// Its connections of HTTP/1.1.
    http1_pool: Http1Pool,
    /// HTTP/2 connections that it shares with other loops.
    http2_pool: Rc<Http2Pool>,
    checker: Option<Checker>,
    failures_in_a_row: u32,
}

impl RequestLoop {
    pub(crate) fn new(worker: Rc<Worker>, number: usize, http2_pool: Rc<Http2Pool>) -> Self {
        let checker = worker.plan.requests.are_checked().then(Checker::new);
        Self {
            worker,
            number,
            http1_pool: Http1Pool::default(),
            http2_pool,
            checker,
            failures_in_a_row: 0,
        }
    }

    /// Sends requests until there are none left. This one loop serves every schedule, termination and version of
    /// HTTP.
    pub(crate) async fn run(mut self) {
        let measured = self.worker.clone();
        let slot = &measured.slots[self.number];
        slot.adopt().await;
        let is_needed = measured.needs(self.number);
        if is_needed && measured.opens_ahead() {
            measured.wait_to_open(self.number).await;
            self.open_ahead(slot).await;
        }
        measured.wait_for_start().await;
        if !is_needed {
            return;
        }
        if let Some(warm_up) = &measured.warm_up {
            warm_up.slots[self.number].adopt().await;
        }
        let warm_up = measured.warm_up.clone();
        for worker in warm_up.into_iter().chain([measured.clone()]) {
            self.worker = worker.clone();
            self.send_all(&worker).await;
            worker.wait_for_end_of_warm_up(self.number).await;
        }
    }

    /// Sends the requests of a run, or of its warm-up.
    #[inline]
    async fn send_all(&mut self, worker: &Worker) {
        let slot = &worker.slots[self.number];
        let mut free = worker.moment(Instant::now());
        if let Some(start_ns) = worker.start_ns(self.number) {
            free = worker.wait_until(self.number, start_ns).await;
        }
        worker.look_closer();
        let has_placeholders = worker.plan.requests.have_placeholders();
        let mut filler = has_placeholders.then(Box::<Filler>::default);
        while let Some(claim) = worker.claim(free) {
            let intended = worker.wait_until_due(self.number, &claim, free).await;
            let filler = filler.as_deref_mut();
            let sent = self.send_with_deadline(slot, &claim, intended, free, filler);
            let outcome = sent.await;
            let Some(ended) = worker.record_outcome(slot, &outcome, self.checker.as_mut()) else {
                return;
            };
            free = ended;
            if outcome.result.is_err() {
                free = self.rest(slot, ended).await;
                continue;
            }
            self.failures_in_a_row = 0;
            if worker.batches {
                // Lets the tasks of all answers that have arrived run before any of them sends its next request. Then
                // the sends follow one another: the server wakes once for all of them, and no answer waits behind the
                // sends of others.
                yield_without_io_poll().await;
                free = worker.moment(Instant::now());
            } else if !worker.is_open_loop
                && self.checker.as_ref().is_some_and(Checker::reads_content)
            {
                // The time of checking the answer is not that of the next request.
                free = worker.moment(Instant::now());
            }
        }
        slot.stage.set(Stage::Free);
    }

    /// Opens the connection for the first requests. If that fails, those requests report the failure.
    async fn open_ahead(&mut self, slot: &Slot) {
        let worker = self.worker.clone();
        let prepared = worker.plan.requests.at(0);
        let deadline_ns = worker.now_ns().saturating_add(worker.timeout_ns);
        let work = pin!(async {
            match prepared.message {
                Message::Http1(_) => {
                    let opened = self.http1_pool.open(&worker, slot, prepared.server);
                    opened.await.map(drop)
                }
                Message::Http2(_) => {
                    let http2_pool = self.http2_pool.clone();
                    http2_pool
                        .open(&worker, slot, prepared.server)
                        .await
                        .map(drop)
                }
            }
        });
        // A failure is already counted as a connection that could not be opened.
        let _ = slot.with_deadline(deadline_ns, work).await;
        slot.stage.set(Stage::Free);
    }

    /// Sends one request and receives its answer, within its deadline.
    #[inline]
    async fn send_with_deadline(
        &mut self,
        slot: &Slot,
        claim: &Claim,
        intended: Moment,
        free: Moment,
        filler: Option<&mut Filler>,
    ) -> Outcome {
        let worker = self.worker.clone();
        let place = worker.plan.requests.place(claim.index);
        let prepared = worker.plan.requests.at(place);
        let message = match filler {
            None => &prepared.message,
            Some(filler) => worker.plan.requests.fill(filler, place, claim.index),
        };
        // In the closed loop, a kept connection sends as soon as it is free: that moment has been read from the
        // clock already.
        let ready = (!worker.is_open_loop).then_some(intended.at);
        let mut progress = Progress::default();
        let result = {
            // Pinned in place, so that the large future is not moved into the function that supervises it.
            let work = pin!(self.attempts(slot, prepared, message, ready, &mut progress));
            slot.with_deadline(worker.deadline_ns(intended), work).await
        };
        if result.is_err() {
            self.http1_pool.discard(prepared.server);
        }
        Outcome {
            request_loop: self.number,
            place,
            intended,
            free,
            progress,
            result,
        }
    }

    /// Sends a request; sends it again on a new connection if the server closed the old one before it could see the
    /// request.
    #[inline]
    async fn attempts(
        &mut self,
        slot: &Slot,
        prepared: &Prepared,
        message: &Message,
        ready: Option<Instant>,
        progress: &mut Progress,
    ) -> Result<Exchanged, Failure> {
        for _ in 1..MAX_ATTEMPTS {
            let result = self.attempt(slot, prepared, message, ready, progress).await;
            let unseen = slot.stage.get() == Stage::Head
                && match result {
                    Err(Failure::GoAway) => true,
                    Err(Failure::ClosedBeforeAnswer | Failure::ConnectionReset) => {
                        progress.was_open && prepared.is_idempotent && progress.crossed
                    }
                    _ => false,
                };
            if !unseen {
                return result;
            }
            self.http1_pool.discard(prepared.server);
            self.worker.tally.borrow_mut().counts.resent += 1;
        }
        self.attempt(slot, prepared, message, None, progress).await
    }

    #[inline]
    async fn attempt(
        &mut self,
        slot: &Slot,
        prepared: &Prepared,
        message: &Message,
        ready: Option<Instant>,
        progress: &mut Progress,
    ) -> Result<Exchanged, Failure> {
        if let Some(checker) = &mut self.checker {
            checker.restart(&prepared.checks, message.is_head());
        }
        match message {
            Message::Http1(request) => {
                let server = prepared.server;
                let kept = self.http1_pool.find(&self.worker, server).await;
                progress.was_open = kept.is_some();
                let place = if let Some(place) = kept {
                    place
                } else {
                    // On the heap, because it happens once per connection: the hot part of the task stays small.
                    let place = Box::pin(self.http1_pool.open(&self.worker, slot, server)).await?;
                    progress.opened_now();
                    place
                };
                let connection = self.http1_pool.at(place);
                progress.reused = connection.carries_again();
                progress.address = connection.address;
                let sent = self.begin(slot, ready, progress);
                let mut receiver = AnswerReceiver {
                    slot,
                    checker: self.checker.as_mut(),
                    answer: &mut progress.answer,
                };
                let connection = &mut self.http1_pool.at(place).http1;
                let exchanged = connection.exchange_from(sent, request, &mut receiver).await;
                let exchanged = exchanged.inspect_err(|_| {
                    let connection = &self.http1_pool.at(place).http1;
                    let crossed = connection.reach().may_have_crossed(sent.elapsed());
                    progress.crossed = crossed && connection.is_unanswered();
                })?;
                if !exchanged.reusable || prepared.closes {
                    self.http1_pool.close(place);
                }
                Ok(exchanged)
            }
            Message::Http2(request) => {
                let http2_pool = self.http2_pool.clone();
                let server = prepared.server;
                let kept = http2_pool.find(&self.worker, server);
                progress.was_open = kept.is_some();
                let connection = if let Some(kept) = kept {
                    kept
                } else {
                    let opened = Box::pin(http2_pool.open(&self.worker, slot, server)).await?;
                    progress.opened_now();
                    opened
                };
                progress.reused = connection.carries_again();
                progress.address = connection.address;
                // A request that waited for its connection, or is sent again, leaves later than its loop became
                // free.
                let at_once = progress.was_open && progress.sent.is_none();
                let sent = self.begin(slot, ready.filter(|_| at_once), progress);
                let mut receiver = AnswerReceiver {
                    slot,
                    checker: self.checker.as_mut(),
                    answer: &mut progress.answer,
                };
                let exchanged = connection.exchange_from(sent, request, &mut receiver).await;
                if let Err(failure) = exchanged {
                    progress.crossed = connection.reach().may_have_crossed(sent.elapsed());
                    if !matches!(
                        failure,
                        Failure::StreamReset | Failure::StreamRefused | Failure::BodyFileChanged
                    ) {
                        http2_pool.discard(&connection);
                    }
                }
                exchanged
            }
        }
    }

    /// Notes when the request is sent, and on what kind of connection.
    #[inline]
    fn begin(&self, slot: &Slot, ready: Option<Instant>, progress: &mut Progress) -> Instant {
        let sent = match ready {
            Some(ready) if progress.reused => ready,
            _ => Instant::now(),
        };
        slot.stage.set(Stage::Head);
        if progress.sent.is_none() {
            let mut tally = self.worker.tally.borrow_mut();
            tally.counts.sent += 1;
            tally.counts.reused += u64::from(progress.reused);
        }
        progress.sent.get_or_insert(sent);
        sent
    }

    /// Pauses after the second consecutive failure, so that a server that refuses everything is not flooded. An open
    /// loop does not pause: the schedule sets its rate, and a pause would delay requests on the generator's account.
    #[cold]
    async fn rest(&mut self, slot: &Slot, ended: Moment) -> Moment {
        if self.worker.is_open_loop {
            return ended;
        }
        self.failures_in_a_row += 1;
        let Some(doublings) = self.failures_in_a_row.checked_sub(2) else {
            return ended;
        };
        let rest_ns = (FIRST_REST_NS << doublings.min(16)).min(LONGEST_REST_NS);
        slot.rest_until(self.worker.now_ns() + rest_ns).await;
        self.worker.moment(Instant::now())
    }
}

/// Runs all tasks that are ready now. Unlike the runtime's own yield, it does not poll the sockets in between, which
/// would cost one system call per batch.
async fn yield_without_io_poll() {
    let mut had_their_turn = false;
    poll_fn(|context| {
        if std::mem::replace(&mut had_their_turn, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
