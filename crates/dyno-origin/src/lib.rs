//! The servers of a web: DNS over UDP and TCP; HTTP/1.1 and HTTP/2 over TCP, and over TLS 1.2 and 1.3.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//!
//! use dyno_origin::{Authority, Options, Origin};
//! use dyno_web::{Model, Web};
//!
//! let web = Arc::new(Web::new(Model::from_toml("name = 'mine'\nseed = 1")?, None));
//! let authority = Arc::new(Authority::new()?);
//! let origin = Origin::start(Options {
//!     http: vec!["127.0.0.1:8080".parse()?],
//!     cpus: vec![0],
//!     log_arrivals: true,
//!     ..Options::new(web.clone(), authority.clone())
//! })?;
//! authority.prepare(&web, &["www.example.org"]);
//! origin.begin();
//! // The subject runs; meanwhile:
//! println!("{} requests", origin.snapshot().requests);
//! let record = origin.stop();
//! record.arrivals.write_csv(&mut std::io::stdout().lock())?;
//! # Ok(())
//! # }
//! ```
//!
//! An origin that another machine measures against serves one trial after another: [`Running::begin_anew`] and
//! [`Running::end_trial`] give each its own counts, and pass connections of the controller on ([`Options::control`]).
//!
//! Each CPU has one thread with its own runtime, sockets (which share ports) and counters; threads share only read-only
//! data, and the number of requests in flight. `dyno-web` decides the content and time of each answer; this crate sends
//! it.
#![forbid(unsafe_code)]

mod access_log;
mod accounting;
mod authority;
mod bounds;
mod cache;
mod cached_connections;
mod cached_loop;
pub mod calibrator;
mod clock;
mod connection;
mod connection_info;
mod connections;
mod control;
mod counters;
mod date;
mod dns;
mod error;
mod handshake;
mod http;
mod http2;
mod leaf;
mod listen;
mod live;
mod message;
mod open_connection;
mod origin;
mod prepared;
mod report;
mod running;
mod scripted;
mod scripts;
mod serving;
mod throughput;
mod timer;
mod tls;
mod user_agents;
mod wire;
mod worker;

pub use access_log::AccessLog;
pub use authority::Authority;
pub use bounds::Bounds;
pub use cache::Cache;
pub use control::{CONTROL_PATH, ControlConnection};
pub use error::Error;
pub use live::Snapshot;
pub use origin::{Options, Origin};
pub use report::{Lateness, OriginReport};
pub use running::{Record, Running};
pub use scripts::{ScriptError, Scripts};
pub use throughput::Throughput;
pub use tls::KEY_EXCHANGE_GROUPS;
