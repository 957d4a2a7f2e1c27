//! The addresses of the servers, looked up once before the run.

use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use dyno_client::{Failure, Reroute};

use crate::connector::ResolvedServer;
use crate::requests::Server;
use crate::tally::Times;

/// Lookups that run at the same time.
const AT_ONCE: usize = 32;
/// Interval at which a waiting lookup checks whether the run was stopped.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Looks up every server that has a name, each within the timeout, until `stop` is set; records the duration of
/// each lookup.
pub(crate) fn resolve_servers(
    servers: &[Server],
    reroute: &Reroute,
    timeout: Duration,
    stop: &AtomicBool,
    times: &mut Times,
) -> Vec<ResolvedServer> {
    let mut found = Vec::with_capacity(servers.len());
    for servers in servers.chunks(AT_ONCE) {
        let asked: Vec<_> = servers
            .iter()
            .map(|server| Lookup::start(server, reroute))
            .collect();
        for (server, lookup) in servers.iter().zip(asked) {
            let addresses = lookup.finish(timeout, stop, times);
            found.push(ResolvedServer {
                server: server.clone(),
                addresses,
            });
        }
    }
    found
}

enum Lookup {
    Known(Vec<SocketAddr>),
    Asked {
        began: Instant,
        answer: mpsc::Receiver<(Duration, Result<Vec<SocketAddr>, Failure>)>,
    },
}

impl Lookup {
    fn start(server: &Server, reroute: &Reroute) -> Self {
        let place = reroute.place(&server.host, server.port);
        if !place.addresses.is_empty() {
            let at = |address| SocketAddr::new(address, place.port);
            return Self::Known(place.addresses.iter().copied().map(at).collect());
        }
        let (answered, answer) = mpsc::channel();
        let began = Instant::now();
        // The system's resolver has no timeout of ours: when our timeout is over, the caller abandons this thread.
        let asking = thread::Builder::new().spawn(move || {
            let found = (place.host.as_str(), place.port).to_socket_addrs();
            let found = match found {
                Ok(addresses) => Ok(addresses.collect()),
                Err(error) => Err(failure(&error)),
            };
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
            Self::Known(addresses) => Ok(addresses),
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
                let addresses = found?;
                if addresses.is_empty() {
                    return Err(Failure::HostNotFound);
                }
                Ok(addresses)
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
