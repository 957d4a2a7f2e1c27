//! New connections to the servers: TCP, then TLS, each timed and counted.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem::take;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use dyno_client::{Failure, Protocol, Sockets, Stream, Traffic, Tunnel, Wire, connect, tls};

use crate::address_tally::AddressTallies;
use crate::names::{Addresses, Names};
use crate::requests::Server;
use crate::rotation::{Attempt, Rotation};
use crate::slot::{Slot, Stage};
use crate::tally::Tally;

/// How long an attempt runs before another address is tried at the same time, and how much longer than another an
/// address may take before it counts as dead (RFC 8305, section 5).
const HEAD_START: Duration = Duration::from_millis(250);
/// Shortest time after which a thread reports another failure of the same server.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// A proxy on the way to a server, whose addresses are those of the server's name.
#[derive(Debug, Clone)]
pub(crate) enum Through {
    /// It forwards requests.
    Forward,
    /// It opens a tunnel for each connection.
    Tunnel(Arc<Tunnel>),
    /// It cannot be used: the server's own address, which it needs, was not found.
    Unusable(Failure),
}

/// Opens the connections of one thread.
#[derive(Debug)]
pub(crate) struct Connector {
    servers: Vec<Target>,
    names: Arc<Names>,
    /// The version of the names that this thread has adopted.
    version: Cell<usize>,
    /// Whether a connection went to another address than the first of the run.
    has_several: Cell<bool>,
    head_starts: HeadStarts,
    tls: Option<tls::Client>,
    protocol: Protocol,
    sockets: Arc<Sockets>,
    traffic: Arc<Traffic>,
}

/// A server, and its addresses as this thread knows them.
#[derive(Debug)]
struct Target {
    server: Server,
    through: Option<Through>,
    addresses: RefCell<Addresses>,
    rotation: RefCell<Rotation>,
    /// When this thread last reported a failure.
    reported_at: Cell<Option<Instant>>,
}

/// A new connection.
pub(crate) struct Opened {
    pub(crate) stream: Stream,
    /// Number of its address.
    pub(crate) address: usize,
    /// Whether this is the address of the first connection of the run.
    pub(crate) is_main: bool,
}

impl Connector {
    /// The connector of a thread whose first connection has this index.
    pub(crate) fn new(
        servers: &[(Server, Option<Through>)],
        names: Arc<Names>,
        first_connection: usize,
        tls: Option<tls::Client>,
        protocol: Protocol,
        sockets: Arc<Sockets>,
        traffic: Arc<Traffic>,
    ) -> Self {
        let (version, all) = names.all();
        let target =
            |((server, through), addresses): (&(Server, Option<Through>), Addresses)| Target {
                server: server.clone(),
                through: through.clone(),
                rotation: RefCell::new(Rotation::new(
                    addresses.as_deref().unwrap_or_default(),
                    first_connection,
                )),
                addresses: RefCell::new(addresses),
                reported_at: Cell::new(None),
            };
        Self {
            servers: servers.iter().zip(all).map(target).collect(),
            names,
            version: Cell::new(version),
            has_several: Cell::new(false),
            head_starts: HeadStarts::default(),
            tls,
            protocol,
            sockets,
            traffic,
        }
    }

    /// Whether this is the address of the first connection of the run.
    pub(crate) fn is_main(&self, address: usize) -> bool {
        self.names.is_main(address)
    }

    /// Whether connections went to several addresses.
    pub(crate) const fn has_several(&self) -> bool {
        self.has_several.get()
    }

    /// Whether an address is one of a server's now.
    pub(crate) fn holds(&self, server: usize, address: usize) -> bool {
        self.servers[server].rotation.borrow().holds(address)
    }

    /// Whether names have got other addresses.
    pub(crate) const fn has_adopted(&self) -> bool {
        self.version.get() > 0
    }

    /// Ends the head starts that are over, and adopts new addresses.
    pub(crate) fn sweep(&self) {
        self.head_starts.end_due();
        if self.names.version() == self.version.get() {
            return;
        }
        let (version, all) = self.names.all();
        self.version.set(version);
        for (target, addresses) in self.servers.iter().zip(all) {
            let mut known = target.addresses.borrow_mut();
            let is_same = match (&*known, &addresses) {
                (Ok(known), Ok(new)) => Arc::ptr_eq(known, new),
                _ => addresses.is_err(),
            };
            if let (Ok(new), false) = (&addresses, is_same) {
                target.rotation.borrow_mut().adopt(new);
                *known = addresses;
            }
        }
    }

    /// Connects, with a TLS handshake if the server uses TLS, and counts the outcome.
    pub(crate) async fn open(
        &self,
        tally: &RefCell<Tally>,
        by_address: &RefCell<AddressTallies>,
        slot: &Slot,
        server: usize,
    ) -> Result<Opened, Failure> {
        let stages = self.stages(tally, by_address, slot, server);
        let opened = connect::counted(stages, |succeeded| {
            let counts = &mut tally.borrow_mut().counts;
            if succeeded {
                counts.opened += 1;
            } else {
                counts.failed += 1;
                self.report_failure(server);
            }
        });
        opened.await
    }

    async fn stages(
        &self,
        tally: &RefCell<Tally>,
        by_address: &RefCell<AddressTallies>,
        slot: &Slot,
        server: usize,
    ) -> Result<Opened, Failure> {
        slot.stage.set(Stage::Connecting);
        let target = &self.servers[server];
        if let Err(failure) = &*target.addresses.borrow() {
            return Err(*failure);
        }
        let began = Instant::now();
        let mut opening = Opening::new(self, server, by_address);
        let wire = match &target.through {
            None => opening.tcp().await?,
            Some(Through::Unusable(failure)) => return Err(*failure),
            Some(through) => {
                slot.stage.set(Stage::ConnectingByProxy);
                let wire = opening.tcp().await.map_err(Failure::of_proxy)?;
                match through {
                    Through::Tunnel(tunnel) => tunnel.open(wire).await?,
                    _ => wire,
                }
            }
        };
        let connected = Instant::now();
        tally.borrow_mut().connect.record(nanos(connected - began));
        if !target.server.is_tls {
            return Ok(opening.succeed(Stream::Plain(wire)));
        }
        slot.stage.set(Stage::Handshaking);
        let client = self.tls.as_ref().expect("made if a server uses TLS");
        let secured = client.handshake(wire, &target.server.host).await?;
        let mut tally = tally.borrow_mut();
        tally.tls.record(nanos(connected.elapsed()));
        if secured.resumed {
            tally.counts.tls_resumed += 1;
        } else {
            tally.counts.tls_full += 1;
        }
        if secured.protocol != self.protocol {
            return Err(Failure::Http2NotOffered);
        }
        drop(tally);
        Ok(opening.succeed(Stream::Encrypted(secured.stream)))
    }

    /// Has the name of a server looked up again.
    #[cold]
    fn report_failure(&self, server: usize) {
        let target = &self.servers[server];
        let now = Instant::now();
        let last = target.reported_at.get();
        if last.is_none_or(|last| now - last >= REPORT_INTERVAL) {
            target.reported_at.set(Some(now));
            self.names.failed(server);
        }
    }
}

/// A connection that is being opened. An address whose attempt did not end, or whose handshake failed, has failed when
/// this is dropped.
struct Opening<'c> {
    connector: &'c Connector,
    server: usize,
    by_address: &'c RefCell<AddressTallies>,
    tried: Vec<SocketAddr>,
    /// Attempts that run at the same time, with the moments at which they began.
    open: Vec<(Attempt, Instant)>,
    /// The only attempt, or the one that connected.
    last: Option<Attempt>,
}

type Connecting = Pin<Box<dyn Future<Output = Result<Wire, Failure>>>>;

impl<'c> Opening<'c> {
    const fn new(
        connector: &'c Connector,
        server: usize,
        by_address: &'c RefCell<AddressTallies>,
    ) -> Self {
        Self {
            connector,
            server,
            by_address,
            tried: Vec::new(),
            open: Vec::new(),
            last: None,
        }
    }

    /// Connects to the address whose turn it is. If that fails, or takes longer than its head start, the next address
    /// is tried; the first connection is taken.
    async fn tcp(&mut self) -> Result<Wire, Failure> {
        let connector = self.connector;
        let rotation = &connector.servers[self.server].rotation;
        let mut running: Vec<Connecting> = Vec::new();
        let mut failure = Failure::HostNotFound;
        loop {
            let now = Instant::now();
            let attempt = rotation.borrow_mut().next(&self.tried, now);
            if let Some(attempt) = attempt {
                let sockets = connector.sockets.clone();
                let traffic = connector.traffic.clone();
                let connecting = sockets.open(attempt.at.address, traffic);
                if self.tried.is_empty() && rotation.borrow().len() == 1 {
                    self.last = Some(attempt);
                    let ended = connecting.await;
                    return ended.inspect_err(|failure| {
                        self.last = None;
                        self.note_failure(attempt, *failure, Instant::now());
                    });
                }
                self.open.push((attempt, now));
                self.tried.push(attempt.at.address);
                running.push(Box::pin(connecting));
            } else if running.is_empty() {
                return Err(failure);
            }
            let are_more = self.tried.len() < rotation.borrow().len();
            let head_start = are_more.then(|| connector.head_starts.begin(now));
            let event = poll_fn(|context| {
                for (place, connecting) in running.iter_mut().enumerate() {
                    if let Poll::Ready(ended) = connecting.as_mut().poll(context) {
                        return Poll::Ready(Some((place, ended)));
                    }
                }
                match &head_start {
                    Some(head_start) if head_start.is_over(context) => Poll::Ready(None),
                    _ => Poll::Pending,
                }
            });
            let event = event.await;
            if let Some(head_start) = head_start {
                head_start.forget();
            }
            match event {
                Some((place, Ok(wire))) => {
                    self.take(place);
                    return Ok(wire);
                }
                Some((place, Err(why))) => {
                    drop(running.swap_remove(place));
                    let (attempt, _) = self.open.swap_remove(place);
                    // The way that this machine lacks is not the reason if there is another.
                    let is_counted = self.note_failure(attempt, why, Instant::now());
                    if is_counted || failure == Failure::HostNotFound {
                        failure = why;
                    }
                }
                None => {}
            }
        }
    }

    /// Takes the attempt that connected; those that took much longer have failed.
    fn take(&mut self, place: usize) {
        let now = Instant::now();
        let (attempt, began) = self.open.swap_remove(place);
        let slow = (now - began).saturating_add(HEAD_START);
        for (other, began) in take(&mut self.open) {
            if now - began >= slow {
                self.note_failure(other, Failure::ConnectTimeout, now);
            }
        }
        self.last = Some(attempt);
    }

    /// Notes the failure of an attempt; returns whether its address counts as failed.
    #[cold]
    fn note_failure(&self, attempt: Attempt, failure: Failure, now: Instant) -> bool {
        let connector = self.connector;
        let rotation = &connector.servers[self.server].rotation;
        let is_counted = rotation.borrow_mut().failed(attempt, failure, now);
        if is_counted {
            let mut by_address = self.by_address.borrow_mut();
            by_address.of(attempt.at.number).failed += 1;
            connector.report_failure(self.server);
        }
        is_counted
    }

    fn succeed(mut self, stream: Stream) -> Opened {
        let connector = self.connector;
        let attempt = self.last.take().expect("the attempt that connected");
        let rotation = &connector.servers[self.server].rotation;
        rotation.borrow_mut().succeeded(attempt);
        let address = attempt.at.number;
        self.by_address.borrow_mut().of(address).opened += 1;
        let is_main = connector.names.is_main(address);
        if !is_main {
            connector.has_several.set(true);
        }
        Opened {
            stream,
            address,
            is_main,
        }
    }
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        let open = take(&mut self.open).into_iter();
        for attempt in open.map(|(attempt, _)| attempt).chain(self.last.take()) {
            self.note_failure(attempt, Failure::ConnectTimeout, Instant::now());
        }
    }
}

/// Head starts of attempts, which [`Connector::sweep`] ends. They are equally long, so the first is the first to end.
#[derive(Debug, Default)]
struct HeadStarts(RefCell<VecDeque<(Instant, Arc<HeadStart>)>>);

/// Waker of a connection that waits for an attempt; `None` if it does not wait, or the head start is over.
#[derive(Debug, Default)]
struct HeadStart(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    is_over: bool,
    waker: Option<Waker>,
}

impl HeadStarts {
    fn begin(&self, now: Instant) -> Arc<HeadStart> {
        let head_start = Arc::<HeadStart>::default();
        let mut all = self.0.borrow_mut();
        all.push_back((now + HEAD_START, head_start.clone()));
        head_start
    }

    fn end_due(&self) {
        let mut all = self.0.borrow_mut();
        if all.is_empty() {
            return;
        }
        let now = Instant::now();
        while all.front().is_some_and(|(end, _)| *end <= now) {
            if let Some((_, head_start)) = all.pop_front() {
                head_start.end();
            }
        }
    }
}

impl HeadStart {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self, context: &Context<'_>) -> bool {
        let mut state = self.state();
        if !state.is_over && state.waker.is_none() {
            state.waker = Some(context.waker().clone());
        }
        state.is_over
    }

    /// Wakes no connection any more: it waits no longer.
    fn forget(&self) {
        self.state().waker = None;
    }

    /// Ends it, and wakes the connection that waits for it.
    fn end(&self) {
        let mut state = self.state();
        state.is_over = true;
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
