//! HTTP/1.1 and 1.0 on one connection.

pub(crate) mod arrival;
pub(crate) mod arrived;
pub(crate) mod delivery;
mod exchange;
mod fault;
pub(crate) mod head;
mod input;
mod kept;
mod outgoing;
mod piece;
mod ready;
mod repeated;
pub(crate) mod request;
mod sending;

pub(crate) use exchange::{go_on, serve};
pub(crate) use fault::GARBAGE;
pub(crate) use input::Input;
pub(crate) use kept::Repeated;
pub(crate) use repeated::Rest;

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
