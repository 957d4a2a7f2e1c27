//! An origin on loopback, asked by clients of the tests' own: what goes over the wire, and what is counted.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod cached_answers;
mod faults;
mod http2;
mod names;
mod paths;
mod record;
mod stage;
mod tls;
mod trials;
