//! The stub resolver: literal addresses, overrides, `/etc/hosts`, the cache, then the name servers.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, UdpSocket};
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};

use hickory_proto::rr::Name;
use rustls::crypto::SecureRandom;
use tokio::task::spawn_local;

use super::cache::Cache;
use super::configuration::Configuration;
use super::exchange::{QueryOutcome, Question, ask};
use super::hosts::Hosts;
use super::lookup::{Families, FamilyResult, Flight, Lookup};
use super::message::{Answer, Family};
use super::name_server::NameServer;
use super::upstreams::Upstream;
use crate::cryptography::KernelRandom;
use crate::failure::Failure;
use crate::tls;

/// Limit of names in the cache. A crawl goes through its hosts once, so more would not help.
const MAX_NAMES: usize = 16 << 10;
/// How long a failure or silence of the name servers is cached (RFC 9520, section 3.2: from a second to five minutes).
const FAILURE_TTL: Duration = Duration::from_secs(5);
/// An address that is never assigned (RFC 3849), used to ask the kernel for a route to IPv6 addresses.
const ANY_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

/// Settings of a resolver.
#[derive(Debug, Clone)]
pub struct Options {
    /// Name servers and timeouts.
    pub configuration: Configuration,
    /// Names that need no query.
    pub hosts: Hosts,
    /// Timeout of all attempts except the last.
    pub attempt_timeout: Duration,
    /// For name servers that are queried over TLS; without it they fail.
    pub tls: Option<tls::Client>,
    /// Called at the first failure of each name server, not for a query that was not answered in time.
    pub on_failure: Option<OnFailure>,
}

/// A function that is called with a name server and its failure.
pub type OnFailure = fn(&NameServer, Failure);

/// A resolver for one thread. Concurrent lookups of the same name share one query.
#[derive(Clone)]
pub struct Resolver(Rc<Inner>);

struct Inner {
    options: Options,
    upstreams: Vec<Upstream>,
    families: &'static [Family],
    cache: RefCell<Cache<Families>>,
    flights: RefCell<HashMap<Rc<str>, Weak<Flight>>>,
    counts: Cell<Counts>,
    next_server: Cell<usize>,
}

/// Counts of lookups so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Queries, each for one family; repetitions are not counted.
    pub queries: u64,
    /// Lookups that the cache answered.
    pub cached: u64,
    /// Lookups that shared a query in progress.
    pub shared: u64,
}

impl std::fmt::Debug for Resolver {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Resolver")
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}

impl Resolver {
    /// Creates a resolver. Asks the kernel once whether IPv6 addresses are reachable; if not, it never queries for
    /// them.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let reaches_v6 = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))
            .and_then(|socket| socket.connect((ANY_V6, 53)))
            .is_ok();
        let servers = options.configuration.servers.iter().cloned();
        Self(Rc::new(Inner {
            upstreams: servers
                .map(|server| Upstream::new(server, options.tls.as_ref()))
                .collect(),
            options,
            families: if reaches_v6 {
                &Family::BOTH
            } else {
                &[Family::V4]
            },
            cache: RefCell::new(Cache::new(MAX_NAMES)),
            flights: RefCell::default(),
            counts: Cell::default(),
            next_server: Cell::new(0),
        }))
    }

    /// Returns the counts of lookups so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.0.counts.get()
    }

    /// Starts to look up a host, in a `LocalSet`; `host` is written as in a URL: lower case, an IPv6 address in
    /// brackets.
    #[must_use]
    pub fn lookup(&self, host: &str) -> Lookup {
        let host = host.strip_suffix('.').unwrap_or(host);
        let literal = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(host);
        if let Ok(address) = literal.parse::<IpAddr>() {
            return Lookup::of(&[address]);
        }
        if let Some(addresses) = self.0.options.hosts.get(host) {
            return Lookup::of(&addresses);
        }
        if let Some(families) = self.0.cache.borrow_mut().get(host, Instant::now()) {
            self.count(|counts| counts.cached += 1);
            return Lookup::done(families.clone());
        }
        if let Some(flight) = self.0.flights.borrow().get(host).and_then(Weak::upgrade) {
            self.count(|counts| counts.shared += 1);
            return Lookup(flight);
        }
        match name_of(host) {
            Some(name) => self.begin(host, name),
            None => Lookup::done([
                Some(Err(Failure::HostNotFound)),
                Some(Err(Failure::HostNotFound)),
            ]),
        }
    }

    fn begin(&self, host: &str, name: Name) -> Lookup {
        let flight = Rc::new(Flight::default());
        if !self.0.families.contains(&Family::V6) {
            flight.families.borrow_mut()[Family::V6.index()] = Some(Ok(Rc::new([])));
        }
        let host: Rc<str> = host.into();
        self.sweep();
        self.0
            .flights
            .borrow_mut()
            .insert(host.clone(), Rc::downgrade(&flight));
        let (this, weak) = (self.clone(), Rc::downgrade(&flight));
        let task = spawn_local(async move { this.ask(host, name, &weak).await });
        *flight.task.borrow_mut() = Some(task.abort_handle());
        Lookup(flight)
    }

    /// Removes cancelled lookups before they outnumber the active ones.
    fn sweep(&self) {
        let mut flights = self.0.flights.borrow_mut();
        if flights.len() == flights.capacity() {
            flights.retain(|_, flight| flight.strong_count() > 0);
        }
    }

    async fn ask(&self, host: Rc<str>, name: Name, flight: &Weak<Flight>) {
        let mut kept = Duration::MAX;
        let mut take = |family: Family, answer| {
            let (known, keep) = with_ttl(answer);
            kept = kept.min(keep);
            if let Some(flight) = flight.upgrade() {
                flight.families.borrow_mut()[family.index()] = Some(known);
                flight.changed.notify_waiters();
            }
        };
        let families = self.0.families.iter();
        let identified: Option<Vec<_>> = families
            .clone()
            .map(|family| Some((*family, query_id(&KernelRandom)?)))
            .collect();
        if let Some(families) = identified {
            self.count(|counts| counts.queries += families.len() as u64);
            let question = Question {
                configuration: &self.0.options.configuration,
                upstreams: &self.0.upstreams,
                first: self.turn(),
                attempt_timeout: self.0.options.attempt_timeout,
                name,
                families: &families,
            };
            let on_failure = |upstream: &Upstream, failure| {
                if let Some(on_failure) = self.0.options.on_failure {
                    on_failure(&upstream.server, failure);
                }
            };
            ask(question, take, on_failure).await;
        } else {
            // If the number of a query can be guessed, an answer can be forged.
            for family in families {
                take(*family, QueryOutcome::Answer(Answer::Failed));
            }
        }
        self.0.flights.borrow_mut().remove(&host);
        if let (Some(flight), false) = (flight.upgrade(), kept.is_zero()) {
            // A finished task cannot be cancelled.
            flight.task.borrow_mut().take();
            let families = flight.families.borrow().clone();
            self.0
                .cache
                .borrow_mut()
                .insert(host, families, Instant::now() + kept);
        }
    }

    /// Index of the server to query first.
    fn turn(&self) -> usize {
        let turn = self.0.next_server.get();
        if self.0.options.configuration.rotate {
            self.0.next_server.set(turn.wrapping_add(1));
        }
        turn
    }

    fn count(&self, change: impl FnOnce(&mut Counts)) {
        let mut counts = self.0.counts.get();
        change(&mut counts);
        self.0.counts.set(counts);
    }
}

/// An unpredictable number for a query; `None` if random numbers are unavailable.
fn query_id(random: &impl SecureRandom) -> Option<u16> {
    let mut bytes = [0; 2];
    random.fill(&mut bytes).ok()?;
    Some(u16::from_be_bytes(bytes))
}

/// Converts an answer into a result and the time for which it is cached.
fn with_ttl(outcome: QueryOutcome) -> (FamilyResult, Duration) {
    match outcome {
        // Many servers give no time to live for a missing family; that must not shorten the time of the other family.
        QueryOutcome::Answer(Answer::Addresses(none, kept)) if none.is_empty() => {
            (Ok(none.into()), kept.max(FAILURE_TTL))
        }
        QueryOutcome::Answer(Answer::Addresses(addresses, kept)) => (Ok(addresses.into()), kept),
        QueryOutcome::Answer(Answer::NoSuchName(kept)) => (Err(Failure::HostNotFound), kept),
        QueryOutcome::Answer(Answer::Failed) => (Err(Failure::ResolverFailed), FAILURE_TTL),
        QueryOutcome::TimedOut => (Err(Failure::ResolveTimeout), FAILURE_TTL),
    }
}

/// Parses a host as a DNS name; `None` if it is not valid in a query.
fn name_of(host: &str) -> Option<Name> {
    let labels = host.split('.').map(str::as_bytes);
    let mut name = Name::from_labels(labels).ok()?;
    name.set_fqdn(true);
    (!host.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_no_number_without_randomness() {
        #[derive(Debug)]
        struct Broken;
        impl SecureRandom for Broken {
            fn fill(&self, _: &mut [u8]) -> Result<(), rustls::crypto::GetRandomFailed> {
                Err(rustls::crypto::GetRandomFailed)
            }
        }
        assert_eq!(query_id(&Broken), None);
        assert!(query_id(&KernelRandom).is_some());
    }

    #[test]
    fn names_that_no_message_can_carry_do_not_exist() {
        let long = format!("{}.test", "a".repeat(64));
        let cases = [
            ("a.test", true),
            ("_a.test", true),
            ("a..test", false),
            (".test", false),
            ("", false),
            (&long, false),
        ];
        for (host, exists) in cases {
            assert_eq!(name_of(host).is_some(), exists, "{host:?}");
        }
    }

    #[tokio::test]
    async fn an_address_is_its_own_answer() {
        let resolver = Resolver::new(Options {
            configuration: Configuration::default(),
            hosts: Hosts::parse("192.0.2.9 hosts.test"),
            attempt_timeout: Duration::from_secs(1),
            tls: None,
            on_failure: None,
        });
        let cases = [
            ("192.0.2.1", "192.0.2.1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("hosts.test", "192.0.2.9"),
            ("hosts.test.", "192.0.2.9"),
        ];
        for (host, expected) in cases {
            let lookup = resolver.lookup(host);
            let known = Family::BOTH.map(|family| lookup.known(family).unwrap().unwrap());
            let all: Vec<IpAddr> = known
                .iter()
                .flat_map(|addresses| addresses.iter().copied())
                .collect();
            assert_eq!(all, [expected.parse::<IpAddr>().unwrap()], "{host}");
        }
        assert_eq!(resolver.counts(), Counts::default());
    }
}
