//! The load generator and the bulk fetcher: what both send requests with, and what each does with the answers.
#![forbid(unsafe_code)]

pub mod fetch;
pub mod load;
pub mod open_files;
pub mod resolve;
pub mod transport;
