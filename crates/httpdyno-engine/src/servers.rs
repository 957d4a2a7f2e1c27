//! Options of whoever asks servers: where they are, and whom to trust.

use std::path::PathBuf;

use clap::Args;
use dyno_load::transport::{ConnectTo, Reroute, Resolve};

#[derive(Debug, Args)]
pub struct Servers {
    /// Accept any certificate
    #[arg(long, short = 'k')]
    pub insecure: bool,
    /// Certificates to trust besides the machine's (PEM)
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// The address of a host, without DNS; may be repeated
    #[arg(long, value_name = "HOST:PORT:ADDRESS")]
    resolve: Vec<Resolve>,
    /// Another host to connect to than the URL names; may be repeated
    #[arg(long, value_name = "HOST1:PORT1:HOST2:PORT2")]
    connect_to: Vec<ConnectTo>,
}

impl Servers {
    /// Where to connect in place of what a URL says.
    pub fn reroute(&self) -> Reroute {
        Reroute {
            connect_to: self.connect_to.clone(),
            resolve: self.resolve.clone(),
        }
    }
}
