//! The subject as the room's first process sees it: started in its place, asked to end, killed.

use std::os::fd::{AsFd, OwnedFd};

use rustix::process::{Pid, Signal, getpgid, kill_process, kill_process_group};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::capabilities::Network;
use crate::cpu::CpuSet;
use crate::error::{Result, Step};
use crate::process;
use crate::program::{Streams, be_first_victim, launch, lead_group, lead_session};
use crate::protocol::{Cause, Instants, Program};

/// Where a subject runs.
#[derive(Debug)]
pub(crate) struct SubjectPlace {
    /// Its network namespace; absent where it stays in the machine's own.
    pub(crate) namespace: Option<OwnedFd>,
    /// Files of its control groups; whoever writes to one is in.
    pub(crate) group_entries: Vec<OwnedFd>,
    /// Its CPUs.
    pub(crate) cpus: CpuSet,
}

impl SubjectPlace {
    /// Whose network it is.
    pub(crate) fn network(&self) -> Network {
        match self.namespace {
            Some(_) => Network::OfTheRoom,
            None => Network::OfTheMachine,
        }
    }

    fn enter(&self) -> Result<()> {
        for entry in &self.group_entries {
            rustix::io::write(entry, b"0")
                .step(|| "entering the subject's control group".to_owned())?;
        }
        if let Some(namespace) = &self.namespace {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
                .step(|| "entering the subject's network namespace".to_owned())?;
        }
        self.cpus.pin()?;
        be_first_victim();
        Ok(())
    }
}

/// A subject that runs.
#[derive(Debug)]
pub(crate) struct Subject {
    pid: Pid,
    started: Instants,
    /// When to ask it to end; then, when to kill it. On the monotonic clock.
    next_instant_ns: Option<u64>,
    cause: Cause,
    /// When it was asked to end, on the monotonic clock.
    asked_ns: Option<u64>,
    is_deaf: bool,
    takes_terminal: bool,
}

impl Subject {
    /// Starts a program in this place; returns after its exec.
    pub(crate) fn start(
        program: &Program,
        streams: Streams,
        place: &SubjectPlace,
        deadline_ns: Option<u64>,
        takes_terminal: bool,
    ) -> Result<Self> {
        let (watch, report) = launch()?;
        let pid = process::spawn(0, || {
            let terminal = takes_terminal
                .then(|| streams.input.as_fd().try_clone_to_owned().ok())
                .flatten();
            report.execute(program, streams, place.network(), || {
                match &terminal {
                    Some(terminal) => lead_group(terminal.as_fd())?,
                    None => lead_session()?,
                }
                place.enter()
            });
        })
        .step(|| "forking the subject".to_owned())?;
        let started = watch.wait()?;
        Ok(Self {
            pid,
            started,
            next_instant_ns: deadline_ns
                .map(|deadline| started.monotonic_ns.saturating_add(deadline)),
            cause: Cause::Own,
            asked_ns: None,
            is_deaf: false,
            takes_terminal,
        })
    }

    pub(crate) fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    pub(crate) fn started(&self) -> Instants {
        self.started
    }

    pub(crate) fn cause(&self) -> Cause {
        self.cause
    }

    /// When it was asked to end, on the monotonic clock.
    pub(crate) fn asked_ns(&self) -> Option<u64> {
        self.asked_ns
    }

    /// Whether it was asked in vain, and killed.
    pub(crate) fn is_deaf(&self) -> bool {
        self.is_deaf
    }

    /// When [`Subject::end`] is due next, on the monotonic clock.
    pub(crate) fn next_instant_ns(&self) -> Option<u64> {
        self.next_instant_ns
    }

    /// Asks the subject and all of its process group to end; the second time, kills them.
    pub(crate) fn end(&mut self, cause: Cause, grace_ns: u64) {
        if self.cause == Cause::Own {
            let now_ns = Instants::now().monotonic_ns;
            self.cause = cause;
            self.asked_ns = Some(now_ns);
            self.next_instant_ns = Some(now_ns.saturating_add(grace_ns));
            self.signal(Signal::TERM);
            // A stopped process would not hear it.
            self.signal(Signal::CONT);
        } else {
            self.next_instant_ns = None;
            self.is_deaf = true;
            self.signal(Signal::KILL);
        }
    }

    /// Whether it is in the foreground of a terminal, from which it can be stopped (Ctrl-Z).
    pub(crate) fn has_terminal(&self) -> bool {
        self.takes_terminal
    }

    /// Has it go on after a stop.
    pub(crate) fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        // The group is gone when the subject is; its end is being noticed then.
        let _ = kill_process_group(self.pid, signal);
        // It may have left its group. Its number stays its own until its end is taken note of.
        if getpgid(Some(self.pid)).is_ok_and(|group| group != self.pid) {
            let _ = kill_process(self.pid, signal);
        }
    }
}
