//! `origin`: a web on this machine's own network.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use dyno_origin::{Authority, Options, Origin};
use dyno_room::CpuSet;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::progress::{Done, Progress};
use crate::web_identity;
use crate::web_source::WebArguments;

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    web: WebArguments,
    /// The address to serve at
    #[arg(long, default_value = "127.0.0.1")]
    address: IpAddr,
    /// The port of plain HTTP; 0 takes a free one
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// The port of HTTP over TLS
    #[arg(long)]
    tls_port: Option<u16>,
    /// The port of the name server, over UDP and TCP
    #[arg(long)]
    dns_port: Option<u16>,
    /// Where to write the certificate that clients must trust (PEM)
    #[arg(long, value_name = "FILE")]
    authority: Option<PathBuf>,
    /// CPUs to serve with, one thread each
    #[arg(long, value_name = "CPUS")]
    cpus: Option<CpuSet>,
    /// Where to write what the origin saw (JSON)
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// An open file descriptor to write progress to (JSON lines)
    #[arg(long, value_name = "DESCRIPTOR")]
    progress: Option<u32>,
}

/// Serves until SIGINT or SIGTERM.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let (web, authority) = (Arc::new(arguments.web.load()?), Arc::new(Authority::new()?));
    let progress = Progress::new(arguments.progress)?;
    let cpus = match &arguments.cpus {
        Some(cpus) => {
            cpus.check_within(&CpuSet::allowed()?, "origin")?;
            cpus.iter().collect()
        }
        None => Vec::new(),
    };
    let at = |port: u16| SocketAddr::new(arguments.address, port);
    let running = Origin::start(Options {
        http: vec![at(arguments.port)],
        https: arguments.tls_port.map(at).into_iter().collect(),
        dns: arguments.dns_port.map(at).into_iter().collect(),
        cpus,
        ..Options::new(web.clone(), authority.clone())
    })?;
    if let Some(path) = &arguments.authority {
        std::fs::write(path, authority.pem())
            .with_context(|| format!("--authority {}", path.display()))?;
    }
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
    running.begin();
    let running = Arc::new(running);
    let watched = running.clone();
    let watch = progress.watch(move || {
        let snapshot = watched.snapshot();
        Done {
            requests: snapshot.answers,
            sent_bytes: snapshot.sent_bytes,
        }
    });
    wait_for_signal()?;
    watch.end();
    let running = Arc::into_inner(running).context("the origin is still watched")?;
    let record = running.stop();
    if let Some(path) = &arguments.report {
        let report = json!({
            "version": 1,
            "web": web_identity::identity(&web),
            "origin": record.report,
            "throughput": record.throughput,
        });
        std::fs::write(path, format!("{report}\n"))
            .with_context(|| format!("--report {}", path.display()))?;
    }
    Ok(0)
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
