//! `origin`: a web on this machine's own network.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use dyno_load::open_files;
use dyno_origin::{Authority, Bounds, Options, Origin, Record, Running};
use dyno_room::CpuSet;
use dyno_web::Web;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::complaint::Mistyped;
use crate::control::{self, Allowed, Desk};
use crate::listen_address::{PORT, listen_address};
use crate::preparation;
use crate::progress::{Done, Progress};
use crate::quantity;
use crate::usage::HELP;
use crate::web_identity;
use crate::web_source::WebArguments;

/// How often and how long is waited until nobody asks anything any more.
const MOST_PAUSES: u32 = 2_000;
const PAUSE: Duration = Duration::from_millis(5);

/// Default of --max-connections.
const MOST_CONNECTIONS: usize = 65_536;
/// Open files that are no connections.
const OTHER_FILES: usize = 64;
/// URLs and DNS questions that are remembered, to count those that come again.
const NAMES: usize = 65_536;
/// DNS queries whose answers wait for their moment.
const DELAYED_QUERIES: usize = 16_384;

/// What the options come after.
const EXAMPLE: &str =
    "Example: httpdyno origin --web plain --port 8080   on http://127.0.0.1:8080/";
/// What follows the options.
const MORE: &str = "\
More examples
  httpdyno origin --web plain --listen 0.0.0.0                to other machines
  httpdyno origin --tls-port 8443 --authority authority.pem   HTTPS, too";

#[derive(Debug, Args)]
#[command(help_template = HELP, before_help = EXAMPLE, after_help = MORE)]
pub struct Arguments {
    #[command(flatten)]
    web: WebArguments,
    /// Where to serve plain HTTP: an address of this machine with or without a port, 0.0.0.0 for all of them; port 0 takes
    /// a free one; may be given several times [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = listen_address)]
    listen: Vec<SocketAddr>,
    /// The port to serve this machine alone at: short for --listen 127.0.0.1:N with --control off
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Who may measure against it from another machine: any, off, or addresses separated by commas [default: any with
    /// --listen, else off]
    #[arg(long, value_name = "WHO")]
    control: Option<Allowed>,
    /// The port of HTTP over TLS
    #[arg(long)]
    tls_port: Option<u16>,
    /// The port of the name server, over UDP and TCP
    #[arg(long)]
    dns_port: Option<u16>,
    /// Where to write the certificate that clients must trust (PEM)
    #[arg(long, value_name = "FILE")]
    authority: Option<PathBuf>,
    /// How many connections may be open; one more closes the one that has been silent for longest [default: 65536, or what
    /// the limit of open files leaves]
    #[arg(long, value_name = "N")]
    max_connections: Option<NonZeroUsize>,
    /// How long a connection may be silent before it is closed
    #[arg(long, value_name = "TIME", default_value = "75s", value_parser = quantity::standard_duration)]
    idle_timeout: Duration,
    /// CPUs to serve with, one thread each [default: one thread; for measuring from another machine on the first CPU]
    #[arg(long, value_name = "CPUS")]
    cpus: Option<CpuSet>,
    /// Where to write what the origin saw (JSON)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// An open file descriptor to write progress to (JSON lines)
    #[arg(long, value_name = "DESCRIPTOR")]
    progress: Option<u32>,
}

impl Arguments {
    fn listen(&self) -> Result<Vec<SocketAddr>, Mistyped> {
        match (self.port, self.listen.first()) {
            (Some(port), Some(address)) => Err(Mistyped::new(format_args!(
                "--port {port}: --listen says where to serve, too; write the port there: --listen {}",
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
            Allowed::Nobody
        } else {
            Allowed::Everybody
        };
        self.control.clone().unwrap_or(default)
    }

    /// What `threads` keep at most, each.
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

    /// Its threads' CPUs: whoever measures against it is told how busy they were.
    fn cpus(&self, allowed: &Allowed) -> Result<Option<CpuSet>> {
        let available = CpuSet::allowed()?;
        match &self.cpus {
            Some(cpus) => {
                cpus.check_within(&available, "origin")?;
                Ok(Some(cpus.clone()))
            }
            None if *allowed == Allowed::Nobody => Ok(None),
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
    let (control, visitors) = mpsc::channel();
    let cpus_served: Vec<usize> = cpus.iter().flat_map(CpuSet::iter).collect();
    let running = Origin::start(Options {
        bounds: Some(arguments.bounds(cpus_served.len().max(1))),
        https: ports_at(&listen, arguments.tls_port),
        dns: ports_at(&listen, arguments.dns_port),
        cpus: cpus_served,
        faulty_blocks: false,
        control: (allowed != Allowed::Nobody).then_some(control),
        http: listen,
        cache: preparation::cache(),
        making: preparation::making,
        ..Options::new(web.clone(), authority.clone())
    })?;
    if let Some(path) = &arguments.authority {
        std::fs::write(path, authority.pem())
            .with_context(|| format!("--authority {}", path.display()))?;
    }
    announce(&web, &running);
    running.begin();
    let running = Arc::new(running);
    if let Some(cpus) = cpus.filter(|_| allowed != Allowed::Nobody) {
        let desk = Desk::new(web.clone(), &running, cpus);
        eprintln!("{}", invitation(&allowed));
        thread::spawn(move || control::serve(visitors, desk, allowed));
    }
    let watch = progress.watch(watcher(running.clone()));
    wait_for_signal()?;
    watch.end();
    let record = alone(running)?.stop();
    preparation::own_up(&record.report.lateness_ns);
    if let Some(path) = &arguments.report {
        write_report(path, &web, &record)?;
    }
    Ok(0)
}

/// A port on each address of those.
fn ports_at(listen: &[SocketAddr], port: Option<u16>) -> Vec<SocketAddr> {
    let mut hosts: Vec<IpAddr> = listen.iter().map(SocketAddr::ip).collect();
    hosts.dedup();
    let at = |port| hosts.iter().map(move |&host| SocketAddr::new(host, port));
    port.map(at).into_iter().flatten().collect()
}

/// What watches the origin's progress.
fn watcher(running: Arc<Running>) -> impl Fn() -> Done + Send + 'static {
    move || {
        let snapshot = running.snapshot();
        Done {
            requests: snapshot.answers,
            sent_bytes: snapshot.sent_bytes,
        }
    }
}

/// Writes what the origin saw.
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
    format!(
        "to be measured against from {who}: --against http://THIS-MACHINE:PORT; end with Ctrl-C"
    )
}

/// Waits for those who are just asking something of an origin, which takes them a moment.
fn alone(mut running: Arc<Running>) -> Result<Running> {
    for _ in 0..MOST_PAUSES {
        match Arc::try_unwrap(running) {
            Ok(running) => return Ok(running),
            Err(shared) => running = shared,
        }
        thread::sleep(PAUSE);
    }
    bail!("the origin is still watched")
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
    fn a_port_alone_is_one_of_this_machine() {
        let cases = [
            ("", "127.0.0.1:8080", Allowed::Nobody),
            ("--port 81", "127.0.0.1:81", Allowed::Nobody),
            ("--port 0", "127.0.0.1:0", Allowed::Nobody),
            (
                "--port 81 --control any",
                "127.0.0.1:81",
                Allowed::Everybody,
            ),
            ("--listen 127.0.0.1:81", "127.0.0.1:81", Allowed::Everybody),
        ];
        for (words, address, allowed) in cases {
            let arguments = typed(words);
            let listen = arguments.listen().unwrap();
            let said: Vec<String> = listen.iter().map(ToString::to_string).collect();
            assert_eq!(said, [address], "{words}");
            assert_eq!(arguments.allowed(), allowed, "{words}");
        }
    }

    #[test]
    fn two_places_for_a_port_are_one_too_many() {
        let refused = typed("--port 81 --listen 0.0.0.0").listen().unwrap_err();
        assert_eq!(
            refused.to_string(),
            "--port 81: --listen says where to serve, too; write the port there: --listen 0.0.0.0:81"
        );
    }
}
