//! Opens a connection: lookup of the name, race of the addresses, TLS handshake.

use std::cell::Cell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use dyno_client::resolve::Lookup;
use dyno_client::{
    Failure, Place, Protocol, Route, Stream, Wire, connect, http1, http2, is_public,
};

use crate::listed::Origin;
use crate::pool::Pooled;
use crate::shared::{Connection, Shared};

/// The step that a URL waits for; each has its own timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Resolving,
    Connecting,
    ConnectingByProxy,
    ShakingHands,
    Head,
    Content,
}

impl Stage {
    /// Returns the failure for a timeout in this step.
    pub(crate) const fn timeout(self) -> Failure {
        match self {
            Self::Resolving => Failure::ResolveTimeout,
            Self::Connecting => Failure::ConnectTimeout,
            Self::ConnectingByProxy => Failure::ProxyTimeout,
            Self::ShakingHands => Failure::TlsTimeout,
            Self::Head => Failure::HeadTimeout,
            Self::Content => Failure::BodyTimeout,
        }
    }
}

/// Opens a connection to an origin; with `public_only`, to public addresses only.
pub(crate) async fn open(
    shared: &Shared,
    origin: &Rc<Origin>,
    stage: &Cell<Stage>,
    public_only: bool,
) -> Result<Connection, Failure> {
    let stages = stages(shared, origin, stage, public_only);
    let opened = connect::counted(stages, |succeeded| {
        let mut tally = shared.tally.borrow_mut();
        if succeeded {
            tally.connections_opened += 1;
        } else {
            tally.connections_failed += 1;
        }
    });
    opened.await
}

async fn stages(
    shared: &Shared,
    origin: &Rc<Origin>,
    stage: &Cell<Stage>,
    public_only: bool,
) -> Result<Connection, Failure> {
    shared.make_room();
    let begun = Instant::now();
    let place = shared.options.reroute.place(&origin.host, origin.port);
    // For a rerouted host, the host's own name decides whether it is public, not the address that the command line
    // gives.
    let public_only = public_only && !place.is_rerouted;
    let (wire, resolved) = match shared.route(origin) {
        None => race(shared, &place, stage, Stage::Connecting, public_only).await?,
        Some(route) => by_proxy(shared, &route, &place, stage, public_only).await?,
    };
    let connected = Instant::now();
    shared
        .tally
        .borrow_mut()
        .connected(begun, resolved, connected);
    let versions = shared.options.http;
    if !origin.encrypted {
        return speak(shared, Stream::Plain(wire), versions.in_the_clear()).await;
    }
    stage.set(Stage::ShakingHands);
    let secured = shared.tls.handshake(wire, origin.certified_name()).await?;
    shared
        .tally
        .borrow_mut()
        .encrypted(connected, secured.resumed);
    if !versions.protocols().contains(&secured.protocol) {
        return Err(Failure::Http2NotOffered);
    }
    speak(shared, Stream::Encrypted(secured.stream), secured.protocol).await
}

async fn speak(shared: &Shared, stream: Stream, protocol: Protocol) -> Result<Connection, Failure> {
    let profile = shared.options.profile;
    Ok(match protocol {
        Protocol::Http1 => Pooled::Alone(Box::new(http1::Connection::new(stream, profile))),
        Protocol::Http2 => Pooled::Shared(http2::Connection::new(stream).await?),
    })
}

/// Returns a connection through a proxy, and when the proxy's address was known. `place` is the origin's.
async fn by_proxy(
    shared: &Shared,
    route: &Route,
    place: &Place,
    stage: &Cell<Stage>,
    public_only: bool,
) -> Result<(Wire, Instant), Failure> {
    let mut address = None;
    if route.needs_address() {
        stage.set(Stage::Resolving);
        let found = lookup(shared, place).first().await?;
        if public_only && !is_public(found) {
            return Err(Failure::PrivateRedirect);
        }
        address = Some(SocketAddr::new(found, place.port));
    }
    let tunnel = route.tunnel(address)?;
    let proxy = shared.options.proxies.place(&route.by.proxy);
    let by_proxy = Stage::ConnectingByProxy;
    let connected = race(shared, &proxy, stage, by_proxy, false).await;
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
    stage: &Cell<Stage>,
    connecting: Stage,
    public_only: bool,
) -> Result<(Wire, Instant), Failure> {
    stage.set(Stage::Resolving);
    let lookup = lookup(shared, place);
    let mut resolved = None;
    let before = |address| {
        if public_only && !is_public(address) {
            return Err(Failure::PrivateRedirect);
        }
        stage.set(connecting);
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
