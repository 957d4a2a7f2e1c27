//! The state that the tasks of one thread of an origin share: the web, the counters, the caches.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Instant;

use dyno_web::Web;

use crate::access_log::{Fingerprints, ThreadLog};
use crate::cached_connections::CachedConnections;
use crate::clock::Clock;
use crate::connections::Connections;
use crate::control::ControlConnection;
use crate::counters::Counters;
use crate::date::Date;
use crate::live::{Live, Shared};
use crate::message::AnswerCache;
use crate::message::request::Names;
use crate::open_connection::Connection;
use crate::prepared::Pages;
use crate::scripts::Scripts;
use crate::timer::Timer;
use crate::tls::Tls;

/// Observations of a thread in a trial.
pub(crate) type Seen = (Counters, ThreadLog);

/// An order to a thread: return its observations, and start a new trial.
pub(crate) struct TurnOver {
    pub(crate) log_arrivals: bool,
    pub(crate) seen: mpsc::Sender<Seen>,
}

/// State that the tasks of one thread share.
pub(crate) struct Worker {
    pub(crate) web: Arc<Web>,
    pub(crate) pages: Arc<Pages>,
    pub(crate) tls: Arc<Tls>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) counters: RefCell<Counters>,
    pub(crate) log: RefCell<ThreadLog>,
    pub(crate) fingerprints: Fingerprints,
    pub(crate) timer: Rc<Timer>,
    pub(crate) clock: Clock,
    pub(crate) date: Date,
    pub(crate) answer_cache: RefCell<AnswerCache>,
    pub(crate) cached: CachedConnections,
    pub(crate) open: Connections,
    /// DNS queries over UDP whose answers are delayed.
    pub(crate) delayed_queries: Cell<usize>,
    /// Whether addresses in certain blocks have faults.
    pub(crate) faulty_blocks: bool,
    pub(crate) scripts: Option<Arc<Scripts>>,
    pub(crate) control: Option<mpsc::Sender<ControlConnection>>,
    pub(crate) index: usize,
    pub(crate) connections: Cell<u64>,
    /// Number of trials so far.
    pub(crate) epoch: Cell<u64>,
    /// When the last call began that passed bytes to the kernel.
    ///
    /// The beginning counts, because on a busy CPU the client may have read all bytes before the thread continues.
    pub(crate) sending_since: Cell<Instant>,
}

impl Worker {
    /// Number of trials so far: a changed number means that another trial has begun.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.get()
    }

    /// Returns the observations of a trial, and starts the next.
    pub(crate) fn turn_over(&self, order: &TurnOver) {
        self.epoch.set(self.epoch.get() + 1);
        // Cached answers refer to entries of the log.
        self.answer_cache.take();
        let most = self.most_names().filter(|_| !order.log_arrivals);
        let counters = self.counters.replace(Counters::new(most));
        let log = self.log.borrow_mut().turn_over(order.log_arrivals, most);
        // Without a receiver, the caller no longer needs the observations.
        drop(order.seen.send((counters, log)));
    }

    /// Limit of remembered names while no trial is logged.
    pub(crate) fn most_names(&self) -> Option<usize> {
        self.open.bounds().map(|bounds| bounds.names)
    }

    /// Adds an accepted connection.
    pub(crate) fn enter(&self) -> Rc<Connection> {
        let (connection, has_closed) = self.open.enter(&self.cached);
        self.counters.borrow_mut().crowded_out += u64::from(has_closed);
        connection
    }

    /// Number of earlier requests of the trial for the same URL, where the host counts them; else 0.
    pub(crate) fn earlier(&self, names: &Names) -> u32 {
        if self.web.counts_requests(&names.host) {
            self.shared.count(&names.host, &names.target)
        } else {
            0
        }
    }

    /// Called every second.
    pub(crate) fn tick(&self) {
        let is_logged = self.log.borrow().is_kept();
        let idle = self.open.tick(&self.cached, !is_logged);
        self.counters.borrow_mut().idle += idle as u64;
    }

    /// Notes that bytes are being handed to the kernel.
    pub(crate) fn begin_sending(&self) {
        self.sending_since.set(Instant::now());
    }

    /// The thread's part of the live state.
    pub(crate) fn live(&self) -> &Live {
        &self.shared.live[self.index]
    }

    /// A number that is unique among the connections of the origin; each thread counts from 1.
    pub(crate) fn next_connection(&self) -> u64 {
        let own = self.connections.get();
        self.connections.set(own + 1);
        own * self.shared.live.len() as u64 + self.index as u64 + 1
    }
}
