//! `origin`: a web on this machine's own network.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use dyno_io::open_files;
use dyno_origin::{Authority, Bounds, Options, Origin, Record, Running};
use dyno_room::CpuSet;
use dyno_web::Web;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::control::{self, Allowed, ControlService};
use crate::listen_address::{PORT, listen_address};
use crate::messages::UsageError;
use crate::preparation;
use crate::progress::{Counters, Progress};
use crate::quantity;
use crate::scripts::ScriptArguments;
use crate::usage::HELP;
use crate::web_identity;
use crate::web_source::WebArguments;

/// Number of polls, and their interval, while other threads still use the origin.
const MOST_PAUSES: u32 = 2_000;
const PAUSE: Duration = Duration::from_millis(5);

/// Default of --max-connections.
const MOST_CONNECTIONS: usize = 65_536;
/// Open files that are not connections.
const OTHER_FILES: usize = 64;
/// URLs and DNS questions that are remembered, to count repeated ones.
const NAMES: usize = 65_536;
/// DNS queries with a delayed answer.
const DELAYED_QUERIES: usize = 16_384;

/// Printed before the options.
const EXAMPLE: &str =
    "Example: httpdyno origin --web plain --port 8080   on http://127.0.0.1:8080/";
/// Printed after the options.
const MORE: &str = "\
More examples
    httpdyno origin --web plain --listen 0.0.0.0                serve other machines
    httpdyno origin --tls-port 8443 --authority authority.pem   serve HTTPS, too";

#[derive(Debug, Args)]
#[command(help_template = HELP, before_help = EXAMPLE, after_help = MORE)]
pub struct Arguments {
    #[command(flatten)]
    web: WebArguments,
    /// Address of plain HTTP, with or without a port: 0.0.0.0 for all addresses of this machine, port 0 for a free one; may be
    /// repeated [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = listen_address)]
    listen: Vec<SocketAddr>,
    /// Serve this machine only, on this port: short for --listen 127.0.0.1:N --control off
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Machines that may measure against this origin: any, off, or addresses separated by commas [default: any with --listen, else
    /// off]
    #[arg(long, value_name = "WHO")]
    control: Option<Allowed>,
    /// Port of HTTP over TLS
    #[arg(long)]
    tls_port: Option<u16>,
    /// Port of the name server, UDP and TCP
    #[arg(long)]
    dns_port: Option<u16>,
    /// Write the certificate that clients must trust here (PEM)
    #[arg(long, value_name = "FILE")]
    authority: Option<PathBuf>,
    /// Maximum number of open connections; a further one closes the one that has been idle for longest [default: 65536, or
    /// fewer under the limit of open files]
    #[arg(long, value_name = "N")]
    max_connections: Option<NonZeroUsize>,
    /// Close a connection that has been idle for this long
    #[arg(long, value_name = "TIME", default_value = "75s", value_parser = quantity::standard_duration)]
    idle_timeout: Duration,
    #[command(flatten)]
    scripts: ScriptArguments,
    /// CPUs to serve with, one thread each [default: one thread; on the first CPU where other machines may measure]
    #[arg(long, value_name = "CPUS")]
    cpus: Option<CpuSet>,
    /// Write the counters of the origin here (JSON)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// An open file descriptor to write progress to (JSON lines)
    #[arg(long, value_name = "DESCRIPTOR")]
    progress: Option<u32>,
}

impl Arguments {
    fn listen(&self) -> Result<Vec<SocketAddr>, UsageError> {
        match (self.port, self.listen.first()) {
            (Some(port), Some(address)) => Err(UsageError::new(format_args!(
                "--port {port} conflicts with --listen; write the port there: --listen {}",
                SocketAddr::new(address.ip(), port)
            ))),
            (port, None) => Ok(vec![SocketAddr::from((
                Ipv4Addr::LOCALHOST,
                port.unwrap_or(PORT),
            ))]),
            (None, Some(_)) => Ok(self.listen.clone()),
        }
    }

    fn allowed(&self) -> Allowed {
        let default = if self.listen.is_empty() {
            Allowed::Off
        } else {
            Allowed::Any
        };
        self.control.clone().unwrap_or(default)
    }

    /// The limits of each of `threads` threads.
    fn bounds(&self, threads: usize) -> Bounds {
        let possible = open_files::raise().map_or(MOST_CONNECTIONS, |files| {
            usize::try_from(files)
                .map_or(MOST_CONNECTIONS, |files| files.saturating_sub(OTHER_FILES))
        });
        let connections = self.max_connections.map_or(MOST_CONNECTIONS, usize::from);
        Bounds {
            connections: connections.min(possible).div_ceil(threads).max(1),
            idle: self.idle_timeout,
            names: NAMES.div_ceil(threads),
            queries: DELAYED_QUERIES.div_ceil(threads),
        }
    }

    /// CPUs of the threads. Pinned if other machines may measure, because their trials report how busy the CPUs were.
    fn cpus(&self, allowed: &Allowed) -> Result<Option<CpuSet>> {
        let available = CpuSet::allowed()?;
        match &self.cpus {
            Some(cpus) => {
                cpus.check_within(&available, "origin")?;
                Ok(Some(cpus.clone()))
            }
            None if *allowed == Allowed::Off => Ok(None),
            None => Ok(available.iter().next().map(|cpu| CpuSet::from([cpu]))),
        }
    }
}

/// Serves until SIGINT or SIGTERM.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let (web, authority) = (Arc::new(arguments.web.load()?), Arc::new(Authority::new()?));
    let progress = Progress::new(arguments.progress)?;
    let (listen, allowed) = (arguments.listen()?, arguments.allowed());
    let cpus = arguments.cpus(&allowed)?;
    let addresses = listen.iter().map(SocketAddr::ip).collect();
    let scripts = arguments.scripts.load(Some(addresses))?;
    let (control, connections) = mpsc::channel();
    let cpus_served: Vec<usize> = cpus.iter().flat_map(CpuSet::iter).collect();
    let running = Origin::start(Options {
        bounds: Some(arguments.bounds(cpus_served.len().max(1))),
        https: ports_at(&listen, arguments.tls_port),
        dns: ports_at(&listen, arguments.dns_port),
        cpus: cpus_served,
        faulty_blocks: false,
        scripts: scripts.clone(),
        control: (allowed != Allowed::Off).then_some(control),
        http: listen,
        cache: preparation::cache(),
        making: preparation::announce_compression,
        ..Options::new(web.clone(), authority.clone())
    })?;
    if let Some(path) = &arguments.authority {
        std::fs::write(path, authority.pem())
            .with_context(|| format!("--authority {}", path.display()))?;
    }
    announce(&web, &running);
    running.begin();
    let running = Arc::new(running);
    if let Some(cpus) = cpus.filter(|_| allowed != Allowed::Off) {
        let service = ControlService::new(web.clone(), &running, cpus);
        eprintln!("{}", invitation(&allowed));
        thread::spawn(move || control::serve(connections, service, allowed));
    }
    let watch = progress.watch(watcher(running.clone()));
    wait_for_signal()?;
    watch.end();
    let record = sole_owner(running)?.stop();
    preparation::warn_if_late(&record.report.lateness_ns);
    arguments.scripts.write_transcripts(scripts.as_deref())?;
    if let Some(path) = &arguments.report {
        write_report(path, &web, &record)?;
    }
    Ok(0)
}

/// The given port on each of the addresses.
fn ports_at(listen: &[SocketAddr], port: Option<u16>) -> Vec<SocketAddr> {
    let mut hosts: Vec<IpAddr> = listen.iter().map(SocketAddr::ip).collect();
    hosts.dedup();
    let at = |port| hosts.iter().map(move |&host| SocketAddr::new(host, port));
    port.map(at).into_iter().flatten().collect()
}

/// Reads the origin's progress.
fn watcher(running: Arc<Running>) -> impl Fn() -> Counters + Send + 'static {
    move || {
        let snapshot = running.snapshot();
        Counters {
            requests: snapshot.answers,
            sent_bytes: snapshot.sent_bytes,
        }
    }
}

/// Writes the counters of the origin.
fn write_report(path: &Path, web: &Web, record: &Record) -> Result<()> {
    let report = json!({
        "version": 1,
        "web": web_identity::identity(web),
        "origin": record.report,
        "throughput": record.throughput,
    });
    std::fs::write(path, format!("{report}\n"))
        .with_context(|| format!("--report {}", path.display()))
}

fn announce(web: &Web, running: &Running) {
    let schemes = [
        ("http", running.http()),
        ("https", running.https()),
        ("dns", running.dns()),
    ];
    for (scheme, addresses) in schemes {
        for address in addresses {
            eprintln!("{} at {scheme}://{address}", web.model().name);
        }
    }
}

fn invitation(allowed: &Allowed) -> String {
    let who = match allowed {
        Allowed::Only(addresses) => {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            addresses.join(" or ")
        }
        _ => "another machine".to_owned(),
    };
    format!("measure from {who} with: --against http://THIS-MACHINE:PORT; end with Ctrl-C")
}

/// Takes ownership of the origin once no other thread uses it, which takes a moment.
fn sole_owner(mut running: Arc<Running>) -> Result<Running> {
    for _ in 0..MOST_PAUSES {
        match Arc::try_unwrap(running) {
            Ok(running) => return Ok(running),
            Err(shared) => running = shared,
        }
        thread::sleep(PAUSE);
    }
    bail!("the origin is still in use")
}

fn wait_for_signal() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("starting")?;
    runtime.block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Typed {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn typed(words: &str) -> Arguments {
        let words = std::iter::once("origin").chain(words.split_whitespace());
        Typed::try_parse_from(words).unwrap().arguments
    }

    #[test]
    fn a_port_alone_serves_this_machine_only() {
        let cases = [
            ("", "127.0.0.1:8080", Allowed::Off),
            ("--port 81", "127.0.0.1:81", Allowed::Off),
            ("--port 0", "127.0.0.1:0", Allowed::Off),
            ("--port 81 --control any", "127.0.0.1:81", Allowed::Any),
            ("--listen 127.0.0.1:81", "127.0.0.1:81", Allowed::Any),
        ];
        for (words, address, allowed) in cases {
            let arguments = typed(words);
            let listen = arguments.listen().unwrap();
            let texts: Vec<String> = listen.iter().map(ToString::to_string).collect();
            assert_eq!(texts, [address], "{words}");
            assert_eq!(arguments.allowed(), allowed, "{words}");
        }
    }

    #[test]
    fn port_and_listen_conflict() {
        let refused = typed("--port 81 --listen 0.0.0.0").listen().unwrap_err();
        assert_eq!(
            refused.to_string(),
            "--port 81 conflicts with --listen; write the port there: --listen 0.0.0.0:81"
        );
    }
}
