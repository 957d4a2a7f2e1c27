//! HTTP/1.1 and 1.0 on one connection.

mod cached_answer;
mod emit;
mod exchange;
mod sending;

use std::time::Duration;

pub(crate) use cached_answer::Rest;
pub(crate) use exchange::{go_on, serve};

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
    /// Not yet: it keeps asking for cached answers, and moves to the cached loop.
    ToCachedLoop,
    /// The peer has gone already.
    Gone,
}
