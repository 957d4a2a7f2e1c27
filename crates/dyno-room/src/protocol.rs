//! What the engine and the room's first process say to each other.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::cpu_time::CpuTime;
use crate::options::Furnishing;

/// A program to execute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(crate) argv: Vec<OsString>,
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) directory: Option<PathBuf>,
    /// Whether all system calls are let through.
    pub(crate) is_unfiltered: bool,
}

/// Where the subject's names come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NameFiles {
    /// What stands in the hosts file.
    pub(crate) hosts: String,
    /// What stands in the resolver's configuration.
    pub(crate) resolver: String,
}

/// From the engine.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Lay the room's files over the machine's. Answered by `Furnished` or `Failed`.
    Furnish {
        furnishing: Furnishing,
        names: NameFiles,
    },
    /// Start a peer program; with its output and where its errors go. Answered by `PeerStarted` or `Failed`.
    StartPeer {
        program: Program,
        /// Between asking it to end and killing it.
        grace_ns: u64,
        /// It drives the subject, so that it has nothing more to do when the subject is asked to end.
        is_driver: bool,
    },
    /// Start the subject; with its three standard streams. Answered by `SubjectStarted` or `Failed`.
    StartSubject {
        program: Program,
        deadline_ns: Option<u64>,
        /// Standard input is the terminal of this session, and the engine is in its foreground.
        takes_terminal: bool,
    },
    /// Continue the subject, which was stopped.
    Continue,
    /// End the subject; a second time: at once. A peer program that drives the subject ends with it.
    Stop,
    /// End the room, which has no subject. Answered by `Finished`.
    Leave,
}

/// From the room's first process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Event {
    Furnished,
    PeerStarted {
        /// The number, inside the room, of the process whose descendants are the peer's.
        keeper: i32,
        at: Instants,
    },
    /// The peer program has ended, or was ended; told whenever it happens, also between a request and its answer.
    PeerEnded(PeerEnd),
    SubjectStarted(Instants),
    /// A request could not be carried out.
    Failed(String),
    /// The subject, which has the terminal, was stopped.
    SubjectStopped,
    SubjectEnded {
        at: Instants,
        exit_code: Option<i32>,
        signal: Option<i32>,
        cause: Cause,
        /// When it was asked to end, on the monotonic clock.
        asked_ns: Option<u64>,
        /// It was asked in vain, and killed.
        is_deaf: bool,
    },
    /// All that was left is dead and reaped; nothing follows.
    Finished {
        subject: CpuTime,
        peer: Option<PeerEnd>,
    },
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
    /// When all of it was gone, on the monotonic clock; absent while it runs.
    pub(crate) at_ns: Option<u64>,
    /// The room asked it to end.
    pub(crate) was_asked: bool,
    /// Absent when it did not exit.
    pub(crate) exit_code: Option<i32>,
    /// Absent when no signal ended it.
    pub(crate) signal: Option<i32>,
    pub(crate) cpu: CpuTime,
}

impl Instants {
    /// Now.
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
