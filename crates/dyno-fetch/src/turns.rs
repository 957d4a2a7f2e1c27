//! Turns of requests: at their registered domain, at their address, and after the pause of a host.
//!
//! A URL that waits for its turn has no slot, its clock stands still, and [`crate::crawl`] lets it go on when it has a
//! free slot.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::sync::{Notify, oneshot};

use crate::host_limits::HostLimits;
use crate::listed::registered_domain;
use crate::options::{Limit, Options};
use crate::stage_clock::StageClock;

/// URLs that wait for their turn, per slot. Each keeps the state of its walk, a few KiB.
const ASIDE_PER_SLOT: usize = 16;

type Waiting = HostLimits<oneshot::Sender<()>>;

/// The turns of all requests.
#[derive(Debug)]
pub(crate) struct Turns {
    /// Hosts with a pause, and the URLs that wait for its end.
    hosts: RefCell<Waiting>,
    /// URLs whose event has come, and that wait for a slot only.
    ready: RefCell<VecDeque<oneshot::Sender<()>>>,
    domains: Option<RefCell<Waiting>>,
    addresses: Option<RefCell<Waiting>>,
    is_used: bool,
    most_aside: usize,
    aside: Cell<usize>,
    changed: Notify,
}

/// A turn at a domain or an address, until it is dropped.
pub(crate) struct Turn<'t> {
    turns: &'t Turns,
    limits: &'t RefCell<Waiting>,
    key: Rc<str>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.limits.borrow_mut().ended(&self.key);
        self.turns.changed.notify_one();
    }
}

impl Turns {
    pub(crate) fn new(options: &Options, slots: usize) -> Self {
        let most_aside = slots.saturating_mul(ASIDE_PER_SLOT);
        let waiting = |limit: Limit| {
            let most_at_once = limit.at_once.unwrap_or(usize::MAX);
            let limits = HostLimits::new(most_at_once, limit.interval, most_aside);
            limit.is_set().then(|| RefCell::new(limits))
        };
        Self {
            hosts: RefCell::new(HostLimits::new(usize::MAX, Duration::ZERO, most_aside)),
            ready: RefCell::default(),
            domains: waiting(options.per_domain),
            addresses: waiting(options.per_address),
            is_used: options.per_domain.is_set()
                || options.per_address.is_set()
                || !options.max_retry_after.is_zero()
                || options.robots,
            most_aside,
            aside: Cell::new(0),
            changed: Notify::new(),
        }
    }

    /// Whether a URL may ever wait here.
    pub(crate) const fn is_used(&self) -> bool {
        self.is_used
    }

    /// Number of URLs that wait.
    pub(crate) fn aside(&self) -> usize {
        self.aside.get()
    }

    /// Whether so many URLs wait that no further one should start.
    pub(crate) fn is_full(&self) -> bool {
        self.aside.get() >= self.most_aside
    }

    /// Waits until a URL begins to wait, or a turn ends.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Lets a URL go on, if it is its turn; it occupies a slot again.
    pub(crate) fn start_next(&self) -> bool {
        if self.aside.get() == 0 {
            return false;
        }
        let ready = self.ready.borrow_mut().pop_front();
        if let Some(waiter) = ready {
            self.aside.set(self.aside.get() - 1);
            // Its URL may have been dropped with the crawl.
            let _ = waiter.send(());
            return true;
        }
        let now = Instant::now();
        let limits = [
            Some(&self.hosts),
            self.domains.as_ref(),
            self.addresses.as_ref(),
        ];
        for limits in limits.into_iter().flatten() {
            let next = limits.borrow_mut().next(now);
            if let Some((key, waiter)) = next {
                self.aside.set(self.aside.get() - 1);
                if waiter.send(()).is_err() {
                    limits.borrow_mut().ended(&key);
                }
                return true;
            }
        }
        false
    }

    /// When [`Self::start_next`] may let a URL go on that must wait now.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        if self.aside.get() == 0 {
            return None;
        }
        let limits = [
            Some(&self.hosts),
            self.domains.as_ref(),
            self.addresses.as_ref(),
        ];
        let due = limits.into_iter().flatten();
        due.filter_map(|limits| limits.borrow().next_due()).min()
    }

    /// Holds up a host; returns by how much that extends its pause.
    pub(crate) fn hold(&self, host: &str, until: Instant, now: Instant) -> Duration {
        self.hosts.borrow_mut().hold(host, until, now)
    }

    /// Whether a host is held up.
    pub(crate) fn is_held(&self, host: &str) -> bool {
        self.is_used && self.hosts.borrow().is_held(host, Instant::now())
    }

    /// Waits for the end of a host's pause, and until the interval since its last request is over, if it has one.
    pub(crate) async fn after_pause(&self, host: &str, clock: &StageClock) {
        if self.is_held(host) || !clock.crawl_delay.get().is_zero() {
            // Both limit only when a request starts.
            drop(self.wait(&self.hosts, host, clock).await);
        }
    }

    /// Waits for the turn at a domain, if there is a limit.
    pub(crate) async fn at_domain(&self, host: &str, clock: &StageClock) -> Option<Turn<'_>> {
        let limits = self.domains.as_ref()?;
        Some(self.wait(limits, registered_domain(host), clock).await)
    }

    /// Whether addresses have a limit.
    pub(crate) const fn limits_addresses(&self) -> bool {
        self.addresses.is_some()
    }

    /// Waits for the turn at an address, if there is a limit. A turn at this address stays as it is; one at another
    /// address ends first.
    pub(crate) async fn at_address<'t>(
        &'t self,
        address: IpAddr,
        turn: Option<Turn<'t>>,
        clock: &StageClock,
    ) -> Option<Turn<'t>> {
        let limits = self.addresses.as_ref()?;
        let key = address.to_canonical().to_string();
        if turn.as_ref().is_some_and(|turn| *turn.key == *key) {
            return turn;
        }
        drop(turn);
        Some(self.wait(limits, &key, clock).await)
    }

    /// Waits for an event without a slot, and then for a slot. The time does not count.
    pub(crate) async fn aside_until(&self, event: impl Future, clock: &StageClock) {
        self.aside.set(self.aside.get() + 1);
        self.changed.notify_one();
        clock.stop(Instant::now());
        event.await;
        let (waiter, slot) = oneshot::channel();
        self.ready.borrow_mut().push_back(waiter);
        self.changed.notify_one();
        // The sender lives as long as the crawl.
        let _ = slot.await;
        clock.resume(Instant::now());
    }

    async fn wait<'t>(
        &'t self,
        limits: &'t RefCell<Waiting>,
        key: &str,
        clock: &StageClock,
    ) -> Turn<'t> {
        let (waiter, turn) = oneshot::channel();
        let now = Instant::now();
        let delay = if std::ptr::eq(limits, &raw const self.hosts) {
            clock.crawl_delay.get()
        } else {
            Duration::ZERO
        };
        limits.borrow_mut().offer_after(delay, key, waiter, now);
        self.aside.set(self.aside.get() + 1);
        self.changed.notify_one();
        clock.stop(now);
        // The sender lives as long as the crawl.
        let _ = turn.await;
        clock.resume(Instant::now());
        Turn {
            turns: self,
            limits,
            key: key.into(),
        }
    }
}
