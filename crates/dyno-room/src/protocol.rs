//! What the engine and the room's first process say to each other.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::account::CpuTime;
use crate::options::Furnishing;

/// A program to execute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(crate) argv: Vec<OsString>,
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) directory: Option<PathBuf>,
}

/// From the engine.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Lay the room's files over the machine's. Answered by `Furnished` or `Failed`.
    Furnish(Furnishing),
    /// Start a peer program; with its output. Answered by `PeerStarted` or `Failed`.
    StartPeer(Program),
    /// Start the subject; with its three standard streams. Answered by `SubjectStarted` or `Failed`.
    StartSubject {
        program: Program,
        deadline_ns: Option<u64>,
        /// Standard input is the terminal of this session, and the engine is in its foreground.
        takes_terminal: bool,
    },
    /// End the subject; a second time: at once.
    Stop,
}

/// From the room's first process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Event {
    Furnished,
    /// The number, inside the room, of the process whose descendants are the peer's.
    PeerStarted {
        keeper: i32,
    },
    SubjectStarted(Instants),
    /// A request could not be carried out.
    Failed(String),
    SubjectEnded {
        at: Instants,
        exit_code: Option<i32>,
        signal: Option<i32>,
        cause: Cause,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PeerEnd {
    /// As a shell has it: 128 + N when signal N ended it; absent when the room did.
    pub(crate) exit_code: Option<i32>,
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
