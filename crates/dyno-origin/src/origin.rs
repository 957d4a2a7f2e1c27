//! An origin from its start to its record.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use dyno_web::{Scheme, Web};
use rustix::thread::Pid;
use tokio::sync::oneshot;

use crate::arrivals::{Arrivals, Fingerprints};
use crate::authority::Authority;
use crate::counters;
use crate::error::Error;
use crate::listen;
use crate::live::{Shared, Snapshot};
use crate::prepared::{self, Pages, Preparation};
use crate::report::OriginReport;
use crate::run_queue;
use crate::throughput::Throughput;
use crate::tls::Tls;
use crate::worker::{self, Plan, Seen};

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
    /// Whether every request is kept for [`Arrivals::write_csv`], at 32 bytes each.
    pub log_arrivals: bool,
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
        }
    }
}

/// The start of an origin.
#[derive(Debug)]
pub struct Origin;

/// An origin that serves. Dropping it stops it.
#[derive(Debug)]
pub struct Running {
    threads: Vec<Thread>,
    /// The kernel's numbers of the threads.
    numbers: Vec<Pid>,
    /// How long the threads had waited for their CPUs when the trial began.
    waited_before_ns: Mutex<Option<u64>>,
    shared: Arc<Shared>,
    preparation: Preparation,
    http: Vec<SocketAddr>,
    https: Vec<SocketAddr>,
    dns: Vec<SocketAddr>,
}

#[derive(Debug)]
struct Thread {
    /// Dropping it stops the thread.
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Option<Seen>>,
}

/// All that an origin saw.
#[derive(Debug)]
pub struct Record {
    /// Its counters.
    pub report: OriginReport,
    /// Answers completed in each 200 ms after [`Running::begin`].
    pub throughput: Throughput,
    /// Every request, if they were logged.
    pub arrivals: Arrivals,
}

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
        let mut plans: Vec<Plan> = (0..threads)
            .map(|index| Plan {
                index,
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
            })
            .collect();
        let running = Running {
            http: listen_all(&mut plans, &http, Scheme::Http)?,
            https: listen_all(&mut plans, &https, Scheme::Https)?,
            dns: listen_for_names(&mut plans, &dns)?,
            threads: Vec::with_capacity(threads),
            numbers: Vec::with_capacity(threads),
            waited_before_ns: Mutex::new(Some(0)),
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

impl Running {
    fn spawn(mut self, plans: Vec<Plan>) -> Result<Self, Error> {
        let (ready, begun) = mpsc::channel();
        for plan in plans {
            let (stop, stopped) = oneshot::channel();
            let ready = ready.clone();
            let thread = thread::Builder::new()
                .name(format!("origin-{}", plan.index))
                .spawn(move || worker::run(plan, &ready, stopped))
                .map_err(Error::Thread)?;
            self.threads.push(Thread { stop, thread });
        }
        for _ in &self.threads {
            let number = begun
                .recv()
                .expect("every thread says whether it could begin")?;
            self.numbers.push(number);
        }
        Ok(self)
    }

    /// The congestion control of its connections; `None` where the kernel does not tell.
    #[must_use]
    pub fn congestion_control() -> Option<String> {
        listen::congestion_control().ok()
    }

    /// Where plain HTTP is served, as bound, in the order of the options.
    #[must_use]
    pub fn http(&self) -> &[SocketAddr] {
        &self.http
    }

    /// Where HTTP over TLS is served.
    #[must_use]
    pub fn https(&self) -> &[SocketAddr] {
        &self.https
    }

    /// Where names are served.
    #[must_use]
    pub fn dns(&self) -> &[SocketAddr] {
        &self.dns
    }

    /// Waits until all contents are in memory in all codings, and all keys are made: about a second after the start.
    /// A trial calls this before its subject starts, so that no CPU is busy with anything else then.
    ///
    /// # Errors
    ///
    /// [`Error::Thread`] if a coding failed.
    pub fn wait_prepared(&self) -> Result<(), Error> {
        self.preparation.wait().map_err(Error::Thread)
    }

    /// The trial begins: the throughput series, and the time waited for CPUs, count from now on.
    pub fn begin(&self) {
        *self.waited_before() = run_queue::waited_ns(&self.numbers);
        self.shared.begin();
    }

    fn waited_before(&self) -> std::sync::MutexGuard<'_, Option<u64>> {
        // One value, stored whole: there is nothing that a panic could leave half done.
        self.waited_before_ns
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// How far it is, at the cost of a few loads: for progress.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.shared.snapshot()
    }

    /// Stops serving; connections that are open are closed.
    ///
    /// # Panics
    ///
    /// If a thread of the origin did.
    #[must_use]
    pub fn stop(self) -> Record {
        let waited = run_queue::waited_ns(&self.numbers).zip(*self.waited_before());
        let (stops, threads): (Vec<_>, Vec<_>) = self
            .threads
            .into_iter()
            .map(|one| (one.stop, one.thread))
            .unzip();
        drop(stops);
        let seen = threads
            .into_iter()
            .filter_map(|thread| match thread.join() {
                Ok(seen) => seen,
                Err(panic) => std::panic::resume_unwind(panic),
            });
        let (counted, logs): (Vec<_>, Vec<_>) = seen.unzip();
        let (report, throughput) = counters::merge(counted);
        let arrivals = Arrivals::new(logs);
        let snapshot = self.shared.snapshot();
        let report = OriginReport {
            repeated: report.requests - arrivals.distinct_urls(),
            peak_concurrency: self.shared.peak(),
            sent_bytes: snapshot.sent_bytes,
            received_bytes: snapshot.received_bytes,
            waiting_ns: waited.map(|(now, before)| now.saturating_sub(before)),
            ..report
        };
        Record {
            report,
            throughput,
            arrivals,
        }
    }
}
