//! The bulk fetcher: fetches each of many URLs of many hosts once, within a deadline.
#![forbid(unsafe_code)]

mod check;
mod connect;
mod crawl;
mod host_limits;
mod input;
mod listed;
mod options;
mod output;
mod pool;
mod progress;
mod public;
mod receiver;
mod redirect;
mod report;
mod resume;
mod retry;
mod row;
mod save;
mod shared;
mod tally;
mod visit;
mod walk;

pub use crawl::{End, Error, run};
pub use host_limits::HostLimits;
pub use options::{Options, Versions};
pub use report::Report;
