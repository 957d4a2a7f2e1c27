//! A client of HTTP: names and addresses, connections, TLS, exchanges over HTTP/1.1 and HTTP/2, content codings, and their
//! failures.
#![forbid(unsafe_code)]

mod answer;
pub mod coding;
pub mod connect;
mod cryptography;
mod failure;
pub mod http1;
pub mod http2;
mod identity;
mod link;
mod protocol;
pub mod proxy;
mod reroute;
pub mod resolve;
mod sockets;
mod stream;
pub mod tls;
mod tunnel;
mod upload;
mod zone;

pub use answer::{AnswerHead, Exchanged, Receive};
pub use dyno_http::HttpVersion;
pub use failure::Failure;
pub use identity::{Identity, IdentityError};
pub use link::{Link, Reach, Traffic, Wire};
pub use protocol::Protocol;
pub use proxy::{Proxies, Route};
pub use reroute::{ConnectTo, Place, Reroute, Resolve};
pub use sockets::{Sockets, UnixSocket};
pub use stream::Stream;
pub use tunnel::Tunnel;
pub use upload::{ContentFile, Expectation, Segment, Upload};
pub use zone::is_public;
