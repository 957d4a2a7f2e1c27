//! Pins the current thread to a CPU, builds its runtime, and reads the CPU time of the thread and of the process.

use std::io;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use tokio::runtime::Builder;

/// Pins the calling thread, and all threads that it starts later, to one CPU.
///
/// # Errors
///
/// If the kernel refuses, or no CPU can have this number.
pub fn pin(cpu: usize) -> io::Result<()> {
    if cpu >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut cpus = CpuSet::new();
    cpus.set(cpu);
    Ok(sched_setaffinity(None, &cpus)?)
}

/// Builder of a runtime for the calling thread, with I/O but without tokio's timer: an [`Alarm`](crate::Alarm) is more
/// precise.
#[must_use]
pub fn runtime() -> Builder {
    let mut builder = Builder::new_current_thread();
    builder.enable_io();
    builder
}

/// CPU time used by the calling thread.
#[must_use]
pub fn thread_cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// CPU time used by all threads of the process.
#[must_use]
pub fn process_cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_pinned_to_one_cpu() {
        std::thread::spawn(|| {
            let allowed = rustix::thread::sched_getaffinity(None).unwrap();
            let last = (0..CpuSet::MAX_CPU).rfind(|&cpu| allowed.is_set(cpu));
            pin(last.unwrap()).unwrap();
            let pinned = rustix::thread::sched_getaffinity(None).unwrap();
            assert_eq!(pinned.count(), 1);
            assert!(pinned.is_set(last.unwrap()));
            let refused = pin(CpuSet::MAX_CPU).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
        })
        .join()
        .unwrap();
    }
}
