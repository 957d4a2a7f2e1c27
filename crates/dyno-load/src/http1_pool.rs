//! The connections of HTTP/1.1 that one request loop keeps: one to each server.

use dyno_client::{Failure, Stream, http1};

use crate::slot::Slot;
use crate::worker::Worker;

/// Connections to different servers that are kept; with more, the one that is oldest is closed.
const MAX_CONNECTIONS: usize = 16;

/// Connections that carry one request at a time.
#[derive(Debug, Default)]
pub(crate) struct Http1Pool(Vec<Connection>);

/// One of them.
#[derive(Debug)]
pub(crate) struct Connection {
    server: usize,
    pub(crate) http1: http1::Connection<Stream>,
    has_carried: bool,
}

impl Connection {
    /// Whether it has carried a request before the one that it carries now.
    pub(crate) fn carries_again(&mut self) -> bool {
        std::mem::replace(&mut self.has_carried, true)
    }
}

impl Http1Pool {
    pub(crate) fn at(&mut self, place: usize) -> &mut Connection {
        &mut self.0[place]
    }

    /// The place of a connection to a server that can carry the next request. Where connections do not lie idle between
    /// requests, there is no news of them to look for.
    #[inline]
    pub(crate) async fn find(&mut self, server: usize, lie_idle: bool) -> Option<usize> {
        let place = self
            .0
            .iter()
            .position(|connection| connection.server == server)?;
        let connection = &mut self.0[place];
        if (connection.has_carried && !lie_idle) || connection.http1.is_fresh().await {
            return Some(place);
        }
        self.close(place);
        None
    }

    /// Opens a connection to a server that there is none to; its place.
    pub(crate) async fn open(
        &mut self,
        worker: &Worker,
        slot: &Slot,
        server: usize,
    ) -> Result<usize, Failure> {
        let stream = worker.connect(slot, server).await?;
        if self.0.len() == MAX_CONNECTIONS {
            self.0.remove(0);
        }
        self.0.push(Connection {
            server,
            http1: http1::Connection::new(stream),
            has_carried: false,
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
