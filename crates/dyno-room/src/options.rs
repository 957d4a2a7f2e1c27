//! What the caller asks of a room.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cpu::CpuSet;

/// The room itself: settled before anything runs in it.
#[derive(Debug, Clone)]
pub struct RoomOptions {
    /// CPUs of the engine, the room's first process and a peer program.
    pub engine_cpus: CpuSet,
    /// CPUs of the subject.
    pub subject_cpus: CpuSet,
    /// Memory that the subject may use, if it is to be bounded.
    pub memory_limit_bytes: Option<u64>,
    /// The host name that the subject sees.
    pub hostname: String,
}

impl Default for RoomOptions {
    fn default() -> Self {
        Self {
            engine_cpus: CpuSet::from([0]),
            subject_cpus: CpuSet::from([1]),
            memory_limit_bytes: None,
            hostname: "subject".to_owned(),
        }
    }
}

/// A certificate authority that the subject is to trust, and no other.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Authority {
    /// The certificate as PEM text.
    pub pem: String,
    /// The same certificate as DER.
    pub der: Vec<u8>,
}

/// What is laid over the subject's view of the file system.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Furnishing {
    /// The room's own authorities; empty leaves the machine's trust as it is.
    pub authorities: Vec<Authority>,
    /// Further files to replace by the authorities: a `cacert.pem` of certifi gets PEM, a file named `cacerts` or `*.jks` a Java keystore.
    pub trust_files: Vec<PathBuf>,
}

/// Which variables a program in the room sees.
#[derive(Debug, Clone)]
pub enum Environment {
    /// `PATH`, `HOME`, `TMPDIR`, `LANG`, `TZ`, the variables of the room, and these; they win over all others.
    Clean(Vec<(OsString, OsString)>),
    /// The caller's minus proxies and variables of trust, the variables of the room, and these; they win over all others.
    Inherited(Vec<(OsString, OsString)>),
}

/// The program under measurement.
#[derive(Debug)]
pub struct SubjectOptions {
    /// Program and arguments; a program without a slash is searched in the `PATH` of its environment.
    pub argv: Vec<OsString>,
    /// Its variables.
    pub environment: Environment,
    /// Its working directory; the caller's when absent.
    pub directory: Option<PathBuf>,
    /// Its standard input.
    pub stdin: OwnedFd,
    /// Its standard output.
    pub stdout: OwnedFd,
    /// Its standard error.
    pub stderr: OwnedFd,
    /// When it is asked to end (SIGTERM), counted from its start; two seconds later it is killed.
    pub deadline: Option<Duration>,
}

/// A program whom the subject talks to instead of a web.
#[derive(Debug)]
pub struct PeerOptions {
    /// Program and arguments; a program without a slash is searched in the `PATH` of its environment.
    pub argv: Vec<OsString>,
    /// Its variables.
    pub environment: Environment,
    /// Its working directory; the caller's when absent.
    pub directory: Option<PathBuf>,
    /// Where its standard output and standard error go.
    pub output: OwnedFd,
}
