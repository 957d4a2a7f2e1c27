//! Queries name servers: over UDP, over TCP if the answer does not fit, or over TCP or TLS only; one server after another.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use hickory_proto::rr::Name;
use tokio::net::UdpSocket;
use tokio::time::timeout;

use super::configuration::Configuration;
use super::message::{Answer, Family, Reading, query, read};
use super::name_server::Transport;
use super::upstreams::{Upstream, order};
use crate::failure::Failure;

/// Buffer for an answer over UDP: our queries allow at most 512 bytes (RFC 1035).
const ANSWER_BYTES: usize = 4 << 10;

/// A query and its servers.
pub(super) struct Question<'a> {
    pub configuration: &'a Configuration,
    pub upstreams: &'a [Upstream],
    /// Index of the server to query first.
    pub first: usize,
    /// Timeout of all attempts except the last: a lost datagram must not use up the timeout of a URL.
    pub attempt_timeout: Duration,
    pub name: Name,
    pub families: &'a [(Family, u16)],
}

/// Outcome of the query for one family.
pub(super) enum QueryOutcome {
    Answer(Answer),
    TimedOut,
}

/// A query without an answer so far.
struct Open {
    family: Family,
    id: u16,
    bytes: Vec<u8>,
    answered: Cell<bool>,
}

/// A name server during one lookup. Its socket stays open, so that a late answer to the first query is accepted after
/// the query was repeated.
struct Server<'a> {
    upstream: &'a Upstream,
    socket: Option<UdpSocket>,
    /// Whether the server failed or was unreachable, by family.
    failed: [Cell<bool>; 2],
}

/// Queries until each family has an answer, or all name servers have failed; reports each answer as soon as it arrives, and
/// the first failure of a server.
pub(super) async fn ask(
    question: Question<'_>,
    report: impl FnMut(Family, QueryOutcome),
    on_failure: impl Fn(&Upstream, Failure),
) {
    let report = RefCell::new(report);
    let mut open: Vec<Open> = Vec::with_capacity(2);
    for &(family, id) in question.families {
        match query(id, &question.name, family) {
            Some(bytes) => open.push(Open {
                family,
                id,
                bytes,
                answered: Cell::new(false),
            }),
            None => report.borrow_mut()(
                family,
                QueryOutcome::Answer(Answer::NoSuchName(Duration::ZERO)),
            ),
        }
    }
    let configuration = question.configuration;
    let servers = order(question.upstreams, question.first, Instant::now());
    let mut servers: Vec<Server<'_>> = servers.into_iter().map(Server::new).collect();
    let answered = |query: &Open, answer| {
        query.answered.set(true);
        report.borrow_mut()(query.family, QueryOutcome::Answer(answer));
    };
    for attempt in 1..=configuration.attempts {
        let patience = match configuration.timeout {
            timeout if attempt == configuration.attempts => timeout,
            timeout => timeout.min(question.attempt_timeout),
        };
        for server in &mut servers {
            let sent = Instant::now();
            let asked = timeout(patience, server.ask(&question.name, &open, &answered)).await;
            open.retain(|query| !query.answered.get());
            match asked {
                Ok(Ok(())) => {}
                Ok(Err(failure)) => {
                    server.socket = None;
                    for query in &open {
                        server.failed[query.family.index()].set(true);
                    }
                    if server.upstream.failed(failure, Instant::now()) {
                        on_failure(server.upstream, failure);
                    }
                }
                Err(_) => server.upstream.timed_out(sent, Instant::now()),
            }
            if open.is_empty() {
                return;
            }
        }
    }
    for query in open {
        let failed = servers
            .iter()
            .all(|server| server.failed[query.family.index()].get());
        report.borrow_mut()(
            query.family,
            if failed {
                QueryOutcome::Answer(Answer::Failed)
            } else {
                QueryOutcome::TimedOut
            },
        );
    }
}

impl<'a> Server<'a> {
    fn new(upstream: &'a Upstream) -> Self {
        Self {
            upstream,
            socket: None,
            failed: Default::default(),
        }
    }

    /// Sends all queries at which this server has not failed, and receives the answers.
    async fn ask(
        &mut self,
        name: &Name,
        open: &[Open],
        answered: &impl Fn(&Open, Answer),
    ) -> Result<(), Failure> {
        if !open.iter().any(|query| self.waits_for(query)) {
            return Ok(());
        }
        if self.upstream.server.transport == Transport::Udp {
            let asked = self.ask_over_udp(name, open, answered).await;
            return asked.map_err(|error| Failure::from_io(&error));
        }
        let this = &*self;
        let ask = async |query: Option<&Open>| match query {
            Some(query) if this.waits_for(query) => {
                this.take(
                    query,
                    over_pipeline(this.upstream, name, query).await?,
                    answered,
                );
                Ok(())
            }
            _ => Ok(()),
        };
        // There are two families.
        let (first, second) = tokio::join!(ask(open.first()), ask(open.get(1)));
        first.and(second)
    }

    async fn ask_over_udp(
        &mut self,
        name: &Name,
        open: &[Open],
        answered: &impl Fn(&Open, Answer),
    ) -> io::Result<()> {
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => connect(self.upstream.server.address).await?,
        };
        self.socket = Some(socket);
        let this = &*self;
        let socket = this.socket.as_ref().expect("it was opened");
        for query in open.iter().filter(|query| this.waits_for(query)) {
            socket.send(&query.bytes).await?;
        }
        let mut bytes = [0; ANSWER_BYTES];
        while open.iter().any(|query| this.waits_for(query)) {
            let count = socket.recv(&mut bytes).await?;
            let Some((query, mut reading)) = find(open, name, &bytes[..count]) else {
                continue;
            };
            this.upstream.answered(Instant::now());
            if reading == Reading::Truncated {
                // A server without TCP may still answer the other query over UDP.
                reading = over_pipeline(this.upstream, name, query)
                    .await
                    .unwrap_or(Reading::Answer(Answer::Failed));
            }
            this.take(query, reading, answered);
        }
        Ok(())
    }

    fn waits_for(&self, query: &Open) -> bool {
        !query.answered.get() && !self.failed[query.family.index()].get()
    }

    fn take(&self, query: &Open, reading: Reading, answered: &impl Fn(&Open, Answer)) {
        match reading {
            Reading::Answer(Answer::Failed) => self.failed[query.family.index()].set(true),
            Reading::Answer(answer) => answered(query, answer),
            Reading::NotOurs | Reading::Truncated => {}
        }
    }
}

/// Returns which query the message answers, and how.
fn find<'o>(open: &'o [Open], name: &Name, bytes: &[u8]) -> Option<(&'o Open, Reading)> {
    let unanswered = open.iter().filter(|query| !query.answered.get());
    unanswered
        .map(|query| (query, read(bytes, query.id, name, query.family)))
        .find(|(_, reading)| *reading != Reading::NotOurs)
}

/// Opens a socket with an unpredictable port, which accepts datagrams of that server only.
async fn connect(server: SocketAddr) -> io::Result<UdpSocket> {
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).await?;
    socket.connect(server).await?;
    Ok(socket)
}

/// Sends a query over the connection of TCP or TLS. A strange answer over it is a failure: there will be no other.
async fn over_pipeline(upstream: &Upstream, name: &Name, query: &Open) -> Result<Reading, Failure> {
    let (id, bytes) = upstream.pipeline.exchange(&query.bytes).await?;
    upstream.answered(Instant::now());
    Ok(match read(&bytes, id, name, query.family) {
        Reading::NotOurs | Reading::Truncated => Reading::Answer(Answer::Failed),
        reading @ Reading::Answer(_) => reading,
    })
}
