//! Queries name servers: over UDP, over TCP if the answer does not fit, one server after another.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use hickory_proto::rr::Name;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use super::configuration::Configuration;
use super::message::{Answer, Family, Reading, query, read};

/// Buffer for an answer over UDP: our queries allow at most 512 bytes (RFC 1035).
const ANSWER_BYTES: usize = 4 << 10;

/// A query and its servers.
pub(super) struct Question<'a> {
    pub configuration: &'a Configuration,
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

/// A query that has no answer yet.
struct Open {
    family: Family,
    id: u16,
    bytes: Vec<u8>,
}

/// A name server during one lookup. Its socket stays open, so that a late answer to the first query is accepted after
/// the query was repeated.
struct Server {
    address: SocketAddr,
    socket: Option<UdpSocket>,
    /// Whether the server failed or was unreachable, by family.
    failed: [bool; 2],
}

/// Queries until each family has an answer, or all name servers have failed; reports each answer as soon as it arrives.
pub(super) async fn ask(question: Question<'_>, mut report: impl FnMut(Family, QueryOutcome)) {
    let mut open: Vec<Open> = Vec::with_capacity(2);
    for &(family, id) in question.families {
        match query(id, &question.name, family) {
            Some(bytes) => open.push(Open { family, id, bytes }),
            None => report(
                family,
                QueryOutcome::Answer(Answer::NoSuchName(Duration::ZERO)),
            ),
        }
    }
    let configuration = question.configuration;
    let mut servers: Vec<Server> = configuration
        .servers
        .iter()
        .map(|at| Server::new(*at))
        .collect();
    let places = servers.len();
    servers.rotate_left(question.first % places);
    for attempt in 1..=configuration.attempts {
        let patience = match configuration.timeout {
            timeout if attempt == configuration.attempts => timeout,
            timeout => timeout.min(question.attempt_timeout),
        };
        for server in &mut servers {
            let asked = server.ask(&question.name, &mut open, &mut report);
            if let Ok(Err(_)) = timeout(patience, asked).await {
                server.socket = None;
                for query in &open {
                    server.failed[query.family.index()] = true;
                }
            }
            if open.is_empty() {
                return;
            }
        }
    }
    for query in open {
        let failed = servers
            .iter()
            .all(|server| server.failed[query.family.index()]);
        report(
            query.family,
            if failed {
                QueryOutcome::Answer(Answer::Failed)
            } else {
                QueryOutcome::TimedOut
            },
        );
    }
}

impl Server {
    const fn new(address: SocketAddr) -> Self {
        Self {
            address,
            socket: None,
            failed: [false; 2],
        }
    }

    /// Sends all queries at which this server has not failed, and receives the answers.
    async fn ask(
        &mut self,
        name: &Name,
        open: &mut Vec<Open>,
        report: &mut impl FnMut(Family, QueryOutcome),
    ) -> io::Result<()> {
        let mut failed = self.failed;
        let waits = |open: &[Open], failed: [bool; 2]| {
            open.iter().any(|query| !failed[query.family.index()])
        };
        if !waits(open, failed) {
            return Ok(());
        }
        let socket = match self.socket.take() {
            Some(socket) => socket,
            None => connect(self.address).await?,
        };
        let socket = self.socket.insert(socket);
        for query in open.iter().filter(|query| !failed[query.family.index()]) {
            socket.send(&query.bytes).await?;
        }
        let mut bytes = [0; ANSWER_BYTES];
        while waits(open, failed) {
            let count = socket.recv(&mut bytes).await?;
            let Some((place, mut reading)) = find(open, name, &bytes[..count]) else {
                continue;
            };
            if reading == Reading::Truncated {
                // A server without TCP may still answer the other query over UDP.
                reading = over_tcp(self.address, name, &open[place])
                    .await
                    .unwrap_or(Reading::Answer(Answer::Failed));
            }
            match reading {
                Reading::Answer(Answer::Failed) => failed[open[place].family.index()] = true,
                Reading::Answer(answer) => {
                    report(open.swap_remove(place).family, QueryOutcome::Answer(answer));
                }
                Reading::NotOurs | Reading::Truncated => {}
            }
            self.failed = failed;
        }
        Ok(())
    }
}

/// Returns which query the message answers, and how.
fn find(open: &[Open], name: &Name, bytes: &[u8]) -> Option<(usize, Reading)> {
    let readings = open
        .iter()
        .map(|query| read(bytes, query.id, name, query.family));
    readings
        .enumerate()
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

/// Sends the same query over TCP, where a length precedes each message (RFC 1035, section 4.2.2).
async fn over_tcp(server: SocketAddr, name: &Name, query: &Open) -> io::Result<Reading> {
    let mut stream = TcpStream::connect(server).await?;
    let length = u16::try_from(query.bytes.len()).map_err(io::Error::other)?;
    let framed = [&length.to_be_bytes()[..], &query.bytes].concat();
    stream.write_all(&framed).await?;
    let mut length = [0; 2];
    stream.read_exact(&mut length).await?;
    let mut answer = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut answer).await?;
    match read(&answer, query.id, name, query.family) {
        Reading::Answer(answer) => Ok(Reading::Answer(answer)),
        Reading::NotOurs | Reading::Truncated => Err(io::ErrorKind::InvalidData.into()),
    }
}
