//! `room`: one command in a sealed room with a web, or another peer, of its own.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use dyno_room::{CpuSet, Environment, Furnishing, PeerOptions, Room, RoomOptions, SubjectOptions};
use dyno_web::Nanos;
use rustix::fd::OwnedFd;

use crate::feed::{Fed, Feeder};
use crate::progress::{Done, Progress};
use crate::quantity;
use crate::report::Report;
use crate::room_web::RoomWeb;
use crate::web_source::WebArguments;

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    web: WebArguments,
    /// A program whom the subject talks to instead of a web (one string, split as a shell splits words)
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["web", "seed"])]
    peer: Option<String>,
    /// The client's timeout that progress is foreseen for
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = quantity::duration)]
    timeout: Nanos,
    /// CPUs of the command (a list such as 1 or 2-3)
    #[arg(long, value_name = "CPUS")]
    subject_cpus: Option<CpuSet>,
    /// CPUs of the engine
    #[arg(long, value_name = "CPUS")]
    engine_cpus: Option<CpuSet>,
    /// Memory that the command may use, such as 2GiB
    #[arg(long, value_name = "SIZE", value_parser = quantity::bytes)]
    memory: Option<u64>,
    /// When the command is asked to end, such as 600s; two seconds later it is killed
    #[arg(long, value_name = "TIME", value_parser = quantity::standard_duration)]
    deadline: Option<Duration>,
    /// Feed the lines of --stdin at this many a second instead of all at once
    #[arg(long, value_name = "PER_SECOND", requires = "stdin")]
    rate: Option<f64>,
    /// The command's standard input
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// The command's standard output
    #[arg(long, value_name = "FILE")]
    stdout: Option<PathBuf>,
    /// The command's standard error
    #[arg(long, value_name = "FILE")]
    stderr: Option<PathBuf>,
    /// Where to write what the room saw (JSON)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Where to write when which request came (CSV)
    #[arg(long, value_name = "FILE")]
    arrivals: Option<PathBuf>,
    /// An open file descriptor to write progress to (JSON lines)
    #[arg(long, value_name = "DESCRIPTOR")]
    progress: Option<u32>,
    /// Give the command only PATH, HOME, LANG, TZ, what makes it trust the room, what --env says
    #[arg(long)]
    clean_environment: bool,
    /// A variable for the command
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    variables: Vec<(OsString, OsString)>,
    /// A further file of trusted certificates to replace by the room's (certifi's cacert.pem, a JVM's cacerts)
    #[arg(long = "trust-file", value_name = "FILE")]
    trust_files: Vec<PathBuf>,
    /// The command's working directory
    #[arg(long, value_name = "FOLDER")]
    directory: Option<PathBuf>,
    /// The command with its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    argv: Vec<OsString>,
}

fn variable(text: &str) -> Result<(OsString, OsString), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err(format!("{text:?}: write NAME=VALUE")),
    }
}

/// Makes the room, runs the command in it, reports; the status is the command's.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let web = arguments
        .peer
        .is_none()
        .then(|| arguments.web.load())
        .transpose()?;
    let files = Files::open(arguments)?;
    let mut progress = Progress::new(arguments.progress)?;
    progress.preparing();
    let options = room_options(arguments)?;
    let mut room = Room::enter(&options)?;
    // From here on there may be threads; sockets are the peer's.
    let web = web
        .map(|web| RoomWeb::start(web, &room, &options, arguments.arrivals.is_some()))
        .transpose()?;
    room.furnish(&Furnishing {
        authorities: web.iter().map(RoomWeb::authority).collect(),
        trust_files: arguments.trust_files.clone(),
    })?;
    if let Some(peer) = &arguments.peer {
        room.start_peer(peer_options(peer, arguments)?)?;
    }
    if let (Some(web), Some(list)) = (&web, &arguments.stdin) {
        progress.expect(Some(web.prepare(list, arguments.timeout)?));
    }
    let feeder = files.feeder;
    if let Some(web) = &web {
        web.begin();
    }
    let running = room.start(SubjectOptions {
        argv: arguments.argv.clone(),
        environment: environment(arguments),
        directory: arguments.directory.clone(),
        stdin: files.stdin,
        stdout: files.stdout,
        stderr: files.stderr,
        deadline: arguments.deadline,
    })?;
    let feeding: Option<JoinHandle<Fed>> = feeder.map(Feeder::start);
    let watch = match &web {
        Some(web) => progress.watch(web.watcher()),
        None => progress.watch(Done::default),
    };
    let ending = running.wait()?;
    watch.end();
    let origin = web.map(RoomWeb::stop).transpose()?;
    let fed = feeding.and_then(|feeding| feeding.join().ok());
    let status = ending.exit_status();
    if let (Some(path), Some(origin)) = (&arguments.arrivals, &origin) {
        origin.write_arrivals(path)?;
    }
    if ending.outcome == dyno_room::Outcome::FailedToStart {
        eprintln!(
            "httpdyno-engine: {}",
            ending
                .reason
                .as_deref()
                .unwrap_or("the command could not be started")
        );
    }
    if let Some(path) = &arguments.report {
        Report {
            ending,
            origin: origin.as_ref(),
            fed,
        }
        .write(path)?;
    }
    Ok(status)
}

fn room_options(arguments: &Arguments) -> Result<RoomOptions> {
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
        engine_cpus: chosen(&arguments.engine_cpus, first, "engine")?,
        subject_cpus: chosen(&arguments.subject_cpus, last, "subject")?,
        memory_limit_bytes: arguments.memory,
        ..RoomOptions::default()
    })
}

fn environment(arguments: &Arguments) -> Environment {
    let variables = arguments.variables.clone();
    if arguments.clean_environment {
        Environment::Clean(variables)
    } else {
        Environment::Inherited(variables)
    }
}

fn peer_options(peer: &str, arguments: &Arguments) -> Result<PeerOptions> {
    let words = shlex::split(peer).filter(|words| !words.is_empty());
    let argv = words.ok_or_else(|| anyhow!("--peer {peer:?}: no command, or an unclosed quote"))?;
    Ok(PeerOptions {
        argv: argv.into_iter().map(OsString::from).collect(),
        environment: environment(arguments),
        directory: arguments.directory.clone(),
        output: rustix::io::dup(std::io::stderr()).context("standard error")?,
    })
}

/// The command's standard streams, opened before the room hides anything.
struct Files {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    feeder: Option<Feeder>,
}

impl Files {
    fn open(arguments: &Arguments) -> Result<Self> {
        let (stdin, feeder) = match (&arguments.stdin, arguments.rate) {
            (None, _) => (
                rustix::io::dup(std::io::stdin()).context("standard input")?,
                None,
            ),
            (Some(path), None) => (
                File::open(path)
                    .with_context(|| format!("--stdin {}", path.display()))?
                    .into(),
                None,
            ),
            (Some(path), Some(rate)) => {
                if !(rate.is_finite() && rate > 0.0) {
                    bail!("--rate {rate}: must be above 0");
                }
                let (feeder, read) = Feeder::new(path, rate)?;
                (read, Some(feeder))
            }
        };
        let stdout = match &arguments.stdout {
            Some(path) => create("--stdout", path)?,
            None => rustix::io::dup(std::io::stdout()).context("standard output")?,
        };
        let stderr = match &arguments.stderr {
            Some(path) => create("--stderr", path)?,
            None => rustix::io::dup(std::io::stderr()).context("standard error")?,
        };
        Ok(Self {
            stdin,
            stdout,
            stderr,
            feeder,
        })
    }
}

fn create(flag: &str, path: &Path) -> Result<OwnedFd> {
    Ok(File::create(path)
        .with_context(|| format!("{flag} {}", path.display()))?
        .into())
}
