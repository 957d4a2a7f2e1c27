//! HTTP/1.1 and 1.0 on one connection.

pub(crate) mod arrival;
mod exchange;
mod fault;
mod repeated;
mod sending;

use std::time::Duration;

pub(crate) use exchange::{go_on, serve};
pub(crate) use fault::GARBAGE;
pub(crate) use repeated::Rest;

/// How long, at most, a closed connection is read on, so that bytes on their way do not reset it before the peer has read
/// the answer (RFC 9112, section 9.6).
pub(crate) const LINGER: Duration = Duration::from_secs(2);

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// In good order: TLS says so first, then TCP.
    Close,
    /// By a reset.
    Reset,
    /// Not yet: it has asked for the same again and again, and is parked.
    Parked,
    /// The peer has gone already.
    Gone,
}
