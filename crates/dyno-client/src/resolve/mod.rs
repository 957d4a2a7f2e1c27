//! From a host name to an address: a stub resolver with a cache, and the choice of the address to connect to.

mod cache;
mod configuration;
mod exchange;
mod hosts;
mod lookup;
mod message;
mod race;
mod resolver;

pub use configuration::Configuration;
pub use hosts::Hosts;
pub use lookup::Lookup;
pub(crate) use message::Family;
pub(crate) use race::{Race, Step};
pub use resolver::{Counts, Options, Resolver};
