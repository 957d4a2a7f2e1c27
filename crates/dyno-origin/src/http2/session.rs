//! State that the streams of one connection share.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Waker};

use h2::StreamId;

use crate::connection_info::ConnectionInfo;
use crate::message::request::Names;
use crate::message::request_stamp::RequestStamp;
use crate::worker::Worker;

/// Order of a stream to end its whole connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// Close it cleanly, even with open streams.
    Close,
    /// Reset it.
    Reset,
    /// Send bytes that are not HTTP; then close.
    Garbage,
    /// Send a GOAWAY with this last stream; then close.
    GoAway(u32),
}

/// State of a connection that its streams share.
pub(super) struct Session {
    pub(super) info: ConnectionInfo,
    /// Buffer for the names of a request.
    pub(super) names: RefCell<Names>,
    pub(super) has_served: Cell<bool>,
    order: Cell<Option<Order>>,
    retires: Cell<bool>,
    /// The first stream that is refused with a GOAWAY.
    first_refused: Cell<u32>,
    waker: RefCell<Option<Waker>>,
}

impl Session {
    pub(super) fn new(info: ConnectionInfo) -> Rc<Self> {
        Rc::new(Self {
            info,
            names: RefCell::default(),
            has_served: Cell::new(false),
            order: Cell::new(None),
            retires: Cell::new(false),
            first_refused: Cell::new(u32::MAX),
            waker: RefCell::new(None),
        })
    }

    pub(super) fn worker(&self) -> &Rc<Worker> {
        &self.info.worker
    }

    /// Ends the connection as soon as all earlier bytes have been passed to the kernel.
    pub(super) fn order(&self, order: Order) {
        self.order.set(Some(order));
        self.wake();
    }

    /// Notes that a stream will be refused with a GOAWAY when its answer is due.
    pub(super) fn refuse(&self, stream: StreamId) {
        let first = self.first_refused.get().min(stream.into());
        self.first_refused.set(first);
    }

    /// Refuses all streams noted by `refuse`: the first that is due ends the connection for the others, too.
    pub(super) fn go_away(&self) -> Order {
        Order::GoAway(self.first_refused.get().saturating_sub(2))
    }

    /// Ends the connection after the open streams (a GOAWAY without an error).
    pub(super) fn retire(&self) {
        self.retires.set(true);
        self.wake();
    }

    /// Returns the order, if a stream gave one.
    pub(super) fn ordered(&self) -> Option<Order> {
        self.order.take()
    }

    /// Whether the connection must retire; true only once.
    pub(super) fn is_to_retire(&self) -> bool {
        self.retires.take()
    }

    /// Makes the next order wake the task of `context`.
    pub(super) fn listen(&self, context: &Context<'_>) {
        let mut waker = self.waker.borrow_mut();
        if !waker
            .as_ref()
            .is_some_and(|known| known.will_wake(context.waker()))
        {
            *waker = Some(context.waker().clone());
        }
    }

    fn wake(&self) {
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }
}

/// A request in flight on a connection.
pub(super) struct Flight(pub(super) Rc<Session>);

impl Flight {
    pub(super) fn begin(session: &Rc<Session>) -> Self {
        session.worker().shared.depart();
        Self(session.clone())
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.0.worker().shared.land();
    }
}

/// Action when the last byte of an answer has been passed to the kernel.
pub(super) struct Completion {
    pub(super) flight: Flight,
    pub(super) stamp: RequestStamp,
    /// Whether the connection retires afterwards.
    pub(super) retires: bool,
}

impl Completion {
    pub(super) fn complete(&self) {
        let session = &self.flight.0;
        self.stamp.note_end(session.worker());
        if self.retires {
            session.retire();
        }
    }
}
