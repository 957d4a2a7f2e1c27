//! The HTTP/2 connections that the streams of one place share: one to each server.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

use dyno_client::{Exchanged, Failure, Reach, Receive, http2};
use tokio::sync::Mutex;

use crate::slot::{Slot, Stage};
use crate::worker::Worker;

/// Connections that request loops share.
#[derive(Debug, Default)]
pub(crate) struct Http2Pool {
    connections: RefCell<Vec<Rc<SharedConnection>>>,
    /// Locked by the request loop that connects: the others wait, and then use its connection.
    opening: Mutex<()>,
    next: Cell<u64>,
}

/// A connection to one server.
#[derive(Debug)]
pub(crate) struct SharedConnection {
    server: usize,
    /// Number of the server's address.
    pub(crate) address: usize,
    number: u64,
    connection: http2::Connection,
    /// Requests that it has carried, and may carry.
    carried: Cell<u64>,
    limit: u64,
}

impl SharedConnection {
    /// Returns whether the connection carried a request before the current one.
    pub(crate) fn carries_again(&self) -> bool {
        self.carried.replace(self.carried.get() + 1) > 0
    }

    /// Where the connection leads.
    pub(crate) const fn reach(&self) -> Reach {
        self.connection.reach()
    }

    /// Sends a request at `ready`, a moment that has just passed, and receives its answer.
    #[inline]
    pub(crate) async fn exchange_from(
        &self,
        sent: Instant,
        request: &http2::Request,
        receive: &mut impl Receive,
    ) -> Result<Exchanged, Failure> {
        self.connection.exchange_from(sent, request, receive).await
    }
}

impl Http2Pool {
    /// Returns a connection to a server without one: a new one, or the one that another request loop opened
    /// meanwhile.
    pub(crate) async fn open(
        &self,
        worker: &Worker,
        slot: &Slot,
        server: usize,
    ) -> Result<Rc<SharedConnection>, Failure> {
        slot.stage.set(Stage::Connecting);
        let _opening = self.opening.lock().await;
        if let Some(shared) = self.find(worker, server) {
            return Ok(shared);
        }
        let opened = Box::pin(worker.connect(slot, server)).await?;
        let connection = Box::pin(http2::Connection::new(opened.stream)).await?;
        let shared = Rc::new(SharedConnection {
            server,
            address: opened.address,
            number: self.next.replace(self.next.get() + 1),
            connection,
            carried: Cell::new(0),
            limit: worker.reconnect_after,
        });
        self.connections.borrow_mut().push(shared.clone());
        Ok(shared)
    }

    /// The connection to a server, if there is one that is not lost and may carry another request, and whose address is
    /// still one of the server's.
    pub(crate) fn find(&self, worker: &Worker, server: usize) -> Option<Rc<SharedConnection>> {
        let mut connections = self.connections.borrow_mut();
        let place = connections
            .iter()
            .position(|shared| shared.server == server)?;
        let shared = &connections[place];
        let has_left = worker.inspects.get() && worker.has_left(server, shared.address);
        if shared.connection.is_lost() || shared.carried.get() >= shared.limit || has_left {
            connections.remove(place);
            return None;
        }
        Some(shared.clone())
    }

    /// Stops using a connection; does nothing if it has been replaced already.
    pub(crate) fn discard(&self, shared: &SharedConnection) {
        let mut connections = self.connections.borrow_mut();
        connections.retain(|other| other.number != shared.number);
    }
}
