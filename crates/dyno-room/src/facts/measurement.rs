//! Facts about the accounting of subjects, and leftovers of earlier engines.

use std::fs;
use std::io;

use super::{Fact, Fitness, Value};
use crate::account::Accounting;
use crate::control_group::{ControlGroup, GroupOptions, Hierarchies, Version};
use crate::cpu::CpuSet;
use crate::{leftovers, namespaces};

/// Memory limit of the trial group of `doctor`, in which nothing runs.
const SOME_BYTES: u64 = 1 << 30;

pub(super) fn facts() -> Vec<Fact> {
    vec![
        control_groups(),
        memory_limit(),
        pressure(),
        perf_event_paranoid(),
        hardware_counters(),
        left_over_control_groups(),
        engine_processes(),
    ]
}

/// Return the mounted versions and controllers.
fn control_groups() -> Fact {
    let hierarchies = Hierarchies::of_this_process();
    let described = hierarchies
        .iter()
        .map(|hierarchy| match &hierarchy.version {
            Version::V1(controllers) => format!("v1: {}", controllers.join(",")),
            Version::V2 => {
                let controllers = fs::read_to_string(hierarchy.top.join("cgroup.controllers"));
                format!(
                    "v2: {}",
                    controllers.unwrap_or_default().trim().replace(' ', ",")
                )
            }
        });
    Fact::good("control_groups", Value::List(described.collect()))
}

/// Return what a group made by this user accounts for and enforces.
fn memory_limit() -> Fact {
    const NAME: &str = "accounting";
    let cpus = CpuSet::allowed().unwrap_or_else(|_| CpuSet::from([0]));
    let group = ControlGroup::create(GroupOptions {
        cpus: &cpus,
        memory_limit_bytes: Some(SOME_BYTES),
    });
    let value = Value::Text(
        match group.accounting() {
            Accounting::CgroupV1 => "cgroup-v1",
            Accounting::CgroupV2 => "cgroup-v2",
            Accounting::Rusage => "rusage",
        }
        .to_owned(),
    );
    match group.memory_limit() {
        (Some(_), _) => Fact::good(NAME, value),
        (None, reason) => Fact::poor(
            NAME,
            value,
            Fitness::Limited,
            &format!(
                "memory limits are not enforced: {}",
                reason.unwrap_or("the kernel gives no reason")
            ),
            "run as root, or let systemd delegate a group: systemd-run --user --scope -p Delegate=yes",
        ),
    }
}

fn pressure() -> Fact {
    const NAME: &str = "pressure";
    // The file may exist while pressure is disabled; then reading it fails.
    if fs::read_to_string("/proc/pressure/cpu").is_ok() {
        Fact::good(NAME, Value::Flag(true))
    } else {
        Fact::poor(
            NAME,
            Value::Flag(false),
            Fitness::Limited,
            "reports cannot show whether the machine was short of CPU, memory or disk",
            "boot with psi=1",
        )
    }
}

fn perf_event_paranoid() -> Fact {
    const NAME: &str = "perf_event_paranoid";
    /// Above this level a user may not count its own instructions.
    const OWN_PROCESSES: i64 = 2;
    let level = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid")
        .ok()
        .and_then(|text| text.trim().parse::<i64>().ok());
    let value = level.map_or(Value::Unknown, Value::Number);
    match level {
        Some(level) if level <= OWN_PROCESSES || namespaces::is_privileged() => {
            Fact::good(NAME, value)
        }
        _ => Fact::poor(
            NAME,
            value,
            Fitness::Limited,
            "no hardware counters for ordinary users",
            "as root: sysctl -w kernel.perf_event_paranoid=2",
        ),
    }
}

fn hardware_counters() -> Fact {
    const NAME: &str = "hardware_counters";
    match count_cycles() {
        Ok(()) => Fact::good(NAME, Value::Flag(true)),
        Err(error) => Fact::poor(
            NAME,
            Value::Text(format!("cycles cannot be counted: {error}")),
            Fitness::Limited,
            "no instruction counts: cost is measured in CPU time only",
            "use a machine, or a virtual machine, with a performance monitoring unit",
        ),
    }
}

/// Open a counter of this thread's cycles in user space.
fn count_cycles() -> io::Result<()> {
    /// The first published size of `struct perf_event_attr`; the kernel takes the rest as zero.
    const ATTRIBUTE_BYTES: usize = 64;
    const FLAGS_OFFSET: usize = 40;
    const DISABLED: u64 = 1;
    const EXCLUDE_KERNEL: u64 = 1 << 5;
    const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
    const CLOSE_ON_EXEC: libc::c_ulong = 8;
    // Type and event zero: hardware, cycles.
    let mut attribute = [0_u64; ATTRIBUTE_BYTES / 8];
    let size = u32::try_from(ATTRIBUTE_BYTES).unwrap_or(0);
    attribute[0] = u64::from_ne_bytes({
        let mut head = [0; 8];
        head[4..].copy_from_slice(&size.to_ne_bytes());
        head
    });
    attribute[FLAGS_OFFSET / 8] = DISABLED | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR;
    // SAFETY: the pointer is to a live, aligned structure whose size it holds itself; the other arguments are numbers.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            attribute.as_ptr(),
            0,
            -1,
            -1,
            CLOSE_ON_EXEC,
        )
    };
    let descriptor = i32::try_from(descriptor).unwrap_or(-1);
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor, and no other code has it.
    unsafe { libc::close(descriptor) };
    Ok(())
}

fn left_over_control_groups() -> Fact {
    const NAME: &str = "left_over_control_groups";
    let found = leftovers::control_groups();
    let paths: Vec<String> = found
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    if paths.is_empty() {
        return Fact::good(NAME, Value::List(paths));
    }
    let cure = format!(
        "the next room of the same user removes them, or: rmdir {}",
        paths.join(" ")
    );
    Fact::poor(
        NAME,
        Value::List(paths),
        Fitness::Limited,
        "an engine was killed with SIGKILL and left empty control groups",
        &cure,
    )
}

fn engine_processes() -> Fact {
    const NAME: &str = "engine_processes";
    let found = leftovers::other_engines();
    if found.is_empty() {
        return Fact::good(NAME, Value::List(found));
    }
    Fact::poor(
        NAME,
        Value::List(found),
        Fitness::Limited,
        "other trials are running: figures disturb each other",
        "wait until they have ended",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounted_hierarchies_are_listed() {
        let mounted = fs::read_to_string("/proc/self/mountinfo")
            .unwrap()
            .contains(" - cgroup");
        let Value::List(found) = control_groups().value else {
            panic!("a list");
        };
        assert_eq!(!found.is_empty(), mounted);
    }
}
