//! From a host name to an address: a stub resolver with a cache, and the choice of the address to connect to.

mod cache;
mod configuration;
mod exchange;
mod hosts;
mod lookup;
mod message;
mod name_server;
mod pipeline;
mod race;
mod resolver;
mod upstreams;

pub use cache::Cache;
pub use configuration::Configuration;
pub use hosts::Hosts;
pub use lookup::Lookup;
pub(crate) use message::Family;
pub use name_server::{NameServer, Transport};
pub(crate) use race::{Race, Step};
pub use resolver::{Counts, OnFailure, Options, Resolver};
pub use upstreams::explain;
