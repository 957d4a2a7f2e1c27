//! Starting a peer program, waiting for it and giving it up, from the engine's side.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::error::{Result, RoomError};
use crate::options::PeerOptions;
use crate::protocol::{Event, Instants, PeerEnd, Request};
use crate::readiness::Readiness;
use crate::room::{PeerInRoom, Room};

/// Time between SIGTERM, which lets a peer program clean up, and SIGKILL.
const GRACE: Duration = Duration::from_secs(1);

/// Readiness of a peer program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerState {
    /// It accepts connections.
    Ready,
    /// The engine was interrupted before; the subject's ending reports that.
    Interrupted,
    /// It does not accept connections, for this reason; [`Room::give_up_peer`] makes the report.
    Failed(String),
}

impl Room {
    /// Start a peer program in the peer's network namespace, on the engine's CPUs, with an empty standard input.
    ///
    /// It receives SIGTERM when the subject has ended, SIGKILL a second later, and dies with the room. [`Room::await_peer`] waits until it is ready.
    ///
    /// # Errors
    ///
    /// When it cannot be executed.
    pub fn start_peer(&mut self, peer: PeerOptions) -> Result<()> {
        let request = self.start_peer_request(&peer, false);
        let streams = [peer.output.as_fd(), peer.error.as_fd()];
        match self.init.ask(&request, &streams)? {
            Event::PeerStarted { keeper, at } => {
                self.peer = Some(PeerInRoom {
                    argv: peer.argv,
                    keeper,
                    started: at,
                    ready_ns: None,
                });
                Ok(())
            }
            other => Err(RoomError::Init(format!("unexpected answer {other:?}"))),
        }
    }

    /// Return the request to start a peer program.
    pub(crate) fn start_peer_request(&self, peer: &PeerOptions, is_driver: bool) -> Request {
        Request::StartPeer {
            program: self.program(&peer.argv, &peer.environment, peer.directory.clone()),
            grace_ns: u64::try_from(GRACE.as_nanos()).unwrap_or(u64::MAX),
            is_driver,
        }
    }

    /// Wait until the peer program accepts connections on this port, has ended, or its time is over.
    ///
    /// # Errors
    ///
    /// When there is no peer program, or the room itself failed.
    pub fn await_peer(&mut self, port: u16, timeout: Duration) -> Result<PeerState> {
        let Some(started) = self.peer.as_ref().map(|peer| peer.started) else {
            return Err(RoomError::Invalid {
                what: "there is no peer program to wait for".to_owned(),
                cure: "start one first".to_owned(),
            });
        };
        let readiness = Readiness::watch(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port))?;
        let until_ns = started
            .monotonic_ns
            .saturating_add(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX));
        loop {
            let ready_ns = readiness.since().map(|at| at.monotonic_ns);
            if let (Some(peer), Some(ready_ns)) = (&mut self.peer, ready_ns) {
                peer.ready_ns = Some(ready_ns.saturating_sub(started.monotonic_ns));
                return Ok(PeerState::Ready);
            }
            if self.signals.is_pending() {
                return Ok(PeerState::Interrupted);
            }
            if let Some(end) = self.init.peer_end {
                return Ok(PeerState::Failed(format!(
                    "the peer program ended before it listened on port {port} ({})",
                    describe_end(&end)
                )));
            }
            let left_ns = until_ns.saturating_sub(Instants::now().monotonic_ns);
            if left_ns == 0 {
                return Ok(PeerState::Failed(format!(
                    "the peer program accepted no connection on port {port} within {timeout:?}"
                )));
            }
            self.wait_for_peer_event(&readiness, Duration::from_nanos(left_ns))?;
        }
    }

    fn wait_for_peer_event(&mut self, readiness: &Readiness, left: Duration) -> Result<()> {
        let timeout = Timespec::try_from(left).ok();
        let mut descriptors = [
            PollFd::new(&self.init.channel, PollFlags::IN),
            PollFd::new(&self.signals, PollFlags::IN),
            PollFd::new(readiness, PollFlags::IN),
        ];
        // After an interruption the caller waits again.
        let _ = poll(&mut descriptors, timeout.as_ref());
        if !descriptors[0].revents().is_empty() {
            // Stored for the caller.
            self.init.next_event()?;
        }
        Ok(())
    }
}

/// Describe how a program ended.
pub(crate) fn describe_end(end: &PeerEnd) -> String {
    match (end.exit_code, end.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => "the room ended it".to_owned(),
    }
}
