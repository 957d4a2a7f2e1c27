//! The web of a room: an origin in the peer's namespace, from its start to its record.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use dyno_origin::{Authority, KEY_EXCHANGE_GROUPS, Options, Origin, Record, Running};
use dyno_room::{Room, RoomOptions, addresses};
use dyno_web::{Nanos, Scheme, Web};
use serde_json::{Value, json};

use super::url_list::Foreseen;
use crate::preparation;
use crate::progress::Done;
use crate::web_identity;

const DNS_PORT: u16 = 53;

/// A web that serves a room.
pub struct RoomWeb {
    web: Arc<Web>,
    authority: Arc<Authority>,
    running: Arc<Running>,
}

impl RoomWeb {
    /// Serves `web` on every address of the room, names on the gateway's.
    pub fn start(web: Web, room: &Room, options: &RoomOptions, log_arrivals: bool) -> Result<Self> {
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
            cache: preparation::cache(),
            making: preparation::making,
            ..Options::new(web.clone(), authority.clone())
        })?;
        Ok(Self {
            web,
            authority,
            running: Arc::new(running),
        })
    }

    /// The authority that the subject is to trust.
    pub fn authority(&self) -> dyno_room::Authority {
        dyno_room::Authority {
            pem: self.authority.pem().to_owned(),
            der: self.authority.der().to_vec(),
        }
    }

    /// Makes ready, ahead of a trial, all that `list` will ask for; returns how many requests that is.
    pub fn prepare(&self, list: &Path, timeout: Nanos) -> Result<u64> {
        let foreseen = Foreseen::read(list, |line| self.web.expect(line, timeout))?;
        let hosts: Vec<String> = foreseen.handshakes.into_iter().collect();
        self.authority.prepare(&self.web, &hosts);
        Ok(foreseen.requests)
    }

    /// The trial begins: elapsed time counts from here.
    pub fn begin(&self) {
        self.running.begin();
    }

    /// What watches the origin's progress.
    pub fn watcher(&self) -> impl Fn() -> Done + Send + 'static {
        let running = self.running.clone();
        move || {
            let snapshot = running.snapshot();
            Done {
                requests: snapshot.answers,
                sent_bytes: snapshot.sent_bytes,
            }
        }
    }

    /// Stops serving. Every watcher must have gone.
    pub fn stop(self) -> Result<WebRecord> {
        let running =
            Arc::try_unwrap(self.running).map_err(|_| anyhow!("the origin is still watched"))?;
        Ok(WebRecord {
            web: self.web,
            record: running.stop(),
        })
    }
}

/// What a web saw of a trial.
pub struct WebRecord {
    web: Arc<Web>,
    record: Record,
}

impl WebRecord {
    /// Which web it was.
    pub fn identity(&self) -> Value {
        web_identity::identity(&self.web)
    }

    /// The web's name, and what its origin saw.
    pub fn seen(&self) -> (&str, &Record) {
        (&self.web.model().name, &self.record)
    }

    /// Says so if the origin itself was late.
    pub fn own_up(&self) {
        preparation::own_up(&self.record.report.lateness_ns);
    }

    /// The origin's counters.
    pub fn counters(&self) -> Result<Value> {
        Ok(serde_json::to_value(&self.record.report)?)
    }

    /// What both sides of the link were set to.
    pub fn transport() -> Value {
        let subject = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control").ok();
        json!({
            "origin_congestion_control": Running::congestion_control(),
            // Both namespaces have the kernel's own default; a subject's socket may choose another.
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

    /// Writes when which request came.
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

/// The most that the kernel lets a socket's window, or what it has sent, grow to by itself: the last of three numbers.
fn memory_limit(setting: &str) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{setting}")).ok()?;
    text.split_ascii_whitespace().next_back()?.parse().ok()
}
