//! A room with a running subject, and waiting for its end.

mod ending;
mod serving;

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::process::{Pid, Signal, getpgrp, kill_current_process_group};
use rustix::termios::{tcgetpgrp, tcsetpgrp};

use crate::account::{Ending, Outcome};
use crate::cpu_series::{CpuSampler, Point};
use crate::error::{Result, Step};
use crate::link::LinkAccount;
use crate::machine_window::MachineSnapshot;
use crate::netlink::LinkCounters;
use crate::network::Network;
use crate::protocol::{Cause, Event, Instants, Request};
use crate::room::Room;
use crate::tree_sampler::{TreeSampler, TreeSamples};

/// A room with a running subject. Dropping it ends every process in it.
#[derive(Debug)]
pub struct Running {
    room: Room,
    argv: Vec<OsString>,
    /// The time of the exec, or why it failed.
    start: std::result::Result<Instants, String>,
    before: MachineSnapshot,
    samplers: Option<Samplers>,
    terminal: Option<Terminal>,
    stop: Stopper,
}

/// The terminal that the subject owns, and its foreground process group.
#[derive(Debug)]
pub(crate) struct Terminal {
    pub(crate) descriptor: OwnedFd,
    pub(crate) group: Pid,
}

/// Samplers of the running subject.
#[derive(Debug)]
pub(crate) struct Samplers {
    pub(crate) tree: TreeSampler,
    /// Absent without a control group that accounts for CPU time.
    pub(crate) cpu: Option<CpuSampler>,
}

/// Samples of memory and CPU time.
#[derive(Debug, Default)]
struct Samples {
    tree: TreeSamples,
    cpu: Vec<Point>,
}

impl Samplers {
    fn finish(self) -> Samples {
        Samples {
            tree: self.tree.finish(),
            cpu: self.cpu.map_or_else(Vec::new, CpuSampler::finish),
        }
    }
}

/// The end of a subject, with the counters read at that moment.
#[derive(Debug)]
struct SubjectEnd {
    at: Instants,
    exit_code: Option<i32>,
    signal: Option<i32>,
    cause: Cause,
    /// Time of SIGTERM, on the monotonic clock.
    asked_ns: Option<u64>,
    ignored_sigterm: bool,
    /// Absent on the machine's own network, where the subject's share cannot be separated.
    counters: Option<LinkCounters>,
    without_route: Option<u64>,
    after: MachineSnapshot,
    link: Option<LinkAccount>,
}

impl Running {
    pub(crate) fn new(
        room: Room,
        argv: Vec<OsString>,
        start: std::result::Result<Instants, String>,
        before: MachineSnapshot,
        samplers: Option<Samplers>,
        terminal: Option<Terminal>,
    ) -> Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .step(|| "making an event descriptor".to_owned())?;
        Ok(Self {
            room,
            argv,
            start,
            before,
            samplers,
            terminal,
            stop: Stopper(Arc::new(event)),
        })
    }

    /// Return a handle that ends the subject from another thread.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stop.clone()
    }

    /// Wait until the subject ends: by itself, at its deadline or by a signal to this process. Then end every other process of the
    /// room and return the account.
    ///
    /// # Errors
    ///
    /// When the room itself failed and has no account. No process is left then either.
    pub fn wait(mut self) -> Result<Ending> {
        let Ok(started) = self.start else {
            return self.never_started(Outcome::FailedToStart);
        };
        let end = self.wait_for_subject();
        self.take_terminal_back();
        let end = end?;
        let samples = self.samples();
        let counted = self.room.init.counted()?;
        let ending = self.account(started, &end, &counted, &samples);
        self.room.group.remove();
        Ok(ending)
    }

    fn samples(&mut self) -> Samples {
        self.samplers
            .take()
            .map_or_else(Samples::default, Samplers::finish)
    }

    fn wait_for_subject(&mut self) -> Result<SubjectEnd> {
        loop {
            let mut descriptors = [
                PollFd::new(&self.room.init.channel, PollFlags::IN),
                PollFd::new(&self.room.signals, PollFlags::IN),
                PollFd::new(&self.stop.0, PollFlags::IN),
            ];
            if poll(&mut descriptors, None).is_err() {
                continue;
            }
            let [readable, signalled, stopped] =
                descriptors.map(|descriptor| !descriptor.revents().is_empty());
            if readable {
                let event = self.room.init.next_event()?;
                if let Some(end) = self.subject_end(&event)? {
                    return Ok(end);
                }
            } else if signalled && self.room.signals.take().is_some() || stopped && self.stop.take()
            {
                self.ask_to_end();
            }
        }
    }

    fn ask_to_end(&self) {
        // If the first process is gone, the next read of the channel fails.
        let _ = self.room.init.channel.send(&Request::Stop, &[]);
    }

    /// Read the counters at the subject's end, if this event reports it.
    fn subject_end(&mut self, event: &Event) -> Result<Option<SubjectEnd>> {
        if matches!(event, Event::SubjectStopped) {
            self.suspend();
        }
        let &Event::SubjectEnded {
            at,
            exit_code,
            signal,
            cause,
            asked_ns,
            ignored_sigterm,
        } = event
        else {
            return Ok(None);
        };
        let after = self.snapshot()?;
        let without_route = self.room.network.as_ref().and_then(Network::without_route);
        let network = self.room.network.as_mut();
        Ok(Some(SubjectEnd {
            at,
            exit_code,
            signal,
            cause,
            asked_ns,
            ignored_sigterm,
            without_route,
            counters: network.map(Network::counters).transpose()?,
            after,
            link: self.link()?,
        }))
    }

    /// Take a snapshot of the machine. The CPU time of the link's thread since the subject's start is excluded from the engine's.
    fn snapshot(&self) -> Result<MachineSnapshot> {
        let now = MachineSnapshot::take();
        Ok(match &self.room.link {
            None => now,
            Some(link) => now.without(link.totals()?.cpu),
        })
    }

    /// Return the account of the link so far.
    fn link(&mut self) -> Result<Option<LinkAccount>> {
        let (Some(link), Some(network)) = (&self.room.link, &mut self.room.network) else {
            return Ok(None);
        };
        let totals = link.totals()?;
        Ok(Some(link.account(&totals, network.unread()?)))
    }

    /// Stop this process group after the subject was stopped from the terminal, as a shell expects of a job. When the shell continues
    /// it, continue the subject, in the foreground if this process is in the foreground.
    fn suspend(&self) {
        // The kernel ignores the signal in an orphaned process group, which no shell could continue.
        let _ = kill_current_process_group(Signal::TSTP);
        if let Some(Terminal { descriptor, group }) = &self.terminal
            && tcgetpgrp(descriptor).is_ok_and(|foreground| foreground == getpgrp())
        {
            let _ = tcsetpgrp(descriptor, *group);
        }
        // If the first process is gone, the next read of the channel fails.
        let _ = self.room.init.channel.send(&Request::Continue, &[]);
    }

    /// Return the terminal's foreground to this process group; a subject that ended in the foreground leaves it without one.
    fn take_terminal_back(&self) {
        if let Some(terminal) = &self.terminal {
            let _ = tcsetpgrp(&terminal.descriptor, getpgrp());
        }
    }
}

/// Handle that ends a subject early, as an interruption.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<OwnedFd>);

impl Stopper {
    /// Terminate the subject: SIGTERM, two seconds, SIGKILL. A second call kills it at once.
    pub fn stop(&self) {
        // Fails only if the counter of the descriptor overflows, after 2^64 calls.
        let _ = rustix::io::write(self.0.as_fd(), &1_u64.to_ne_bytes());
    }

    /// Return whether a stop was requested since the last call.
    fn take(&self) -> bool {
        rustix::io::read(self.0.as_fd(), &mut [0; 8]).is_ok()
    }
}
