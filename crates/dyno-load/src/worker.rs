//! State that the request loops of one thread share: the schedule, the clock, and the record of outcomes.

use std::cell::{Cell, RefCell};
use std::num::NonZeroU64;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use dyno_client::Failure;
use tokio::sync::Notify;

use crate::address_tally::AddressTallies;
use crate::connector::{Connector, Opened};
use crate::observers::Observers;
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
    /// Whether the run must end now.
    pub(crate) stop: Arc<AtomicBool>,
    /// Barrier at which all threads and their starter wait until each is ready.
    pub(crate) ready: Barrier,
    /// Interval at which each thread hands over its measurements.
    pub(crate) stretch: Duration,
    /// The run has measured what it was to measure, and shall end now.
    pub(crate) reached: AtomicBool,
    /// Whether this is a warm-up, whose requests count in nothing.
    pub(crate) is_warm_up: bool,
    /// Of the warm-up before this run.
    pub(crate) warm_up: Option<Arc<Self>>,
}

/// A moment of a run, as the clock's reading and in nanoseconds since the start, so that the difference is computed
/// once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) at: Instant,
    pub(crate) ns: u64,
}

/// State that the request loops of a thread share.
pub(crate) struct Worker {
    pub(crate) plan: Arc<Plan>,
    pub(crate) connector: Rc<Connector>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) tally: RefCell<Tally>,
    pub(crate) is_open_loop: bool,
    /// Whether connections lie idle between requests.
    pub(crate) pauses: bool,
    /// Whether a kept connection is looked at before its next request: it lay idle, or its address may have left the
    /// server's name.
    pub(crate) inspects: Cell<bool>,
    /// Whether requests are sent in batches: each on its own connection, as answers arrive.
    pub(crate) batches: bool,
    pub(crate) common: Arc<Common>,
    /// State of the warm-up: a run of its own before this one, by the same request loops over the same connections.
    pub(crate) warm_up: Option<Rc<Self>>,
    pub(crate) queue: WakeQueue,
    /// What the plan has look at each request; `None` if nothing does.
    pub(crate) observers: Option<RefCell<Observers>>,
    pub(crate) addresses: RefCell<AddressTallies>,
    /// Whether each request is looked at: by observers, or because connections go to several addresses.
    pub(crate) observes: Cell<bool>,
    /// Start of the run; before it begins, start of the thread.
    start: Cell<Instant>,
    has_begun: Cell<bool>,
    /// Request loops that have not finished their preparation.
    preparing: Cell<usize>,
    pub(crate) prepared: Notify,
    /// Wakes all request loops that wait for the run to begin.
    beginning: Notify,
    pub(crate) end_ns: Cell<u64>,
    /// Timeout of a request.
    pub(crate) timeout_ns: u64,
    /// Requests after which a connection is replaced.
    pub(crate) reconnect_after: u64,
    pub(crate) first_connection: usize,
    /// Requests that have ended, which shows whether a spinning thread did other work.
    pub(crate) requests_ended: Cell<u64>,
    pub(crate) running: Cell<usize>,
    /// Signals that all request loops have ended.
    pub(crate) finished: Notify,
    /// When the last request ended.
    pub(crate) last_end_ns: Cell<u64>,
}

impl Worker {
    pub(crate) fn new(
        common: Arc<Common>,
        connector: Rc<Connector>,
        connections: usize,
        first_connection: usize,
        samples: Option<SyncSender<Vec<Sample>>>,
    ) -> Self {
        let plan = common.plan.clone();
        let warm_up = common.warm_up.clone().map(|common| {
            let connector = connector.clone();
            Rc::new(Self::new(
                common,
                connector,
                connections,
                first_connection,
                None,
            ))
        });
        let observers = if common.is_warm_up {
            None
        } else {
            Observers::new(&plan, samples.map(Samples::new))
        };
        let request_loops = connections * plan.streams;
        let is_open_loop = common.schedule.is_open_loop();
        let pauses = is_open_loop || plan.requests.servers().len() > 1;
        Self {
            connector,
            warm_up,
            slots: (0..request_loops).map(|_| Slot::default()).collect(),
            tally: RefCell::default(),
            is_open_loop,
            pauses,
            inspects: Cell::new(pauses),
            batches: !is_open_loop && !plan.protocol.is_multiplexed() && request_loops > 1,
            queue: WakeQueue::default(),
            observes: Cell::new(observers.is_some()),
            observers: observers.map(RefCell::new),
            addresses: RefCell::default(),
            start: Cell::new(Instant::now()),
            has_begun: Cell::new(false),
            preparing: Cell::new(request_loops),
            prepared: Notify::new(),
            beginning: Notify::new(),
            end_ns: Cell::new(plan.termination.end_ns()),
            timeout_ns: u64::try_from(plan.timeout.as_nanos()).unwrap_or(u64::MAX),
            reconnect_after: plan.reconnect_after.map_or(u64::MAX, NonZeroU64::get),
            first_connection,
            requests_ended: Cell::new(0),
            running: Cell::new(request_loops),
            finished: Notify::new(),
            last_end_ns: Cell::new(0),
            common,
            plan,
        }
    }

    /// Connects for a request loop and counts the outcome.
    pub(crate) async fn connect(&self, slot: &Slot, server: usize) -> Result<Opened, Failure> {
        let opening = self
            .connector
            .open(&self.tally, &self.addresses, slot, server);
        let opened = opening.await?;
        if !opened.is_main {
            self.observes.set(true);
        }
        Ok(opened)
    }

    /// Looks at each request from now on if connections, also those of the warm-up, go to several addresses, and at
    /// each kept connection if addresses may have left.
    pub(crate) fn look_closer(&self) {
        if self.connector.has_several() {
            self.observes.set(true);
        }
        if self.plan.dns_refresh.is_some() && self.connector.has_adopted() {
            self.inspects.set(true);
        }
    }

    /// Whether connections to this address end, because it has left the server's name.
    #[cold]
    pub(crate) fn has_left(&self, server: usize, address: usize) -> bool {
        self.plan.dns_refresh.is_some() && !self.connector.holds(server, address)
    }

    /// Whether a request loop is needed: if there are fewer requests than loops, each sends one.
    pub(crate) fn needs(&self, request_loop: usize) -> bool {
        let connection = self.first_connection + request_loop / self.plan.streams;
        self.plan.termination.admits(connection as u64)
    }

    /// Whether connections are opened before the run: if they are kept and all go to one server.
    pub(crate) fn opens_ahead(&self) -> bool {
        self.plan.keepalive && self.plan.requests.servers().len() == 1
    }

    /// Waits until a request loop may open its connection, where connections are opened at a rate.
    pub(crate) async fn wait_to_open(&self, request_loop: usize) {
        // Each thread opens its connections over the whole time.
        let share_ns =
            self.plan.opening_time().as_nanos() * request_loop as u128 / self.slots.len() as u128;
        if share_ns > 0 {
            let moment_ns = u64::try_from(share_ns).unwrap_or(u64::MAX);
            self.slots[request_loop].rest_until(moment_ns).await;
        }
    }

    /// Whether no connection could be opened, so that it is of no use to wait for more.
    pub(crate) fn reaches_no_server(&self) -> bool {
        let counts = self.tally.borrow().counts;
        counts.opened == 0 && counts.failed > 0
    }

    /// Whether connections start one after another. In an open loop the schedule decides when they send.
    pub(crate) fn ramps(&self) -> bool {
        !self.is_open_loop && !self.plan.ramp.is_zero()
    }

    /// Start time of a request loop, unless it starts at once: all connections, of any thread, start evenly over
    /// the ramp.
    pub(crate) fn start_ns(&self, request_loop: usize) -> Option<u64> {
        let connection = self.first_connection + request_loop / self.plan.streams;
        let share_ns =
            self.plan.ramp.as_nanos() * connection as u128 / self.plan.connections as u128;
        let start_ns = u64::try_from(share_ns).unwrap_or(u64::MAX);
        (self.ramps() && start_ns > 0).then_some(start_ns)
    }

    /// Waits until the request loop may start.
    pub(crate) async fn wait_until(&self, request_loop: usize, moment_ns: u64) -> Moment {
        let slot = &self.slots[request_loop];
        slot.stage.set(Stage::Waiting);
        self.queue.push(moment_ns, request_loop);
        slot.wait_for_wake().await;
        slot.stage.set(Stage::Free);
        self.moment(Instant::now())
    }

    /// Waits, in a warm-up on a schedule, for its end: its last request may end long before.
    pub(crate) async fn wait_for_end_of_warm_up(&self, request_loop: usize) {
        if self.is_warm_up() && self.is_open_loop && self.now_ns() < self.end_ns.get() {
            self.wait_until(request_loop, self.end_ns.get()).await;
        }
    }

    /// Whether its requests count in nothing.
    fn is_warm_up(&self) -> bool {
        self.common.is_warm_up
    }

    /// Reports that a request loop is prepared, and waits for the run to begin.
    pub(crate) async fn wait_for_start(&self) {
        self.preparing.set(self.preparing.get() - 1);
        if self.preparing.get() == 0 {
            self.prepared.notify_one();
        }
        if !self.has_begun.get() {
            self.beginning.notified().await;
        }
    }

    /// Begins the run, with its warm-up where it has one.
    pub(crate) fn begin(&self, start: Instant) {
        if let Some(warm_up) = &self.warm_up {
            warm_up.begin(start);
            // A connection that could not be opened ahead is one of the warm-up.
            self.tally.borrow_mut().counts.failed = 0;
            self.addresses.borrow_mut().forget_failed();
        }
        let warm_up = self
            .warm_up
            .as_ref()
            .map_or(Duration::ZERO, |_| self.plan.warm_up);
        self.start.set(start + warm_up);
        self.has_begun.set(true);
        self.beginning.notify_waiters();
    }

    /// Ends the run early.
    pub(crate) fn end_now(&self) {
        self.end_ns.set(self.end_ns.get().min(self.now_ns()));
    }

    pub(crate) fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.end_ns.get()
    }

    /// Ends waits and requests whose deadline has passed, and adopts new addresses.
    pub(crate) fn sweep(&self, now_ns: u64) {
        self.connector.sweep();
        self.look_closer();
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

    /// The moment of the run at this reading of the clock.
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

    /// Deadline of a request that begins at `intended`.
    #[inline]
    pub(crate) fn deadline_ns(&self, intended: Moment) -> u64 {
        let begun_ns = if self.is_open_loop {
            self.now_ns()
        } else {
            intended.ns
        };
        begun_ns.saturating_add(self.timeout_ns)
    }

    /// Claims the next request for a request loop that has been free since `free`.
    #[inline]
    pub(crate) fn claim(&self, free: Moment) -> Option<Claim> {
        if free.ns >= self.end_ns.get() {
            return None;
        }
        self.common.schedule.claim()
    }

    /// Waits until a claimed request is due; returns when it was due.
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
