//! The hot loop: one request after the other on one connection, or on one stream of it.

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Instant;

use super::check::Checker;
use super::kept::Kept;
use super::outcome::{Outcome, Progress, Taking};
use super::prepared::{Message, Prepared};
use super::schedule::Claim;
use super::shared::SharedConnections;
use super::slot::{Slot, Stage};
use super::worker::{Moment, Worker};
use crate::transport::{Exchanged, Failure};

/// Times that one request is sent on connections that the server was just about to close.
const MOST_ATTEMPTS: u32 = 3;
/// The first rest after failures in a row, and the longest: each is twice the one before.
const FIRST_REST_NS: u64 = 10_000_000;
const LONGEST_REST_NS: u64 = 1_000_000_000;

/// Sends requests one at a time.
pub(super) struct Lane {
    worker: Rc<Worker>,
    /// Its place in the worker's table.
    number: usize,
    /// Its connections of HTTP/1.1.
    kept: Kept,
    /// The connections of HTTP/2 that it shares with others.
    shared: Rc<SharedConnections>,
    checker: Option<Checker>,
    failures_in_a_row: u32,
}

impl Lane {
    pub(super) fn new(worker: Rc<Worker>, number: usize, shared: Rc<SharedConnections>) -> Self {
        let checker = worker.plan.requests.are_checked().then(Checker::new);
        Self {
            worker,
            number,
            kept: Kept::default(),
            shared,
            checker,
            failures_in_a_row: 0,
        }
    }

    /// Sends requests until there are none. Whatever the pace, the termination, the version of HTTP: this is the loop.
    pub(super) async fn run(mut self) {
        let worker = self.worker.clone();
        let slot = &worker.slots[self.number];
        slot.adopt().await;
        let is_needed = worker.needs(self.number);
        if is_needed && worker.opens_ahead() {
            self.open_ahead(slot).await;
        }
        let mut free = worker.until_begun().await;
        if !is_needed {
            return;
        }
        if let Some(begins_ns) = worker.begins_ns(self.number) {
            free = worker.until(self.number, begins_ns).await;
        }
        while let Some(claim) = worker.claim(free) {
            let intended = worker.until_due(self.number, &claim, free).await;
            let outcome = self.carry(slot, &claim, intended, free).await;
            let Some(ended) = worker.settle(slot, &outcome, self.checker.as_mut()) else {
                return;
            };
            free = ended;
            if outcome.result.is_err() {
                free = self.rest(slot, ended).await;
                continue;
            }
            self.failures_in_a_row = 0;
            if worker.batches {
                // All answers that have come are taken before the next requests go out, one after the other: the server is woken
                // once for all of them, not for each, and no answer waits behind the sends of others.
                after_others().await;
                free = worker.moment(Instant::now());
            }
        }
        slot.stage.set(Stage::Free);
    }

    /// Opens the connection that the first requests go over. If that cannot be, they say why.
    async fn open_ahead(&mut self, slot: &Slot) {
        let worker = self.worker.clone();
        let prepared = worker.plan.requests.at(0);
        let deadline_ns = worker.now_ns().saturating_add(worker.timeout_ns);
        let work = pin!(async {
            match prepared.message {
                Message::Http1(_) => {
                    let opened = self.kept.open(&worker, slot, prepared.server);
                    opened.await.map(drop)
                }
                Message::Http2(_) => {
                    let shared = self.shared.clone();
                    shared.open(&worker, slot, prepared.server).await.map(drop)
                }
            }
        });
        // What fails here is counted as a connection that could not be had.
        let _ = slot.within(deadline_ns, work).await;
        slot.stage.set(Stage::Free);
    }

    /// One request to its end, within its deadline.
    #[inline]
    async fn carry(
        &mut self,
        slot: &Slot,
        claim: &Claim,
        intended: Moment,
        free: Moment,
    ) -> Outcome {
        let worker = self.worker.clone();
        let place = worker.plan.requests.place(claim.index);
        let prepared = worker.plan.requests.at(place);
        // In the closed loop a kept connection sends the moment it is free: the clock has been read for that.
        let ready = (!worker.is_open_loop).then_some(intended.at);
        let mut progress = Progress::default();
        let result = {
            // Pinned where it is made: it is not moved into what watches over it.
            let work = pin!(self.attempts(slot, prepared, ready, &mut progress));
            slot.within(worker.deadline_ns(intended), work).await
        };
        if result.is_err() {
            self.kept.discard(prepared.server);
        }
        Outcome {
            lane: self.number,
            place,
            intended,
            free,
            progress,
            result,
        }
    }

    /// Sends a request, and again on a new connection where the server had closed the old one before it could see it.
    #[inline]
    async fn attempts(
        &mut self,
        slot: &Slot,
        prepared: &Prepared,
        ready: Option<Instant>,
        progress: &mut Progress,
    ) -> Result<Exchanged, Failure> {
        for _ in 1..MOST_ATTEMPTS {
            let result = self.attempt(slot, prepared, ready, progress).await;
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
            self.kept.discard(prepared.server);
            self.worker.tally.borrow_mut().counts.resent += 1;
        }
        self.attempt(slot, prepared, None, progress).await
    }

    #[inline]
    async fn attempt(
        &mut self,
        slot: &Slot,
        prepared: &Prepared,
        ready: Option<Instant>,
        progress: &mut Progress,
    ) -> Result<Exchanged, Failure> {
        if let Some(checker) = &mut self.checker {
            checker.restart(&prepared.checks);
        }
        match &prepared.message {
            Message::Http1(request) => {
                let server = prepared.server;
                let kept = self.kept.find(server, self.worker.pauses).await;
                progress.was_open = kept.is_some();
                let place = if let Some(place) = kept {
                    place
                } else {
                    // On the heap, since it happens once a connection: the hot part of the task stays small.
                    let place = Box::pin(self.kept.open(&self.worker, slot, server)).await?;
                    progress.opened_now();
                    place
                };
                progress.reused = self.kept.at(place).carries_again();
                let sent = self.begin(slot, ready, progress);
                let mut taking = Taking {
                    slot,
                    checker: self.checker.as_mut(),
                    answer: &mut progress.answer,
                };
                let connection = &mut self.kept.at(place).http1;
                let exchanged = connection.exchange_from(sent, request, &mut taking).await;
                let exchanged = exchanged.inspect_err(|_| {
                    let connection = &self.kept.at(place).http1;
                    let crossed = connection.reach().may_have_crossed(sent.elapsed());
                    progress.crossed = crossed && connection.is_unanswered();
                })?;
                if !exchanged.reusable || prepared.closes {
                    self.kept.close(place);
                }
                Ok(exchanged)
            }
            Message::Http2(request) => {
                let shared = self.shared.clone();
                let server = prepared.server;
                let kept = shared.find(server);
                progress.was_open = kept.is_some();
                let connection = if let Some(kept) = kept {
                    kept
                } else {
                    let opened = Box::pin(shared.open(&self.worker, slot, server)).await?;
                    progress.opened_now();
                    opened
                };
                progress.reused = connection.carries_again();
                // Who had to wait for the connection, or sends once more, does not go out when it was free to.
                let at_once = progress.was_open && progress.sent.is_none();
                let sent = self.begin(slot, ready.filter(|_| at_once), progress);
                let mut taking = Taking {
                    slot,
                    checker: self.checker.as_mut(),
                    answer: &mut progress.answer,
                };
                let exchanged = connection.exchange_from(sent, request, &mut taking).await;
                if let Err(failure) = exchanged {
                    progress.crossed = connection.reach().may_have_crossed(sent.elapsed());
                    if failure != Failure::StreamReset {
                        shared.discard(&connection);
                    }
                }
                exchanged
            }
        }
    }

    /// The request goes out: when, and on what kind of connection.
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

    /// After the second failure in a row: a server that refuses everything is not to be asked as fast as it can refuse. In an
    /// open loop the schedule says how fast it is asked, and a rest would be a delay of the generator's own.
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

/// Goes on when everybody who is ready now has had their turn. Without a look at the sockets in between, as the runtime's own
/// way to yield has it: that is a call of the system for each batch.
async fn after_others() {
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
