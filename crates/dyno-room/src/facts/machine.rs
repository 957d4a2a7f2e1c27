//! Facts about the hardware and its settings that affect figures.

use std::collections::BTreeSet;
use std::fs;

use rustix::process::{Resource, getrlimit};

use super::{Fact, Fitness, Value};
use crate::cpu::CpuSet;

/// Two files per connection at the concurrency of the largest published experiments, rounded up.
const ENOUGH_FILES: u64 = 10_000;
/// Clocks that are read without a system call or a slow device.
const FAST_CLOCKS: &[&str] = &[
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
];

pub(super) fn facts() -> Vec<Fact> {
    vec![
        cpus(CpuSet::allowed().map_or(1, |allowed| allowed.iter().count())),
        governor(&governors()),
        clock_source(
            fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource")
                .ok()
                .map(|name| name.trim().to_owned()),
        ),
        open_files(getrlimit(Resource::Nofile).maximum),
    ]
}

fn cpus(count: usize) -> Fact {
    const NAME: &str = "cpus";
    let value = Value::Number(i64::try_from(count).unwrap_or(i64::MAX));
    if count >= 2 {
        return Fact::good(NAME, value);
    }
    Fact::poor(
        NAME,
        value,
        Fitness::Limited,
        "subject and engine share one CPU and slow each other",
        "use a machine with two CPUs or more",
    )
}

fn governors() -> BTreeSet<String> {
    let Ok(cpus) = CpuSet::allowed() else {
        return BTreeSet::new();
    };
    cpus.iter()
        .filter_map(|cpu| {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
            Some(fs::read_to_string(path).ok()?.trim().to_owned())
        })
        .collect()
}

/// A virtual machine usually has no governor: its host controls the frequency.
fn governor(found: &BTreeSet<String>) -> Fact {
    const NAME: &str = "governor";
    let value = if found.is_empty() {
        Value::Unknown
    } else {
        Value::List(found.iter().cloned().collect())
    };
    if found.iter().all(|name| name == "performance") {
        return Fact::good(NAME, value);
    }
    Fact::poor(
        NAME,
        value,
        Fitness::Limited,
        "CPUs change their frequency during a trial",
        "as root: cpupower frequency-set -g performance",
    )
}

fn clock_source(found: Option<String>) -> Fact {
    const NAME: &str = "clock_source";
    match found {
        Some(name) if FAST_CLOCKS.contains(&name.as_str()) => Fact::good(NAME, Value::Text(name)),
        other => Fact::poor(
            NAME,
            other.map_or(Value::Unknown, Value::Text),
            Fitness::Limited,
            "reading the clock is slow, and every sample reads it twice",
            "boot with clocksource=tsc if the CPU's TSC is stable",
        ),
    }
}

fn open_files(limit: Option<u64>) -> Fact {
    const NAME: &str = "open_files";
    let value = limit.map_or(Value::Unknown, |limit| {
        Value::Number(i64::try_from(limit).unwrap_or(i64::MAX))
    });
    if limit.is_none_or(|limit| limit >= ENOUGH_FILES) {
        return Fact::good(NAME, value);
    }
    Fact::poor(
        NAME,
        value,
        Fitness::Limited,
        "high concurrency runs out of files",
        "raise the hard limit: ulimit -Hn 65536 as root, or LimitNOFILE= of the service",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_slow_figures_are_limited() {
        let governors = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        for (fact, expected) in [
            (cpus(1), Fitness::Limited),
            (cpus(2), Fitness::Yes),
            (governor(&governors(&[])), Fitness::Yes),
            (governor(&governors(&["performance"])), Fitness::Yes),
            (
                governor(&governors(&["performance", "powersave"])),
                Fitness::Limited,
            ),
            (clock_source(Some("tsc".to_owned())), Fitness::Yes),
            (clock_source(Some("hpet".to_owned())), Fitness::Limited),
            (clock_source(None), Fitness::Limited),
            (open_files(Some(1024)), Fitness::Limited),
            (open_files(Some(20_000)), Fitness::Yes),
            (open_files(None), Fitness::Yes),
        ] {
            assert_eq!(fact.ok, expected, "{fact:?}");
        }
    }
}
