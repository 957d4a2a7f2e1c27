//! Connections of the controller of the origin: recognised by their first request.

use std::net::{SocketAddr, TcpStream};

/// The path below which no URL is the web's, on an origin that can be controlled.
pub const CONTROL_PATH: &str = "/.well-known/httpdyno/";

/// How a connection begins that is handed over.
pub(crate) const BEGINNINGS: [&[u8]; 2] = [
    b"GET /.well-known/httpdyno/",
    b"POST /.well-known/httpdyno/",
];

/// A connection whose first request is for something below [`CONTROL_PATH`].
#[derive(Debug)]
pub struct ControlConnection {
    /// The connection; reads and writes on it wait.
    pub stream: TcpStream,
    /// Bytes that were already received of it.
    pub received: Vec<u8>,
    /// Address of the sender.
    pub from: SocketAddr,
}
