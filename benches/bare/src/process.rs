//! The CPU of this process: which one it runs on, and how long it ran.

use std::time::Duration;

use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// Keeps this process on one CPU.
pub fn pin(cpu: Option<usize>) -> anyhow::Result<()> {
    let Some(cpu) = cpu else {
        return Ok(());
    };
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set)?)
}

/// CPU time used so far.
pub fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
}

/// Prints a count and the CPU time that it took, as one line of JSON.
pub fn report(what: &str, count: u64, cpu: Duration) {
    let cpu_s = cpu.as_secs_f64();
    let rate = count as f64 / cpu_s.max(f64::MIN_POSITIVE);
    println!("{{\"{what}\": {count}, \"cpu_s\": {cpu_s:.6}, \"per_cpu_s\": {rate:.0}}}");
}
