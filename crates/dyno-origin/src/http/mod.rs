//! HTTP/1.1 and 1.0 on one connection.

mod arrival;
mod exchange;
mod fault;
mod head;
mod input;
mod outgoing;
mod piece;
mod request;

pub(crate) use exchange::serve;

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// In good order: TLS says so first, then TCP.
    Close,
    /// By a reset.
    Reset,
    /// The peer has gone already.
    Gone,
}
