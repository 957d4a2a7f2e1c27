//! A room whose subject runs: waiting for its end.

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

/// A room whose subject runs. Dropping it ends everything in it.
#[derive(Debug)]
pub struct Running {
    room: Room,
    argv: Vec<OsString>,
    /// The moment of the exec, or why there was none.
    start: std::result::Result<Instants, String>,
    before: MachineSnapshot,
    samplers: Option<Samplers>,
    terminal: Option<Terminal>,
    stop: Stopper,
}

/// The terminal that the subject has, with the group of its processes.
#[derive(Debug)]
pub(crate) struct Terminal {
    pub(crate) descriptor: OwnedFd,
    pub(crate) group: Pid,
}

/// Those who look at the subject while it runs.
#[derive(Debug)]
pub(crate) struct Samplers {
    pub(crate) tree: TreeSampler,
    /// Absent where no control group accounts.
    pub(crate) cpu: Option<CpuSampler>,
}

/// What they saw.
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

/// The end of a subject, as the room's first process tells it, with what was read at that moment.
#[derive(Debug)]
struct SubjectEnd {
    at: Instants,
    exit_code: Option<i32>,
    signal: Option<i32>,
    cause: Cause,
    /// When it was asked to end, on the monotonic clock.
    asked_ns: Option<u64>,
    is_deaf: bool,
    /// Absent on the machine's own network, where nobody tells the subject's part.
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

    /// A handle to end the subject from another thread.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stop.clone()
    }

    /// Waits for the subject to end, by itself, by its deadline or by a signal to this process; then ends all that is left in
    /// the room, and accounts.
    ///
    /// # Errors
    ///
    /// When the room itself failed, so that there is nothing to report; nothing is left behind then either.
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
            let [told, signalled, stopped] =
                descriptors.map(|descriptor| !descriptor.revents().is_empty());
            if told {
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
        // A first process that is gone shows in the next look at its line.
        let _ = self.room.init.channel.send(&Request::Stop, &[]);
    }

    /// What is to be known of the subject's end at that very moment, if this event tells of it.
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
            is_deaf,
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
            is_deaf,
            without_route,
            counters: network.map(Network::counters).transpose()?,
            after,
            link: self.link()?,
        }))
    }

    /// The machine as it is now; the CPU time of the link's thread, which counts from the subject's start, is none of the engine's.
    fn snapshot(&self) -> Result<MachineSnapshot> {
        let now = MachineSnapshot::take();
        Ok(match &self.room.link {
            None => now,
            Some(link) => now.without(link.tell()?.cpu),
        })
    }

    /// What the link did so far.
    fn link(&mut self) -> Result<Option<LinkAccount>> {
        let (Some(link), Some(network)) = (&self.room.link, &mut self.room.network) else {
            return Ok(None);
        };
        let told = link.tell()?;
        Ok(Some(link.account(&told, network.unread()?)))
    }

    /// The subject was stopped from the terminal. So is the group of this process, as a shell expects of a job, until the shell has
    /// it go on; then so does the subject, in the foreground if this process is there.
    fn suspend(&self) {
        // Where no shell could have it go on, the kernel does not stop it.
        let _ = kill_current_process_group(Signal::TSTP);
        if let Some(Terminal { descriptor, group }) = &self.terminal
            && tcgetpgrp(descriptor).is_ok_and(|foreground| foreground == getpgrp())
        {
            let _ = tcsetpgrp(descriptor, *group);
        }
        // A first process that is gone shows in the next look at its line.
        let _ = self.room.init.channel.send(&Request::Continue, &[]);
    }

    /// A subject in the terminal's foreground leaves it to nobody.
    fn take_terminal_back(&self) {
        if let Some(terminal) = &self.terminal {
            let _ = tcsetpgrp(&terminal.descriptor, getpgrp());
        }
    }
}

/// Ends a subject early, as an interruption.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<OwnedFd>);

impl Stopper {
    /// Asks the subject to end: SIGTERM, two seconds, SIGKILL. Asked again, kills it at once.
    pub fn stop(&self) {
        // Refused only when it has been asked for 2^64 times already.
        let _ = rustix::io::write(self.0.as_fd(), &1_u64.to_ne_bytes());
    }

    /// Whether somebody has asked since the last look.
    fn take(&self) -> bool {
        rustix::io::read(self.0.as_fd(), &mut [0; 8]).is_ok()
    }
}
