//! What a trial cost, as the engine's report has it: every field's name is a key of the report.

use std::net::IpAddr;

use crate::cpu_time::CpuTime;
use crate::link::LinkAccount;
use crate::steering::ReceiveSteering;
use serde::{Deserialize, Serialize};

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A server was driven until its driver had ended, and was then ended itself.
    Ok,
    /// The subject ended by itself.
    Exited,
    /// A signal that was not the room's ended the subject.
    Signaled,
    /// The deadline came first.
    Deadline,
    /// The engine was told to stop.
    Interrupted,
    /// The subject, or the driver of a server, could not be executed.
    FailedToStart,
    /// A server accepted no connection in time.
    NeverListened,
    /// A server ended by itself.
    Died,
    /// The peer program was not ready in time, so that the subject was not started.
    PeerFailed,
    /// The link was not what was asked for, so that the subject was not started.
    LinkLimited,
}

/// Where the figures of CPU time come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Accounting {
    /// Control groups, version 1.
    #[serde(rename = "cgroup-v1")]
    CgroupV1,
    /// Control groups, version 2.
    #[serde(rename = "cgroup-v2")]
    CgroupV2,
    /// `wait4`: all that is left is killed and reaped. What is missing are children whose parent had the kernel reap them (SIGCHLD
    /// ignored).
    #[serde(rename = "rusage")]
    Rusage,
}

/// What the subject did and cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SubjectAccount {
    /// Program and arguments (invalid UTF-8 replaced).
    pub argv: Vec<String>,
    /// Its exit code, when it ended by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Unix time of the exec.
    pub started_at_ns: Option<u64>,
    /// Unix time of its end.
    pub ended_at_ns: Option<u64>,
    /// From exec to end, on the monotonic clock.
    pub wall_ns: u64,
    /// Processor time of the whole tree.
    #[serde(flatten)]
    pub cpu: CpuTime,
    /// The largest sample of the tree's proportional set size; absent when it ended before the first.
    pub peak_memory_bytes: Option<u64>,
    /// Samples of the tree's proportional set size: nanoseconds since exec, bytes.
    pub memory: Vec<(u64, u64)>,
    /// The tree's CPU time over the trial: nanoseconds since exec, then in user space and in the kernel so far; empty where no
    /// control group accounts.
    #[serde(rename = "cpu")]
    pub cpu_series: Vec<(u64, u64, u64)>,
    /// Where the CPU time comes from.
    pub accounting: Accounting,
    /// The limit that was asked for.
    pub memory_limit_bytes: Option<u64>,
    /// Who enforces it.
    pub memory_limit_enforced_by: Option<Accounting>,
    /// Why nobody does.
    pub memory_limit_reason: Option<String>,
    /// Whether the kernel killed a process of the subject for want of memory.
    pub out_of_memory: bool,
    /// Bytes that left the subject's end of the link, with link headers; absent on the machine's own network.
    pub sent_bytes: Option<u64>,
    /// Bytes that came to the subject's end of the link, with link headers.
    pub received_bytes: Option<u64>,
    /// Packets that left (one may be a batch of segments).
    pub sent_packets: Option<u64>,
    /// Packets that came.
    pub received_packets: Option<u64>,
    /// Connections and datagrams that it addressed outside the web, where no route leads; absent on the machine's own
    /// network.
    pub without_route: Option<u64>,
}

/// What one CPU did between the subject's exec and its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CpuAccount {
    /// Its number.
    pub cpu: usize,
    /// Who was pinned to it.
    pub role: CpuRole,
    /// Time it was not idle (10 ms grain).
    pub busy_ns: u64,
    /// The part of it that went to interrupts, the packets of the trial among them (10 ms grain).
    pub interrupt_ns: u64,
    /// Time the hypervisor gave to others (10 ms grain).
    pub steal_ns: u64,
    /// Length of the window.
    pub window_ns: u64,
}

/// Who is pinned to a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuRole {
    /// The engine.
    Engine,
    /// The subject.
    Subject,
    /// Both share it.
    Both,
}

/// Time that some task of the machine waited, between the subject's exec and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Pressure {
    /// For a CPU.
    pub cpu_some_us: u64,
    /// For memory.
    pub memory_some_us: u64,
    /// For input or output.
    pub io_some_us: u64,
}

/// What a peer program did and cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PeerAccount {
    /// Program and arguments (invalid UTF-8 replaced).
    pub argv: Vec<String>,
    /// As a shell has it (128 + N when signal N ended it); absent when it ran until the room ended it.
    pub exit_code: Option<i32>,
    /// Processor time of its whole tree.
    #[serde(flatten)]
    pub cpu: CpuTime,
    /// From its exec until it accepted a connection; absent when nobody waited for that, or in vain.
    pub ready_ns: Option<u64>,
}

/// How a server fared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// It accepted connections until it was asked to end, and then ended.
    Served,
    /// It accepted none in time.
    NeverListened,
    /// It ended by itself.
    Died,
    /// It did not end when it was asked to, and was killed.
    Outlived,
}

/// What is known of a subject as a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerAccount {
    /// Where it was to listen.
    pub address: IpAddr,
    /// On which port.
    pub port: u16,
    /// From its exec until it accepted a connection; absent when it never did.
    pub ready_ns: Option<u64>,
    /// How it fared.
    pub state: ServerState,
    /// From when it was asked to end until it had; absent when it ended unasked.
    pub ended_after_ns: Option<u64>,
    /// Samples of the tree's open descriptors: nanoseconds since exec, their number.
    pub descriptors: Vec<(u64, u64)>,
    /// The most that one process had.
    pub most_descriptors_of_one_process: Option<u64>,
    /// How many that process might have had.
    pub descriptor_limit: Option<u64>,
}

/// What the driver of a server did and cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DriverAccount {
    /// Program and arguments (invalid UTF-8 replaced).
    pub argv: Vec<String>,
    /// Its exit code, when it ended by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Processor time of its whole tree.
    #[serde(flatten)]
    pub cpu: CpuTime,
    /// Its exec, counted from the server's.
    pub started_ns: u64,
    /// From its exec to the end of all that it started.
    pub wall_ns: u64,
}

/// All that the room knows when a trial is over.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ending {
    /// How it ended.
    pub outcome: Outcome,
    /// One line where the outcome needs it.
    pub reason: Option<String>,
    /// The subject.
    pub subject: SubjectAccount,
    /// The engine's CPU time between the subject's exec and its end, without the link's.
    pub engine: CpuTime,
    /// The link, where there was one.
    pub link: Option<LinkAccount>,
    /// The peer program, where there was one.
    pub peer: Option<PeerAccount>,
    /// The subject as a server, if it is one.
    pub server: Option<ServerAccount>,
    /// The driver of a server; absent when it was not started.
    pub driver: Option<DriverAccount>,
    /// On whose CPUs packets were received.
    pub receive_steering: ReceiveSteering,
    /// The CPUs that were pinned to; with a driver, while it ran, and so for all that follows and for the engine.
    pub cpus: Vec<CpuAccount>,
    /// Pressure, where the kernel tells.
    pub pressure: Option<Pressure>,
    /// Time in which a quota of the control groups above the room kept processes from their CPUs, summed over CPUs;
    /// absent where no group counts it.
    pub throttled_ns: Option<u64>,
}

impl Ending {
    /// The exit status that stands for this ending: the subject's own (128 + N when signal N ended it),
    /// 124 for the deadline, 130 when interrupted, 127 when it could not be executed, 125 when its link was not what was asked for or
    /// its peer not ready. A server of which all is known has zero, however it fared.
    #[must_use]
    pub fn exit_status(&self) -> u8 {
        let status = match self.outcome {
            Outcome::Exited => self.subject.exit_code.unwrap_or(0),
            Outcome::Signaled => 128 + self.subject.signal.unwrap_or(0),
            Outcome::Deadline => 124,
            Outcome::Interrupted => 130,
            Outcome::FailedToStart => 127,
            Outcome::LinkLimited | Outcome::PeerFailed => 125,
            Outcome::Ok | Outcome::NeverListened | Outcome::Died => 0,
        };
        u8::try_from(status & 0xff).unwrap_or(u8::MAX)
    }
}
