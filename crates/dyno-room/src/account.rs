//! The account of a trial in the engine's report: field names are the report's keys.

use std::net::IpAddr;

use crate::cpu_time::CpuTime;
use crate::link::LinkAccount;
use crate::steering::ReceiveSteering;
use serde::{Deserialize, Serialize};

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The driver of a server ended, and then the server was ended.
    Ok,
    /// The subject ended by itself.
    Exited,
    /// A signal from outside the room ended the subject.
    Signaled,
    /// The deadline ended the subject.
    Deadline,
    /// The engine was interrupted.
    Interrupted,
    /// The subject, or the driver of a server, could not be executed.
    FailedToStart,
    /// A server accepted no connection in time.
    NeverListened,
    /// A server ended by itself.
    Died,
    /// The peer program was not ready in time; the subject was not started.
    PeerFailed,
    /// The link missed its specification; the subject was not started.
    LinkLimited,
}

/// Source of the CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Accounting {
    /// Control groups, version 1.
    #[serde(rename = "cgroup-v1")]
    CgroupV1,
    /// Control groups, version 2.
    #[serde(rename = "cgroup-v2")]
    CgroupV2,
    /// `wait4`: every remaining process is killed and reaped. Children whose parent let the kernel reap them (SIGCHLD ignored) are
    /// missing.
    #[serde(rename = "rusage")]
    Rusage,
}

/// Results and costs of the subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SubjectAccount {
    /// Program and arguments (invalid UTF-8 replaced).
    pub argv: Vec<String>,
    /// Exit code, if it exited.
    pub exit_code: Option<i32>,
    /// Signal that ended it.
    pub signal: Option<i32>,
    /// Unix time of the exec.
    pub started_at_ns: Option<u64>,
    /// Unix time of the end.
    pub ended_at_ns: Option<u64>,
    /// Time from exec to end, on the monotonic clock.
    pub wall_ns: u64,
    /// CPU time of the whole process tree.
    #[serde(flatten)]
    pub cpu: CpuTime,
    /// Largest sample of the tree's proportional set size, or the largest resident set of one of its processes, which the kernel reports at
    /// their end, if that is more: no peak is too short to be seen.
    pub peak_memory_bytes: Option<u64>,
    /// Samples of the tree's proportional set size: nanoseconds since exec, bytes.
    pub memory: Vec<(u64, u64)>,
    /// Samples of the tree's CPU time: nanoseconds since exec, then user and kernel time so far; empty without a control group that
    /// accounts for CPU time.
    #[serde(rename = "cpu")]
    pub cpu_series: Vec<(u64, u64, u64)>,
    /// Source of the CPU time.
    pub accounting: Accounting,
    /// Requested memory limit.
    pub memory_limit_bytes: Option<u64>,
    /// Mechanism that enforces the memory limit.
    pub memory_limit_enforced_by: Option<Accounting>,
    /// Why the memory limit is not enforced.
    pub memory_limit_reason: Option<String>,
    /// Whether the kernel killed a process of the subject because memory ran out.
    pub out_of_memory: bool,
    /// Bytes sent from the subject's end of the link, with link headers; absent on the machine's own network.
    pub sent_bytes: Option<u64>,
    /// Bytes received at the subject's end of the link, with link headers.
    pub received_bytes: Option<u64>,
    /// Packets sent (one may be a batch of segments).
    pub sent_packets: Option<u64>,
    /// Packets received.
    pub received_packets: Option<u64>,
    /// Connections and datagrams to addresses outside the web, which have no route; absent on the machine's own
    /// network.
    pub without_route: Option<u64>,
}

/// Use of one CPU between the subject's exec and its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CpuAccount {
    /// Number of the CPU.
    pub cpu: usize,
    /// Part that was pinned to it.
    pub role: CpuRole,
    /// Time not idle (10 ms grain).
    pub busy_ns: u64,
    /// Time in interrupts, including those of the trial's packets (10 ms grain).
    pub interrupt_ns: u64,
    /// Time stolen by the hypervisor (10 ms grain).
    pub steal_ns: u64,
    /// Length of the measured window.
    pub window_ns: u64,
}

/// Part of a trial that is pinned to a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuRole {
    /// The engine.
    Engine,
    /// The subject.
    Subject,
    /// Engine and subject.
    Both,
}

/// Time in which at least one task of the machine waited, between the subject's exec and its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Pressure {
    /// For a CPU.
    pub cpu_some_us: u64,
    /// For memory.
    pub memory_some_us: u64,
    /// For input or output.
    pub io_some_us: u64,
}

/// Results and costs of a peer program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PeerAccount {
    /// Program and arguments (invalid UTF-8 replaced).
    pub argv: Vec<String>,
    /// As in a shell (128 + N if signal N ended it); absent if the room ended it.
    pub exit_code: Option<i32>,
    /// CPU time of the whole process tree.
    #[serde(flatten)]
    pub cpu: CpuTime,
    /// Time from its exec to the first accepted connection; absent if it was not awaited or never accepted one.
    pub ready_ns: Option<u64>,
}

/// State of a server at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerState {
    /// It accepted connections and ended after SIGTERM.
    Served,
    /// It accepted no connection in time.
    NeverListened,
    /// It ended by itself.
    Died,
    /// It ignored SIGTERM and was killed.
    Outlived,
}

/// Results of a subject that is a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerAccount {
    /// Address to listen at.
    pub address: IpAddr,
    /// Port to listen at.
    pub port: u16,
    /// Time from its exec to the first accepted connection; absent if it accepted none.
    pub ready_ns: Option<u64>,
    /// State at the end.
    pub state: ServerState,
    /// Time from SIGTERM to its end; absent if it ended without one.
    pub ended_after_ns: Option<u64>,
    /// Samples of the tree's open descriptors: nanoseconds since exec, number.
    pub descriptors: Vec<(u64, u64)>,
    /// Largest number of descriptors of one process.
    pub most_descriptors_of_one_process: Option<u64>,
    /// Limit of open descriptors of that process.
    pub descriptor_limit: Option<u64>,
}

/// Results and costs of the driver of a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DriverAccount {
    /// Program and arguments (invalid UTF-8 replaced).
    pub argv: Vec<String>,
    /// Exit code, if it exited.
    pub exit_code: Option<i32>,
    /// Signal that ended it.
    pub signal: Option<i32>,
    /// CPU time of the whole process tree.
    #[serde(flatten)]
    pub cpu: CpuTime,
    /// Time of its exec, counted from the server's.
    pub started_ns: u64,
    /// Time from its exec to the end of the last process under it.
    pub wall_ns: u64,
}

/// The complete account of a trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ending {
    /// How it ended.
    pub outcome: Outcome,
    /// One line, where the outcome needs it.
    pub reason: Option<String>,
    /// The subject.
    pub subject: SubjectAccount,
    /// The engine's CPU time between the subject's exec and its end, without the link's.
    pub engine: CpuTime,
    /// The link, if there was one.
    pub link: Option<LinkAccount>,
    /// The peer program, if there was one.
    pub peer: Option<PeerAccount>,
    /// The subject as a server, if it is one.
    pub server: Option<ServerAccount>,
    /// The driver of a server; absent if it was not started.
    pub driver: Option<DriverAccount>,
    /// The CPUs that processed received packets.
    pub receive_steering: ReceiveSteering,
    /// Use of the pinned CPUs. With a driver, this and the following figures, like the engine's, cover only its run.
    pub cpus: Vec<CpuAccount>,
    /// Pressure, if the kernel reports it.
    pub pressure: Option<Pressure>,
    /// Time in which CPU quotas of the control groups above the room throttled processes, summed over CPUs;
    /// absent if no group counts it.
    pub throttled_ns: Option<u64>,
}

impl Ending {
    /// Return the exit status for this ending: the subject's own (128 + N if signal N ended it),
    /// 124 for the deadline, 130 after an interruption, 127 if it could not be executed, 125 if its link missed the specification or
    /// its peer was not ready. A server with a complete account has zero, whatever its state.
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
