//! The connections of HTTP/2 that the streams of one place share: one to each server.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

use tokio::sync::Mutex;
use tokio::task::spawn_local;

use super::slot::{Slot, Stage};
use super::worker::Worker;
use crate::transport::{Exchanged, Failure, Reach, Receive, http2};

/// Connections that lanes share.
#[derive(Debug, Default)]
pub(super) struct SharedConnections {
    kept: RefCell<Vec<Rc<Shared>>>,
    /// Held by who connects: the others wait, rather than connect too.
    opening: Mutex<()>,
    next: Cell<u64>,
}

/// One of them.
#[derive(Debug)]
pub(super) struct Shared {
    server: usize,
    number: u64,
    connection: http2::Connection,
    /// Whether it has carried a request.
    has_carried: Cell<bool>,
}

impl Shared {
    /// Whether it has carried a request before the one that it carries now.
    pub(super) fn carries_again(&self) -> bool {
        self.has_carried.replace(true)
    }

    /// Where it leads.
    pub(super) const fn reach(&self) -> Reach {
        self.connection.reach()
    }

    /// Sends a request, at a moment that has just been, and takes its answer.
    #[inline]
    pub(super) async fn exchange_from(
        &self,
        sent: Instant,
        request: &http2::Request,
        receive: &mut impl Receive,
    ) -> Result<Exchanged, Failure> {
        self.connection.exchange_from(sent, request, receive).await
    }
}

impl SharedConnections {
    /// A connection to a server that there is none to: a new one, or one that somebody else opens meanwhile.
    pub(super) async fn open(
        &self,
        worker: &Worker,
        slot: &Slot,
        server: usize,
    ) -> Result<Rc<Shared>, Failure> {
        slot.stage.set(Stage::Connecting);
        let _opening = self.opening.lock().await;
        if let Some(shared) = self.find(server) {
            return Ok(shared);
        }
        let stream = Box::pin(worker.connect(slot, server)).await?;
        let reach = stream.reach();
        let (connection, drive) = Box::pin(http2::Connection::new(stream, reach)).await?;
        spawn_local(drive);
        let shared = Rc::new(Shared {
            server,
            number: self.next.replace(self.next.get() + 1),
            connection,
            has_carried: Cell::new(false),
        });
        self.kept.borrow_mut().push(shared.clone());
        Ok(shared)
    }

    /// The connection to a server, if there is one and it is not lost.
    pub(super) fn find(&self, server: usize) -> Option<Rc<Shared>> {
        let mut kept = self.kept.borrow_mut();
        let place = kept.iter().position(|shared| shared.server == server)?;
        if kept[place].connection.is_lost() {
            kept.remove(place);
            return None;
        }
        Some(kept[place].clone())
    }

    /// Sends nothing more on a connection, unless it was given up already.
    pub(super) fn discard(&self, shared: &Shared) {
        let mut kept = self.kept.borrow_mut();
        kept.retain(|other| other.number != shared.number);
    }
}
