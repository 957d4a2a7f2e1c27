//! An origin and its start.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;

use dyno_web::{Scheme, Web};
use tokio::sync::mpsc::unbounded_channel;

use crate::arrivals::Fingerprints;
use crate::authority::Authority;
use crate::control::ControlConnection;
use crate::error::Error;
use crate::listen;
use crate::live::Shared;
use crate::prepared::{self, Pages};
use crate::running::Running;
use crate::serving::Plan;
use crate::tls::Tls;

/// What an origin is to play, where, with which CPUs.
#[derive(Debug, Clone)]
pub struct Options {
    /// The web.
    pub web: Arc<Web>,
    /// Who signs the certificates of its hosts.
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
    /// Whether every request is kept for [`Arrivals::write_csv`](crate::Arrivals::write_csv), at 32 bytes each.
    pub log_arrivals: bool,
    /// Whether the blocks of addresses in which the network itself misbehaves are the web's: not where the addresses are
    /// those of a real machine.
    pub faulty_blocks: bool,
    /// Where connections go whose first request is for something below [`CONTROL_PATH`](crate::CONTROL_PATH); without it
    /// those paths are the web's as all others are.
    pub control: Option<mpsc::Sender<ControlConnection>>,
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
            control: None,
        }
    }
}

/// The start of an origin.
#[derive(Debug)]
pub struct Origin;

impl Origin {
    /// Binds in the calling thread's network namespace, which the threads of the origin inherit, and begins to serve.
    ///
    /// Contents are prepared while it serves already: see [`Running::wait_prepared`].
    ///
    /// # Errors
    ///
    /// [`Error::AddressInUse`], [`Error::NotPermitted`] or [`Error::CannotListen`] for an address, [`Error::Pin`] for a
    /// CPU, [`Error::Thread`] or [`Error::Tls`] if the system refuses more.
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
            control,
        } = options;
        let (pages, preparation) = Pages::begin(web.model()).map_err(Error::Thread)?;
        if !https.is_empty() {
            let authority = authority.clone();
            let key = thread::Builder::new().name("rsa-key".to_owned());
            let key = key.spawn(move || {
                prepared::give_way();
                authority.prepare_rsa().map_err(std::io::Error::other)
            });
            preparation.add(key.map_err(Error::Thread)?);
        }
        let tls = Arc::new(Tls::new(authority, web.clone())?);
        let threads = cpus.len().max(1);
        let shared = Arc::new(Shared::new(threads));
        let fingerprints = Fingerprints::default();
        let (orders, received): (Vec<_>, Vec<_>) =
            (0..threads).map(|_| unbounded_channel()).unzip();
        let mut plans: Vec<Plan> = received
            .into_iter()
            .enumerate()
            .map(|(index, orders)| Plan {
                index,
                orders,
                cpu: cpus.get(index).copied(),
                web: web.clone(),
                pages: pages.clone(),
                tls: tls.clone(),
                shared: shared.clone(),
                fingerprints: fingerprints.clone(),
                log_arrivals,
                listeners: Vec::new(),
                names_udp: Vec::new(),
                names_tcp: Vec::new(),
                faulty_blocks,
                control: control.clone(),
            })
            .collect();
        let running = Running {
            http: listen_all(&mut plans, &http, Scheme::Http)?,
            https: listen_all(&mut plans, &https, Scheme::Https)?,
            dns: listen_for_names(&mut plans, &dns)?,
            threads: Vec::with_capacity(threads),
            numbers: Vec::with_capacity(threads),
            orders,
            before: Mutex::default(),
            shared,
            preparation,
        };
        running.spawn(plans)
    }
}

fn listen_all(
    plans: &mut [Plan],
    addresses: &[SocketAddr],
    scheme: Scheme,
) -> Result<Vec<SocketAddr>, Error> {
    let mut bound = Vec::with_capacity(addresses.len());
    for &address in addresses {
        let (address, listeners) = listen::tcp(address, plans.len())?;
        for (plan, listener) in plans.iter_mut().zip(listeners) {
            plan.listeners.push((scheme, listener));
        }
        bound.push(address);
    }
    Ok(bound)
}

fn listen_for_names(
    plans: &mut [Plan],
    addresses: &[SocketAddr],
) -> Result<Vec<SocketAddr>, Error> {
    let mut bound = Vec::with_capacity(addresses.len());
    for &address in addresses {
        let names = listen::dns(address, plans.len())?;
        for ((plan, udp), tcp) in plans.iter_mut().zip(names.udp).zip(names.tcp) {
            plan.names_udp.push(udp);
            plan.names_tcp.push(tcp);
        }
        bound.push(names.address);
    }
    Ok(bound)
}
