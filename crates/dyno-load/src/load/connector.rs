//! How a connection to one of the servers comes to be.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::requests::Server;
use super::slot::{Slot, Stage};
use super::tally::Tally;
use crate::transport::{Failure, Stream, Traffic, connect, tls};

/// A server with the addresses that its name has.
#[derive(Debug, Clone)]
pub(super) struct Reachable {
    pub(super) server: Server,
    /// Or why there is none.
    pub(super) addresses: Result<Vec<SocketAddr>, Failure>,
}

/// Makes the connections of one thread.
#[derive(Debug)]
pub(super) struct Connector {
    servers: Vec<(Reachable, Cell<usize>)>,
    tls: Option<tls::Client>,
    http2: bool,
    traffic: Arc<Traffic>,
}

impl Connector {
    pub(super) fn new(
        servers: Vec<Reachable>,
        tls: Option<tls::Client>,
        http2: bool,
        traffic: Arc<Traffic>,
    ) -> Self {
        let servers = servers
            .into_iter()
            .map(|server| (server, Cell::new(0)))
            .collect();
        Self {
            servers,
            tls,
            http2,
            traffic,
        }
    }

    /// Connects, and shakes hands where the server wants it; counts what came of it.
    pub(super) async fn open(
        &self,
        tally: &RefCell<Tally>,
        slot: &Slot,
        server: usize,
    ) -> Result<Stream, Failure> {
        let mut attempt = Attempt {
            tally,
            succeeded: false,
        };
        let opened = self.stages(tally, slot, server).await;
        attempt.succeeded = opened.is_ok();
        opened
    }

    async fn stages(
        &self,
        tally: &RefCell<Tally>,
        slot: &Slot,
        server: usize,
    ) -> Result<Stream, Failure> {
        slot.stage.set(Stage::Connecting);
        let (reachable, preferred) = &self.servers[server];
        let addresses = reachable.addresses.as_ref().map_err(|failure| *failure)?;
        let began = Instant::now();
        let wire = self.tcp(addresses, preferred).await?;
        let connected = Instant::now();
        tally.borrow_mut().connect.record(nanos(connected - began));
        if !reachable.server.is_tls {
            return Ok(Stream::Plain(wire));
        }
        slot.stage.set(Stage::Handshaking);
        let client = self.tls.as_ref().expect("made where a server wants it");
        let shaken = client.shake(wire, &reachable.server.host).await?;
        let mut tally = tally.borrow_mut();
        tally.tls.record(nanos(connected.elapsed()));
        if shaken.resumed {
            tally.counts.tls_resumed += 1;
        } else {
            tally.counts.tls_full += 1;
        }
        if self.http2 && !shaken.is_http2 {
            return Err(Failure::Http2NotOffered);
        }
        Ok(Stream::Encrypted(shaken.stream))
    }

    /// Tries the addresses from the last good one on; one at which an attempt was given up is not the first of the next.
    async fn tcp(
        &self,
        addresses: &[SocketAddr],
        preferred: &Cell<usize>,
    ) -> Result<crate::transport::Wire, Failure> {
        let first = preferred.get();
        let mut failure = Failure::HostNotFound;
        for step in 0..addresses.len() {
            let place = (first + step) % addresses.len();
            preferred.set((place + 1) % addresses.len());
            match connect::tcp(addresses[place], self.traffic.clone()).await {
                Ok(wire) => {
                    preferred.set(place);
                    return Ok(wire);
                }
                Err(why) => failure = why,
            }
        }
        Err(failure)
    }
}

/// A connection that is being made: counted when it is there, when it fails, and when whoever waits for it gives it up.
struct Attempt<'a> {
    tally: &'a RefCell<Tally>,
    succeeded: bool,
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let counts = &mut self.tally.borrow_mut().counts;
        if self.succeeded {
            counts.opened += 1;
        } else {
            counts.failed += 1;
        }
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
