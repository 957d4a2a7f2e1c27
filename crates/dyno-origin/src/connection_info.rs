//! Facts about a connection that are known before its first byte.

use std::net::SocketAddr;
use std::rc::Rc;

use dyno_web::Scheme;

use crate::open_connection::Connection;
use crate::worker::Worker;

/// An accepted connection.
#[derive(Clone)]
pub(crate) struct ConnectionInfo {
    pub(crate) worker: Rc<Worker>,
    pub(crate) scheme: Scheme,
    /// Its number in the log of arrivals.
    pub(crate) number: u64,
    pub(crate) connection: Rc<Connection>,
    /// The address that the client connected to.
    pub(crate) local: SocketAddr,
    /// The host named in the TLS handshake, in lower case, without a final dot.
    pub(crate) server_name: Option<Rc<str>>,
}

impl ConnectionInfo {
    /// Whether a request to `host` may use this connection (RFC 9110, 7.4): if the TLS handshake named a host, only
    /// that host.
    pub(crate) fn is_for(&self, host: &str) -> bool {
        self.server_name.as_deref().is_none_or(|name| name == host)
    }
}
