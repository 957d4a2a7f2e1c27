//! Recognises connections of the controller of the origin by their first request.

use std::net::{SocketAddr, TcpStream};

/// The path below which an origin with a controller serves no URL of the web.
pub const CONTROL_PATH: &str = "/.well-known/httpdyno/";

/// First bytes of connections that are passed to the controller.
pub(crate) const BEGINNINGS: [&[u8]; 2] = [
    b"GET /.well-known/httpdyno/",
    b"POST /.well-known/httpdyno/",
];

/// A connection whose first request is for a path below [`CONTROL_PATH`].
#[derive(Debug)]
pub struct ControlConnection {
    /// The connection, in blocking mode.
    pub stream: TcpStream,
    /// Bytes that were already received on it.
    pub received: Vec<u8>,
    /// Address of the sender.
    pub from: SocketAddr,
}
