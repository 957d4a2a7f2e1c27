//! State that the request loops of one thread share: requests to claim, a clock, and the record of their outcomes.

use std::cell::{Cell, RefCell};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use dyno_client::{Failure, Stream};
use tokio::sync::Notify;

use crate::connector::Connector;
use crate::plan::Plan;
use crate::samples::{Sample, Samples};
use crate::schedule::{Claim, Schedule};
use crate::slot::{Slot, Stage};
use crate::tally::Tally;
use crate::wake_queue::WakeQueue;

/// State that the threads of a run share.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) plan: Arc<Plan>,
    pub(crate) schedule: Schedule,
    /// The run shall end now.
    pub(crate) stop: Arc<AtomicBool>,
    /// All threads are ready, and the thread that started them.
    pub(crate) ready: Barrier,
    /// Interval at which each thread hands over its measurements.
    pub(crate) stretch: Duration,
}

/// A moment of a run, as the clock has it and in nanoseconds since the start: the difference is worked out once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) at: Instant,
    pub(crate) ns: u64,
}

/// State that the request loops of a thread share.
pub(crate) struct Worker {
    pub(crate) plan: Arc<Plan>,
    connector: Connector,
    pub(crate) slots: Vec<Slot>,
    pub(crate) tally: RefCell<Tally>,
    pub(crate) is_open_loop: bool,
    /// Whether connections lie idle between requests.
    pub(crate) pauses: bool,
    /// Whether requests go out in batches: over connections of their own, as answers come.
    pub(crate) batches: bool,
    pub(crate) common: Arc<Common>,
    pub(crate) queue: WakeQueue,
    pub(crate) samples: RefCell<Option<Samples>>,
    /// Of the run; before it begins, of the thread.
    start: Cell<Instant>,
    has_begun: Cell<bool>,
    /// Lanes that have not done yet what they do before the run.
    preparing: Cell<usize>,
    pub(crate) prepared: Notify,
    /// For all request loops that wait for the run to begin.
    beginning: Notify,
    pub(crate) end_ns: Cell<u64>,
    /// Longest time of a request.
    pub(crate) timeout_ns: u64,
    pub(crate) first_connection: usize,
    /// Requests ended: what else a spinning thread has done.
    pub(crate) requests_ended: Cell<u64>,
    pub(crate) running: Cell<usize>,
    /// All request loops have come to their end.
    pub(crate) finished: Notify,
    /// When the last request ended.
    pub(crate) last_end_ns: Cell<u64>,
}

impl Worker {
    pub(crate) fn new(
        common: Arc<Common>,
        connector: Connector,
        connections: usize,
        first_connection: usize,
        samples: Option<SyncSender<Vec<Sample>>>,
    ) -> Self {
        let plan = common.plan.clone();
        let request_loops = connections * plan.streams;
        let is_open_loop = common.schedule.is_open_loop();
        Self {
            connector,
            slots: (0..request_loops).map(|_| Slot::default()).collect(),
            tally: RefCell::default(),
            is_open_loop,
            pauses: is_open_loop || plan.requests.servers().len() > 1,
            batches: !is_open_loop && !plan.protocol.is_multiplexed() && request_loops > 1,
            queue: WakeQueue::default(),
            samples: RefCell::new(samples.map(Samples::new)),
            start: Cell::new(Instant::now()),
            has_begun: Cell::new(false),
            preparing: Cell::new(request_loops),
            prepared: Notify::new(),
            beginning: Notify::new(),
            end_ns: Cell::new(plan.termination.end_ns()),
            timeout_ns: u64::try_from(plan.timeout.as_nanos()).unwrap_or(u64::MAX),
            first_connection,
            requests_ended: Cell::new(0),
            running: Cell::new(request_loops),
            finished: Notify::new(),
            last_end_ns: Cell::new(0),
            common,
            plan,
        }
    }

    /// Connects for a request loop, and counts the outcome.
    pub(crate) async fn connect(&self, slot: &Slot, server: usize) -> Result<Stream, Failure> {
        self.connector.open(&self.tally, slot, server).await
    }

    /// Whether a request loop has anything to do: with fewer requests than connections, one each is all that is needed.
    pub(crate) fn needs(&self, request_loop: usize) -> bool {
        let connection = self.first_connection + request_loop / self.plan.streams;
        self.plan.termination.admits(connection as u64)
    }

    /// Whether connections are opened before the run begins: if they are kept. With several servers it is not known to which.
    pub(crate) fn opens_ahead(&self) -> bool {
        self.plan.keepalive && self.plan.requests.servers().len() == 1
    }

    /// Whether connections begin one after the other. In an open loop the schedule says when they send.
    pub(crate) fn ramps(&self) -> bool {
        !self.is_open_loop && !self.plan.ramp.is_zero()
    }

    /// When a request loop is to begin, if that is not at once: connections are evenly spread over the ramp, on whatever threads they are.
    pub(crate) fn start_ns(&self, request_loop: usize) -> Option<u64> {
        let connection = self.first_connection + request_loop / self.plan.streams;
        let share_ns =
            self.plan.ramp.as_nanos() * connection as u128 / self.plan.connections as u128;
        let start_ns = u64::try_from(share_ns).unwrap_or(u64::MAX);
        (self.ramps() && start_ns > 0).then_some(start_ns)
    }

    /// Waits for a moment of the run, before which a request loop has nothing to do.
    pub(crate) async fn wait_until(&self, request_loop: usize, moment_ns: u64) -> Moment {
        let slot = &self.slots[request_loop];
        slot.stage.set(Stage::Waiting);
        self.queue.push(moment_ns, request_loop);
        slot.wait_for_wake().await;
        slot.stage.set(Stage::Free);
        self.moment(Instant::now())
    }

    /// Waits, as a request loop that is prepared, for the run to begin; when that was.
    pub(crate) async fn wait_for_start(&self) -> Moment {
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
    pub(crate) fn begin(&self, start: Instant) {
        self.start.set(start);
        self.has_begun.set(true);
        self.beginning.notify_waiters();
    }

    /// Ends the run before its time.
    pub(crate) fn end_now(&self) {
        self.end_ns.set(self.end_ns.get().min(self.now_ns()));
    }

    pub(crate) fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.end_ns.get()
    }

    /// Looks for what is late.
    pub(crate) fn sweep(&self, now_ns: u64) {
        for slot in &self.slots {
            slot.sweep(now_ns);
        }
    }

    /// Nanoseconds since the start of the run.
    #[inline]
    pub(crate) fn ns(&self, moment: Instant) -> u64 {
        let since = moment.saturating_duration_since(self.start.get());
        since.as_secs() * 1_000_000_000 + u64::from(since.subsec_nanos())
    }

    /// As a moment of the run.
    #[inline]
    pub(crate) fn moment(&self, at: Instant) -> Moment {
        Moment {
            at,
            ns: self.ns(at),
        }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.ns(Instant::now())
    }

    /// When a request that is begun now, or was meant for a moment that has passed, must have come to an end.
    #[inline]
    pub(crate) fn deadline_ns(&self, intended: Moment) -> u64 {
        let begun_ns = if self.is_open_loop {
            self.now_ns()
        } else {
            intended.ns
        };
        begun_ns.saturating_add(self.timeout_ns)
    }

    /// The next request for a request loop that is free since then.
    #[inline]
    pub(crate) fn claim(&self, free: Moment) -> Option<Claim> {
        if free.ns >= self.end_ns.get() {
            return None;
        }
        self.common.schedule.claim()
    }

    /// Waits until a claimed request is due; when it was meant to be sent.
    #[inline]
    pub(crate) async fn wait_until_due(
        &self,
        request_loop: usize,
        claim: &Claim,
        free: Moment,
    ) -> Moment {
        let slot = &self.slots[request_loop];
        let Some(intended_ns) = claim.intended_ns else {
            slot.intended_ns.set(free.ns);
            return free;
        };
        slot.intended_ns.set(intended_ns);
        slot.stage.set(Stage::Waiting);
        if self.now_ns() < intended_ns {
            self.queue.push(intended_ns, request_loop);
            slot.wait_for_wake().await;
        }
        Moment {
            at: self.start.get() + Duration::from_nanos(intended_ns),
            ns: intended_ns,
        }
    }

    pub(crate) fn stretch_ns(&self, number: u64) -> u64 {
        let stretch_ns = u64::try_from(self.common.stretch.as_nanos()).unwrap_or(u64::MAX);
        stretch_ns.saturating_mul(number)
    }
}
