//! `calibrator`: a server that is known to take as long as it is told.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand};
use dyno_origin::calibrator::{Behaviour, Calibrator, Law, Record};
use dyno_room::CpuSet;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::quantity::standard_duration;

#[derive(Debug, Args)]
pub struct Arguments {
    /// The address to serve at
    #[arg(long, default_value = "127.0.0.1", global = true)]
    address: IpAddr,
    /// The port; 0 takes a free one
    #[arg(long, default_value_t = 0, global = true)]
    port: u16,
    /// The CPU to serve with
    #[arg(long, value_name = "CPU", global = true)]
    cpus: Option<CpuSet>,
    /// Where to write what happened (JSON)
    #[arg(long, value_name = "FILE", global = true)]
    report: Option<PathBuf>,
    /// End when standard input ends, too
    #[arg(long, global = true)]
    until_eof: bool,
    #[command(subcommand)]
    behaviour: Chosen,
}

#[derive(Debug, Subcommand)]
enum Chosen {
    /// Serve each request for a time that follows a law, any number of them at once
    Law(Times),
    /// The same, but for a stall: answers that come due in it are given at its end
    Stall {
        #[command(flatten)]
        times: Times,
        /// When it begins, from the first request on
        #[arg(long, value_name = "TIME", value_parser = standard_duration)]
        at: Duration,
        /// How long it lasts
        #[arg(long, value_name = "TIME", value_parser = standard_duration, default_value = "1s")]
        length: Duration,
        /// How long after its beginning the next one begins [default: there is one]
        #[arg(long, value_name = "TIME", value_parser = standard_duration)]
        every: Option<Duration>,
    },
    /// Serve one request after the other, so many in a second
    Rate {
        /// How many
        #[arg(long, value_name = "N")]
        per_second: f64,
    },
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Times {
    /// Always this time
    #[arg(long, value_name = "TIME", value_parser = standard_duration)]
    constant: Option<Duration>,
    /// An exponential law of this mean
    #[arg(long, value_name = "MEAN", value_parser = standard_duration)]
    exponential: Option<Duration>,
    /// A log-normal law: its median, and the standard deviation of the logarithm
    #[arg(long, value_name = "MEDIAN:SIGMA", value_parser = log_normal)]
    log_normal: Option<Law>,
    /// One of two times: the usual one, the slow one, and the share of the slow one
    #[arg(long, value_name = "TIME:TIME:SHARE", value_parser = bimodal)]
    bimodal: Option<Law>,
}

impl Times {
    fn law(&self) -> Result<Law> {
        let constant = self.constant.map(Law::Constant);
        let exponential = self.exponential.map(|mean| Law::Exponential { mean });
        constant
            .or(exponential)
            .or_else(|| self.log_normal.clone())
            .or_else(|| self.bimodal.clone())
            .context("a law is missing: give --constant, --exponential, --log-normal or --bimodal")
    }
}

fn log_normal(text: &str) -> Result<Law, String> {
    let parts = text.split_once(':').and_then(|(median, sigma)| {
        let sigma = sigma
            .parse()
            .ok()
            .filter(|sigma| (0.0..=5.0).contains(sigma))?;
        let median = standard_duration(median).ok()?;
        Some(Law::LogNormal { median, sigma })
    });
    parts.ok_or_else(|| {
        format!("{text:?} is no MEDIAN:SIGMA: write 10ms:0.5, with a sigma from 0 to 5")
    })
}

fn bimodal(text: &str) -> Result<Law, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let law = if let [usual, slow, share] = parts[..] {
        let share = share
            .parse()
            .ok()
            .filter(|share| (0.0..=1.0).contains(share));
        match (standard_duration(usual), standard_duration(slow), share) {
            (Ok(usual), Ok(slow), Some(slow_share)) => Some(Law::Bimodal {
                usual,
                slow,
                slow_share,
            }),
            _ => None,
        }
    } else {
        None
    };
    law.ok_or_else(|| format!("{text:?} is no TIME:TIME:SHARE: write 5ms:50ms:0.1"))
}

impl Chosen {
    fn behaviour(&self) -> Result<Behaviour> {
        Ok(match self {
            Self::Law(times) => Behaviour::Law(times.law()?),
            Self::Stall {
                times,
                at,
                length,
                every,
            } => {
                if every.is_some_and(|every| every <= *length) {
                    bail!(
                        "--every: a stall must end before the next one begins; write more than {length:?}"
                    );
                }
                Behaviour::Stall {
                    law: times.law()?,
                    at: *at,
                    length: *length,
                    every: *every,
                }
            }
            Self::Rate { per_second } => {
                ensure!(
                    (0.001..=1e6).contains(per_second),
                    "--per-second: {per_second} cannot be kept; write 0.001 to 1000000"
                );
                Behaviour::Rate { per_s: *per_second }
            }
        })
    }
}

/// Serves until SIGINT or SIGTERM, and until the end of standard input if that is wanted.
pub fn run(arguments: &Arguments) -> Result<u8> {
    if let Some(cpus) = &arguments.cpus {
        cpus.check_within(&CpuSet::allowed()?, "calibrator")?;
        cpus.pin()?;
    }
    let address = SocketAddr::new(arguments.address, arguments.port);
    let calibrator = Calibrator::listen(address, arguments.behaviour.behaviour()?)?;
    println!("http://{}/", calibrator.address());
    let record = calibrator.serve(until_told(arguments.until_eof))?;
    match &arguments.report {
        Some(path) => write(path, &record),
        None => Ok(0),
    }
}

fn write(path: &Path, record: &Record) -> Result<u8> {
    let report = json!({ "version": 1, "calibrator": record });
    std::fs::write(path, format!("{report}\n"))
        .with_context(|| format!("--report {}", path.display()))?;
    Ok(0)
}

async fn until_told(until_eof: bool) {
    let end_of_input = async {
        if !until_eof || end_of_input().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let (Ok(mut terminate), Ok(mut interrupt)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        // Without a handler a signal ends the process by itself.
        return end_of_input.await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = end_of_input => {}
    }
}

/// Waits in a thread of its own, so that what is served does not wait with it.
async fn end_of_input() -> Result<(), oneshot::error::RecvError> {
    let (ended, end) = oneshot::channel();
    std::thread::spawn(move || {
        // However it ends, there is nobody any more.
        drop(std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
        // A receiver that has gone waits for nothing.
        let _ = ended.send(());
    });
    end.await
}
