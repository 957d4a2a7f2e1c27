//! What `room` is told of a peer program.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::quantity;
use crate::room::program::variable;

#[derive(Debug, Args)]
pub struct PeerArguments {
    /// A program whom the subject talks to instead of a web (one string, split as a shell splits words)
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["web", "seed"])]
    pub peer: Option<String>,
    /// Where the peer listens, as its variables HOST and PORT tell it; the command starts when it does, and reaches it at
    /// peer.example
    #[arg(long, value_name = "PORT", requires = "peer", value_parser = clap::value_parser!(u16).range(1..))]
    pub peer_port: Option<u16>,
    /// How long the peer may take until it accepts connections
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = quantity::standard_duration)]
    pub peer_ready_timeout: Duration,
    /// The peer's working directory
    #[arg(long, value_name = "FOLDER", requires = "peer")]
    pub peer_directory: Option<PathBuf>,
    /// A variable for the peer; with --peer-port it has none of the command's
    #[arg(long = "peer-env", value_name = "NAME=VALUE", requires = "peer", value_parser = variable)]
    pub peer_variables: Vec<(OsString, OsString)>,
    /// Where what the peer prints goes
    #[arg(long, value_name = "FILE", requires = "peer")]
    pub peer_output: Option<PathBuf>,
}
