//! The connections of HTTP/1.1 that one lane keeps: one to each server.

use super::slot::Slot;
use super::worker::Worker;
use crate::transport::{Failure, Stream, http1};

/// Connections to different servers that are kept; with more, the one that is oldest is closed.
const MOST: usize = 16;

/// Connections that carry one request at a time.
#[derive(Debug, Default)]
pub(super) struct Kept(Vec<Connection>);

/// One of them.
#[derive(Debug)]
pub(super) struct Connection {
    server: usize,
    pub(super) http1: http1::Connection<Stream>,
    has_carried: bool,
}

impl Connection {
    /// Whether it has carried a request before the one that it carries now.
    pub(super) fn carries_again(&mut self) -> bool {
        std::mem::replace(&mut self.has_carried, true)
    }
}

impl Kept {
    pub(super) fn at(&mut self, place: usize) -> &mut Connection {
        &mut self.0[place]
    }

    /// The place of a connection to a server that can carry the next request. Where connections do not lie idle between
    /// requests, there is no news of them to look for.
    #[inline]
    pub(super) async fn find(&mut self, server: usize, lie_idle: bool) -> Option<usize> {
        let place = self.0.iter().position(|kept| kept.server == server)?;
        let kept = &mut self.0[place];
        if (kept.has_carried && !lie_idle) || kept.http1.is_fresh().await {
            return Some(place);
        }
        self.close(place);
        None
    }

    /// Opens a connection to a server that there is none to; its place.
    pub(super) async fn open(
        &mut self,
        worker: &Worker,
        slot: &Slot,
        server: usize,
    ) -> Result<usize, Failure> {
        let stream = worker.connect(slot, server).await?;
        if self.0.len() == MOST {
            self.0.remove(0);
        }
        self.0.push(Connection {
            server,
            http1: http1::Connection::new(stream),
            has_carried: false,
        });
        Ok(self.0.len() - 1)
    }

    pub(super) fn close(&mut self, place: usize) {
        self.0.remove(place);
    }

    /// Closes the connection to a server.
    #[cold]
    pub(super) fn discard(&mut self, server: usize) {
        self.0.retain(|kept| kept.server != server);
    }
}
