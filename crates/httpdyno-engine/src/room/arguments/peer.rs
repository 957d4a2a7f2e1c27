//! The options of `room` for a peer program.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::quantity;
use crate::room::program::variable;

#[derive(Debug, Args)]
pub struct PeerArguments {
    /// Program that the subject connects to instead of a web (one string, split like in a shell)
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["web", "seed", "scripts"])]
    pub peer: Option<String>,
    /// Port of the peer, passed in its variables HOST and PORT; the command starts when the peer accepts connections, and reaches
    /// it at peer.example
    #[arg(long, value_name = "PORT", requires = "peer", value_parser = clap::value_parser!(u16).range(1..))]
    pub peer_port: Option<u16>,
    /// Longest time until the peer accepts connections
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = quantity::standard_duration)]
    pub peer_ready_timeout: Duration,
    /// Working directory of the peer
    #[arg(long, value_name = "FOLDER", requires = "peer")]
    pub peer_directory: Option<PathBuf>,
    /// Environment variable of the peer, which with --peer-port has no variables of the command
    #[arg(long = "peer-env", value_name = "NAME=VALUE", requires = "peer", value_parser = variable)]
    pub peer_variables: Vec<(OsString, OsString)>,
    /// File for the output of the peer
    #[arg(long, value_name = "FILE", requires = "peer")]
    pub peer_output: Option<PathBuf>,
}
