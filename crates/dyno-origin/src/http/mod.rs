//! HTTP/1.1 and 1.0 on one connection.

mod cached_answer;
mod emit;
mod exchange;
mod odd;
mod sending;

use std::time::Duration;

pub(crate) use cached_answer::Rest;
pub(crate) use exchange::{go_on, serve};

/// Longest time that a closed connection is still read, so that bytes in flight do not reset it before the peer has
/// read the answer (RFC 9112, section 9.6).
pub(crate) const LINGER: Duration = Duration::from_secs(2);

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Orderly: TLS `close_notify` first, then TCP.
    Close,
    /// With TCP's end alone: TLS `close_notify` is missing.
    WithoutNotice,
    /// With a reset.
    Reset,
    /// Not at all: the connection repeatedly requests cached answers, and moves to the cached loop.
    ToCachedLoop,
    /// The peer has already closed it.
    Gone,
}
