//! What requests and answers consist of, whoever carries them.

pub(crate) mod arrived;
pub(crate) mod delivery;
pub(crate) mod head;
mod input;
pub(crate) mod kept;
pub(crate) mod outgoing;
mod piece;
pub(crate) mod ready;
pub(crate) mod request;
mod reserved;

pub(crate) use input::Input;
pub(crate) use kept::Repeated;
pub(crate) use reserved::is_reserved;
