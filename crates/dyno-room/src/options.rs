//! Options of a room and of the programs in it.

use std::ffi::OsString;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cpu::CpuSet;
use crate::error::{Result, RoomError};
use crate::link::LinkOptions;

/// The network that a subject can reach.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Surroundings {
    /// A private network with the peer as the only other host.
    #[default]
    Sealed,
    /// The machine's own network: the peer is another machine.
    Machine,
}

/// Options of the room, fixed before anything runs in it.
#[derive(Debug, Clone)]
pub struct RoomOptions {
    /// CPUs of the engine, the room's first process and a peer program.
    pub engine_cpus: CpuSet,
    /// CPUs of the subject.
    pub subject_cpus: CpuSet,
    /// Memory limit of the subject; none if absent.
    pub memory_limit_bytes: Option<u64>,
    /// The host name that the subject sees.
    pub hostname: String,
    /// The network that the subject can reach.
    pub surroundings: Surroundings,
    /// Emulated link between the subject and its peer; absent: a direct connection.
    pub link: Option<LinkOptions>,
    /// Receive packets on the receiver's CPUs instead of the sender's. The report says whether this succeeded.
    pub receive_steering: bool,
    /// Refuse system calls that no subject needs. The room is sealed without this filter too.
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
    /// Return the CPU of the emulated link; none without a link.
    pub(crate) fn link_cpu(&self, allowed: &CpuSet) -> Result<Option<usize>> {
        if self.link.is_some() && self.surroundings == Surroundings::Machine {
            return Err(RoomError::Invalid {
                what: "--link cannot emulate a link on the machine's own network".to_owned(),
                cure: "remove --link".to_owned(),
            });
        }
        self.link
            .map(|link| link.choose_cpu(allowed, &self.engine_cpus, &self.subject_cpus))
            .transpose()
    }
}

/// The only certificate authority that the subject trusts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Authority {
    /// The certificate as PEM text.
    pub pem: String,
    /// The same certificate as DER.
    pub der: Vec<u8>,
}

/// Files mounted over the subject's view of the file system.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct NamesAndTrust {
    /// The room's own authorities; empty keeps the machine's trust store.
    pub authorities: Vec<Authority>,
    /// Further files to replace by the authorities: PEM for a `cacert.pem` of certifi, a Java keystore for a file named `cacerts` or `*.jks`.
    pub trust_files: Vec<PathBuf>,
    /// Names and addresses of other machines on the machine's own network, so that a trial needs no name server for them.
    pub hosts: Vec<(String, IpAddr)>,
}

/// Environment variables of a program in the room.
#[derive(Debug, Clone)]
pub enum Environment {
    /// `PATH`, `HOME`, `TMPDIR`, `LANG`, `TZ`, the variables of the room, and these, which override all others.
    Clean(Vec<(OsString, OsString)>),
    /// The caller's variables without proxies and trust stores, the variables of the room, and these, which override all others.
    Inherited(Vec<(OsString, OsString)>),
}

/// The program under measurement.
#[derive(Debug)]
pub struct SubjectOptions {
    /// Program and arguments; a program without a slash is looked up in the `PATH` of its environment.
    pub argv: Vec<OsString>,
    /// Environment variables.
    pub environment: Environment,
    /// Working directory; absent: the caller's.
    pub directory: Option<PathBuf>,
    /// Standard input.
    pub stdin: OwnedFd,
    /// Standard output.
    pub stdout: OwnedFd,
    /// Standard error.
    pub stderr: OwnedFd,
    /// Time from the start to SIGTERM; SIGKILL follows two seconds later.
    pub deadline: Option<Duration>,
}

/// A program that replaces the web: the subject talks to it, or it talks to the subject.
#[derive(Debug)]
pub struct PeerOptions {
    /// Program and arguments; a program without a slash is looked up in the `PATH` of its environment.
    pub argv: Vec<OsString>,
    /// Environment variables.
    pub environment: Environment,
    /// Working directory; absent: the caller's.
    pub directory: Option<PathBuf>,
    /// Standard output.
    pub output: OwnedFd,
    /// Standard error.
    pub error: OwnedFd,
}

/// Options of a trial whose subject is a server.
#[derive(Debug)]
pub struct ServerOptions {
    /// Port on the subject's address in the room ([`crate::addresses::SUBJECT_V4`]).
    pub port: u16,
    /// Maximum time from exec to the first accepted connection.
    pub ready_timeout: Duration,
    /// Program that loads the server once it is ready; the end of the driver ends the server.
    pub driver: PeerOptions,
}
