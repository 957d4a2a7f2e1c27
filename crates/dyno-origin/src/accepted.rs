//! A connection that was accepted: what is known of it before its first byte.

use std::net::SocketAddr;
use std::rc::Rc;

use dyno_web::Scheme;

use crate::worker::Worker;

/// A connection that was accepted.
#[derive(Clone)]
pub(crate) struct Accepted {
    pub(crate) worker: Rc<Worker>,
    pub(crate) scheme: Scheme,
    /// Its number in the log of arrivals.
    pub(crate) number: u64,
    /// The address that the client connected to.
    pub(crate) local: SocketAddr,
}
