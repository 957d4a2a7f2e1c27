//! A room whose subject runs: waiting for its end, and the account of it.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::process::getpgrp;
use rustix::termios::tcsetpgrp;

use crate::account::{CpuTime, Ending, Outcome, PeerAccount, SubjectAccount};
use crate::error::{Result, RoomError, Step};
use crate::machine_window::MachineSnapshot;
use crate::memory::MemorySampler;
use crate::netlink::LinkCounters;
use crate::protocol::{Cause, Event, Instants, PeerEnd, Request};
use crate::room::Room;

/// A room whose subject runs. Dropping it ends everything in it.
#[derive(Debug)]
pub struct Running {
    room: Room,
    argv: Vec<OsString>,
    /// The moment of the exec, or why there was none.
    start: std::result::Result<Instants, String>,
    before: MachineSnapshot,
    sampler: Option<MemorySampler>,
    terminal: Option<OwnedFd>,
    stop: Stopper,
}

/// The end of a subject, as the room's first process tells it, with what was read at that moment.
#[derive(Debug)]
struct SubjectEnd {
    at: Instants,
    exit_code: Option<i32>,
    signal: Option<i32>,
    cause: Cause,
    counters: LinkCounters,
    after: MachineSnapshot,
}

/// What the room's first process counted once everything was reaped.
#[derive(Debug)]
struct Reaped {
    subject: CpuTime,
    peer: Option<PeerEnd>,
}

impl Running {
    pub(crate) fn new(
        room: Room,
        argv: Vec<OsString>,
        start: std::result::Result<Instants, String>,
        before: MachineSnapshot,
        sampler: Option<MemorySampler>,
        terminal: Option<OwnedFd>,
    ) -> Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .step(|| "making an event descriptor".to_owned())?;
        Ok(Self {
            room,
            argv,
            start,
            before,
            sampler,
            terminal,
            stop: Stopper(Arc::new(event)),
        })
    }

    /// Unix time of the subject's exec; absent when it could not be executed.
    #[must_use]
    pub fn started_at_ns(&self) -> Option<u64> {
        self.start.as_ref().ok().map(|at| at.unix_ns)
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
            return Ok(self.never_started());
        };
        let end = self.wait_for_subject();
        self.take_terminal_back();
        let end = end?;
        let memory = self
            .sampler
            .take()
            .map_or_else(Vec::new, MemorySampler::finish);
        let reaped = match self.room.init.next_event()? {
            Event::Finished { subject, peer } => Reaped { subject, peer },
            other => return Err(RoomError::Init(format!("unexpected end {other:?}"))),
        };
        self.room.init.reap();
        let ending = self.account(started, &end, &reaped, memory);
        self.room.group.remove();
        Ok(ending)
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
                if let Event::SubjectEnded {
                    at,
                    exit_code,
                    signal,
                    cause,
                } = self.room.init.next_event()?
                {
                    return Ok(SubjectEnd {
                        at,
                        exit_code,
                        signal,
                        cause,
                        counters: self.room.network.counters()?,
                        after: MachineSnapshot::take(),
                    });
                }
            } else if signalled && self.room.signals.take().is_some() || stopped && self.stop.take()
            {
                // A first process that is gone shows in the next look at its line.
                let _ = self.room.init.channel.send(&Request::Stop, &[]);
            }
        }
    }

    /// A subject in the terminal's foreground leaves it to nobody.
    fn take_terminal_back(&self) {
        if let Some(terminal) = &self.terminal {
            let _ = tcsetpgrp(terminal, getpgrp());
        }
    }

    fn account(
        &self,
        started: Instants,
        end: &SubjectEnd,
        reaped: &Reaped,
        memory: Vec<(u64, u64)>,
    ) -> Ending {
        let outcome = match (end.cause, end.signal) {
            (Cause::Deadline, _) => Outcome::Deadline,
            (Cause::Stopped, _) => Outcome::Interrupted,
            (Cause::Own, Some(_)) => Outcome::Signaled,
            (Cause::Own, None) => Outcome::Exited,
        };
        let options = &self.room.options;
        Ending {
            outcome,
            reason: reason(outcome, end.signal, self.room.group.out_of_memory()),
            subject: self.subject_account(started, end, reaped, memory),
            engine: end.after.engine_since(&self.before),
            peer: self.peer_account(reaped.peer),
            cpus: end
                .after
                .cpus_since(&self.before, &options.engine_cpus, &options.subject_cpus),
            pressure: end.after.pressure_since(&self.before),
            throttled_ns: end.after.throttled_since(&self.before),
        }
    }

    fn subject_account(
        &self,
        started: Instants,
        end: &SubjectEnd,
        reaped: &Reaped,
        memory: Vec<(u64, u64)>,
    ) -> SubjectAccount {
        SubjectAccount {
            exit_code: end.exit_code,
            signal: end.signal,
            started_at_ns: Some(started.unix_ns),
            ended_at_ns: Some(end.at.unix_ns),
            wall_ns: end.at.monotonic_ns.saturating_sub(started.monotonic_ns),
            cpu: self.room.group.cpu_time().unwrap_or(reaped.subject),
            peak_memory_bytes: memory.iter().map(|&(_, bytes)| bytes).max(),
            memory,
            out_of_memory: self.room.group.out_of_memory(),
            sent_bytes: end.counters.sent_bytes,
            received_bytes: end.counters.received_bytes,
            sent_packets: end.counters.sent_packets,
            received_packets: end.counters.received_packets,
            ..self.blank_account()
        }
    }

    fn peer_account(&self, end: Option<PeerEnd>) -> Option<PeerAccount> {
        let (peer, end) = self.room.peer.as_ref().zip(end)?;
        Some(PeerAccount {
            argv: text(&peer.argv),
            exit_code: end.exit_code,
            cpu: end.cpu,
        })
    }

    fn never_started(self) -> Ending {
        let now = MachineSnapshot::take();
        self.take_terminal_back();
        Ending {
            outcome: Outcome::FailedToStart,
            reason: self.start.clone().err(),
            subject: self.blank_account(),
            engine: now.engine_since(&self.before),
            peer: None,
            cpus: Vec::new(),
            pressure: None,
            throttled_ns: None,
        }
    }

    /// What is known of a subject before it runs.
    fn blank_account(&self) -> SubjectAccount {
        let limit = self.room.options.memory_limit_bytes;
        let (enforced_by, limit_reason) = self.room.group.memory_limit();
        SubjectAccount {
            argv: text(&self.argv),
            exit_code: None,
            signal: None,
            started_at_ns: None,
            ended_at_ns: None,
            wall_ns: 0,
            cpu: CpuTime::default(),
            peak_memory_bytes: None,
            memory: Vec::new(),
            accounting: self.room.group.accounting(),
            memory_limit_bytes: limit,
            memory_limit_enforced_by: enforced_by.filter(|_| limit.is_some()),
            memory_limit_reason: limit_reason.filter(|_| limit.is_some()).map(str::to_owned),
            out_of_memory: false,
            sent_bytes: 0,
            received_bytes: 0,
            sent_packets: 0,
            received_packets: 0,
        }
    }
}

fn reason(outcome: Outcome, signal: Option<i32>, out_of_memory: bool) -> Option<String> {
    match (outcome, signal) {
        (Outcome::Deadline, _) => Some("the deadline came before the subject ended".to_owned()),
        (Outcome::Interrupted, _) => Some("the engine was told to stop".to_owned()),
        (_, Some(signal)) if out_of_memory => Some(format!(
            "ended by signal {signal}; the kernel killed it for want of memory"
        )),
        (Outcome::Signaled, Some(signal)) => Some(format!("ended by signal {signal}")),
        _ if out_of_memory => {
            Some("the kernel killed a process of it for want of memory".to_owned())
        }
        _ => None,
    }
}

fn text(argv: &[OsString]) -> Vec<String> {
    argv.iter()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect()
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
