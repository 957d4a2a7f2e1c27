//! Messages between the engine and the room's first process.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::cpu_time::CpuTime;
use crate::options::NamesAndTrust;

/// A program to execute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(crate) argv: Vec<OsString>,
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) directory: Option<PathBuf>,
    /// Whether system calls are not filtered.
    pub(crate) is_unfiltered: bool,
}

/// Content of the files for name resolution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NameFiles {
    /// The hosts file.
    pub(crate) hosts: String,
    /// The resolver's configuration.
    pub(crate) resolver: String,
}

/// Requests of the engine.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Mount the room's files over the machine's. Answer: `NamesAndTrustInstalled` or `Failed`.
    InstallNamesAndTrust {
        names_and_trust: NamesAndTrust,
        names: NameFiles,
    },
    /// Start a peer program; carries its standard output and error. Answer: `PeerStarted` or `Failed`.
    StartPeer {
        program: Program,
        /// Time between SIGTERM and SIGKILL.
        grace_ns: u64,
        /// Whether it drives the subject and therefore ends with it.
        is_driver: bool,
    },
    /// Start the subject; carries its three standard streams. Answer: `SubjectStarted` or `Failed`.
    StartSubject {
        program: Program,
        deadline_ns: Option<u64>,
        /// Whether standard input is the terminal of this session, with the engine in its foreground.
        takes_terminal: bool,
    },
    /// Continue a stopped subject.
    Continue,
    /// Terminate the subject; a second request kills it. A driver ends with it.
    Stop,
    /// End a room without a subject. Answer: `Finished`.
    Leave,
}

/// Answers and events of the room's first process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Event {
    NamesAndTrustInstalled,
    PeerStarted {
        /// PID, inside the room, of the ancestor of the peer's processes.
        keeper: i32,
        at: Instants,
    },
    /// The peer program ended by itself or was ended. Can arrive at any time, also between a request and its answer.
    PeerEnded(PeerEnd),
    SubjectStarted(Instants),
    /// A request failed.
    Failed(String),
    /// The subject, which owns the terminal, was stopped.
    SubjectStopped,
    SubjectEnded {
        at: Instants,
        exit_code: Option<i32>,
        signal: Option<i32>,
        cause: Cause,
        /// Time of SIGTERM, on the monotonic clock.
        asked_ns: Option<u64>,
        /// Whether the subject ignored SIGTERM and was killed.
        ignored_sigterm: bool,
    },
    /// Every process of the room is dead and reaped; the last event.
    Finished {
        subject: CpuTime,
        peak: ResidentPeak,
        peer: Option<PeerEnd>,
    },
}

/// Largest resident sets, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ResidentPeak {
    /// Of one of the subject's processes, from its start as a copy of the room's first process.
    pub(crate) subject: u64,
    /// Of the room's first process.
    pub(crate) init: u64,
}

/// One moment on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Instants {
    /// Unix time.
    pub(crate) unix_ns: u64,
    /// The monotonic clock, the same in every process of the machine.
    pub(crate) monotonic_ns: u64,
}

/// Why the subject ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Cause {
    Own,
    Deadline,
    Stopped,
}

/// How a peer program ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PeerEnd {
    /// When its last process ended, on the monotonic clock; absent while it runs.
    pub(crate) at_ns: Option<u64>,
    /// Whether the room sent it SIGTERM.
    pub(crate) was_asked: bool,
    /// Absent if it did not exit.
    pub(crate) exit_code: Option<i32>,
    /// Absent if no signal ended it.
    pub(crate) signal: Option<i32>,
    pub(crate) cpu: CpuTime,
}

impl Instants {
    /// Read both clocks.
    pub(crate) fn now() -> Self {
        use rustix::time::{ClockId, clock_gettime};
        let read = |clock| {
            let time = clock_gettime(clock);
            u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
                + u64::try_from(time.tv_nsec).unwrap_or(0)
        };
        Self {
            unix_ns: read(ClockId::Realtime),
            monotonic_ns: read(ClockId::Monotonic),
        }
    }
}
