//! A connection to whoever answers for another machine's origin, from the first question to the record of a trial.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dyno_origin::CONTROL_PATH;
use dyno_web::{OneOrigin, Web};
use serde::Deserialize;
use serde_json::Value;

use super::clock::{Exchange, Reading};
use super::error::AgainstError;
use crate::control::message::{Answered, Messages, PROTOCOL};

/// How long a machine may take to accept a connection.
const CONNECTING: Duration = Duration::from_secs(5);
/// How long it may take to answer: a link that a trial fills has its queues.
const ANSWERING: Duration = Duration::from_secs(20);
/// Exchanges of the time of day; the quickest of them counts.
const EXCHANGES: usize = 16;

/// A connection to an origin's desk.
#[derive(Debug)]
pub struct Session {
    origin: OneOrigin,
    address: SocketAddr,
    connect_ns: u64,
    messages: Messages<TcpStream>,
}

/// Who answers.
#[derive(Debug, Clone, Deserialize)]
pub struct Identity {
    protocol: u32,
    version: String,
    pub web: WebIdentity,
}

/// Which web it plays.
#[derive(Debug, Clone, Deserialize)]
pub struct WebIdentity {
    pub name: String,
    pub seed: u64,
    pub digest: String,
}

impl Session {
    /// Connects and asks who it is.
    pub fn open(origin: &OneOrigin) -> Result<(Self, Identity), AgainstError> {
        let (stream, address, connect_ns) = connect(origin)?;
        let configured = stream
            .set_nodelay(true)
            .and_then(|()| stream.set_read_timeout(Some(ANSWERING)))
            .and_then(|()| stream.set_write_timeout(Some(ANSWERING)));
        configured.map_err(|error| AgainstError::unconnected(origin, &error))?;
        let mut session = Self {
            origin: origin.clone(),
            address,
            connect_ns,
            messages: Messages::new(stream, Vec::new(), ANSWERING),
        };
        let identity = session.identify()?;
        Ok((session, identity))
    }

    fn identify(&mut self) -> Result<Identity, AgainstError> {
        let origin = self.origin.clone();
        let stranger = |what: &str| AgainstError::stranger(&origin, what);
        let answered = self
            .exchange("GET", "identity")
            .map_err(|error| match error.kind() {
                io::ErrorKind::InvalidData => stranger("it does not answer as one does"),
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    stranger("it accepts connections and says nothing")
                }
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                    stranger("it closes the connection")
                }
                _ => AgainstError::lost(&self.origin, &error),
            })?;
        if let Some(reason) = refused(&answered) {
            return Err(AgainstError::new(&self.origin, reason));
        }
        let identity = serde_json::from_slice::<Identity>(&answered.content)
            .ok()
            .filter(|_| answered.status == 200);
        let what = format!("it answers {} to who it is", answered.status);
        identity.ok_or_else(|| AgainstError::stranger(&self.origin, &what))
    }

    /// Refuses another version, and another web than `expected`.
    pub fn check(&self, identity: &Identity, expected: &Web) -> Result<(), AgainstError> {
        self.check_version(identity)?;
        let (theirs, seed) = (&identity.web, expected.seed());
        let name = &expected.model().name;
        if theirs.digest == expected.digest() {
            return Ok(());
        }
        let reason = if theirs.name == *name && theirs.seed == seed {
            format!(
                "plays another {name} than the one here: the models differ; use the same file of it on both"
            )
        } else {
            format!(
                "plays {} with seed {}, and {name} with seed {seed} is expected here; give --web {} --seed {}, or start it with --web {name} --seed {seed}",
                theirs.name, theirs.seed, theirs.name, theirs.seed
            )
        };
        Err(AgainstError::new(&self.origin, reason))
    }

    /// Refuses another version.
    pub fn check_version(&self, identity: &Identity) -> Result<(), AgainstError> {
        let own = env!("CARGO_PKG_VERSION");
        if identity.protocol == PROTOCOL && identity.version == own {
            return Ok(());
        }
        let reason = format!(
            "is httpdyno {}, and this is {own}; bring both machines to one version",
            identity.version
        );
        Err(AgainstError::new(&self.origin, reason))
    }

    /// Where it is.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How long connecting took.
    pub fn connect_ns(&self) -> u64 {
        self.connect_ns
    }

    /// Compares clocks; gives what is known of the other one, and how long the exchanges took.
    pub fn read_clock(&mut self) -> Result<(Reading, Vec<i64>), AgainstError> {
        let mut exchanges = Vec::with_capacity(EXCHANGES);
        for _ in 0..EXCHANGES {
            let asked_ns = unix_ns();
            let value = self.ask("GET", "clock")?;
            let answered_ns = unix_ns();
            let there_ns = value["unix_ns"].as_i64().unwrap_or_default();
            exchanges.push(Exchange {
                asked_ns,
                there_ns,
                answered_ns,
            });
        }
        let rtts_ns = exchanges.iter().map(Exchange::rtt_ns).collect();
        let reading = Reading::best_of(&exchanges).expect("there are exchanges");
        Ok((reading, rtts_ns))
    }

    /// A trial begins: what the origin has seen so far is forgotten.
    pub fn begin(&mut self) -> Result<(), AgainstError> {
        self.ask("POST", "begin").map(drop)
    }

    /// How far the origin is; tells it, too, that somebody is there.
    pub fn progress(&mut self) -> Result<Value, AgainstError> {
        self.ask("GET", "progress")
    }

    /// The trial ends: what the origin saw, then its arrivals as CSV on its clock.
    pub fn end(&mut self) -> Result<(Value, Vec<u8>), AgainstError> {
        let answered = self.answer_to("POST", "end")?;
        let Answered { mut content, .. } = answered;
        let line = content.iter().position(|&byte| byte == b'\n');
        let arrivals = line.map_or_else(Vec::new, |line| content.split_off(line + 1));
        Ok((self.parsed(&content)?, arrivals))
    }

    fn ask(&mut self, method: &str, name: &str) -> Result<Value, AgainstError> {
        let answered = self.answer_to(method, name)?;
        self.parsed(&answered.content)
    }

    fn answer_to(&mut self, method: &str, name: &str) -> Result<Answered, AgainstError> {
        let answered = self
            .exchange(method, name)
            .map_err(|error| AgainstError::lost(&self.origin, &error))?;
        match refused(&answered) {
            Some(reason) => Err(AgainstError::new(&self.origin, reason)),
            None => Ok(answered),
        }
    }

    fn parsed(&self, content: &[u8]) -> Result<Value, AgainstError> {
        let damaged = |_| AgainstError::stranger(&self.origin, "what it answers is no JSON");
        serde_json::from_slice(content).map_err(damaged)
    }

    fn exchange(&mut self, method: &str, name: &str) -> io::Result<Answered> {
        let target = format!("{CONTROL_PATH}{name}");
        self.messages
            .ask(method, &self.origin.authority(), &target)?;
        self.messages.read_answer()
    }
}

/// Why an origin's desk refuses; whoever else answers gives no such reason.
fn refused(answered: &Answered) -> Option<String> {
    if answered.status == 200 {
        return None;
    }
    let value: Value = serde_json::from_slice(&answered.content).ok()?;
    value["error"].as_str().map(str::to_owned)
}

/// Tries each address of a name in turn.
fn connect(origin: &OneOrigin) -> Result<(TcpStream, SocketAddr, u64), AgainstError> {
    let addresses = resolve(origin)?;
    let mut last = io::Error::from(io::ErrorKind::HostUnreachable);
    for address in addresses {
        let start = Instant::now();
        match TcpStream::connect_timeout(&address, CONNECTING) {
            Ok(stream) => {
                let took = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
                return Ok((stream, address, took));
            }
            Err(error) => last = error,
        }
    }
    Err(AgainstError::unconnected(origin, &last))
}

fn resolve(origin: &OneOrigin) -> Result<Vec<SocketAddr>, AgainstError> {
    let found: Vec<SocketAddr> = (origin.host(), origin.port())
        .to_socket_addrs()
        .map(Iterator::collect)
        .unwrap_or_default();
    if found.is_empty() {
        return Err(AgainstError::unnamed(origin));
    }
    Ok(found)
}

fn unix_ns() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(now.unwrap_or_default().as_nanos()).unwrap_or(i64::MAX)
}
