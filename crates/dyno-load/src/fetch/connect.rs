//! A new connection: the name looked up, addresses raced, hands shaken.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

use tokio::task::{JoinSet, spawn_local};
use tokio::time::sleep_until;

use super::listed::Origin;
use super::options::Versions;
use super::pool::Pooled;
use super::shared::{Connection, Shared};
use super::tally::Tally;
use crate::resolve::{Family, Lookup, Race, Step};
use crate::transport::{Failure, Place, Stream, Wire, connect, http1, http2, is_public};

/// What a URL is waiting for: says what it is called when its time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Resolving,
    Connecting,
    ShakingHands,
    Head,
    Content,
}

impl Stage {
    /// What it means that this did not end in time.
    pub(super) const fn timeout(self) -> Failure {
        match self {
            Self::Resolving => Failure::ResolveTimeout,
            Self::Connecting => Failure::ConnectTimeout,
            Self::ShakingHands => Failure::TlsTimeout,
            Self::Head => Failure::HeadTimeout,
            Self::Content => Failure::BodyTimeout,
        }
    }
}

/// A connection that is being made: counted when it is there, when it fails, and when its time is over.
struct Attempt<'a> {
    tally: &'a RefCell<Tally>,
    succeeded: bool,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let mut tally = self.tally.borrow_mut();
        if self.succeeded {
            tally.connections_opened += 1;
        } else {
            tally.connections_failed += 1;
        }
    }
}

/// Makes a connection to an origin; with `public_only`, to none of its addresses that lead into a private network.
pub(super) async fn open(
    shared: &Shared,
    origin: &Rc<Origin>,
    stage: &Cell<Stage>,
    public_only: bool,
) -> Result<Connection, Failure> {
    let mut attempt = Attempt {
        tally: &shared.tally,
        succeeded: false,
    };
    let opened = stages(shared, origin, stage, public_only).await;
    attempt.succeeded = opened.is_ok();
    opened
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
    // Where the command line leads elsewhere, the host counts, and not where it is led.
    let public_only = public_only && !place.is_elsewhere;
    let (wire, resolved) = race(shared, &place, stage, public_only).await?;
    let connected = Instant::now();
    shared
        .tally
        .borrow_mut()
        .connected(begun, resolved, connected);
    let version = shared.options.http;
    if !origin.encrypted {
        return speak(Stream::Plain(wire), version == Versions::Http2).await;
    }
    stage.set(Stage::ShakingHands);
    let shaken = shared.tls.shake(wire, origin.certified_name()).await?;
    shared
        .tally
        .borrow_mut()
        .encrypted(connected, shaken.resumed);
    if version == Versions::Http2 && !shaken.is_http2 {
        return Err(Failure::Http2NotOffered);
    }
    speak(Stream::Encrypted(shaken.stream), shaken.is_http2).await
}

async fn speak(stream: Stream, is_http2: bool) -> Result<Connection, Failure> {
    if is_http2 {
        let reach = stream.reach();
        let (connection, drive) = http2::Connection::new(stream, reach).await?;
        spawn_local(drive);
        Ok(Pooled::Shared(connection))
    } else {
        Ok(Pooled::Alone(Box::new(http1::Connection::new(stream))))
    }
}

/// The first connection that comes about, and when the first address was known.
async fn race(
    shared: &Shared,
    place: &Place,
    stage: &Cell<Stage>,
    public_only: bool,
) -> Result<(Wire, Instant), Failure> {
    stage.set(Stage::Resolving);
    let lookup = if place.addresses.is_empty() {
        shared.resolver.lookup(&place.host)
    } else {
        Lookup::of(&place.addresses)
    };
    let (mut race, mut attempts, mut resolved) = (Race::new(place.port), JoinSet::new(), None);
    loop {
        let now = Instant::now();
        for family in Family::BOTH {
            if let Some(known) = lookup.known(family) {
                race.told(family, known, now);
            }
        }
        let until = match race.step(now) {
            Step::Connect(address) if public_only && !is_public(address.ip()) => {
                race.failed(Failure::PrivateRedirect);
                continue;
            }
            Step::Connect(address) => {
                stage.set(Stage::Connecting);
                resolved.get_or_insert(now);
                attempts.spawn_local(connect::tcp(address, shared.traffic.clone()));
                continue;
            }
            Step::Wait(until) => until,
            Step::Lost(failure) => return Err(failure),
        };
        let timer = async {
            match until {
                Some(moment) => sleep_until(moment.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(ended) = attempts.join_next() => match ended {
                // Those still under way end with the set.
                Ok(Ok(wire)) => return Ok((wire, resolved.unwrap_or(now))),
                Ok(Err(failure)) => race.failed(failure),
                Err(_) => race.failed(Failure::Io(std::io::ErrorKind::Other)),
            },
            () = lookup.more_than(race.families_known()), if race.families_known() < 2 => {}
            () = timer => {}
        }
    }
}
