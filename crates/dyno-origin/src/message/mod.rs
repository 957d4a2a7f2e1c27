//! The parts of requests and answers that all versions of HTTP share.

pub(crate) mod answer_bytes;
pub(crate) mod answer_cache;
pub(crate) mod delivery;
pub(crate) mod head;
pub(crate) mod outgoing;
mod piece;
pub(crate) mod request;
pub(crate) mod request_stamp;
mod reserved;
pub(crate) mod script;

pub(crate) use answer_cache::AnswerCache;
pub(crate) use dyno_io::Input;
pub(crate) use reserved::is_reserved;
