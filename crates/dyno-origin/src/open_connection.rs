//! A connection that is open: how long it has been silent, and where it is looked after.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;

use tokio::task::{AbortHandle, spawn_local};

/// One that is open.
#[derive(Debug)]
pub(crate) struct Connection {
    open: Rc<Cell<usize>>,
    now: Rc<Cell<u32>>,
    /// When bytes last came or went.
    heard: Cell<u32>,
    /// How many answers wait for their moment: its peer is silent because this side is.
    waiting: Cell<u32>,
    place: RefCell<Place>,
}

/// Where a connection is looked after.
#[derive(Debug)]
pub(crate) enum Place {
    Nowhere,
    Task(AbortHandle),
    CachedLoop(usize),
}

impl Connection {
    /// One that was accepted, of how many are open, with the seconds since the thread began.
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

    /// Bytes came or went.
    pub(crate) fn note(&self) {
        self.heard.set(self.now.get());
    }

    /// An answer waits for its moment, until what is returned goes.
    pub(crate) fn wait(&self) -> Waiting<'_> {
        self.waiting.set(self.waiting.get() + 1);
        Waiting(self)
    }

    /// It is served by a task.
    pub(crate) fn serve(&self, task: impl Future<Output = ()> + 'static) {
        let task = spawn_local(task).abort_handle();
        self.place.replace(Place::Task(task));
    }

    /// It is answered by the cached loop.
    pub(crate) fn enter_cached_loop(&self, place: usize) {
        self.place.replace(Place::CachedLoop(place));
    }

    /// Whether it can be ended.
    pub(crate) fn is_placed(&self) -> bool {
        !matches!(*self.place.borrow(), Place::Nowhere)
    }

    /// Takes it from where it is looked after.
    pub(crate) fn take(&self) -> Place {
        self.place.replace(Place::Nowhere)
    }

    /// Seconds since it was heard of.
    pub(crate) fn silence_s(&self) -> u32 {
        self.now.get() - self.heard.get()
    }

    /// Whether it is silent because this side is.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.get() > 0
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.open.set(self.open.get() - 1);
    }
}

/// An answer that waits for its moment.
pub(crate) struct Waiting<'c>(&'c Connection);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.note();
        self.0.waiting.set(self.0.waiting.get() - 1);
    }
}
