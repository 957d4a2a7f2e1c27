//! The open connections of a thread: how long each has been silent; closes those that are silent for too long.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::rc::{Rc, Weak};

use crate::bounds::Bounds;
use crate::cached_connections::CachedConnections;
use crate::open_connection::{Connection, Place};

/// All open connections.
#[derive(Debug)]
pub(crate) struct Connections {
    bounds: Option<Bounds>,
    /// Connections in the order of acceptance, including some that have ended; used only with limits.
    known: RefCell<Vec<Weak<Connection>>>,
    open: Rc<Cell<usize>>,
    /// Seconds since the thread started.
    now: Rc<Cell<u32>>,
}

impl Connections {
    pub(crate) fn new(bounds: Option<Bounds>) -> Self {
        Self {
            bounds,
            known: RefCell::default(),
            open: Rc::default(),
            now: Rc::default(),
        }
    }

    pub(crate) fn bounds(&self) -> Option<Bounds> {
        self.bounds
    }

    /// Adds an accepted connection. If there are too many, closes another one; returns whether it did.
    pub(crate) fn enter(&self, cached: &CachedConnections) -> (Rc<Connection>, bool) {
        let is_too_many = |bounds: Bounds| self.open.get() >= bounds.connections;
        let has_closed = self.bounds.is_some_and(is_too_many) && self.close_one(cached);
        let connection = Rc::new(Connection::new(self.open.clone(), self.now.clone()));
        if let Some(bounds) = self.bounds {
            let mut known = self.known.borrow_mut();
            if known.len() >= 2 * self.open.get() + bounds.connections {
                known.retain(|one| one.strong_count() > 0);
            }
            known.push(Rc::downgrade(&connection));
        }
        (connection, has_closed)
    }

    /// Closes the connection that has been silent for longest, the oldest of several; one whose answer is delayed is
    /// closed last.
    fn close_one(&self, cached: &CachedConnections) -> bool {
        let known = self.known.borrow();
        let open = known.iter().filter_map(Weak::upgrade);
        let open = open.filter(|one| one.is_placed());
        let silent = open.min_by_key(|one| (one.is_waiting(), Reverse(one.silence_s())));
        silent.inspect(|silent| end(silent, cached)).is_some()
    }

    /// Called every second. Closes connections that are silent for too long, if `closes`; returns their number.
    pub(crate) fn tick(&self, cached: &CachedConnections, closes: bool) -> usize {
        self.now.set(self.now.get() + 1);
        let mut known = self.known.borrow_mut();
        known.retain(|one| one.strong_count() > 0);
        let Some(bounds) = self.bounds.filter(|_| closes) else {
            return 0;
        };
        let is_idle = |one: &Rc<Connection>| {
            let is_silent = u64::from(one.silence_s()) > bounds.idle.as_secs();
            is_silent && !one.is_waiting() && one.is_placed()
        };
        let idle = known.iter().filter_map(Weak::upgrade).filter(is_idle);
        idle.inspect(|one| end(one, cached)).count()
    }
}

fn end(connection: &Connection, cached: &CachedConnections) {
    match connection.take() {
        Place::Nowhere => {}
        Place::Task(task) => task.abort(),
        Place::CachedLoop(place) => cached.drop(place),
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Duration;

    use tokio::task::{LocalSet, yield_now};

    use super::*;

    const BOUNDS: Bounds = Bounds {
        connections: 3,
        idle: Duration::from_secs(10),
        names: 0,
        queries: 0,
    };

    /// Connections that only stay open.
    struct Held {
        connections: Connections,
        cached: CachedConnections,
    }

    impl Held {
        fn open(&self) -> Weak<Connection> {
            let (connection, _) = self.connections.enter(&self.cached);
            let held = connection.clone();
            connection.serve(async move {
                let _held = held;
                pending::<()>().await;
            });
            Rc::downgrade(&connection)
        }

        async fn tick(&self) -> usize {
            let closed = self.connections.tick(&self.cached, true);
            // Closed connections end when their tasks run.
            yield_now().await;
            yield_now().await;
            closed
        }
    }

    async fn on_a_thread(test: impl AsyncFnOnce(Held)) {
        let held = Held {
            connections: Connections::new(Some(BOUNDS)),
            cached: CachedConnections::new().unwrap(),
        };
        LocalSet::new().run_until(test(held)).await;
    }

    fn is_open(connection: &Weak<Connection>) -> bool {
        connection.strong_count() > 0
    }

    #[tokio::test(flavor = "current_thread")]
    async fn one_too_many_closes_the_one_that_was_silent_for_longest() {
        on_a_thread(async |held| {
            let [first, second, third] = [held.open(), held.open(), held.open()];
            for heard in [&second, &third, &first] {
                heard.upgrade().unwrap().note();
                held.tick().await;
            }
            let fourth = held.open();
            held.tick().await;
            assert!(is_open(&first) && !is_open(&second) && is_open(&third) && is_open(&fourth));
            // A connection whose answer is delayed is closed last.
            let third = third.upgrade().unwrap();
            let waiting = third.wait();
            let fifth = held.open();
            held.tick().await;
            assert!(!is_open(&first) && is_open(&fifth));
            drop(waiting);
        })
        .await;
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_silent_are_closed_unless_their_answer_waits() {
        on_a_thread(async |held| {
            let [silent, waits, speaks] = [held.open(), held.open(), held.open()];
            let waits = waits.upgrade().unwrap();
            let waiting = waits.wait();
            for _ in 0..10 {
                assert_eq!(held.tick().await, 0);
                speaks.upgrade().unwrap().note();
            }
            assert_eq!(held.tick().await, 1);
            assert!(!is_open(&silent) && is_open(&speaks));
            drop(waiting);
            // Its silence begins when its answer is sent.
            assert_eq!(held.tick().await, 0);
        })
        .await;
    }
}
