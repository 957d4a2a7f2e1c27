//! Activity of the machine between two moments: CPUs, pressure, quotas of its control groups.

use std::fs;

use crate::account::{CpuAccount, CpuRole, Pressure};
use crate::control_group::Quotas;
use crate::cpu::CpuSet;
use crate::cpu_time::{CpuTime, NANOSECONDS_PER_SECOND};
use crate::process::own_cpu_time;
use crate::protocol::Instants;

/// Counters of the machine and of this process at one moment.
#[derive(Debug, Clone)]
pub struct MachineSnapshot {
    at: Instants,
    stat: String,
    pressure: Option<Pressure>,
    quotas: Quotas,
    engine: CpuTime,
}

impl MachineSnapshot {
    /// Read all counters.
    #[must_use]
    pub fn take() -> Self {
        Self {
            at: Instants::now(),
            stat: fs::read_to_string("/proc/stat").unwrap_or_default(),
            pressure: read_pressure(),
            quotas: Quotas::read(),
            engine: own_cpu_time(),
        }
    }

    /// Return a snapshot without the CPU time of a thread that is accounted separately.
    pub(crate) fn without(self, thread: CpuTime) -> Self {
        Self {
            engine: self.engine.since(thread),
            ..self
        }
    }

    /// Return the use of the CPUs of these sets since an earlier snapshot.
    #[must_use]
    pub fn cpus_since(&self, earlier: &Self, engine: &CpuSet, subject: &CpuSet) -> Vec<CpuAccount> {
        let tick_ns = NANOSECONDS_PER_SECOND / rustix::param::clock_ticks_per_second().max(1);
        let window_ns = self.at.monotonic_ns.saturating_sub(earlier.at.monotonic_ns);
        let roles = |cpu| match (engine.contains(cpu), subject.contains(cpu)) {
            (true, true) => Some(CpuRole::Both),
            (true, false) => Some(CpuRole::Engine),
            (false, true) => Some(CpuRole::Subject),
            (false, false) => None,
        };
        parse_stat(&self.stat)
            .filter_map(|(cpu, now)| {
                let (_, before) = parse_stat(&earlier.stat).find(|(found, _)| *found == cpu)?;
                Some(CpuAccount {
                    cpu,
                    role: roles(cpu)?,
                    busy_ns: now.busy.saturating_sub(before.busy) * tick_ns,
                    interrupt_ns: now.interrupt.saturating_sub(before.interrupt) * tick_ns,
                    steal_ns: now.steal.saturating_sub(before.steal) * tick_ns,
                    window_ns,
                })
            })
            .collect()
    }

    /// Return the pressure since an earlier snapshot.
    #[must_use]
    pub fn pressure_since(&self, earlier: &Self) -> Option<Pressure> {
        let (now, before) = (self.pressure?, earlier.pressure?);
        Some(Pressure {
            cpu_some_us: now.cpu_some_us.saturating_sub(before.cpu_some_us),
            memory_some_us: now.memory_some_us.saturating_sub(before.memory_some_us),
            io_some_us: now.io_some_us.saturating_sub(before.io_some_us),
        })
    }

    /// Return how long quotas throttled processes since an earlier snapshot.
    #[must_use]
    pub fn throttled_since(&self, earlier: &Self) -> Option<u64> {
        self.quotas.throttled_since(&earlier.quotas)
    }

    /// Return this process's CPU time since an earlier snapshot.
    #[must_use]
    pub fn engine_since(&self, earlier: &Self) -> CpuTime {
        self.engine.since(earlier.engine)
    }
}

/// Ticks of one CPU since boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    interrupt: u64,
    steal: u64,
}

/// Parse the lines `cpuN user nice system idle iowait irq softirq steal ...` of `/proc/stat`.
fn parse_stat(text: &str) -> impl Iterator<Item = (usize, Ticks)> + '_ {
    text.lines().filter_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let cpu = fields.next()?.strip_prefix("cpu")?.parse().ok()?;
        let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
        match ticks[..] {
            [user, nice, system, _idle, _iowait, irq, softirq, steal, ..] => Some((
                cpu,
                Ticks {
                    busy: user + nice + system + irq + softirq,
                    interrupt: irq + softirq,
                    steal,
                },
            )),
            _ => None,
        }
    })
}

/// Read the pressure files; `None` if the kernel lacks or disables them.
fn read_pressure() -> Option<Pressure> {
    let some = |resource| {
        parse_some_total(&fs::read_to_string(format!("/proc/pressure/{resource}")).ok()?)
    };
    Some(Pressure {
        cpu_some_us: some("cpu")?,
        memory_some_us: some("memory")?,
        io_some_us: some("io")?,
    })
}

/// Parse `total` in the line `some`.
fn parse_some_total(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("some "))?;
    line.split(' ')
        .find_map(|field| field.strip_prefix("total="))?
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 10 1 20 1000 5 2 3 7 0 0\ncpu1 1 0 2 1000 5 0 0 0 0 0\nintr 5 0\n";

    fn snapshot(stat: &str, at_ns: u64) -> MachineSnapshot {
        MachineSnapshot {
            at: Instants {
                unix_ns: 0,
                monotonic_ns: at_ns,
            },
            stat: stat.to_owned(),
            pressure: None,
            quotas: Quotas::default(),
            engine: CpuTime::default(),
        }
    }

    #[test]
    fn busy_excludes_idle_iowait_and_steal() {
        let found: Vec<_> = parse_stat(STAT).collect();
        let ticks = |busy, interrupt, steal| Ticks {
            busy,
            interrupt,
            steal,
        };
        assert_eq!(found[0], (0, ticks(36, 5, 7)));
        assert_eq!(found[1], (1, ticks(3, 0, 0)));
        assert_eq!(found.len(), 2);
    }

    #[test]
    fn a_window_is_the_difference_of_its_ends() {
        let later = STAT
            .replace("cpu0 10", "cpu0 15")
            .replace(" 7 0 0", " 9 0 0");
        let tick_ns = NANOSECONDS_PER_SECOND / rustix::param::clock_ticks_per_second();
        let accounts = snapshot(&later, 500).cpus_since(
            &snapshot(STAT, 100),
            &CpuSet::from([0]),
            &CpuSet::from([0, 7]),
        );
        assert_eq!(
            accounts,
            [CpuAccount {
                cpu: 0,
                role: CpuRole::Both,
                busy_ns: 5 * tick_ns,
                interrupt_ns: 0,
                steal_ns: 2 * tick_ns,
                window_ns: 400,
            }]
        );
    }

    #[test]
    fn a_separately_accounted_thread_is_excluded() {
        let at = |engine, thread| {
            let of = |cpu_user_ns| CpuTime {
                cpu_user_ns,
                cpu_system_ns: 0,
            };
            let mut taken = snapshot("", 0);
            taken.engine = of(engine);
            taken.without(of(thread))
        };
        // Most of the thread's time was before this window, and it is more than the rest of the process used in it.
        let used = at(1_000, 900).engine_since(&at(800, 750));
        assert_eq!(used.total_ns(), 50);
    }

    #[test]
    fn pressure_is_the_total_of_some() {
        let text = "some avg10=0.00 avg60=1.00 avg300=0.00 total=123\nfull avg10=0.00 avg60=0 avg300=0 total=9\n";
        assert_eq!(parse_some_total(text), Some(123));
        assert_eq!(parse_some_total("full total=9\n"), None);
    }
}
