//! Starting or refusing the subject of a room, which turns it into a [`Running`].

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::process::getpgrp;
use rustix::termios::{isatty, tcgetpgrp};

use crate::account::{Ending, Outcome};
use crate::cpu_series::CpuSampler;
use crate::error::{Result, RoomError, Step};
use crate::link::RoomLink;
use crate::machine_window::MachineSnapshot;
use crate::options::SubjectOptions;
use crate::protocol::{Event, Instants, Request};
use crate::room::Room;
use crate::running::{Running, Samplers, Terminal};
use crate::tree_sampler::TreeSampler;

impl Room {
    /// End the room without a subject, because its link missed its specification.
    ///
    /// # Errors
    ///
    /// When the link's counters cannot be read.
    pub fn refuse(self, argv: Vec<OsString>) -> Result<Ending> {
        if let Some(link) = &self.link {
            // The packets of the check are not the subject's.
            link.begin()?;
        }
        let reason = self.link.as_ref().and_then(RoomLink::refusal);
        let reason = reason.unwrap_or("the link was refused").to_owned();
        Running::refused(self, argv, Outcome::LinkLimited, reason)
    }

    /// Start the subject; return when it was executed or could not be, which [`Running::wait`] then reports.
    ///
    /// # Errors
    ///
    /// When the room itself failed.
    pub fn start(mut self, subject: SubjectOptions) -> Result<Running> {
        let deadline_ns = subject
            .deadline
            .map(|deadline| u64::try_from(deadline.as_nanos()).unwrap_or(u64::MAX));
        let terminal = terminal_in_foreground(subject.stdin.as_fd());
        let request = Request::StartSubject {
            program: self.program(&subject.argv, &subject.environment, subject.directory),
            deadline_ns,
            takes_terminal: terminal.is_some(),
        };
        let streams = [
            subject.stdin.as_fd(),
            subject.stdout.as_fd(),
            subject.stderr.as_fd(),
        ];
        if let Some(network) = &mut self.network {
            network.wait_until_operational()?;
            if let Some(link) = &self.link {
                link.begin()?;
            }
            network.begin()?;
        }
        let before = MachineSnapshot::take();
        let answer = match self.init.ask(&request, &streams) {
            Ok(Event::SubjectStarted(at)) => Ok(at),
            Ok(other) => return Err(RoomError::Init(format!("unexpected answer {other:?}"))),
            Err(RoomError::Init(reason)) => Err(reason),
            Err(error) => return Err(error),
        };
        // The subject took the foreground before its exec.
        let terminal = terminal.and_then(|descriptor| {
            let group = tcgetpgrp(&descriptor).ok()?;
            Some(Terminal { descriptor, group })
        });
        let samplers = match &answer {
            Ok(at) => Some(self.sample(*at)?),
            Err(_) => None,
        };
        Running::new(self, subject.argv, answer, before, samplers, terminal)
    }

    fn sample(&self, exec: Instants) -> Result<Samplers> {
        // The room's own /proc shows the room's processes only.
        let proc = PathBuf::from(format!("/proc/{}/root/proc", self.init.pid()));
        let keeper = self.peer.as_ref().map(|peer| peer.keeper);
        let reader = self.group.cpu_reader();
        TreeSampler::start(proc, keeper, exec)
            .and_then(|tree| {
                let start = |reader| CpuSampler::start(reader, exec);
                let cpu = reader.map(start).transpose()?;
                Ok(Samplers { tree, cpu })
            })
            .step(|| "starting the threads that sample the subject".to_owned())
    }

    /// End the room without a subject, because its peer program is not ready.
    ///
    /// # Errors
    ///
    /// When the room itself failed.
    pub fn give_up_peer(self, argv: Vec<OsString>, reason: String) -> Result<Ending> {
        Running::refused(self, argv, Outcome::PeerFailed, reason)
    }
}

/// Return a copy of this descriptor if it is a terminal with this process in its foreground.
fn terminal_in_foreground(input: BorrowedFd) -> Option<OwnedFd> {
    let is_foreground = isatty(input) && tcgetpgrp(input).is_ok_and(|group| group == getpgrp());
    is_foreground
        .then(|| input.try_clone_to_owned().ok())
        .flatten()
}
