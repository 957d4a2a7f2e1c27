//! The connections of HTTP/1.1 that one request loop keeps: one to each server.

use dyno_client::{Failure, Stream, http1};

use crate::slot::Slot;
use crate::worker::Worker;

/// Most connections that are kept; opening another closes the oldest.
const MAX_CONNECTIONS: usize = 16;

/// HTTP/1.1 connections, each of which carries one request at a time.
#[derive(Debug, Default)]
pub(crate) struct Http1Pool(Vec<Connection>);

/// A connection to one server.
#[derive(Debug)]
pub(crate) struct Connection {
    server: usize,
    /// Number of the server's address.
    pub(crate) address: usize,
    pub(crate) http1: http1::Connection<Stream>,
    /// Requests that it has carried.
    carried: u64,
    /// Requests that it may carry after its first.
    most_again: u64,
}

impl Connection {
    /// Returns whether the connection carried a request before the current one.
    pub(crate) fn carries_again(&mut self) -> bool {
        self.carried += 1;
        self.carried > 1
    }

    /// Whether it has carried a request, and may carry another: one comparison, since 0 - 1 wraps to the largest number.
    const fn is_warm(&self) -> bool {
        self.carried.wrapping_sub(1) < self.most_again
    }

    const fn is_spent(&self) -> bool {
        self.carried > self.most_again
    }
}

impl Http1Pool {
    pub(crate) fn at(&mut self, place: usize) -> &mut Connection {
        &mut self.0[place]
    }

    /// Returns the index of a connection to `server` that can carry the next request. Checks whether the server has
    /// closed it only if connections lie idle between requests, and whether its address has left the server's name
    /// only after names have changed.
    #[inline]
    pub(crate) async fn find(&mut self, worker: &Worker, server: usize) -> Option<usize> {
        let place = self
            .0
            .iter()
            .position(|connection| connection.server == server)?;
        let connection = &mut self.0[place];
        if connection.is_warm() && !worker.inspects.get() {
            return Some(place);
        }
        if !worker.has_left(server, connection.address)
            && ((connection.is_warm() && !worker.pauses)
                || (!connection.is_spent() && connection.http1.is_fresh().await))
        {
            return Some(place);
        }
        self.close(place);
        None
    }

    /// Opens a connection to a server without one, and returns its index.
    pub(crate) async fn open(
        &mut self,
        worker: &Worker,
        slot: &Slot,
        server: usize,
    ) -> Result<usize, Failure> {
        let opened = worker.connect(slot, server).await?;
        if self.0.len() == MAX_CONNECTIONS {
            self.0.remove(0);
        }
        self.0.push(Connection {
            server,
            address: opened.address,
            http1: http1::Connection::new(opened.stream, worker.plan.profile),
            carried: 0,
            most_again: worker.reconnect_after - 1,
        });
        Ok(self.0.len() - 1)
    }

    pub(crate) fn close(&mut self, place: usize) {
        self.0.remove(place);
    }

    /// Closes the connection to a server.
    #[cold]
    pub(crate) fn discard(&mut self, server: usize) {
        self.0.retain(|connection| connection.server != server);
    }
}
