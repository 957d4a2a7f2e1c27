//! A peer program in the room's first process. It has its own PID namespace, so that all its descendants are reaped and accounted.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::capabilities::Network;
use crate::error::{Result, RoomError, Step};
use crate::mounts;
use crate::process::{self, Ended, Reaped};
use crate::program::{LaunchReport, Streams, launch, lead_session};
use crate::protocol::{Instants, PeerEnd, Program};
use crate::signals::Signals;

/// A running peer program.
#[derive(Debug)]
pub(crate) struct Peer {
    /// The first process of its PID namespace.
    keeper: Pid,
    started: Instants,
    grace_ns: u64,
    /// Receives the program's wait status from the keeper.
    status: PipeReader,
    end: PeerEnd,
}

impl Peer {
    /// Start a program in this process's network namespace and on its CPUs; return after its exec.
    pub(crate) fn start(
        program: &Program,
        descriptors: Vec<OwnedFd>,
        grace_ns: u64,
        network: Network,
    ) -> Result<Self> {
        let streams = peer_streams(descriptors)?;
        let (watch, launch) = launch()?;
        let (status, status_writer) =
            io::pipe().step(|| "making a pipe for the peer program's end".to_owned())?;
        let keeper = process::spawn(libc::CLONE_NEWPID | libc::CLONE_NEWNS, || {
            Keeper {
                status: status_writer,
                grace_ns,
                network,
            }
            .keep(program, streams, launch);
        })
        .step(|| "forking the peer program".to_owned())?;
        Ok(Self {
            keeper,
            started: watch.wait()?,
            grace_ns,
            status,
            end: PeerEnd::default(),
        })
    }

    pub(crate) fn pid(&self) -> i32 {
        self.keeper.as_raw_nonzero().get()
    }

    /// Return the time of the exec.
    pub(crate) fn started(&self) -> Instants {
        self.started
    }

    /// Return the time between SIGTERM and SIGKILL.
    pub(crate) fn grace_ns(&self) -> u64 {
        self.grace_ns
    }

    pub(crate) fn end(&self) -> PeerEnd {
        self.end
    }

    /// Record a change of state of the keeper; return true if it has ended, with every process under it.
    pub(crate) fn ended(&mut self, reaped: &Reaped, at: Instants) -> bool {
        if reaped.ended == Ended::Stopped {
            return false;
        }
        let mut status = [0; size_of::<i32>()];
        // A keeper that did not wait for the program's end sends nothing.
        let ended = self.status.read_exact(&mut status).ok();
        let ended = ended.map(|()| process::ended(i32::from_ne_bytes(status)));
        self.end = PeerEnd {
            at_ns: Some(at.monotonic_ns),
            was_asked: self.end.was_asked,
            exit_code: ended.and_then(|ended| match ended {
                Ended::Code(code) => Some(code),
                _ => None,
            }),
            signal: ended.and_then(|ended| match ended {
                Ended::Signal(signal) => Some(signal),
                _ => None,
            }),
            cpu: reaped.cpu,
        };
        true
    }

    /// Have the keeper end and reap every process under it, then exit.
    pub(crate) fn end_all(&mut self) {
        if !self.is_over() {
            // Not reaped yet, so the PID is still valid.
            let _ = kill_process(self.keeper, Signal::TERM);
            // A stopped process would not receive SIGTERM.
            let _ = kill_process(self.keeper, Signal::CONT);
            self.end.was_asked = true;
        }
    }

    /// Return whether the keeper has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.end.at_ns.is_some()
    }
}

fn peer_streams(descriptors: Vec<OwnedFd>) -> Result<Streams> {
    let [output, error] = descriptors.try_into().map_err(|found: Vec<OwnedFd>| {
        RoomError::Init(format!(
            "a peer program needs two streams, received {}",
            found.len()
        ))
    })?;
    let input = File::open("/dev/null").step(|| "opening /dev/null".to_owned())?;
    Ok(Streams {
        input: input.into(),
        output,
        error,
    })
}

/// The first process of a peer program's namespace.
struct Keeper {
    /// Where to send the program's wait status.
    status: PipeWriter,
    /// Time between SIGTERM and SIGKILL.
    grace_ns: u64,
    network: Network,
}

impl Keeper {
    /// Execute the program in a child and reap; exit when the program ends or on a signal.
    ///
    /// Kills and reaps the remaining processes itself: the CPU time of those that die with a PID namespace is counted nowhere.
    fn keep(mut self, program: &Program, streams: Streams, launch: LaunchReport) {
        process::close_all_but(&[
            self.status.as_fd(),
            launch.as_fd(),
            streams.input.as_fd(),
            streams.output.as_fd(),
            streams.error.as_fd(),
        ]);
        let mounted = mounts::mount_nested_proc();
        let signals = Signals::block(&[libc::SIGCHLD, libc::SIGTERM]);
        let child = process::spawn(0, || {
            launch.execute(program, streams, self.network, || {
                mounted.and_then(|()| lead_session())
            });
        });
        let (Ok(signals), Ok(child)) = (signals, child) else {
            return;
        };
        self.wait_for_end(&signals, child);
        process::kill_every_other();
        while let Some(reaped) = process::reap(true) {
            // Reached only by a program that did not end after SIGTERM.
            self.report_end_of(child, &reaped);
        }
        process::leave(0);
    }

    /// Wait until the program ends, or until its grace period is over after a signal to this process.
    fn wait_for_end(&mut self, signals: &Signals, child: Pid) {
        let mut until_ns = None;
        loop {
            let now_ns = Instants::now().monotonic_ns;
            let left =
                until_ns.map(|until: u64| Duration::from_nanos(until.saturating_sub(now_ns)));
            if left.is_some_and(|left| left.is_zero()) {
                return;
            }
            let timeout = left.and_then(|left| Timespec::try_from(left).ok());
            let mut descriptors = [PollFd::new(signals, PollFlags::IN)];
            // After an interruption the loop waits again.
            let _ = poll(&mut descriptors, timeout.as_ref());
            while let Some(signal) = signals.take() {
                if signal == libc::SIGTERM && until_ns.is_none() {
                    until_ns = Some(Instants::now().monotonic_ns.saturating_add(self.grace_ns));
                    ask_to_end(child);
                }
            }
            while let Some(reaped) = process::reap(false) {
                if self.report_end_of(child, &reaped) {
                    return;
                }
            }
        }
    }

    /// Report the program's wait status if the reaped child is the program; return true then.
    fn report_end_of(&mut self, child: Pid, reaped: &Reaped) -> bool {
        let is_end = reaped.pid == child.as_raw_nonzero().get() && reaped.ended != Ended::Stopped;
        if is_end {
            // If the reader is gone, this process is about to be killed.
            let _ = self.status.write_all(&reaped.status.to_ne_bytes());
        }
        is_end
    }
}

fn ask_to_end(program: Pid) {
    // The group is gone if the program has just ended.
    let _ = kill_process_group(program, Signal::TERM);
    // A stopped process would not receive SIGTERM.
    let _ = kill_process_group(program, Signal::CONT);
}
