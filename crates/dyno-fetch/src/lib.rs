//! The bulk fetcher: fetches each of many URLs of many hosts once, within a deadline.
#![forbid(unsafe_code)]

mod check;
mod connect;
mod cookies;
mod crawl;
mod details;
mod error;
mod host_health;
mod host_limits;
mod identity;
mod input;
mod listed;
mod options;
mod output;
mod permissions;
mod permit;
mod pool;
mod progress;
mod public;
mod receiver;
mod redirect;
mod report;
mod resume;
mod retry;
mod retry_after;
mod robots;
mod row;
mod rows_file;
mod save;
mod shared;
mod stage_clock;
mod tally;
mod turns;
mod visit;
mod walk;
mod warc;
mod warc_record;

pub use cookies::CookieFile;
pub use crawl::{End, run};
pub use error::Error;
pub use host_limits::HostLimits;
pub use options::{Limit, Options, Versions};
pub use progress::{Figures, Observer};
pub use report::Report;
pub use robots::product;
pub use row::RowFormat;
