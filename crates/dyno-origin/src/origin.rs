//! An origin and its start.

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
use crate::serving::{Plan, Sockets};
use crate::tls::Tls;

/// Settings of an origin: its web, its addresses, its CPUs.
#[derive(Debug, Clone)]
pub struct Options {
    /// The web.
    pub web: Arc<Web>,
    /// Signer of the certificates of its hosts.
    pub authority: Arc<Authority>,
    /// Where plain HTTP is served; port 0 is any free one.
    pub http: Vec<SocketAddr>,
    /// Where HTTP over TLS is served.
    pub https: Vec<SocketAddr>,
    /// Where names are served, over UDP and TCP. Answers over UDP come from the address asked only if it is named here,
    /// not where this says "any address".
    pub dns: Vec<SocketAddr>,
    /// One thread is pinned to each; a single free one if there is none.
    pub cpus: Vec<usize>,
    /// Whether every request is kept for [`AccessLog::write_csv`](crate::AccessLog::write_csv), at 32 bytes each.
    pub log_arrivals: bool,
    /// Whether the blocks of addresses in which the network itself misbehaves are the web's: not where the addresses are
    /// those of a real machine.
    pub faulty_blocks: bool,
    /// Bounds of its state; without them, as in a trial, it keeps every record and every connection.
    pub bounds: Option<Bounds>,
    /// Where connections go whose first request is for something below [`CONTROL_PATH`](crate::CONTROL_PATH); without it
    /// those paths are the web's as all others are.
    pub control: Option<mpsc::Sender<ControlConnection>>,
    /// Store of coded contents, and of a key, for the next start.
    pub cache: Cache,
    /// Called before contents are made that the cache does not have, which takes seconds.
    pub making: fn(&Cache),
}

impl Options {
    /// An origin that listens nowhere yet.
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
    ///
    /// It serves when all contents are in memory in all codings, and all keys are made: in a moment with what
    /// [`Options::cache`] has, in seconds without. Afterwards no CPU is busy with anything but what is asked.
    ///
    /// # Errors
    ///
    /// [`Error::AddressInUse`], [`Error::NotPermitted`] or [`Error::CannotListen`] for an address, [`Error::Pin`] for a
    /// CPU, [`Error::Coding`], [`Error::Thread`] or [`Error::Tls`] if the system refuses more.
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
            control,
            cache,
            making,
        } = options;
        let threads = cpus.len().max(1);
        let mut sockets: Vec<Sockets> = (0..threads).map(|_| Sockets::default()).collect();
        // Before all that takes long: a place that is taken is said at once.
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
