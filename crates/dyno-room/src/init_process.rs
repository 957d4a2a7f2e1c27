//! The room's first process as the engine holds it.

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
use crate::protocol::{Event, PeerEnd, Request};

/// The room's first process. Dropping it kills it, and with it the kernel kills all that runs in the room.
#[derive(Debug)]
pub(crate) struct InitProcess {
    /// Absent once it is reaped: then its number may be another's.
    pid: Option<Pid>,
    pub(crate) channel: Channel,
    /// How a peer program ended, if it has.
    pub(crate) peer_end: Option<PeerEnd>,
}

/// What the room's first process counted once everything was reaped.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) subject: CpuTime,
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

    /// Sends a request and waits for its answer; what cannot be carried out is an error.
    pub(crate) fn ask(&mut self, request: &Request, descriptors: &[BorrowedFd]) -> Result<Event> {
        // A first process that is gone shows in the answer.
        let _ = self.channel.send(request, descriptors);
        loop {
            match self.next_event()? {
                Event::Failed(reason) => return Err(RoomError::Init(reason)),
                // Remembered; no answer to anything.
                Event::PeerEnded(_) => {}
                event => return Ok(event),
            }
        }
    }

    /// Waits until all that ran in the room is counted, and its first process has ended.
    pub(crate) fn counted(&mut self) -> Result<Counted> {
        loop {
            match self.next_event()? {
                Event::PeerEnded(_) => {}
                Event::Finished { subject, peer } => {
                    self.reap();
                    return Ok(Counted { subject, peer });
                }
                other => return Err(RoomError::Init(format!("unexpected end {other:?}"))),
            }
        }
    }

    /// Waits for what the room's first process says next.
    pub(crate) fn next_event(&mut self) -> Result<Event> {
        let received = self.channel.receive::<Event>();
        match received.step(|| "listening to the room's first process".to_owned())? {
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

    /// Waits until it has ended by itself.
    fn reap(&mut self) -> Option<Ended> {
        process::reap_one(self.pid.take()?)
    }
}

impl Drop for InitProcess {
    fn drop(&mut self) {
        if let Some(pid) = self.pid {
            // Not reaped yet, so the number is still its own.
            let _ = kill_process(pid, Signal::KILL);
            self.reap();
        }
    }
}
