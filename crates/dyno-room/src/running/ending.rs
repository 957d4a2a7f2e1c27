//! The account of a room after its subject has ended or failed to start.

use std::ffi::OsString;

use super::{Running, Samples, SubjectEnd};
use crate::account::{Ending, Outcome, PeerAccount, SubjectAccount};
use crate::cpu_time::CpuTime;
use crate::error::Result;
use crate::init_process::Counted;
use crate::machine_window::MachineSnapshot;
use crate::protocol::{Cause, Instants, PeerEnd, Request, ResidentPeak};
use crate::room::Room;

/// Memory that a process may use, in addition to that of the room's first process, before its exec.
const BEFORE_EXEC_BYTES: u64 = 4 << 20;

impl Running {
    pub(super) fn account(
        &self,
        started: Instants,
        end: &SubjectEnd,
        counted: &Counted,
        samples: &Samples,
    ) -> Ending {
        let outcome = match (end.cause, end.signal) {
            (Cause::Deadline, _) => Outcome::Deadline,
            (Cause::Stopped, _) => Outcome::Interrupted,
            (Cause::Own, Some(_)) => Outcome::Signaled,
            (Cause::Own, None) => Outcome::Exited,
        };
        let options = &self.room.options;
        Ending {
            outcome,
            reason: reason(outcome, end.signal, self.room.group.out_of_memory()),
            subject: self.subject_account(started, end, counted, samples),
            engine: end.after.engine_since(&self.before),
            link: end.link.clone(),
            peer: self.peer_account(counted.peer),
            server: None,
            driver: None,
            receive_steering: self.room.steering.clone(),
            cpus: end
                .after
                .cpus_since(&self.before, &options.engine_cpus, &options.subject_cpus),
            pressure: end.after.pressure_since(&self.before),
            throttled_ns: end.after.throttled_since(&self.before),
        }
    }

    fn subject_account(
        &self,
        started: Instants,
        end: &SubjectEnd,
        counted: &Counted,
        samples: &Samples,
    ) -> SubjectAccount {
        let memory = &samples.tree.memory;
        SubjectAccount {
            exit_code: end.exit_code,
            signal: end.signal,
            started_at_ns: Some(started.unix_ns),
            ended_at_ns: Some(end.at.unix_ns),
            wall_ns: end.at.monotonic_ns.saturating_sub(started.monotonic_ns),
            cpu: self.room.group.cpu_time().unwrap_or(counted.subject),
            peak_memory_bytes: peak_memory(memory, counted.peak),
            memory: memory.clone(),
            cpu_series: samples.cpu.clone(),
            out_of_memory: self.room.group.out_of_memory(),
            sent_bytes: end.counters.map(|link| link.sent_bytes),
            received_bytes: end.counters.map(|link| link.received_bytes),
            sent_packets: end.counters.map(|link| link.sent_packets),
            received_packets: end.counters.map(|link| link.received_packets),
            without_route: end.without_route,
            ..self.blank_account()
        }
    }

    fn peer_account(&self, end: Option<PeerEnd>) -> Option<PeerAccount> {
        let (peer, end) = self.room.peer.as_ref().zip(end)?;
        Some(PeerAccount {
            argv: text(&peer.argv),
            // As in a shell, if it ended by itself.
            exit_code: end
                .exit_code
                .or(end.signal.map(|signal| 128 + signal))
                .filter(|_| !end.was_asked),
            cpu: end.cpu,
            ready_ns: peer.ready_ns,
        })
    }

    /// End a room whose subject must not start.
    pub(crate) fn refused(
        room: Room,
        argv: Vec<OsString>,
        outcome: Outcome,
        reason: String,
    ) -> Result<Ending> {
        let before = MachineSnapshot::take();
        Self::new(room, argv, Err(reason), before, None, None)?.never_started(outcome)
    }

    pub(super) fn never_started(mut self, outcome: Outcome) -> Result<Ending> {
        let now = MachineSnapshot::take();
        self.take_terminal_back();
        let link = self.link()?;
        // If the first process is gone, the next read of the channel fails.
        let _ = self.room.init.channel.send(&Request::Leave, &[]);
        let counted = self.room.init.counted()?;
        Ok(Ending {
            outcome,
            reason: self.start.clone().err(),
            subject: self.blank_account(),
            engine: now.engine_since(&self.before),
            link,
            peer: self.peer_account(counted.peer),
            server: None,
            driver: None,
            receive_steering: self.room.steering.clone(),
            cpus: Vec::new(),
            pressure: None,
            throttled_ns: None,
        })
    }

    /// Return the account of a subject that did not run.
    fn blank_account(&self) -> SubjectAccount {
        let limit = self.room.options.memory_limit_bytes;
        let (enforced_by, limit_reason) = self.room.group.memory_limit();
        SubjectAccount {
            argv: text(&self.argv),
            exit_code: None,
            signal: None,
            started_at_ns: None,
            ended_at_ns: None,
            wall_ns: 0,
            cpu: CpuTime::default(),
            peak_memory_bytes: None,
            memory: Vec::new(),
            cpu_series: Vec::new(),
            accounting: self.room.group.accounting(),
            memory_limit_bytes: limit,
            memory_limit_enforced_by: enforced_by.filter(|_| limit.is_some()),
            memory_limit_reason: limit_reason.filter(|_| limit.is_some()).map(str::to_owned),
            out_of_memory: false,
            sent_bytes: None,
            received_bytes: None,
            sent_packets: None,
            received_packets: None,
            without_route: None,
        }
    }
}

/// Return the peak memory of a tree: its largest sample, or the peak of one process that no sample saw.
fn peak_memory(samples: &[(u64, u64)], resident: ResidentPeak) -> Option<u64> {
    let largest = samples.iter().map(|&(_, bytes)| bytes).max();
    let is_subjects_own = resident.subject > resident.init + BEFORE_EXEC_BYTES;
    let of_one =
        Some(resident.subject).filter(|&bytes| is_subjects_own || largest.is_none() && bytes > 0);
    largest.max(of_one)
}

fn reason(outcome: Outcome, signal: Option<i32>, out_of_memory: bool) -> Option<String> {
    match (outcome, signal) {
        (Outcome::Deadline, _) => Some("the subject did not end before the deadline".to_owned()),
        (Outcome::Interrupted, _) => Some("the engine was interrupted".to_owned()),
        (_, Some(signal)) if out_of_memory => Some(format!(
            "ended by signal {signal}: killed by the kernel, out of memory"
        )),
        (Outcome::Signaled, Some(signal)) => Some(format!("ended by signal {signal}")),
        _ if out_of_memory => {
            Some("the kernel killed a process of the subject: out of memory".to_owned())
        }
        _ => None,
    }
}

pub(super) fn text(argv: &[OsString]) -> Vec<String> {
    argv.iter()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::peak_memory;
    use crate::protocol::ResidentPeak;

    const MIB: u64 = 1 << 20;

    #[test]
    fn the_peak_is_that_of_the_samples_or_of_a_process_between_them() {
        let peak = |samples: &[u64], subject, init| {
            let samples: Vec<_> = samples.iter().map(|mib| (0, mib * MIB)).collect();
            let resident = ResidentPeak {
                subject: subject * MIB,
                init: init * MIB,
            };
            peak_memory(&samples, resident).map(|bytes| bytes / MIB)
        };
        // Several processes have more together than the largest has.
        assert_eq!(peak(&[20, 90, 30], 40, 10), Some(90));
        // A short peak between two samples.
        assert_eq!(peak(&[2, 3], 500, 10), Some(500));
        // A copy of the first process, until its exec.
        assert_eq!(peak(&[2, 3], 11, 10), Some(3));
        // No sample: at most as much as the first process.
        assert_eq!(peak(&[], 11, 10), Some(11));
        // No subject.
        assert_eq!(peak(&[], 0, 10), None);
    }
}
