//! What the lanes of one thread share: requests to claim, a clock, and where it is recorded what came of them.

use std::cell::{Cell, RefCell};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::connector::Connector;
use super::pace::Queue;
use super::plan::Plan;
use super::samples::{Sample, Samples};
use super::schedule::{Claim, Schedule};
use super::slot::{Slot, Stage};
use super::tally::Tally;
use crate::transport::{Failure, Stream};

/// What the threads of a run share.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) plan: Arc<Plan>,
    pub(super) schedule: Schedule,
    /// The run shall end now.
    pub(super) stop: Arc<AtomicBool>,
    /// All threads are ready, and the one who started them too.
    pub(super) ready: Barrier,
    /// How long a stretch is after which each thread tells what it measured.
    pub(super) stretch: Duration,
}

/// A moment of a run, as the clock has it and in nanoseconds since the start: the difference is worked out once.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) at: Instant,
    pub(super) ns: u64,
}

/// What the lanes of a thread share.
pub(super) struct Worker {
    pub(super) plan: Arc<Plan>,
    connector: Connector,
    pub(super) slots: Vec<Slot>,
    pub(super) tally: RefCell<Tally>,
    pub(super) is_open_loop: bool,
    /// Whether connections lie idle between requests.
    pub(super) pauses: bool,
    /// Whether requests go out in batches: over connections of their own, as answers come.
    pub(super) batches: bool,
    pub(super) common: Arc<Common>,
    pub(super) queue: Queue,
    pub(super) samples: RefCell<Option<Samples>>,
    /// Of the run; before it begins, of the thread.
    start: Cell<Instant>,
    has_begun: Cell<bool>,
    /// Lanes that have not done yet what they do before the run.
    preparing: Cell<usize>,
    pub(super) prepared: Notify,
    /// For all lanes that wait for the run to begin.
    beginning: Notify,
    pub(super) end_ns: Cell<u64>,
    /// What a request may take.
    pub(super) timeout_ns: u64,
    pub(super) first_connection: usize,
    /// Requests ended: what else a spinning thread has done.
    pub(super) turns: Cell<u64>,
    pub(super) running: Cell<usize>,
    /// All lanes have come to their end.
    pub(super) finished: Notify,
    /// When the last request ended.
    pub(super) last_end_ns: Cell<u64>,
}

impl Worker {
    pub(super) fn new(
        common: Arc<Common>,
        connector: Connector,
        connections: usize,
        first_connection: usize,
        samples: Option<SyncSender<Vec<Sample>>>,
    ) -> Self {
        let plan = common.plan.clone();
        let lanes = connections * plan.streams;
        let is_open_loop = common.schedule.is_open_loop();
        Self {
            connector,
            slots: (0..lanes).map(|_| Slot::default()).collect(),
            tally: RefCell::default(),
            is_open_loop,
            pauses: is_open_loop || plan.requests.servers().len() > 1,
            batches: !is_open_loop && !plan.http2 && lanes > 1,
            queue: Queue::default(),
            samples: RefCell::new(samples.map(Samples::new)),
            start: Cell::new(Instant::now()),
            has_begun: Cell::new(false),
            preparing: Cell::new(lanes),
            prepared: Notify::new(),
            beginning: Notify::new(),
            end_ns: Cell::new(plan.termination.end_ns()),
            timeout_ns: u64::try_from(plan.timeout.as_nanos()).unwrap_or(u64::MAX),
            first_connection,
            turns: Cell::new(0),
            running: Cell::new(lanes),
            finished: Notify::new(),
            last_end_ns: Cell::new(0),
            common,
            plan,
        }
    }

    /// Connects for a lane, and counts what came of it.
    pub(super) async fn connect(&self, slot: &Slot, server: usize) -> Result<Stream, Failure> {
        self.connector.open(&self.tally, slot, server).await
    }

    /// Whether a lane has anything to do: with fewer requests than connections, one each is all that is needed.
    pub(super) fn needs(&self, lane: usize) -> bool {
        let connection = self.first_connection + lane / self.plan.streams;
        self.plan.termination.admits(connection as u64)
    }

    /// Whether connections are opened before the run begins: if they are kept. With several servers nobody knows whose.
    pub(super) fn opens_ahead(&self) -> bool {
        self.plan.keepalive && self.plan.requests.servers().len() == 1
    }

    /// Whether connections begin one after the other. In an open loop the schedule says when they send.
    pub(super) fn ramps(&self) -> bool {
        !self.is_open_loop && !self.plan.ramp.is_zero()
    }

    /// When a lane is to begin, if that is not at once: connections are evenly spread over the ramp, on whatever threads they are.
    pub(super) fn begins_ns(&self, lane: usize) -> Option<u64> {
        let connection = self.first_connection + lane / self.plan.streams;
        let share_ns =
            self.plan.ramp.as_nanos() * connection as u128 / self.plan.connections as u128;
        let begins_ns = u64::try_from(share_ns).unwrap_or(u64::MAX);
        (self.ramps() && begins_ns > 0).then_some(begins_ns)
    }

    /// Waits for a moment of the run, before which a lane has nothing to do.
    pub(super) async fn until(&self, lane: usize, moment_ns: u64) -> Moment {
        let slot = &self.slots[lane];
        slot.stage.set(Stage::Waiting);
        self.queue.push(moment_ns, lane);
        slot.until_woken().await;
        slot.stage.set(Stage::Free);
        self.moment(Instant::now())
    }

    /// Waits, as a lane that is prepared, for the run to begin; when that was.
    pub(super) async fn until_begun(&self) -> Moment {
        self.preparing.set(self.preparing.get() - 1);
        if self.preparing.get() == 0 {
            self.prepared.notify_one();
        }
        if !self.has_begun.get() {
            self.beginning.notified().await;
        }
        self.moment(Instant::now())
    }

    /// Begins the run.
    pub(super) fn begin(&self, start: Instant) {
        self.start.set(start);
        self.has_begun.set(true);
        self.beginning.notify_waiters();
    }

    /// Ends the run before its time.
    pub(super) fn end_now(&self) {
        self.end_ns.set(self.end_ns.get().min(self.now_ns()));
    }

    pub(super) fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.end_ns.get()
    }

    /// Looks for what is late.
    pub(super) fn sweep(&self, now_ns: u64) {
        for slot in &self.slots {
            slot.sweep(now_ns);
        }
    }

    /// Nanoseconds since the start of the run.
    #[inline]
    pub(super) fn ns(&self, moment: Instant) -> u64 {
        let since = moment.saturating_duration_since(self.start.get());
        since.as_secs() * 1_000_000_000 + u64::from(since.subsec_nanos())
    }

    /// As a moment of the run.
    #[inline]
    pub(super) fn moment(&self, at: Instant) -> Moment {
        Moment {
            at,
            ns: self.ns(at),
        }
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.ns(Instant::now())
    }

    /// When a request that is begun now, or was meant for a moment that has passed, must have come to an end.
    #[inline]
    pub(super) fn deadline_ns(&self, intended: Moment) -> u64 {
        let begun_ns = if self.is_open_loop {
            self.now_ns()
        } else {
            intended.ns
        };
        begun_ns.saturating_add(self.timeout_ns)
    }

    /// The next request for a lane that is free since then.
    #[inline]
    pub(super) fn claim(&self, free: Moment) -> Option<Claim> {
        if free.ns >= self.end_ns.get() {
            return None;
        }
        self.common.schedule.claim()
    }

    /// Waits until a claimed request is due; when it was meant to be sent.
    #[inline]
    pub(super) async fn until_due(&self, lane: usize, claim: &Claim, free: Moment) -> Moment {
        let slot = &self.slots[lane];
        let Some(intended_ns) = claim.intended_ns else {
            slot.intended_ns.set(free.ns);
            return free;
        };
        slot.intended_ns.set(intended_ns);
        slot.stage.set(Stage::Waiting);
        if self.now_ns() < intended_ns {
            self.queue.push(intended_ns, lane);
            slot.until_woken().await;
        }
        Moment {
            at: self.start.get() + Duration::from_nanos(intended_ns),
            ns: intended_ns,
        }
    }

    pub(super) fn stretch_ns(&self, number: u64) -> u64 {
        let stretch_ns = u64::try_from(self.common.stretch.as_nanos()).unwrap_or(u64::MAX);
        stretch_ns.saturating_mul(number)
    }
}
