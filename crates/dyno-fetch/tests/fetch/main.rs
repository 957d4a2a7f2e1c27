//! Tests of the fetcher against correct and faulty servers.
#![expect(
    clippy::unwrap_used,
    clippy::format_collect,
    reason = "a test may stop at the first surprise, and need not be quick"
)]

mod answers;
mod crawl;
mod http2;
mod name_server;
mod names;
mod politeness;
mod redirects;
mod server;
mod tls;
mod walls;
