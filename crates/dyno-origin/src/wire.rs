//! Streams for answers, and the counter of their bytes.

use std::cell::Cell;
use std::rc::Rc;

use dyno_io::Meter;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::server::TlsStream;

use crate::connection_info::ConnectionInfo;
use crate::open_connection::Connection;
use crate::worker::Worker;

/// A TCP connection, with the worker that counts its bytes.
pub(crate) type Wire = dyno_io::Wire<WorkerMeter>;

/// Counts the bytes of a connection for its worker.
pub(crate) struct WorkerMeter {
    worker: Rc<Worker>,
    connection: Rc<Connection>,
    has_received: Cell<bool>,
}

impl WorkerMeter {
    pub(crate) fn new(info: &ConnectionInfo) -> Self {
        Self {
            worker: info.worker.clone(),
            connection: info.connection.clone(),
            has_received: Cell::new(false),
        }
    }

    /// Whether the peer has sent any bytes.
    pub(crate) fn has_received(&self) -> bool {
        self.has_received.get()
    }
}

impl Meter for WorkerMeter {
    #[inline]
    fn begin_sending(&self) {
        self.worker.begin_sending();
    }

    #[inline]
    fn sent(&self, bytes: usize) {
        self.connection.note();
        self.worker.live().sent_bytes.add(bytes as u64);
    }

    #[inline]
    fn received(&self, bytes: usize) {
        if bytes > 0 {
            self.has_received.set(true);
            self.connection.note();
        }
        self.worker.live().received_bytes.add(bytes as u64);
    }
}

/// A stream to which answers are written.
pub(crate) trait Outlet: AsyncRead + AsyncWrite + Unpin {
    /// The TCP connection, unless a layer such as TLS transforms the bytes.
    fn wire(&mut self) -> Option<&mut Wire>;
}

impl Outlet for Wire {
    fn wire(&mut self) -> Option<&mut Wire> {
        Some(self)
    }
}

impl Outlet for TlsStream<Wire> {
    fn wire(&mut self) -> Option<&mut Wire> {
        None
    }
}
