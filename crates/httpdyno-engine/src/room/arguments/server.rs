//! What `room` is told when its command is a server.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::quantity;

#[derive(Debug, Args)]
pub struct ServerArguments {
    /// The command is a server; this program drives it from the peer's side, told where by its variable `SERVER_URL` or `{server_url}`
    /// (one string, split as a shell splits words)
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["web", "seed", "peer", "against", "stdin", "rate", "arrivals"])]
    pub driver: Option<String>,
    /// Where the server listens, as its variables HOST and PORT tell it
    #[arg(long, value_name = "PORT", default_value = "8080", requires = "driver", value_parser = clap::value_parser!(u16).range(1..))]
    pub listen_port: u16,
    /// How long the server may take until it accepts connections
    #[arg(long, value_name = "TIME", default_value = "30s", requires = "driver", value_parser = quantity::standard_duration)]
    pub ready_timeout: Duration,
    /// The driver's standard output
    #[arg(long, value_name = "FILE", requires = "driver")]
    pub driver_output: Option<PathBuf>,
}
