//! HTTP/2 on one connection: the same answers as over HTTP/1.1, in frames.

mod emit;
mod exchange;
mod head;
mod outgoing;
mod preface;
mod request;
mod serve;
mod session;

pub(crate) use preface::{Preceded, is_announced};
pub(crate) use serve::serve;
