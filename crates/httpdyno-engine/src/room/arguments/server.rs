//! The options of `room` for a server as its command.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::quantity;

#[derive(Debug, Args)]
pub struct ServerArguments {
    /// Treat the command as a server, and run this program at the peer's end of the link; it gets the server's URL in its variable
    /// `SERVER_URL` or as `{server_url}` (one string, split like in a shell)
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["web", "seed", "peer", "against", "stdin", "rate", "arrivals", "scripts"])]
    pub driver: Option<String>,
    /// Port of the server, passed in its variables HOST and PORT
    #[arg(long, value_name = "PORT", default_value = "8080", requires = "driver", value_parser = clap::value_parser!(u16).range(1..))]
    pub listen_port: u16,
    /// Longest time until the server accepts connections
    #[arg(long, value_name = "TIME", default_value = "30s", requires = "driver", value_parser = quantity::standard_duration)]
    pub ready_timeout: Duration,
    /// File for the standard output of the driver
    #[arg(long, value_name = "FILE", requires = "driver")]
    pub driver_output: Option<PathBuf>,
}
