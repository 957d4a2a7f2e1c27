//! New connections to the servers: TCP, then TLS, each timed and counted.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dyno_client::{Failure, Protocol, Sockets, Stream, Traffic, connect, tls};

use crate::requests::Server;
use crate::slot::{Slot, Stage};
use crate::tally::Tally;

/// A server with the addresses of its name.
#[derive(Debug, Clone)]
pub(crate) struct ResolvedServer {
    pub(crate) server: Server,
    /// Its addresses, or the failure of the lookup.
    pub(crate) addresses: Result<Vec<SocketAddr>, Failure>,
}

/// Opens the connections of one thread.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    servers: Vec<(ResolvedServer, Cell<usize>)>,
    tls: Option<tls::Client>,
    protocol: Protocol,
    sockets: Arc<Sockets>,
    traffic: Arc<Traffic>,
}

impl Connector {
    pub(crate) fn new(
        servers: Vec<ResolvedServer>,
        tls: Option<tls::Client>,
        protocol: Protocol,
        sockets: Arc<Sockets>,
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
            sockets,
            traffic,
        }
    }

    /// Connects, with a TLS handshake if the server uses TLS, and counts the outcome.
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
        let client = self.tls.as_ref().expect("made if a server uses TLS");
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

    /// Tries the addresses, beginning with the last that worked. An address whose attempt was abandoned is not
    /// tried first next time.
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
            let sockets = self.sockets.clone();
            match connect::tcp(sockets, addresses[place], self.traffic.clone()).await {
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
