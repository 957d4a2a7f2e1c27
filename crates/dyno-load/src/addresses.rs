//! Lookups of the addresses of the servers.

use std::collections::HashSet;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use dyno_client::{Failure, Reroute};

use crate::requests::Server;
use crate::tally::Times;

/// Lookups that run at the same time.
const AT_ONCE: usize = 32;
/// Interval at which a waiting lookup checks whether the run was stopped.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Where the addresses of a server come from: one name or address, or several with `--connect-to`.
#[derive(Debug, Clone)]
pub(crate) struct Sources(Vec<Source>);

#[derive(Debug, Clone)]
enum Source {
    Known(Vec<SocketAddr>),
    Name(String, u16),
}

impl Sources {
    /// The sources of a server.
    #[must_use]
    pub(crate) fn of(server: &Server, reroute: &Reroute) -> Self {
        let places = reroute.places(&server.host, server.port).into_iter();
        let source = |place: dyno_client::Place| {
            if place.addresses.is_empty() {
                return Source::Name(place.host, place.port);
            }
            let at = |address| SocketAddr::new(address, place.port);
            Source::Known(place.addresses.iter().copied().map(at).collect())
        };
        Self(places.map(source).collect())
    }

    /// Whether a lookup can find other addresses later.
    pub(crate) fn have_a_name(&self) -> bool {
        let is_name = |source: &Source| matches!(source, Source::Name(..));
        self.0.iter().any(is_name)
    }

    /// Asks the system's resolver, which may take long; returns the addresses of all sources, each once. A source that
    /// fails is left out if another has addresses.
    pub(crate) fn look_up(&self) -> Result<Vec<SocketAddr>, Failure> {
        let mut all = Vec::new();
        let mut failed = None;
        for source in &self.0 {
            let found = match source {
                Source::Known(addresses) => Ok(addresses.clone()),
                Source::Name(host, port) => (host.as_str(), *port)
                    .to_socket_addrs()
                    .map(Iterator::collect),
            };
            match found {
                Ok(found) => all.extend(found),
                Err(error) => failed = Some(failure(&error)),
            }
        }
        let mut seen = HashSet::new();
        all.retain(|address| seen.insert(*address));
        match failed {
            _ if !all.is_empty() => Ok(all),
            Some(failure) => Err(failure),
            None => Err(Failure::HostNotFound),
        }
    }

    #[cfg(test)]
    pub(crate) fn name(host: &str, port: u16) -> Self {
        Self(vec![Source::Name(host.to_owned(), port)])
    }

    #[cfg(test)]
    pub(crate) fn known(addresses: &[SocketAddr]) -> Self {
        Self(vec![Source::Known(addresses.to_vec())])
    }
}

/// Looks up every server that has a name, each within the timeout, until `stop` is set; records the duration of
/// each lookup.
pub(crate) fn resolve_servers(
    servers: &[Server],
    reroute: &Reroute,
    timeout: Duration,
    stop: &AtomicBool,
    times: &mut Times,
) -> Vec<(Sources, Result<Vec<SocketAddr>, Failure>)> {
    let mut found = Vec::with_capacity(servers.len());
    for servers in servers.chunks(AT_ONCE) {
        let sources = servers.iter().map(|server| Sources::of(server, reroute));
        let asked: Vec<_> = sources
            .map(|sources| {
                let lookup = Lookup::start(&sources);
                (sources, lookup)
            })
            .collect();
        for (sources, lookup) in asked {
            let addresses = lookup.finish(timeout, stop, times);
            found.push((sources, addresses));
        }
    }
    found
}

enum Lookup {
    Known(Result<Vec<SocketAddr>, Failure>),
    Asked {
        began: Instant,
        answer: mpsc::Receiver<(Duration, Result<Vec<SocketAddr>, Failure>)>,
    },
}

impl Lookup {
    fn start(sources: &Sources) -> Self {
        if !sources.have_a_name() {
            return Self::Known(sources.look_up());
        }
        let sources = sources.clone();
        let (answered, answer) = mpsc::channel();
        let began = Instant::now();
        // The system's resolver has no timeout of ours: when our timeout is over, the caller abandons this thread.
        let asking = thread::Builder::new().spawn(move || {
            let found = sources.look_up();
            drop(answered.send((began.elapsed(), found)));
        });
        // If the thread could not start, this closes the channel, which ends the wait at once.
        drop(asking);
        Self::Asked { began, answer }
    }

    fn finish(
        self,
        timeout: Duration,
        stop: &AtomicBool,
        times: &mut Times,
    ) -> Result<Vec<SocketAddr>, Failure> {
        match self {
            Self::Known(addresses) => addresses,
            Self::Asked { began, answer } => {
                let (took, found) = loop {
                    let left = timeout.saturating_sub(began.elapsed());
                    match answer.recv_timeout(left.min(STOP_CHECK_INTERVAL)) {
                        Ok(answered) => break answered,
                        Err(RecvTimeoutError::Disconnected) => return Err(Failure::ResolverFailed),
                        Err(RecvTimeoutError::Timeout) => {
                            if left.is_zero() || stop.load(Ordering::Relaxed) {
                                return Err(Failure::ResolveTimeout);
                            }
                        }
                    }
                };
                times.record(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
                found
            }
        }
    }
}

/// Derives the failure from the text of the resolver's error: the standard library passes on nothing else.
fn failure(error: &std::io::Error) -> Failure {
    let text = error.to_string();
    let temporary = [
        "Temporary failure",
        "try again",
        "Non-recoverable",
        "System error",
    ];
    if temporary.iter().any(|known| text.contains(known)) {
        Failure::ResolverFailed
    } else {
        Failure::HostNotFound
    }
}
