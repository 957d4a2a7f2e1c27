//! A peer program as the room's first process sees it: in a PID namespace of its own, so that all it leaves is reaped and accounted with it.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::mount::{MountFlags, mount};
use rustix::process::{Pid, Signal, kill_process};

use crate::account::CpuTime;
use crate::error::{Result, RoomError, Step};
use crate::process::{self, Ended, Reaped};
use crate::program::{LaunchReport, Streams, launch};
use crate::protocol::{PeerEnd, Program};
use crate::signals::Signals;

/// A peer program that was started.
#[derive(Debug)]
pub(crate) struct Peer {
    /// The first process of its PID namespace, which keeps it.
    keeper: Pid,
    killed: bool,
    is_over: bool,
    end: PeerEnd,
}

impl Peer {
    /// Starts a program in this process's network namespace and on its CPUs; returns after its exec.
    pub(crate) fn start(program: &Program, descriptors: Vec<OwnedFd>) -> Result<Self> {
        let streams = peer_streams(descriptors)?;
        let (watch, report) = launch()?;
        let keeper = process::spawn(libc::CLONE_NEWPID | libc::CLONE_NEWNS, || {
            keep(program, streams, report);
        })
        .step(|| "forking the peer program".to_owned())?;
        watch.wait()?;
        Ok(Self {
            keeper,
            killed: false,
            is_over: false,
            end: PeerEnd {
                exit_code: None,
                cpu: CpuTime::default(),
            },
        })
    }

    pub(crate) fn pid(&self) -> i32 {
        self.keeper.as_raw_nonzero().get()
    }

    pub(crate) fn end(&self) -> PeerEnd {
        self.end
    }

    /// Its keeper has ended, and with it all that ran under it.
    pub(crate) fn ended(&mut self, reaped: &Reaped) {
        self.is_over = true;
        self.end.cpu = reaped.cpu;
        self.end.exit_code = match reaped.ended {
            Ended::Code(code) if !self.killed => Some(code),
            _ => None,
        };
    }

    /// Asks its keeper to kill and reap all that runs under it, and to end.
    pub(crate) fn end_all(&mut self) {
        // Nobody to ask when it has ended: then its end is recorded already, or will be when it is reaped.
        self.killed = kill_process(self.keeper, Signal::TERM).is_ok();
    }

    /// Whether its keeper has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }
}

fn peer_streams(mut descriptors: Vec<OwnedFd>) -> Result<Streams> {
    let output = descriptors
        .pop()
        .ok_or_else(|| RoomError::Init("the peer program was given no output".to_owned()))?;
    let input = File::open("/dev/null").step(|| "opening /dev/null".to_owned())?;
    let error = output
        .try_clone()
        .step(|| "copying the peer's output".to_owned())?;
    Ok(Streams {
        input: input.into(),
        output,
        error,
    })
}

/// The life of the keeper: executes the program in a child, reaps, ends when the program does or when it is told to.
///
/// It kills and reaps what is left by itself: what dies with a PID namespace is counted nowhere.
fn keep(program: &Program, streams: Streams, report: LaunchReport) {
    process::close_all_but(&[
        report.as_fd(),
        streams.input.as_fd(),
        streams.output.as_fd(),
        streams.error.as_fd(),
    ]);
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    let mounted = mount("proc", "/proc", "proc", flags, None)
        .step(|| "mounting the peer's own /proc".to_owned());
    let signals = Signals::block(&[libc::SIGCHLD, libc::SIGTERM]);
    let child = process::spawn(0, || report.execute(program, streams, || mounted));
    let (Ok(signals), Ok(child)) = (signals, child) else {
        return;
    };
    let status = wait_for_end(&signals, child.as_raw_nonzero().get());
    process::kill_every_other();
    while process::reap(true).is_some() {}
    process::leave(status);
}

/// The program's exit code as a shell has it, or zero when the keeper is told to end first.
fn wait_for_end(signals: &Signals, child: i32) -> i32 {
    loop {
        let mut descriptors = [PollFd::new(signals, PollFlags::IN)];
        // An interrupted wait only means to look again.
        let _ = poll(&mut descriptors, None);
        while let Some(signal) = signals.take() {
            if signal == libc::SIGTERM {
                return 0;
            }
        }
        while let Some(reaped) = process::reap(false) {
            match reaped.ended {
                Ended::Code(code) if reaped.pid == child => return code,
                Ended::Signal(signal) if reaped.pid == child => return 128 + signal,
                _ => {}
            }
        }
    }
}
