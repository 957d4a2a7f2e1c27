//! Name servers for all names, over UDP and TCP.

mod answer;
mod scripted;
mod tcp;
mod udp;

pub(crate) use tcp::serve as serve_tcp;
pub(crate) use udp::serve as serve_udp;
