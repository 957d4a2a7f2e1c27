//! What `room` is told on its command line.

mod link;
mod peer;
mod server;

use std::ffi::OsString;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use dyno_room::{CpuSet, Environment, RoomOptions, Surroundings};
use dyno_web::{Nanos, OneOrigin};

pub use link::LinkArguments;
use link::Switch;
pub use peer::PeerArguments;
pub use server::ServerArguments;

use super::program::variable;
use crate::quantity;
use crate::usage::HELP;
use crate::web_source::WebArguments;

/// What the options come after.
const EXAMPLE: &str = "Example: httpdyno room -- curl -s https://www.wikipedia.org/   any program";
/// What follows the options.
const MORE: &str = "\
It seals the network and the processes, not the files: the command reads and writes those of whoever starts it.

The last line of standard error says what the command did on the wire and what CPU time it took; those before it what it
was refused: names with a fault, statuses of the web, memory, addresses outside, certificates that it does not trust.

Exit status: that of the command; 128 + N when signal N ended it, 124 at its deadline, 125 when the engine failed.

More examples
  httpdyno room --link 4g -- curl -s https://example.org/   over a slow way
  httpdyno room --web plain -- sh my-crawler.sh             where nothing fails
  httpdyno room --report saw.json -- sh my-crawler.sh       what the room saw";

#[derive(Debug, Args)]
#[command(help_template = HELP, before_help = EXAMPLE, after_help = MORE)]
pub struct Arguments {
    #[command(flatten)]
    pub web: WebArguments,
    #[command(flatten)]
    pub peer: PeerArguments,
    #[command(flatten)]
    pub server: ServerArguments,
    /// The origin of another machine that plays the web, instead of one in the room
    #[arg(long, value_name = "URL", value_parser = OneOrigin::parse, conflicts_with_all = ["peer", "link"])]
    pub against: Option<OneOrigin>,
    /// The network that the command is in, instead of one of the room's own: the machine's, with its names and its trust
    #[arg(long, value_name = "NETWORK", conflicts_with_all = [
        "web", "seed", "peer", "driver", "against", "link", "receive_steering", "arrivals", "trust_files",
    ])]
    pub network: Option<NetworkChoice>,
    /// The client's timeout that progress is foreseen for, and that --per-host waits for twice
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = quantity::duration)]
    pub timeout: Nanos,
    #[command(flatten)]
    pub link: LinkArguments,
    /// Have each end of the link receive packets on its own CPUs, instead of those of the end that sent them (root only)
    #[arg(
        long,
        value_name = "CHOICE",
        default_value = "off",
        conflicts_with = "against"
    )]
    pub receive_steering: Switch,
    /// CPUs of the command (a list such as 1 or 2-3)
    #[arg(long, value_name = "CPUS")]
    pub subject_cpus: Option<CpuSet>,
    /// CPUs of the engine
    #[arg(long, value_name = "CPUS")]
    pub engine_cpus: Option<CpuSet>,
    /// Memory that the command may use, such as 2GiB
    #[arg(long, value_name = "SIZE", value_parser = quantity::memory)]
    pub memory: Option<u64>,
    /// When the command is asked to end, such as 600s; two seconds later it is killed
    #[arg(long, value_name = "TIME", value_parser = quantity::standard_duration)]
    pub deadline: Option<Duration>,
    /// Feed the lines of --stdin at this many a second instead of all at once
    #[arg(long, value_name = "PER_SECOND", requires = "stdin")]
    pub rate: Option<f64>,
    /// Hand over the lines of --stdin in batches of so many: the next ones when the command has printed as many as it was given
    #[arg(long, value_name = "N", requires = "stdin", conflicts_with = "rate")]
    pub batch: Option<NonZeroU64>,
    /// Hand over the lines of --stdin so that at most so many of one host are unanswered
    #[arg(long, value_name = "N", requires = "stdin", conflicts_with_all = ["rate", "batch"])]
    pub per_host: Option<NonZeroUsize>,
    /// With --per-host, the least time between two lines of one host, such as 500ms
    #[arg(long, value_name = "TIME", default_value = "0s", requires = "per_host", value_parser = quantity::standard_duration)]
    pub per_host_interval: Duration,
    /// With --rate, when the command is asked to end after the last line was due, whatever it has still to do
    #[arg(long, value_name = "TIME", requires = "rate", value_parser = quantity::standard_duration)]
    pub grace: Option<Duration>,
    /// The command's standard input
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    /// The command's standard output
    #[arg(long, value_name = "FILE")]
    pub stdout: Option<PathBuf>,
    /// The command's standard error
    #[arg(long, value_name = "FILE")]
    pub stderr: Option<PathBuf>,
    /// Where to write what the room saw (JSON)
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Where to write when which request came (CSV)
    #[arg(long, value_name = "FILE")]
    pub arrivals: Option<PathBuf>,
    /// An open file descriptor to write progress to (JSON lines)
    #[arg(long, value_name = "DESCRIPTOR")]
    pub progress: Option<u32>,
    /// Give the command only PATH, HOME, LANG, TZ, what makes it trust the room, what --env says
    #[arg(long)]
    pub clean_environment: bool,
    /// A variable for the command
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    pub variables: Vec<(OsString, OsString)>,
    /// A further file of trusted certificates to replace by the room's (certifi's cacert.pem, a JVM's cacerts)
    #[arg(long = "trust-file", value_name = "FILE")]
    pub trust_files: Vec<PathBuf>,
    /// Let system calls through that no program needs here (kernel modules, counters, keys); the room is as closed without the filter
    #[arg(long)]
    pub no_seccomp: bool,
    /// The command's working directory
    #[arg(long, value_name = "FOLDER")]
    pub directory: Option<PathBuf>,
    /// The command with its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub argv: Vec<OsString>,
}

/// A network that is not the room's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NetworkChoice {
    /// The machine's.
    Host,
}

impl Arguments {
    /// The room that is asked for.
    pub fn room_options(&self) -> Result<RoomOptions> {
        let allowed = CpuSet::allowed()?;
        let cpus: Vec<usize> = allowed.iter().collect();
        let (Some(&first), Some(&last)) = (cpus.first(), cpus.last()) else {
            bail!("this process may use no CPU")
        };
        let chosen = |given: &Option<CpuSet>, default: usize, whose: &str| -> Result<CpuSet> {
            let set = given.clone().unwrap_or_else(|| CpuSet::from([default]));
            set.check_within(&allowed, whose)?;
            Ok(set)
        };
        Ok(RoomOptions {
            engine_cpus: chosen(&self.engine_cpus, first, "engine")?,
            subject_cpus: chosen(&self.subject_cpus, last, "subject")?,
            memory_limit_bytes: self.memory,
            surroundings: if self.network.is_some() || self.against.is_some() {
                Surroundings::Machine
            } else {
                Surroundings::Sealed
            },
            receive_steering: self.receive_steering == Switch::On,
            link: self.link.options(),
            filters_system_calls: !self.no_seccomp,
            ..RoomOptions::default()
        })
    }

    /// These variables, and the caller's unless the command is to have a clean environment.
    pub fn environment(&self, variables: Vec<(OsString, OsString)>) -> Environment {
        if self.clean_environment {
            Environment::Clean(variables)
        } else {
            Environment::Inherited(variables)
        }
    }
}
