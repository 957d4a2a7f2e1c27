//! What the process has cost so far.

use rustix::time::{ClockId, clock_gettime};

/// CPU time of the process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cpu {
    total_ns: u64,
    /// In clock ticks, which are coarse: they only say how the total is shared.
    user_ticks: u64,
    system_ticks: u64,
}

impl Cpu {
    pub(super) fn now() -> Self {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        // The name of the program, in parentheses, may hold anything; the numbers come after it.
        let numbers = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut ticks = numbers.split_ascii_whitespace().skip(11).map(str::parse);
        let mut next = || ticks.next().and_then(Result::ok).unwrap_or(0);
        Self {
            total_ns: process_cpu_ns(),
            user_ticks: next(),
            system_ticks: next(),
        }
    }

    /// Seconds in all, in user mode, in the kernel, since an earlier moment.
    #[expect(clippy::cast_precision_loss, reason = "CPU times are below 2^53 ns")]
    pub(super) fn since_s(&self, before: &Self) -> (f64, f64, f64) {
        let total = (self.total_ns - before.total_ns) as f64 / 1e9;
        let user = (self.user_ticks - before.user_ticks) as f64;
        let system = (self.system_ticks - before.system_ticks) as f64;
        let share = if user + system > 0.0 {
            user / (user + system)
        } else {
            0.5
        };
        (total, total * share, total * (1.0 - share))
    }
}

/// The most memory that the process has had at a time; `None` where the kernel does not tell.
pub(super) fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

/// Time that the calling thread has had on a CPU.
pub(super) fn thread_cpu_ns() -> u64 {
    nanos(clock_gettime(ClockId::ThreadCPUTime))
}

/// Time in which the calling thread was ready to run and had no CPU; `None` where the kernel does not count it.
pub(super) fn thread_waited_ns() -> Option<u64> {
    waited(&std::fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// The second of `running waiting slices`.
fn waited(schedstat: &str) -> Option<u64> {
    schedstat.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Time that all threads of the process have had on a CPU.
fn process_cpu_ns() -> u64 {
    nanos(clock_gettime(ClockId::ProcessCPUTime))
}

fn nanos(time: rustix::time::Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_costs_time_and_memory() {
        let before = Cpu::now();
        let mut memory = vec![0_u8; 32 << 20];
        memory.fill(7);
        std::hint::black_box(&memory);
        let (total, user, system) = Cpu::now().since_s(&before);
        assert!(total > 0.0);
        assert!((user + system - total).abs() < 1e-9);
        assert!(peak_memory_bytes().unwrap() >= 32 << 20);
    }

    #[test]
    fn the_time_waited_is_the_second_number() {
        assert_eq!(waited("9022415 66112 7\n"), Some(66_112));
        assert_eq!(waited("1\n"), None);
        let kernel_tells = std::path::Path::new("/proc/thread-self/schedstat").exists();
        assert_eq!(thread_waited_ns().is_some(), kernel_tells);
    }
}
