//! Detects when a server accepts connections, by connecting repeatedly.

use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};

use crate::error::{Result, Step};
use crate::protocol::Instants;

const PAUSE: Duration = Duration::from_millis(5);
/// TCP retransmits a lost packet after a second; a new attempt is as quick.
const ATTEMPT: Duration = Duration::from_secs(1);

/// A thread that connects until it succeeds or this is dropped. Its descriptor becomes readable on success.
#[derive(Debug)]
pub(crate) struct Readiness(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    event: OwnedFd,
    since: OnceLock<Instants>,
    is_given_up: AtomicBool,
}

impl Readiness {
    /// Start connecting to this address, from the caller's network namespace.
    pub(crate) fn watch(address: SocketAddr) -> Result<Self> {
        let shared = Arc::new(Shared {
            event: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
                .step(|| "making an event descriptor".to_owned())?,
            since: OnceLock::new(),
            is_given_up: AtomicBool::new(false),
        });
        let its_own = Arc::clone(&shared);
        thread::Builder::new()
            .name("readiness".to_owned())
            .spawn(move || its_own.connect(address))
            .step(|| "starting the thread that connects".to_owned())?;
        Ok(Self(shared))
    }

    /// Return when a connection was first accepted.
    pub(crate) fn since(&self) -> Option<Instants> {
        self.0.since.get().copied()
    }
}

impl Shared {
    fn connect(&self, address: SocketAddr) {
        while !self.is_given_up.load(Ordering::Relaxed) {
            let connected = TcpStream::connect_timeout(&address, ATTEMPT);
            if connected.is_ok_and(|connection| !is_self_connection(&connection)) {
                // Only this thread sets it.
                let _ = self.since.set(Instants::now());
                // Fails only if the counter of the descriptor overflows.
                let _ = rustix::io::write(&self.event, &1_u64.to_ne_bytes());
                return;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// Return whether a connection was made without a listener: a local client may be given the very port it connects to, and TCP then
/// connects the socket with itself.
fn is_self_connection(connection: &TcpStream) -> bool {
    matches!((connection.local_addr(), connection.peer_addr()), (Ok(own), Ok(other)) if own == other)
}

impl AsFd for Readiness {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.event.as_fd()
    }
}

impl Drop for Readiness {
    fn drop(&mut self) {
        self.0.is_given_up.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::net::{AddressFamily, SocketType, bind, connect, getsockname, socket};

    use super::*;

    #[test]
    fn a_connection_to_itself_is_not_readiness() {
        let alone = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&alone, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        connect(&alone, &getsockname(&alone).unwrap()).unwrap();
        assert!(is_self_connection(&TcpStream::from(alone)));

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let answered = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(!is_self_connection(&answered));
    }

    #[test]
    fn a_late_listener_is_detected() {
        // The bound port refuses connections until it listens.
        let late = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&late, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = getsockname(&late).unwrap().try_into().unwrap();
        let readiness = Readiness::watch(address).unwrap();
        thread::sleep(PAUSE * 4);
        assert_eq!(readiness.since(), None);
        let before = Instants::now();
        rustix::net::listen(&late, 8).unwrap();
        poll(&mut [PollFd::new(&readiness, PollFlags::IN)], None).unwrap();
        let since = readiness.since().unwrap();
        assert!(since.monotonic_ns >= before.monotonic_ns);
    }
}
