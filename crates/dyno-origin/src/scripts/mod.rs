//! Hosts with scripts, byte by byte and frame by frame, their progress, and the transcripts of what their clients sent.

mod base64_bytes;
mod name_answers;
mod script;
mod tls;
mod transcript;

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use dyno_web::{Block, Fault, numbered_addresses};
use rustls::ServerConfig;

pub(crate) use name_answers::{Forgery, NameAnswer, OverTcp, Rcode};
pub use script::ScriptError;
pub(crate) use script::{Accept, ConnectionScript, HostScript, Step, What};
pub(crate) use tls::{
    Before, CertificateScript, ClientCertificate, Extension, Hash, IssuerKind, Key, KeyUsage,
    Staple, TlsVersion, Usage,
};
use transcript::Transcripts;
pub(crate) use transcript::{CLOSED, PEER_CLOSED, PEER_RESET, RESET, ROOM_ENDED, Transcript};

/// Scripted hosts with their progress and their transcripts; all threads of an origin share it.
#[derive(Debug)]
pub struct Scripts {
    hosts: Vec<Host>,
    by_name: HashMap<String, usize>,
    by_number: HashMap<u16, usize>,
    /// The addresses that all hosts share; `None` in a room, where each has its own.
    shared: Option<Vec<IpAddr>>,
    pub(crate) transcripts: Transcripts,
    /// Connections whose end is not noted yet.
    pub(crate) open: AtomicUsize,
}

/// A host with its progress.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) script: HostScript,
    number: u16,
    /// Connections that have sent a byte.
    connections: AtomicUsize,
    /// Answered queries for IPv4 and IPv6 addresses.
    queries: Mutex<[Queries; 2]>,
    /// Its TLS, made for its first handshake; or why that failed.
    pub(crate) config: OnceLock<Result<Arc<ServerConfig>, String>>,
}

#[derive(Debug, Default)]
struct Queries {
    count: usize,
    /// Whether the last answer was cut short over UDP, so that the client repeats its query over TCP.
    is_cut_short: bool,
}

/// A family of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    V4,
    V6,
}

impl Scripts {
    /// Reads the scripts of hosts (JSON). In a room each host has addresses of its own; elsewhere, all have those of
    /// `shared`, and are known by the name that a client sends.
    ///
    /// # Errors
    ///
    /// [`ScriptError`] for the first mistake.
    pub fn parse(text: &str, shared: Option<Vec<IpAddr>>) -> Result<Self, ScriptError> {
        let scripts = script::parse(text)?;
        if shared.is_some() {
            scripts.iter().try_for_each(script::check_shared_address)?;
        }
        let hosts: Vec<Host> = (1..).zip(scripts).map(|(n, it)| Host::new(n, it)).collect();
        let names = hosts.iter().map(|host| host.script.name.clone());
        let numbers = hosts.iter().map(|host| host.number);
        Ok(Self {
            by_name: names.zip(0..).collect(),
            by_number: numbers.zip(0..).collect(),
            hosts,
            shared,
            transcripts: Transcripts::default(),
            open: AtomicUsize::new(0),
        })
    }

    /// Waits until the ends of all connections are noted, for two seconds at most. Called when all clients have ended: what
    /// they sent last may still be on its way.
    pub fn settle(&self) {
        const PAUSE: Duration = Duration::from_millis(5);
        const MOST_PAUSES: u32 = 400;
        for _ in 0..MOST_PAUSES {
            thread::sleep(PAUSE);
            if self.open.load(Ordering::Relaxed) == 0 {
                return;
            }
        }
    }

    /// Writes what the clients did, in order of time: one line (JSON) for each connection and each DNS query.
    ///
    /// # Errors
    ///
    /// An error of `out`.
    pub fn write_transcripts(&self, out: &mut impl Write) -> io::Result<()> {
        self.transcripts.write(out)
    }

    /// The index of the host with a name in lower case.
    pub(crate) fn named(&self, name: &str) -> Option<usize> {
        self.by_name.get(name.trim_end_matches('.')).copied()
    }

    /// The index of the host that owns a block's address.
    pub(crate) fn at(&self, block: Option<Block>) -> Option<usize> {
        let Some(Block::Scripted(number)) = block else {
            return None;
        };
        self.by_number.get(&number).copied()
    }

    pub(crate) fn host(&self, index: usize) -> &Host {
        &self.hosts[index]
    }

    /// Whether all hosts share the origin's addresses.
    pub(crate) fn share_addresses(&self) -> bool {
        self.shared.is_some()
    }

    /// The address that a word of a script means: of one family, or any literal.
    pub(crate) fn address(&self, host: &Host, word: &str, family: Family) -> Option<IpAddr> {
        let fault = match word {
            "own" => None,
            "silent" => Some(Fault::Blackhole),
            "closed" => Some(Fault::Refused),
            "stall" => Some(Fault::StallAfterAccept),
            "reset" => Some(Fault::ResetAfterAccept),
            literal => return literal.parse().ok(),
        };
        if let Some(shared) = &self.shared {
            return own_of(shared, family);
        }
        let (v4, v6) = numbered_addresses(fault, host.number);
        Some(match family {
            Family::V4 => v4.into(),
            Family::V6 => v6.into(),
        })
    }
}

/// An address of the origin; the loopback's if it listens on all.
fn own_of(shared: &[IpAddr], family: Family) -> Option<IpAddr> {
    let is_v4 = family == Family::V4;
    let own = shared.iter().find(|address| address.is_ipv4() == is_v4)?;
    let loopback = match family {
        Family::V4 => IpAddr::V4(Ipv4Addr::LOCALHOST),
        Family::V6 => Ipv6Addr::LOCALHOST.into(),
    };
    Some(if own.is_unspecified() { loopback } else { *own })
}

impl Host {
    fn new(place: u16, script: HostScript) -> Self {
        Self {
            number: script.number.unwrap_or(place),
            script,
            connections: AtomicUsize::new(0),
            queries: Mutex::default(),
            config: OnceLock::new(),
        }
    }

    /// Counts a connection that has sent a byte; returns its number from 1, and its script.
    pub(crate) fn next_connection(&self) -> (usize, Option<&ConnectionScript>) {
        let earlier = self.connections.fetch_add(1, Ordering::Relaxed);
        let scripts = &self.script.scripts;
        (earlier + 1, scripts.get(earlier).or(scripts.last()))
    }

    /// Counts a query for addresses; returns its answer, or `None` if the host has no such address. The query over TCP
    /// that repeats one cut short over UDP gets the same answer.
    pub(crate) fn next_answer(&self, family: Family, is_tcp: bool) -> Option<&NameAnswer> {
        let (index, answers) = match family {
            Family::V4 => (0, &self.script.dns.a),
            Family::V6 => (1, &self.script.dns.aaaa),
        };
        // The lock guards two values that are stored at once, so a panic leaves nothing inconsistent.
        let mut queries = self.queries.lock().unwrap_or_else(PoisonError::into_inner);
        let queries = &mut queries[index];
        if !(is_tcp && queries.is_cut_short) {
            queries.count += 1;
        }
        let answer = answers.get(queries.count - 1).or(answers.last())?;
        queries.is_cut_short = answer.truncate && !is_tcp;
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scripts(hosts: &str, shared: Option<Vec<IpAddr>>) -> Scripts {
        Scripts::parse(&format!(r#"{{"hosts": [{hosts}]}}"#), shared).unwrap()
    }

    #[test]
    fn the_last_answer_repeats_and_one_cut_short_is_completed_over_tcp() {
        let host =
            r#"{"name": "a.test", "dns": {"A": [{"ttl": 1, "truncate": true}, {"ttl": 2}]}}"#;
        let scripts = scripts(host, None);
        let host = scripts.host(0);
        let ttl = |is_tcp| {
            host.next_answer(Family::V4, is_tcp)
                .map(|answer| answer.ttl)
        };
        assert_eq!(
            [ttl(false), ttl(true), ttl(true), ttl(false)],
            [Some(1), Some(1), Some(2), Some(2)]
        );
        assert!(host.next_answer(Family::V6, false).is_none());
    }

    #[test]
    fn each_host_of_a_room_is_known_by_its_addresses() {
        let scripts = scripts(r#"{"name": "a.test"}, {"name": "b.test"}"#, None);
        for index in [0, 1] {
            let host = scripts.host(index);
            for family in [Family::V4, Family::V6] {
                let own = scripts.address(host, "own", family).unwrap();
                assert_eq!(scripts.at(dyno_web::Web::connection(own)), Some(index));
            }
        }
        let numbered = self::scripts(
            r#"{"name": "a.test"}, {"name": "b.test", "number": 60005}"#,
            None,
        );
        let own = numbered.address(numbered.host(1), "own", Family::V4);
        assert_eq!(own, Some("10.70.234.101".parse().unwrap()));
        assert_eq!(numbered.at(Some(Block::Scripted(60_005))), Some(1));
        assert_eq!(numbered.at(Some(Block::Scripted(2))), None);
        assert_eq!(scripts.at(Some(Block::Scripted(0))), None);
        assert_eq!(scripts.at(Some(Block::Scripted(3))), None);
        assert_eq!(
            (scripts.named("b.test."), scripts.named("c.test")),
            (Some(1), None)
        );
        let silent = scripts.address(scripts.host(1), "silent", Family::V4);
        assert_eq!(silent, Some("10.66.0.2".parse().unwrap()));
    }

    #[test]
    fn hosts_elsewhere_have_the_addresses_of_the_origin() {
        let shared = vec!["127.0.0.3".parse().unwrap(), "::".parse().unwrap()];
        let scripts = scripts(r#"{"name": "a.test"}"#, Some(shared));
        let own = |family| {
            scripts
                .address(scripts.host(0), "own", family)
                .unwrap()
                .to_string()
        };
        assert_eq!([own(Family::V4), own(Family::V6)], ["127.0.0.3", "::1"]);
    }
}
