//! State that all URLs of a crawl share.

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use dyno_client::coding::PIECE_BYTES;
use dyno_client::resolve::{Configuration, Hosts, NameServer, Resolver, Transport};
use dyno_client::{Failure, Protocol, Reach, Route, Stream, Traffic, http1, http2, tls};

use crate::bucket::Uploads;
use crate::error::Error;
use crate::host_health::{DeadHosts, Pauses};
use crate::identity::Headers;
use crate::listed::Origin;
use crate::options::Options;
use crate::permissions::Permissions;
use crate::pool::{Pool, Pooled};
use crate::public::is_public_origin;
use crate::save::{self, Folder};
use crate::tally::Tally;
use crate::turns::Turns;
use crate::warc::Warc;

/// How long a connection stays idle for another URL of its host. A crawl returns to a host soon or never.
const IDLE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(4);
/// Attempts of a lookup that fit into the time to connect.
const ATTEMPTS_PER_TIMEOUT: u32 = 3;

/// An HTTP/1.1 connection.
pub(crate) type Http1Connection = Box<http1::Connection<Stream>>;
/// A connection of the pool.
pub(crate) type Connection = Pooled<Http1Connection, http2::Connection>;

/// State that all URLs of a crawl share; only one thread uses it.
pub(crate) struct Shared {
    pub options: Options,
    pub headers: Headers,
    pub resolver: Resolver,
    pub tls: tls::Client,
    pub pool: RefCell<Pool<Origin, Http1Connection, http2::Connection>>,
    pub turns: Turns,
    pub dead_hosts: RefCell<DeadHosts>,
    pub pauses: RefCell<Pauses>,
    /// What `robots.txt` of the hosts allows, if it decides.
    pub permissions: Option<Permissions>,
    pub in_use: Cell<usize>,
    pub room: RefCell<Box<[u8]>>,
    pub tally: RefCell<Tally>,
    pub traffic: Arc<Traffic>,
    pub folder: RefCell<Option<Folder>>,
    pub uploads: Option<Uploads>,
    /// The archive of all exchanges.
    pub warc: Option<Warc>,
    /// The error that ends the crawl, such as a full disk.
    pub broken: RefCell<Option<Error>>,
}

impl Shared {
    pub(crate) fn new(
        options: Options,
        folder: Option<Folder>,
        warc: Option<Warc>,
    ) -> Result<Self, tls::Error> {
        let trust = match &options.cacert {
            _ if options.insecure => tls::Trust::AnyCertificate,
            file => tls::Trust::Authorities(file.as_deref()),
        };
        let mut configuration = Configuration::of_machine();
        if !options.nameservers.is_empty() {
            configuration.servers.clone_from(&options.nameservers);
        }
        let is_tls = |server: &NameServer| matches!(server.transport, Transport::Tls(_));
        let has_tls = configuration.servers.iter().any(is_tls);
        let name_tls = has_tls.then(|| tls::Client::new(trust, &[], &tls::Settings::default()));
        let uploads = match options.bucket.clone() {
            None => None,
            Some(bucket) => {
                let tls = tls::Client::new(trust, &[Protocol::Http1], &tls::Settings::default())?;
                Some(Uploads::new(bucket, tls, options.sockets.clone()))
            }
        };
        let resolver = Resolver::new(dyno_client::resolve::Options {
            configuration,
            hosts: Hosts::of_machine(),
            attempt_timeout: options.connect_timeout.min(options.timeout) / ATTEMPTS_PER_TIMEOUT,
            tls: name_tls.transpose()?,
            on_failure: options.on_name_server_failure,
        });
        Ok(Self {
            resolver,
            tls: tls::Client::new(trust, options.http.protocols(), &options.tls)?,
            pool: RefCell::new(Pool::new(options.concurrency, IDLE_TIMEOUT)),
            turns: Turns::new(&options, options.slots()),
            dead_hosts: RefCell::new(DeadHosts::new(options.dead_after)),
            pauses: RefCell::new(Pauses::new(options.max_retry_after)),
            permissions: Permissions::new(&options),
            in_use: Cell::new(0),
            room: RefCell::new(vec![0; PIECE_BYTES].into()),
            tally: RefCell::new(Tally::new(options.measure, options.share)),
            traffic: Arc::default(),
            folder: RefCell::new(folder),
            uploads,
            warc,
            broken: RefCell::new(None),
            headers: Headers::new(&options),
            options,
        })
    }

    /// The way to an origin; `None`: no proxy.
    pub(crate) fn route(&self, origin: &Origin) -> Option<Route> {
        let Options { proxies, http, .. } = &self.options;
        if proxies.is_empty() {
            return None;
        }
        let is_multiplexed = http.in_the_clear().is_multiplexed();
        proxies.route(&origin.host, origin.port, origin.encrypted, is_multiplexed)
    }

    /// Whether a connected origin is on the public internet. Behind a proxy only its URL is known.
    pub(crate) fn is_public(&self, origin: &Origin, reach: Reach) -> bool {
        let reach = self.route(origin).is_none().then_some(reach);
        is_public_origin(origin, reach, &self.options.reroute)
    }

    /// An idle connection to this origin that has not been closed.
    pub(crate) async fn idle(&self, origin: &Rc<Origin>) -> Option<Connection> {
        loop {
            let taken = self.pool.borrow_mut().take(origin, Instant::now())?;
            match taken {
                Pooled::Shared(ref shared) if shared.is_lost() => {
                    self.pool.borrow_mut().drop_all(origin);
                }
                Pooled::Shared(_) => return Some(taken),
                Pooled::Alone(mut alone) => {
                    if alone.is_fresh().await {
                        return Some(Pooled::Alone(alone));
                    }
                }
            }
        }
    }

    /// Closes idle connections to make room for a new one.
    ///
    /// Keeps at most as many idle connections as URLs are in progress, even for a list of one host. With fewer, such a
    /// list would open a connection for most of its URLs until no local port is left; with more, a crawl would use
    /// memory on both sides for hosts that it never visits again.
    pub(crate) fn make_room(&self) {
        let most_idle = self.options.connections.saturating_sub(self.in_use.get());
        let most_idle = most_idle.min(self.options.concurrency);
        self.pool.borrow_mut().shrink_to(most_idle);
    }

    /// Whether so many connections to this host failed that no further one should be attempted now.
    pub(crate) fn is_dead(&self, origin: &Origin) -> bool {
        let mut dead = self.dead_hosts.borrow_mut();
        !dead.is_empty() && dead.is_dead(&origin.place(), Instant::now())
    }

    /// Notes that a host could not be reached.
    pub(crate) fn connection_failed(&self, origin: &Origin) {
        let mut dead = self.dead_hosts.borrow_mut();
        if dead.is_used() && dead.failed(&origin.place(), Instant::now()) {
            self.tally.borrow_mut().dead_hosts += 1;
        }
    }

    /// Notes that a host was reached.
    pub(crate) fn connection_succeeded(&self, origin: &Origin) {
        let mut dead = self.dead_hosts.borrow_mut();
        if !dead.is_empty() {
            dead.succeeded(&origin.place());
        }
    }

    /// Adds a connection to the idle ones.
    pub(crate) fn keep(&self, origin: &Rc<Origin>, connection: Connection) {
        if self.options.keepalive {
            let now = Instant::now();
            let mut pool = self.pool.borrow_mut();
            pool.expire(now);
            pool.put(origin.clone(), connection, now);
        }
    }

    /// Completes the last file of the archive, if there is one.
    pub(crate) fn close_archive(&self) -> Result<(), Error> {
        Ok(self.warc.as_ref().map_or(Ok(()), Warc::close)?)
    }

    /// Whether the crawl is ending because contents cannot be saved.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.borrow().is_some()
    }

    /// Ends the crawl because a content cannot be written to its folder.
    pub(crate) fn cannot_save(&self, error: io::Error) -> Failure {
        self.give_up(self.not_saved(error))
    }

    /// Converts an error of the system into one of the folder for contents.
    pub(crate) fn not_saved(&self, error: io::Error) -> save::Error {
        let folder = self.folder.borrow();
        folder
            .as_ref()
            .expect("contents go to a folder")
            .failed(error)
    }

    /// Ends the crawl because of an error that no URL has caused.
    pub(crate) fn give_up(&self, error: impl Into<Error>) -> Failure {
        self.broken.borrow_mut().get_or_insert(error.into());
        Failure::Io(io::ErrorKind::Other)
    }
}

/// Counts a connection as in use while it exists.
pub(crate) struct InUse<'s>(&'s Cell<usize>);

impl<'s> InUse<'s> {
    pub(crate) fn new(count: &'s Cell<usize>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}
