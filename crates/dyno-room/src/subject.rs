//! The subject in the room's first process: start, termination, kill.

use std::os::fd::{AsFd, OwnedFd};

use rustix::process::{Pid, Signal, getpgid, kill_process, kill_process_group};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::capabilities::Network;
use crate::cpu::CpuSet;
use crate::error::{Result, Step};
use crate::process;
use crate::program::{Streams, launch, lead_group, lead_session, set_oom_score_max};
use crate::protocol::{Cause, Instants, Program};

/// Network namespace, control groups and CPUs of a subject.
#[derive(Debug)]
pub(crate) struct SubjectPlace {
    /// Network namespace; absent on the machine's own network.
    pub(crate) namespace: Option<OwnedFd>,
    /// Files of its control groups; a process that writes to one joins the group.
    pub(crate) group_entries: Vec<OwnedFd>,
    /// CPUs.
    pub(crate) cpus: CpuSet,
}

impl SubjectPlace {
    /// Return which network the subject uses.
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
        set_oom_score_max();
        Ok(())
    }
}

/// A running subject.
#[derive(Debug)]
pub(crate) struct Subject {
    pid: Pid,
    started: Instants,
    /// Time of the next SIGTERM or SIGKILL, on the monotonic clock.
    next_instant_ns: Option<u64>,
    cause: Cause,
    /// Time of SIGTERM, on the monotonic clock.
    asked_ns: Option<u64>,
    ignored_sigterm: bool,
    takes_terminal: bool,
}

impl Subject {
    /// Start a program in this place; return after its exec.
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
            ignored_sigterm: false,
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

    /// Return the time of SIGTERM, on the monotonic clock.
    pub(crate) fn asked_ns(&self) -> Option<u64> {
        self.asked_ns
    }

    /// Return whether it ignored SIGTERM and was killed.
    pub(crate) fn ignored_sigterm(&self) -> bool {
        self.ignored_sigterm
    }

    /// Return when [`Subject::end`] is due next, on the monotonic clock.
    pub(crate) fn next_instant_ns(&self) -> Option<u64> {
        self.next_instant_ns
    }

    /// Send SIGTERM to the subject's process group; the second time, SIGKILL.
    pub(crate) fn end(&mut self, cause: Cause, grace_ns: u64) {
        if self.cause == Cause::Own {
            let now_ns = Instants::now().monotonic_ns;
            self.cause = cause;
            self.asked_ns = Some(now_ns);
            self.next_instant_ns = Some(now_ns.saturating_add(grace_ns));
            self.signal(Signal::TERM);
            // A stopped process would not receive SIGTERM.
            self.signal(Signal::CONT);
        } else {
            self.next_instant_ns = None;
            self.ignored_sigterm = true;
            self.signal(Signal::KILL);
        }
    }

    /// Return whether it is in the foreground of a terminal, from which Ctrl-Z can stop it.
    pub(crate) fn has_terminal(&self) -> bool {
        self.takes_terminal
    }

    /// Continue it after a stop.
    pub(crate) fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        // The group is gone if the subject has just ended.
        let _ = kill_process_group(self.pid, signal);
        // It may have left its group. Its PID stays valid until it is reaped.
        if getpgid(Some(self.pid)).is_ok_and(|group| group != self.pid) {
            let _ = kill_process(self.pid, signal);
        }
    }
}
