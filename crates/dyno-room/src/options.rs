//! What the caller asks of a room.

use std::ffi::OsString;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cpu::CpuSet;
use crate::error::{Result, RoomError};
use crate::link::LinkOptions;

/// What a subject can reach.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Surroundings {
    /// A network of the room's own, where nobody is but the peer.
    #[default]
    Sealed,
    /// The machine's own network: the peer is another machine.
    Machine,
}

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
    /// What the subject can reach.
    pub surroundings: Surroundings,
    /// What lies between the subject and its peer; absent, they are joined directly.
    pub link: Option<LinkOptions>,
    /// Have each end receive packets on its own CPUs, instead of those of the end that sent them; what came of it is reported.
    pub receive_steering: bool,
    /// Refuse system calls that no subject needs; the room is as closed without.
    pub filters_system_calls: bool,
}

impl Default for RoomOptions {
    fn default() -> Self {
        Self {
            engine_cpus: CpuSet::from([0]),
            subject_cpus: CpuSet::from([1]),
            memory_limit_bytes: None,
            hostname: "subject".to_owned(),
            surroundings: Surroundings::Sealed,
            link: None,
            receive_steering: false,
            filters_system_calls: true,
        }
    }
}

impl RoomOptions {
    /// The CPU of the link that the room is to have; none without one.
    pub(crate) fn link_cpu(&self, allowed: &CpuSet) -> Result<Option<usize>> {
        if self.link.is_some() && self.surroundings == Surroundings::Machine {
            return Err(RoomError::Invalid {
                what: "there is no link to emulate on the machine's own network".to_owned(),
                cure: "leave --link out".to_owned(),
            });
        }
        self.link
            .map(|link| link.choose_cpu(allowed, &self.engine_cpus, &self.subject_cpus))
            .transpose()
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
    /// Hosts of other machines by name, on the machine's own network: nobody has to be asked for them during a trial.
    pub hosts: Vec<(String, IpAddr)>,
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

/// A program whom the subject talks to instead of a web, or who talks to it.
#[derive(Debug)]
pub struct PeerOptions {
    /// Program and arguments; a program without a slash is searched in the `PATH` of its environment.
    pub argv: Vec<OsString>,
    /// Its variables.
    pub environment: Environment,
    /// Its working directory; the caller's when absent.
    pub directory: Option<PathBuf>,
    /// Its standard output.
    pub output: OwnedFd,
    /// Its standard error.
    pub error: OwnedFd,
}

/// What is done with a subject that is a server.
#[derive(Debug)]
pub struct ServerOptions {
    /// Where it is to listen, on its own address in the room ([`crate::addresses::SUBJECT_V4`]).
    pub port: u16,
    /// How long it may take, from its exec, until it accepts a connection.
    pub ready_timeout: Duration,
    /// Who talks to it once it does; the server is ended when this has ended.
    pub driver: PeerOptions,
}
