//! Options of verbs that connect to servers: addresses and trust.

use std::path::PathBuf;

use clap::Args;
use dyno_client::{ConnectTo, Reroute, Resolve};

#[derive(Debug, Args)]
pub struct Servers {
    /// Accept any certificate
    #[arg(long, short = 'k')]
    pub insecure: bool,
    /// Trust these certificates, too (PEM)
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Address of a host, instead of DNS; may be repeated
    #[arg(long, value_name = "HOST:PORT:ADDRESS")]
    resolve: Vec<Resolve>,
    /// Connect to another host than the URL names; may be repeated
    #[arg(long, value_name = "HOST1:PORT1:HOST2:PORT2")]
    connect_to: Vec<ConnectTo>,
}

impl Servers {
    /// The overrides of addresses.
    pub fn reroute(&self) -> Reroute {
        Reroute {
            connect_to: self.connect_to.clone(),
            resolve: self.resolve.clone(),
        }
    }
}
