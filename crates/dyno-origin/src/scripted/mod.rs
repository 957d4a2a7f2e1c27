//! Plays the scripts of hosts on their connections.
//!
//! In a room, every such host has an address of its own, so a connection is known before its first byte. Elsewhere, they
//! share the origin's addresses and are known by the name that a client sends.

mod certificate;
mod ocsp;
mod play;
mod requests;
mod weak_rsa;

pub(crate) use play::{host_of, serve, serve_handshake};
