//! Opens a connection: lookup of the name, race of the addresses, TLS handshake.

use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Instant;

use dyno_client::resolve::Lookup;
use dyno_client::{
    Failure, Place, Protocol, Route, Stream, Wire, connect, http1, http2, is_public,
};

use crate::details::Trail;
use crate::host_health::is_of_host;
use crate::listed::Origin;
use crate::pool::Pooled;
use crate::shared::{Connection, Shared};
use crate::stage_clock::Stage;

/// Opens a connection to an origin; with `public_only`, to public addresses only.
pub(crate) async fn open(
    shared: &Shared,
    origin: &Rc<Origin>,
    trail: &Trail,
    public_only: bool,
) -> Result<Connection, Failure> {
    // A retry under `--retries` is made nevertheless.
    if !trail.is_retry() && shared.is_dead(origin) {
        return Err(Failure::HostDown);
    }
    let stages = stages(shared, origin, trail, public_only);
    let attempt = Attempt::new(shared, origin);
    let opened = connect::counted(stages, |succeeded| {
        let mut tally = shared.tally.borrow_mut();
        if succeeded {
            tally.connections_opened += 1;
        } else {
            tally.connections_failed += 1;
        }
    });
    attempt.end(opened.await)
}

/// Returns the address that a connection to an origin tries first; `None` if there is none now, which the attempt to
/// connect then reports.
pub(crate) async fn likely_address(
    shared: &Shared,
    origin: &Origin,
    trail: &Trail,
) -> Option<IpAddr> {
    if !trail.is_retry() && shared.is_dead(origin) {
        return None;
    }
    trail.begin(Stage::Resolving, Instant::now());
    let mut attempt = Attempt::new(shared, origin);
    let place = shared.options.reroute.place(&origin.host, origin.port);
    let found = lookup(shared, &place).preferred().await;
    attempt.is_undecided = false;
    found.ok()
}

/// An attempt to reach a host. One that is dropped undecided has failed: its time was over.
struct Attempt<'a> {
    shared: &'a Shared,
    origin: &'a Origin,
    is_undecided: bool,
}

impl<'a> Attempt<'a> {
    const fn new(shared: &'a Shared, origin: &'a Origin) -> Self {
        Self {
            shared,
            origin,
            is_undecided: true,
        }
    }

    fn end<T>(mut self, opened: Result<T, Failure>) -> Result<T, Failure> {
        self.is_undecided = false;
        match &opened {
            Ok(_) => self.shared.connection_succeeded(self.origin),
            Err(failure) if is_of_host(*failure) => self.shared.connection_failed(self.origin),
            Err(_) => {}
        }
        opened
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        if self.is_undecided {
            self.shared.connection_failed(self.origin);
        }
    }
}

async fn stages(
    shared: &Shared,
    origin: &Rc<Origin>,
    trail: &Trail,
    public_only: bool,
) -> Result<Connection, Failure> {
    shared.make_room();
    let begun = Instant::now();
    trail.begin(Stage::Resolving, begun);
    let place = shared.options.reroute.place(&origin.host, origin.port);
    // For a rerouted host, the host's own name decides whether it is public, not the address that the command line
    // gives.
    let public_only = public_only && !place.is_rerouted;
    let (wire, resolved) = match shared.route(origin) {
        None => race(shared, &place, trail, Stage::Connecting, public_only).await?,
        Some(route) => by_proxy(shared, &route, &place, trail, public_only).await?,
    };
    let connected = Instant::now();
    shared
        .tally
        .borrow_mut()
        .connected(begun, resolved, connected);
    trail.note(|details| details.connected(resolved - begun, connected - resolved));
    let versions = shared.options.http;
    if !origin.encrypted {
        return speak(shared, Stream::Plain(wire), versions.in_the_clear()).await;
    }
    trail.set(Stage::ShakingHands);
    let secured = shared.tls.handshake(wire, origin.certified_name()).await?;
    shared
        .tally
        .borrow_mut()
        .encrypted(connected, secured.resumed);
    trail.note(|details| details.encrypted(connected.elapsed()));
    if !versions.protocols().contains(&secured.protocol) {
        return Err(Failure::Http2NotOffered);
    }
    speak(shared, Stream::Encrypted(secured.stream), secured.protocol).await
}

async fn speak(shared: &Shared, stream: Stream, protocol: Protocol) -> Result<Connection, Failure> {
    let profile = shared.options.profile;
    Ok(match protocol {
        Protocol::Http1 => Pooled::Alone(Box::new(http1::Connection::new(stream, profile))),
        Protocol::Http2 => Pooled::Shared(http2::Connection::with_named_errors(stream).await?),
    })
}

/// Returns a connection through a proxy, and when the proxy's address was known. `place` is the origin's.
async fn by_proxy(
    shared: &Shared,
    route: &Route,
    place: &Place,
    trail: &Trail,
    public_only: bool,
) -> Result<(Wire, Instant), Failure> {
    let mut address = None;
    if route.needs_address() {
        trail.set(Stage::Resolving);
        let found = lookup(shared, place).first().await?;
        if public_only && !is_public(found) {
            return Err(Failure::PrivateRedirect);
        }
        address = Some(SocketAddr::new(found, place.port));
    }
    let tunnel = route.tunnel(address)?;
    let proxy = shared.options.proxies.place(&route.by.proxy);
    let by_proxy = Stage::ConnectingByProxy;
    let connected = race(shared, &proxy, trail, by_proxy, false).await;
    let (wire, resolved) = connected.map_err(Failure::of_proxy)?;
    match tunnel {
        Some(tunnel) => Ok((tunnel.open(wire).await?, resolved)),
        None => Ok((wire, resolved)),
    }
}

fn lookup(shared: &Shared, place: &Place) -> Lookup {
    if place.addresses.is_empty() {
        shared.resolver.lookup(&place.host)
    } else {
        Lookup::of(&place.addresses)
    }
}

/// Returns the first successful connection, and when the first address was known.
async fn race(
    shared: &Shared,
    place: &Place,
    trail: &Trail,
    connecting: Stage,
    public_only: bool,
) -> Result<(Wire, Instant), Failure> {
    trail.set(Stage::Resolving);
    let lookup = lookup(shared, place);
    let mut resolved = None;
    let before = |address| {
        if public_only && !is_public(address) {
            return Err(Failure::PrivateRedirect);
        }
        trail.set(connecting);
        resolved.get_or_insert_with(Instant::now);
        Ok(())
    };
    let wire = connect::race(
        &shared.options.sockets,
        &lookup,
        place.port,
        &shared.traffic,
        before,
    )
    .await?;
    Ok((wire, resolved.unwrap_or_else(Instant::now)))
}
