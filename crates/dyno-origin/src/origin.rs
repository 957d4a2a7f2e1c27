//! Starts an origin.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use dyno_web::{Scheme, Web};
use tokio::sync::mpsc::unbounded_channel;

use crate::access_log::Fingerprints;
use crate::authority::Authority;
use crate::bounds::Bounds;
use crate::cache::Cache;
use crate::control::ControlConnection;
use crate::error::Error;
use crate::listen;
use crate::live::Shared;
use crate::prepared::Pages;
use crate::running::Running;
use crate::scripts::Scripts;
use crate::serving::{Plan, Sockets};
use crate::tls::Tls;

/// Settings of an origin: its web, its addresses, its CPUs.
#[derive(Debug, Clone)]
pub struct Options {
    /// The web.
    pub web: Arc<Web>,
    /// Certificate authority of its hosts.
    pub authority: Arc<Authority>,
    /// Addresses of plain HTTP; port 0 selects a free one.
    pub http: Vec<SocketAddr>,
    /// Addresses of HTTP over TLS.
    pub https: Vec<SocketAddr>,
    /// Addresses of DNS, over UDP and TCP. UDP answers come from the queried address only if it is listed here, not if
    /// this says "any address".
    pub dns: Vec<SocketAddr>,
    /// CPUs to pin one thread each to; if empty, one thread runs on any CPU.
    pub cpus: Vec<usize>,
    /// Whether every request is logged for [`AccessLog::write_csv`](crate::AccessLog::write_csv), at 32 bytes each.
    pub log_arrivals: bool,
    /// Whether addresses in certain blocks have faults of the network, as the web defines. Must be false if the
    /// addresses belong to a real machine.
    pub faulty_blocks: bool,
    /// Limits of its state; without them, as in a trial, it keeps every record and every connection.
    pub bounds: Option<Bounds>,
    /// Hosts that play scripts instead of belonging to the web.
    pub scripts: Option<Arc<Scripts>>,
    /// Receiver of connections whose first request is for a path below [`CONTROL_PATH`](crate::CONTROL_PATH); without
    /// it, those paths belong to the web like all others.
    pub control: Option<mpsc::Sender<ControlConnection>>,
    /// Cache of compressed contents and of a key for the next start.
    pub cache: Cache,
    /// Called before contents are created that are not in the cache, which takes seconds.
    pub making: fn(&Cache),
}

impl Options {
    /// Creates the settings of an origin without addresses.
    #[must_use]
    pub fn new(web: Arc<Web>, authority: Arc<Authority>) -> Self {
        Self {
            web,
            authority,
            http: Vec::new(),
            https: Vec::new(),
            dns: Vec::new(),
            cpus: Vec::new(),
            log_arrivals: false,
            faulty_blocks: true,
            bounds: None,
            scripts: None,
            control: None,
            cache: Cache::none(),
            making: |_| {},
        }
    }
}

/// The start of an origin.
#[derive(Debug)]
pub struct Origin;

impl Origin {
    /// Binds in the calling thread's network namespace, which the threads of the origin inherit, and begins to serve.
    /// It serves once all contents are in memory in all codings, and all keys exist: immediately if [`Options::cache`]
    /// has them, else after some seconds. From then on it uses CPU time only for requests.
    ///
    /// # Errors
    ///
    /// [`Error::AddressInUse`], [`Error::NotPermitted`] or [`Error::CannotListen`] for an address, [`Error::Pin`] for a
    /// CPU, [`Error::Coding`], [`Error::Thread`] or [`Error::Tls`] if the system refuses further resources.
    pub fn start(options: Options) -> Result<Running, Error> {
        let Options {
            web,
            authority,
            http,
            https,
            dns,
            cpus,
            log_arrivals,
            faulty_blocks,
            bounds,
            scripts,
            control,
            cache,
            making,
        } = options;
        let threads = cpus.len().max(1);
        let mut sockets: Vec<Sockets> = (0..threads).map(|_| Sockets::default()).collect();
        // Before all steps that take long, so that an occupied port is reported at once.
        let http = listen_all(&mut sockets, &http, Scheme::Http)?;
        let https = listen_all(&mut sockets, &https, Scheme::Https)?;
        let dns = listen_for_names(&mut sockets, &dns)?;
        let prepared = Pages::prepare(web.model(), &cache, making);
        let pages = Arc::new(prepared.map_err(Error::Coding)?);
        if !https.is_empty() {
            authority.prepare_rsa(&cache)?;
        }
        let tls = Arc::new(Tls::new(authority, web.clone())?);
        let shared = Arc::new(Shared::new(threads));
        let fingerprints = Fingerprints::default();
        let (orders, received): (Vec<_>, Vec<_>) =
            (0..threads).map(|_| unbounded_channel()).unzip();
        let plans = received.into_iter().zip(sockets).enumerate();
        let plans = plans.map(|(index, (orders, sockets))| Plan {
            index,
            orders,
            cpu: cpus.get(index).copied(),
            web: web.clone(),
            pages: pages.clone(),
            tls: tls.clone(),
            shared: shared.clone(),
            fingerprints: fingerprints.clone(),
            log_arrivals,
            sockets,
            faulty_blocks,
            bounds,
            scripts: scripts.clone(),
            control: control.clone(),
        });
        let running = Running {
            http,
            https,
            dns,
            threads: Vec::with_capacity(threads),
            numbers: Vec::with_capacity(threads),
            orders,
            before: Mutex::default(),
            shared: shared.clone(),
        };
        running.spawn(plans.collect())
    }
}

fn listen_all(
    sockets: &mut [Sockets],
    addresses: &[SocketAddr],
    scheme: Scheme,
) -> Result<Vec<SocketAddr>, Error> {
    let mut bound = Vec::with_capacity(addresses.len());
    for &address in addresses {
        let (address, listeners) = listen::tcp(address, sockets.len())?;
        for (one, listener) in sockets.iter_mut().zip(listeners) {
            one.listeners.push((scheme, listener));
        }
        bound.push(address);
    }
    Ok(bound)
}

fn listen_for_names(
    sockets: &mut [Sockets],
    addresses: &[SocketAddr],
) -> Result<Vec<SocketAddr>, Error> {
    let mut bound = Vec::with_capacity(addresses.len());
    for &address in addresses {
        let names = listen::dns(address, sockets.len())?;
        for ((one, udp), tcp) in sockets.iter_mut().zip(names.udp).zip(names.tcp) {
            one.names_udp.push(udp);
            one.names_tcp.push(tcp);
        }
        bound.push(names.address);
    }
    Ok(bound)
}
