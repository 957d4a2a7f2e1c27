//! New connections to the servers: TCP, then TLS, each timed and counted.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dyno_client::{Failure, Protocol, Stream, Traffic, connect, tls};

use crate::requests::Server;
use crate::slot::{Slot, Stage};
use crate::tally::Tally;

/// A server with the addresses that its name has.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedServer {
    pub(crate) server: Server,
    /// Or why there is none.
    pub(crate) addresses: Result<Vec<SocketAddr>, Failure>,
}

/// Makes the connections of one thread.
#[derive(Debug)]
pub(crate) struct Connector {
    servers: Vec<(ResolvedServer, Cell<usize>)>,
    tls: Option<tls::Client>,
    protocol: Protocol,
    traffic: Arc<Traffic>,
}

impl Connector {
    pub(crate) fn new(
        servers: Vec<ResolvedServer>,
        tls: Option<tls::Client>,
        protocol: Protocol,
        traffic: Arc<Traffic>,
    ) -> Self {
        let servers = servers
            .into_iter()
            .map(|server| (server, Cell::new(0)))
            .collect();
        Self {
            servers,
            tls,
            protocol,
            traffic,
        }
    }

    /// Connects, with a TLS handshake where the server wants it; counts the outcome.
    pub(crate) async fn open(
        &self,
        tally: &RefCell<Tally>,
        slot: &Slot,
        server: usize,
    ) -> Result<Stream, Failure> {
        let stages = self.stages(tally, slot, server);
        let opened = connect::counted(stages, |succeeded| {
            let counts = &mut tally.borrow_mut().counts;
            if succeeded {
                counts.opened += 1;
            } else {
                counts.failed += 1;
            }
        });
        opened.await
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
        let secured = client.handshake(wire, &reachable.server.host).await?;
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
        Ok(Stream::Encrypted(secured.stream))
    }

    /// Tries the addresses from the last good one on; one at which an attempt was given up is not the first of the next.
    async fn tcp(
        &self,
        addresses: &[SocketAddr],
        preferred: &Cell<usize>,
    ) -> Result<dyno_client::Wire, Failure> {
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

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
