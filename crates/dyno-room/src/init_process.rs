//! The engine's handle of the room's first process.

use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::process::{Pid, Signal, kill_process};

use crate::channel::Channel;
use crate::cpu_time::CpuTime;
use crate::error::{Result, RoomError, Step};
use crate::init::{self, InitOptions};
use crate::namespaces;
use crate::network::Network;
use crate::options::RoomOptions;
use crate::process::{self, Ended};
use crate::protocol::{Event, PeerEnd, Request, ResidentPeak};

/// The room's first process. Dropping it kills it, and the kernel then kills every process in the room.
#[derive(Debug)]
pub(crate) struct InitProcess {
    /// Absent once reaped, since its PID may be reused then.
    pid: Option<Pid>,
    pub(crate) channel: Channel,
    /// How a peer program ended, if it has.
    pub(crate) peer_end: Option<PeerEnd>,
}

/// Counters of the room's first process after everything was reaped.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) subject: CpuTime,
    pub(crate) peak: ResidentPeak,
    pub(crate) peer: Option<PeerEnd>,
}

impl InitProcess {
    pub(crate) fn start(
        options: &RoomOptions,
        network: Option<&Network>,
        group_entries: Vec<OwnedFd>,
    ) -> Result<Self> {
        let (channel, far_end) = Channel::pair().step(|| "making a socket pair".to_owned())?;
        let init_options = InitOptions {
            channel: far_end,
            subject_namespace: network
                .map(|network| network.subject_namespace().try_clone())
                .transpose()
                .step(|| "copying a descriptor".to_owned())?,
            group_entries,
            subject_cpus: options.subject_cpus.clone(),
            hostname: options.hostname.clone(),
        };
        let namespaces =
            libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWUTS | libc::CLONE_NEWIPC;
        let pid = process::spawn(namespaces, || init::run(init_options))
            .step(|| "starting the room's first process in namespaces of its own".to_owned())
            .map_err(|error| error.with_cure(&namespaces::cure()))?;
        Ok(Self {
            pid: Some(pid),
            channel,
            peer_end: None,
        })
    }

    pub(crate) fn pid(&self) -> i32 {
        self.pid.map_or(0, |pid| pid.as_raw_nonzero().get())
    }

    /// Send a request and wait for its answer; a failed request is an error.
    pub(crate) fn ask(&mut self, request: &Request, descriptors: &[BorrowedFd]) -> Result<Event> {
        // If the first process is gone, the wait for the answer fails.
        let _ = self.channel.send(request, descriptors);
        loop {
            match self.next_event()? {
                Event::Failed(reason) => return Err(RoomError::Init(reason)),
                // Stored; answers no request.
                Event::PeerEnded(_) => {}
                event => return Ok(event),
            }
        }
    }

    /// Wait for the counters of the room and for the end of its first process.
    pub(crate) fn counted(&mut self) -> Result<Counted> {
        loop {
            match self.next_event()? {
                Event::PeerEnded(_) => {}
                Event::Finished {
                    subject,
                    peak,
                    peer,
                } => {
                    self.reap();
                    return Ok(Counted {
                        subject,
                        peak,
                        peer,
                    });
                }
                other => return Err(RoomError::Init(format!("unexpected end {other:?}"))),
            }
        }
    }

    /// Wait for the next event of the room's first process.
    pub(crate) fn next_event(&mut self) -> Result<Event> {
        let received = self.channel.receive::<Event>();
        match received.step(|| "reading from the room's first process".to_owned())? {
            Some((event, _)) => {
                if let Event::PeerEnded(end) = event {
                    self.peer_end = Some(end);
                }
                Ok(event)
            }
            None => Err(RoomError::InitEnded {
                how: self
                    .reap()
                    .map_or_else(|| "unknown".to_owned(), |ended| ended.to_string()),
            }),
        }
    }

    /// Wait until it exits.
    fn reap(&mut self) -> Option<Ended> {
        process::reap_one(self.pid.take()?)
    }
}

impl Drop for InitProcess {
    fn drop(&mut self) {
        if let Some(pid) = self.pid {
            // Not reaped yet, so the PID is still valid.
            let _ = kill_process(pid, Signal::KILL);
            self.reap();
        }
    }
}
