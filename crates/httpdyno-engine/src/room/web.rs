//! The web of a room: an origin in the peer's namespace.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use dyno_origin::{Authority, KEY_EXCHANGE_GROUPS, Options, Origin, Record, Running, Scripts};
use dyno_room::{Room, RoomOptions, addresses};
use dyno_web::{Nanos, Scheme, Web};
use serde_json::{Value, json};

use super::list_forecast::ListForecast;
use crate::preparation;
use crate::progress::Counters;
use crate::web_identity;

const DNS_PORT: u16 = 53;

/// A web serving a room.
pub struct RoomWeb {
    web: Arc<Web>,
    authority: Arc<Authority>,
    running: Arc<Running>,
    scripts: Option<Arc<Scripts>>,
}

impl RoomWeb {
    /// Serves `web` on every address of the room, and DNS on the gateway's.
    pub fn start(
        web: Web,
        room: &Room,
        options: &RoomOptions,
        log_arrivals: bool,
        scripts: Option<Arc<Scripts>>,
    ) -> Result<Self> {
        let (web, authority) = (Arc::new(web), Arc::new(Authority::new()?));
        let mut any = vec![IpAddr::V4(Ipv4Addr::UNSPECIFIED)];
        if room.has_ipv6() {
            any.push(Ipv6Addr::UNSPECIFIED.into());
        }
        let at = |scheme: Scheme| {
            any.iter()
                .map(|&address| SocketAddr::new(address, scheme.port()))
                .collect()
        };
        let running = Origin::start(Options {
            http: at(Scheme::Http),
            https: at(Scheme::Https),
            dns: vec![SocketAddr::new(addresses::PEER_V4.address, DNS_PORT)],
            cpus: options.engine_cpus.iter().collect(),
            log_arrivals,
            scripts: scripts.clone(),
            cache: preparation::cache(),
            making: preparation::announce_compression,
            ..Options::new(web.clone(), authority.clone())
        })?;
        Ok(Self {
            web,
            authority,
            running: Arc::new(running),
            scripts,
        })
    }

    /// The certificate authority that the subject trusts.
    pub fn authority(&self) -> dyno_room::Authority {
        dyno_room::Authority {
            pem: self.authority.pem().to_owned(),
            der: self.authority.der().to_vec(),
        }
    }

    /// Makes the certificates for `list` ahead of the trial; returns the number of requests.
    pub fn prepare(&self, list: &Path, timeout: Nanos) -> Result<u64> {
        let forecast = ListForecast::read(list, |line| self.web.expect(line, timeout))?;
        let hosts: Vec<String> = forecast.handshakes.into_iter().collect();
        self.authority.prepare(&self.web, &hosts);
        Ok(forecast.requests)
    }

    /// Marks the start of the trial, from which elapsed time counts.
    pub fn begin(&self) {
        self.running.begin();
    }

    /// Reads the origin's progress.
    pub fn watcher(&self) -> impl Fn() -> Counters + Send + 'static {
        let running = self.running.clone();
        move || {
            let snapshot = running.snapshot();
            Counters {
                requests: snapshot.answers,
                sent_bytes: snapshot.sent_bytes,
            }
        }
    }

    /// Stops serving. Every watcher must have ended.
    pub fn stop(self) -> Result<WebRecord> {
        if let Some(scripts) = &self.scripts {
            scripts.settle();
        }
        let running =
            Arc::try_unwrap(self.running).map_err(|_| anyhow!("the origin is still in use"))?;
        Ok(WebRecord {
            web: self.web,
            record: running.stop(),
        })
    }
}

/// The record of a web for one trial.
pub struct WebRecord {
    web: Arc<Web>,
    record: Record,
}

impl WebRecord {
    /// The identity of the web.
    pub fn identity(&self) -> Value {
        web_identity::identity(&self.web)
    }

    /// The web's name, and the record of its origin.
    pub fn seen(&self) -> (&str, &Record) {
        (&self.web.model().name, &self.record)
    }

    /// Prints a message if the origin itself was late.
    pub fn warn_if_late(&self) {
        preparation::warn_if_late(&self.record.report.lateness_ns);
    }

    /// The origin's counters.
    pub fn counters(&self) -> Result<Value> {
        Ok(serde_json::to_value(&self.record.report)?)
    }

    /// Transport settings of both ends of the link.
    pub fn transport() -> Value {
        let subject = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").ok();
        json!({
            "origin_congestion_control": Running::congestion_control(),
            // Both namespaces have the kernel's default; a subject's socket may choose another.
            "subject_congestion_control": subject.map(|name| name.trim().to_owned()),
            "tcp_rmem_max_bytes": memory_limit("tcp_rmem"),
            "tcp_wmem_max_bytes": memory_limit("tcp_wmem"),
            "key_exchange_groups": KEY_EXCHANGE_GROUPS,
        })
    }

    /// Answers completed over time.
    pub fn throughput(&self) -> Value {
        json!(self.record.throughput)
    }

    /// Writes the arrival times of the requests.
    pub fn write_arrivals(&self, path: &Path) -> Result<()> {
        let context = || format!("--arrivals {}", path.display());
        let mut file = BufWriter::with_capacity(1 << 16, File::create(path).with_context(context)?);
        self.record
            .arrivals
            .write_csv(&mut file)
            .with_context(context)?;
        file.flush().with_context(context)
    }
}

/// The greatest size of a socket buffer that the kernel grows by itself: the last of three numbers.
fn memory_limit(setting: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{setting}")).ok()?;
    text.split_ascii_whitespace().next_back()?.parse().ok()
}
