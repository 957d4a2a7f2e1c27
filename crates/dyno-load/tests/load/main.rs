//! The generator against servers whose behaviour is known, good and bad.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod addresses;
mod answers;
mod failures;
mod http2;
mod http2_over_tls;
mod opening;
mod requests;
mod schedule;
mod server;
mod sockets;
mod stage;
mod tls;
mod uploads;
