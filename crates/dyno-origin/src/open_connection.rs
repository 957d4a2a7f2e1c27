//! An open connection: how long it has been silent, and which task or loop serves it.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;

use tokio::task::{AbortHandle, spawn_local};

/// An open connection.
#[derive(Debug)]
pub(crate) struct Connection {
    open: Rc<Cell<usize>>,
    now: Rc<Cell<u32>>,
    /// Second in which bytes were last received or sent.
    heard: Cell<u32>,
    /// Number of answers that are delayed: the peer is silent because it waits for them.
    waiting: Cell<u32>,
    place: RefCell<Place>,
}

/// Where a connection is served.
#[derive(Debug)]
pub(crate) enum Place {
    Nowhere,
    Task(AbortHandle),
    CachedLoop(usize),
}

impl Connection {
    /// Creates a connection; `open` counts the open connections, `now` the seconds since the thread started.
    pub(crate) fn new(open: Rc<Cell<usize>>, now: Rc<Cell<u32>>) -> Self {
        open.set(open.get() + 1);
        Self {
            heard: Cell::new(now.get()),
            open,
            now,
            waiting: Cell::new(0),
            place: RefCell::new(Place::Nowhere),
        }
    }

    /// Notes that bytes were received or sent.
    pub(crate) fn note(&self) {
        self.heard.set(self.now.get());
    }

    /// Notes that an answer is delayed, until the returned value is dropped.
    pub(crate) fn wait(&self) -> Waiting<'_> {
        self.waiting.set(self.waiting.get() + 1);
        Waiting(self)
    }

    /// Serves the connection in a task.
    pub(crate) fn serve(&self, task: impl Future<Output = ()> + 'static) {
        let task = spawn_local(task).abort_handle();
        self.place.replace(Place::Task(task));
    }

    /// Notes that the cached loop serves the connection.
    pub(crate) fn enter_cached_loop(&self, place: usize) {
        self.place.replace(Place::CachedLoop(place));
    }

    /// Whether the connection can be closed.
    pub(crate) fn is_placed(&self) -> bool {
        !matches!(*self.place.borrow(), Place::Nowhere)
    }

    /// Removes the connection from where it is served.
    pub(crate) fn take(&self) -> Place {
        self.place.replace(Place::Nowhere)
    }

    /// Seconds since bytes were last received or sent.
    pub(crate) fn silence_s(&self) -> u32 {
        self.now.get() - self.heard.get()
    }

    /// Whether the peer is silent because it waits for an answer.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.get() > 0
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.open.set(self.open.get() - 1);
    }
}

/// A delayed answer.
pub(crate) struct Waiting<'c>(&'c Connection);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.note();
        self.0.waiting.set(self.0.waiting.get() - 1);
    }
}
