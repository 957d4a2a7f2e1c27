//! CPU time and memory of the process.

use std::time::Duration;

/// CPU time of the process.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Cpu {
    total: Duration,
    /// In clock ticks, which are coarse: used only for the proportion of user to system time.
    user_ticks: u64,
    system_ticks: u64,
}

impl Cpu {
    pub(crate) fn now() -> Self {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        // The program's name, in parentheses, may contain anything; the numbers follow it.
        let numbers = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut ticks = numbers.split_ascii_whitespace().skip(11).map(str::parse);
        let mut next = || ticks.next().and_then(Result::ok).unwrap_or(0);
        Self {
            total: dyno_io::process_cpu_time(),
            user_ticks: next(),
            system_ticks: next(),
        }
    }

    /// Seconds since `before`: in all, in user mode, in the kernel.
    #[expect(clippy::cast_precision_loss, reason = "clock ticks are below 2^53")]
    pub(crate) fn since_s(&self, before: &Self) -> (f64, f64, f64) {
        let total = self.total.saturating_sub(before.total).as_secs_f64();
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

/// Peak memory of the process; `None` if the kernel does not report it.
pub(crate) fn peak_memory_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
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
}
