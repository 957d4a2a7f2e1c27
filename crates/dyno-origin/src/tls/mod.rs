//! TLS 1.2 and 1.3: which configuration a host has, how its handshake goes.

mod config;
mod handshake;

pub use config::KEY_EXCHANGE_GROUPS;
pub(crate) use config::{HTTP2, Tls};
pub(crate) use handshake::{Shaken, shake_hands};
