//! One connection to a server: how it is made, what an exchange over it brings, what can fail.

mod answer;
pub mod connect;
pub(crate) mod cryptography;
mod failure;
pub mod http1;
pub mod http2;
mod input;
mod reroute;
mod stream;
pub mod tls;
mod wire;
mod zone;

pub use answer::{AnswerHead, Exchanged, Receive, Version};
pub use failure::Failure;
pub use reroute::{ConnectTo, Place, Reroute, Resolve};
pub use stream::Stream;
pub use wire::{Reach, Traffic, Wire};
pub use zone::is_public;
