//! `calibrator`: a server with known service times.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand};
use dyno_origin::calibrator::{Behaviour, Calibrator, Kept, Law};
use dyno_room::CpuSet;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use crate::quantity::standard_duration;

#[derive(Debug, Args)]
pub struct Arguments {
    /// Address to serve at
    #[arg(long, default_value = "127.0.0.1", global = true)]
    address: IpAddr,
    /// Port; 0 selects a free one
    #[arg(long, default_value_t = 0, global = true)]
    port: u16,
    /// CPU to serve with
    #[arg(long, value_name = "CPU", global = true)]
    cpus: Option<CpuSet>,
    /// Write the record of the requests here (JSON)
    #[arg(long, value_name = "FILE", global = true)]
    report: Option<PathBuf>,
    /// Write each request here (CSV, times in ns): arrival, service time, when its answer was due and sent, status
    #[arg(long, value_name = "FILE", global = true)]
    trace: Option<PathBuf>,
    /// Sleep until some tens of microseconds before an answer is due, instead of using a whole CPU
    #[arg(long, global = true)]
    sleep: bool,
    /// Also end at the end of standard input
    #[arg(long, global = true)]
    until_eof: bool,
    #[command(subcommand)]
    behaviour: Chosen,
}

#[derive(Debug, Subcommand)]
enum Chosen {
    /// Serve each request for a time drawn from a distribution, any number at once
    Law(Times),
    /// The same, with a stall: answers due during it are sent at its end
    Stall {
        #[command(flatten)]
        times: Times,
        /// Start of the stall, counted from the first request
        #[arg(long, value_name = "TIME", value_parser = standard_duration)]
        at: Duration,
        /// Length of the stall
        #[arg(long, value_name = "TIME", value_parser = standard_duration, default_value = "1s")]
        length: Duration,
        /// Time from the start of one stall to the start of the next [default: one stall only]
        #[arg(long, value_name = "TIME", value_parser = standard_duration)]
        every: Option<Duration>,
    },
    /// Serve one request at a time, at a fixed rate
    Rate {
        /// Requests per second
        #[arg(long, value_name = "N")]
        per_second: f64,
    },
    /// Serve some requests at a time, in the order of their arrival; with Poisson arrivals: M/M/1, M/D/1, M/M/k, ...
    Queue {
        #[command(flatten)]
        times: Times,
        /// Requests served at a time
        #[arg(long, value_name = "K", value_parser = positive, default_value = "1")]
        workers: NonZeroU32,
        /// Requests that wait at most; further ones get 503 at once [default: no limit]
        #[arg(long, value_name = "N")]
        queue: Option<u32>,
        /// Seed of the service times
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
    },
    /// Answer at most a number of requests per second (token bucket), the others with 429 at once
    Limiter {
        /// Tokens per second; each request takes one
        #[arg(long, value_name = "N", value_parser = positive)]
        per_second: NonZeroU32,
        /// Tokens that the bucket holds, and holds at first
        #[arg(long, value_name = "B", value_parser = positive, default_value = "1")]
        burst: NonZeroU32,
        /// Service time of a request that has a token
        #[arg(long, value_name = "TIME", value_parser = standard_duration, default_value = "1ms")]
        constant: Duration,
    },
    /// Serve one request at a time, slower from an overload until the queue is empty
    Degrade {
        #[command(flatten)]
        times: Times,
        /// A request that finds more requests than this makes the server slow
        #[arg(long, value_name = "L")]
        above: u32,
        /// Factor of the service times of requests that arrive while it is slow
        #[arg(long, value_name = "F")]
        factor: f64,
        /// Seed of the service times
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
    },
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Times {
    /// A constant time
    #[arg(long, value_name = "TIME", value_parser = standard_duration)]
    constant: Option<Duration>,
    /// An exponential distribution with this mean
    #[arg(long, value_name = "MEAN", value_parser = standard_duration)]
    exponential: Option<Duration>,
    /// A log-normal distribution: median, and standard deviation of the logarithm
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
            .context("a distribution is missing: give --constant, --exponential, --log-normal or --bimodal")
    }
}

fn positive(text: &str) -> Result<NonZeroU32, String> {
    text.parse()
        .map_err(|_| format!("{text:?} is not a whole number from 1 to {}", u32::MAX))
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
        format!("{text:?} is not a MEDIAN:SIGMA: write 10ms:0.5, with a sigma from 0 to 5")
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
    law.ok_or_else(|| format!("{text:?} is not a TIME:TIME:SHARE: write 5ms:50ms:0.1"))
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
                    "--per-second: {per_second} is out of range; write 0.001 to 1000000"
                );
                Behaviour::Queue {
                    law: Law::Constant(Duration::from_secs_f64(1.0 / per_second)),
                    seed: 0,
                    workers: NonZeroU32::MIN,
                    most_waiting: None,
                }
            }
            Self::Queue {
                times,
                workers,
                queue,
                seed,
            } => Behaviour::Queue {
                law: times.law()?,
                seed: *seed,
                workers: *workers,
                most_waiting: *queue,
            },
            Self::Limiter {
                per_second,
                burst,
                constant,
            } => Behaviour::Limiter {
                per_s: *per_second,
                burst: *burst,
                time: *constant,
            },
            Self::Degrade {
                times,
                above,
                factor,
                seed,
            } => {
                ensure!(
                    (1.0..=1e3).contains(factor),
                    "--factor: {factor} is out of range; write 1 to 1000"
                );
                Behaviour::Degrade {
                    law: times.law()?,
                    seed: *seed,
                    above: *above,
                    factor: *factor,
                }
            }
        })
    }
}

/// Serves until SIGINT or SIGTERM, with `--until-eof` also until the end of standard input.
pub fn run(arguments: &Arguments) -> Result<u8> {
    if let Some(cpus) = &arguments.cpus {
        cpus.check_within(&CpuSet::allowed()?, "calibrator")?;
        cpus.pin()?;
    }
    let address = SocketAddr::new(arguments.address, arguments.port);
    let calibrator = Calibrator::listen(address, arguments.behaviour.behaviour()?)?
        .keep_requests(arguments.trace.is_some())
        .sleep(arguments.sleep);
    println!("http://{}/", calibrator.address());
    let record = calibrator.serve(stop_requested(arguments.until_eof))?;
    if let Some(path) = &arguments.report {
        let report = json!({ "version": 1, "calibrator": record });
        std::fs::write(path, format!("{report}\n"))
            .with_context(|| format!("--report {}", path.display()))?;
    }
    if let Some(path) = &arguments.trace {
        write_trace(path, &record.requests_kept)
            .with_context(|| format!("--trace {}", path.display()))?;
    }
    Ok(0)
}

fn write_trace(path: &Path, requests: &[Kept]) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    writeln!(out, "arrived_ns,service_ns,due_ns,sent_ns,status")?;
    for request in requests {
        let sent_ns = request.sent_ns.map(|sent_ns| sent_ns.to_string());
        writeln!(
            out,
            "{},{},{},{},{}",
            request.arrived_ns,
            request.service_ns,
            request.due_ns,
            sent_ns.unwrap_or_default(),
            request.status
        )?;
    }
    out.flush()
}

async fn stop_requested(until_eof: bool) {
    let end_of_input = async {
        if !until_eof || end_of_input().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let (Ok(mut terminate), Ok(mut interrupt)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        // Without a handler a signal ends the process.
        return end_of_input.await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        () = end_of_input => {}
    }
}

/// Waits for the end of standard input in a separate thread, so that the server is not blocked.
async fn end_of_input() -> Result<(), oneshot::error::RecvError> {
    let (ended, end) = oneshot::channel();
    std::thread::spawn(move || {
        // An error counts as the end of the input.
        drop(std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
        // Without a receiver the signal is not needed.
        let _ = ended.send(());
    });
    end.await
}
