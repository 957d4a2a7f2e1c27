//! The options of `room`.

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
pub use link::Switch;
pub use peer::PeerArguments;
pub use server::ServerArguments;

use super::program::variable;
use crate::quantity;
use crate::scripts::ScriptArguments;
use crate::usage::HELP;
use crate::web_source::WebArguments;

/// Printed before the options.
const EXAMPLE: &str = "Example: httpdyno room -- curl -s https://www.wikipedia.org/   any program";
/// Printed after the options.
const MORE: &str = "\
The room isolates the network and the processes, not the files: the command reads and writes your files.

The last line of standard error summarises the traffic and the CPU time of the command. The lines before it explain
failures: hosts with a planned fault, statuses of the web, memory, addresses outside, rejected certificates.

Exit status: that of the command; 128 + N ended by signal N, 124 at its deadline, 125 when the engine failed.

More examples
    httpdyno room --link 4g -- curl -s https://example.org/   over a slow link
    httpdyno room --web plain -- sh my-crawler.sh             without planned faults
    httpdyno room --report saw.json -- sh my-crawler.sh       with a report as JSON";

#[derive(Debug, Args)]
#[command(help_template = HELP, before_help = EXAMPLE, after_help = MORE)]
pub struct Arguments {
    #[command(flatten)]
    pub web: WebArguments,
    #[command(flatten)]
    pub peer: PeerArguments,
    #[command(flatten)]
    pub scripts: ScriptArguments,
    #[command(flatten)]
    pub server: ServerArguments,
    /// Origin of another machine that serves the web, instead of one in the room
    #[arg(long, value_name = "URL", value_parser = OneOrigin::parse, conflicts_with_all = ["peer", "link", "scripts"])]
    pub against: Option<OneOrigin>,
    /// Network of the command, instead of the room's own: host is the machine's, with its names and its trust
    #[arg(long, value_name = "NETWORK", conflicts_with_all = [
        "web", "seed", "peer", "driver", "against", "link", "receive_steering", "arrivals", "trust_files", "scripts",
    ])]
    pub network: Option<NetworkChoice>,
    /// Timeout of the client, for the forecast of progress; --per-host waits for twice this time
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = quantity::duration)]
    pub timeout: Nanos,
    #[command(flatten)]
    pub link: LinkArguments,
    /// Process received packets on the CPUs of the receiving end of the link, instead of the sender's (root only)
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
    /// Memory limit of the command, such as 2GiB
    #[arg(long, value_name = "SIZE", value_parser = quantity::memory)]
    pub memory: Option<u64>,
    /// Deadline of the command, such as 600s: it gets SIGTERM, and two seconds later SIGKILL
    #[arg(long, value_name = "TIME", value_parser = quantity::standard_duration)]
    pub deadline: Option<Duration>,
    /// Feed the lines of --stdin at this rate per second instead of all at once
    #[arg(long, value_name = "PER_SECOND", requires = "stdin")]
    pub rate: Option<f64>,
    /// Feed the lines of --stdin in batches of N; the next batch follows when the command has printed a line for each
    #[arg(long, value_name = "N", requires = "stdin", conflicts_with = "rate")]
    pub batch: Option<NonZeroU64>,
    /// Feed the lines of --stdin with at most N unanswered per host
    #[arg(long, value_name = "N", requires = "stdin", conflicts_with_all = ["rate", "batch"])]
    pub per_host: Option<NonZeroUsize>,
    /// With --per-host, minimum time between two lines of one host, such as 500ms
    #[arg(long, value_name = "TIME", default_value = "0s", requires = "per_host", value_parser = quantity::standard_duration)]
    pub per_host_interval: Duration,
    /// With --rate, time between the last line and the end of the command, finished or not
    #[arg(long, value_name = "TIME", requires = "rate", value_parser = quantity::standard_duration)]
    pub grace: Option<Duration>,
    /// Standard input of the command
    #[arg(long, value_name = "FILE")]
    pub stdin: Option<PathBuf>,
    /// Standard output of the command
    #[arg(long, value_name = "FILE")]
    pub stdout: Option<PathBuf>,
    /// Standard error of the command
    #[arg(long, value_name = "FILE")]
    pub stderr: Option<PathBuf>,
    /// Write the report of the room here (JSON)
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write the arrival time of every request here (CSV)
    #[arg(long, value_name = "FILE")]
    pub arrivals: Option<PathBuf>,
    /// An open file descriptor to write progress to (JSON lines)
    #[arg(long, value_name = "DESCRIPTOR")]
    pub progress: Option<u32>,
    /// Start the command with PATH, HOME, LANG, TZ, the variables of trust, and those of --env only
    #[arg(long)]
    pub clean_environment: bool,
    /// Environment variable of the command
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    pub variables: Vec<(OsString, OsString)>,
    /// Further file of trusted certificates to replace with the room's (certifi's cacert.pem, a JVM's cacerts)
    #[arg(long = "trust-file", value_name = "FILE")]
    pub trust_files: Vec<PathBuf>,
    /// Disable the filter of system calls that no program needs here (kernel modules, counters, keys); the room is sealed without it, too
    #[arg(long)]
    pub no_seccomp: bool,
    /// Working directory of the command
    #[arg(long, value_name = "FOLDER")]
    pub directory: Option<PathBuf>,
    /// Command with its arguments
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
    /// The options of the room.
    pub fn room_options(&self) -> Result<RoomOptions> {
        let allowed = CpuSet::allowed()?;
        let cpus: Vec<usize> = allowed.iter().collect();
        let (Some(&first), Some(&last)) = (cpus.first(), cpus.last()) else {
            bail!("this process has no usable CPU")
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

    /// The given variables, with the caller's unless the command has a clean environment.
    pub fn environment(&self, variables: Vec<(OsString, OsString)>) -> Environment {
        if self.clean_environment {
            Environment::Clean(variables)
        } else {
            Environment::Inherited(variables)
        }
    }
}
