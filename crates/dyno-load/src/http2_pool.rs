//! The connections of HTTP/2 that the streams of one place share: one to each server.

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
    /// Held by the request loop that connects: the others wait and use its connection.
    opening: Mutex<()>,
    next: Cell<u64>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct SharedConnection {
    server: usize,
    number: u64,
    connection: http2::Connection,
    /// Whether it has carried a request.
    has_carried: Cell<bool>,
}

impl SharedConnection {
    /// Whether it has carried a request before the one that it carries now.
    pub(crate) fn carries_again(&self) -> bool {
        self.has_carried.replace(true)
    }

    /// Where it leads.
    pub(crate) const fn reach(&self) -> Reach {
        self.connection.reach()
    }

    /// Sends a request, at a moment that has just been, and takes its answer.
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
    /// A connection to a server that there is none to: a new one, or one that another request loop opens meanwhile.
    pub(crate) async fn open(
        &self,
        worker: &Worker,
        slot: &Slot,
        server: usize,
    ) -> Result<Rc<SharedConnection>, Failure> {
        slot.stage.set(Stage::Connecting);
        let _opening = self.opening.lock().await;
        if let Some(shared) = self.find(server) {
            return Ok(shared);
        }
        let stream = Box::pin(worker.connect(slot, server)).await?;
        let connection = Box::pin(http2::Connection::new(stream)).await?;
        let shared = Rc::new(SharedConnection {
            server,
            number: self.next.replace(self.next.get() + 1),
            connection,
            has_carried: Cell::new(false),
        });
        self.connections.borrow_mut().push(shared.clone());
        Ok(shared)
    }

    /// The connection to a server, if there is one and it is not lost.
    pub(crate) fn find(&self, server: usize) -> Option<Rc<SharedConnection>> {
        let mut connections = self.connections.borrow_mut();
        let place = connections
            .iter()
            .position(|shared| shared.server == server)?;
        if connections[place].connection.is_lost() {
            connections.remove(place);
            return None;
        }
        Some(connections[place].clone())
    }

    /// Sends nothing more on a connection, unless it was given up already.
    pub(crate) fn discard(&self, shared: &SharedConnection) {
        let mut connections = self.connections.borrow_mut();
        connections.retain(|other| other.number != shared.number);
    }
}
