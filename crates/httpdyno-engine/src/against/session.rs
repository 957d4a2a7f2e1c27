//! A connection to another machine's origin for the control of a trial.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dyno_origin::CONTROL_PATH;
use dyno_web::{OneOrigin, Web};
use serde::Deserialize;
use serde_json::Value;

use super::clock::{Exchange, Reading};
use super::error::AgainstError;
use crate::clock_setting::{Setting, Settings};
use crate::control::message::{ControlResponse, Messages, PROTOCOL};

/// Timeout of a connect.
const CONNECTING: Duration = Duration::from_secs(5);
/// Timeout of an answer: a link that is loaded by a trial has queues.
const ANSWERING: Duration = Duration::from_secs(20);
/// Exchanges of the time of day; the quickest counts.
const EXCHANGES: usize = 16;

/// A control connection to an origin.
#[derive(Debug)]
pub struct Session {
    origin: OneOrigin,
    address: SocketAddr,
    connect_ns: u64,
    messages: Messages<TcpStream>,
}

/// Two clocks compared.
#[derive(Debug)]
pub struct Comparison {
    /// The offset of the other clock.
    pub reading: Reading,
    /// How both are set.
    pub settings: Settings,
    /// Round-trip times of the exchanges.
    pub round_trips_ns: Vec<i64>,
}

/// Identity of an origin.
#[derive(Debug, Clone, Deserialize)]
pub struct Identity {
    protocol: u32,
    version: String,
    /// `None`: it serves the time alone.
    web: Option<WebIdentity>,
}

/// Identity of its web.
#[derive(Debug, Clone, Deserialize)]
pub struct WebIdentity {
    pub name: String,
    pub seed: u64,
    pub digest: String,
}

impl Session {
    /// Connects and reads the identity.
    pub fn open(origin: &OneOrigin) -> Result<(Self, Identity), AgainstError> {
        let (stream, address, connect_ns) = connect(origin)?;
        let configured = stream
            .set_nodelay(true)
            .and_then(|()| stream.set_read_timeout(Some(ANSWERING)))
            .and_then(|()| stream.set_write_timeout(Some(ANSWERING)));
        configured.map_err(|error| AgainstError::no_connection(origin, &error))?;
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
        let not_an_origin = |what: &str| AgainstError::not_an_origin(&origin, what);
        let response = self
            .exchange("GET", "identity")
            .map_err(|error| match error.kind() {
                io::ErrorKind::InvalidData => not_an_origin("it does not speak the protocol"),
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    not_an_origin("it accepts connections and does not answer")
                }
                io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                    not_an_origin("it closes the connection")
                }
                _ => AgainstError::lost(&self.origin, &error),
            })?;
        if let Some(reason) = refused(&response) {
            return Err(AgainstError::new(&self.origin, reason));
        }
        let identity = serde_json::from_slice::<Identity>(&response.content)
            .ok()
            .filter(|_| response.status == 200);
        let what = format!(
            "it answers {} to the request for its identity",
            response.status
        );
        identity.ok_or_else(|| AgainstError::not_an_origin(&self.origin, &what))
    }

    /// The web of an origin; refuses a machine that serves the time alone.
    pub fn require_web<'i>(&self, identity: &'i Identity) -> Result<&'i WebIdentity, AgainstError> {
        let web = identity.web.as_ref();
        web.ok_or_else(|| AgainstError::not_an_origin(&self.origin, "it serves the time alone"))
    }

    /// Refuses another version, and a web other than `expected`.
    pub fn check(&self, identity: &Identity, expected: &Web) -> Result<(), AgainstError> {
        self.check_version(identity)?;
        let (theirs, seed) = (self.require_web(identity)?, expected.seed());
        let name = &expected.model().name;
        if theirs.digest == expected.digest() {
            return Ok(());
        }
        let reason = if theirs.name == *name && theirs.seed == seed {
            format!(
                "serves another {name} than expected: the models differ; use the same file on both machines"
            )
        } else {
            format!(
                "serves {} with seed {}, expected {name} with seed {seed}; give --web {} --seed {}, or start it with --web {name} --seed {seed}",
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
            "has httpdyno {}, this machine has {own}; install the same version on both",
            identity.version
        );
        Err(AgainstError::new(&self.origin, reason))
    }

    /// The address of the origin.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Time of the TCP connect.
    pub fn connect_ns(&self) -> u64 {
        self.connect_ns
    }

    /// Compares the clocks.
    pub fn read_clock(&mut self) -> Result<Comparison, AgainstError> {
        let mut exchanges = Vec::with_capacity(EXCHANGES);
        let mut there = Vec::with_capacity(EXCHANGES);
        for _ in 0..EXCHANGES {
            let asked_ns = unix_ns();
            let mut value = self.ask("GET", "clock")?;
            let answered_ns = unix_ns();
            let there_ns = value["unix_ns"].as_i64().unwrap_or_default();
            exchanges.push(Exchange {
                asked_ns,
                there_ns,
                answered_ns,
            });
            there.extend(serde_json::from_value::<Setting>(value["setting"].take()));
        }
        let what = "its answer has no time";
        let there = Setting::sharpest_of(there)
            .ok_or_else(|| AgainstError::not_an_origin(&self.origin, what))?;
        Ok(Comparison {
            reading: Reading::best_of(&exchanges).expect("there are exchanges"),
            settings: Settings {
                here: Setting::now(),
                there,
            },
            round_trips_ns: exchanges.iter().map(Exchange::rtt_ns).collect(),
        })
    }

    /// Begins a trial; the origin resets its counters.
    pub fn begin(&mut self) -> Result<(), AgainstError> {
        self.ask("POST", "begin").map(drop)
    }

    /// Reads the origin's progress, which also renews the hold on the origin.
    pub fn progress(&mut self) -> Result<Value, AgainstError> {
        self.ask("GET", "progress")
    }

    /// Ends the trial; returns the origin's record, and its arrivals as CSV on its clock.
    pub fn end(&mut self) -> Result<(Value, Vec<u8>), AgainstError> {
        let response = self.answer_to("POST", "end")?;
        let ControlResponse { mut content, .. } = response;
        let line = content.iter().position(|&byte| byte == b'\n');
        let arrivals = line.map_or_else(Vec::new, |line| content.split_off(line + 1));
        Ok((self.parsed(&content)?, arrivals))
    }

    fn ask(&mut self, method: &str, name: &str) -> Result<Value, AgainstError> {
        let response = self.answer_to(method, name)?;
        self.parsed(&response.content)
    }

    fn answer_to(&mut self, method: &str, name: &str) -> Result<ControlResponse, AgainstError> {
        let response = self
            .exchange(method, name)
            .map_err(|error| AgainstError::lost(&self.origin, &error))?;
        match refused(&response) {
            Some(reason) => Err(AgainstError::new(&self.origin, reason)),
            None => Ok(response),
        }
    }

    fn parsed(&self, content: &[u8]) -> Result<Value, AgainstError> {
        let damaged = |_| AgainstError::not_an_origin(&self.origin, "its answer is not JSON");
        serde_json::from_slice(content).map_err(damaged)
    }

    fn exchange(&mut self, method: &str, name: &str) -> io::Result<ControlResponse> {
        let target = format!("{CONTROL_PATH}{name}");
        self.messages
            .ask(method, &self.origin.authority(), &target)?;
        self.messages.read_answer()
    }
}

/// The reason of a refusal by an origin; other servers give none.
fn refused(response: &ControlResponse) -> Option<String> {
    if response.status == 200 {
        return None;
    }
    let value: Value = serde_json::from_slice(&response.content).ok()?;
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
    Err(AgainstError::no_connection(origin, &last))
}

fn resolve(origin: &OneOrigin) -> Result<Vec<SocketAddr>, AgainstError> {
    let found: Vec<SocketAddr> = (origin.host(), origin.port())
        .to_socket_addrs()
        .map(Iterator::collect)
        .unwrap_or_default();
    if found.is_empty() {
        return Err(AgainstError::no_address(origin));
    }
    Ok(found)
}

fn unix_ns() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    i64::try_from(now.unwrap_or_default().as_nanos()).unwrap_or(i64::MAX)
}
