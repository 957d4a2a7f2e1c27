//! Tests an origin on loopback with test clients: the bytes that it sends, and its counts.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

mod cached_answers;
mod faults;
mod http2;
mod names;
mod odd;
mod paths;
mod record;
mod stage;
mod tls;
mod trials;
