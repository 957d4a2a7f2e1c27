//! Control groups, version 2: one folder for all controllers.

use std::fs;
use std::io;
use std::path::Path;

use super::hierarchy::{Hierarchies, Hierarchy};
use super::{ControlGroup, GroupOptions, create_folder, find_keyed, open_entry, write_setting};
use crate::account::Accounting;
use crate::cpu_time::CpuTime;

const NANOSECONDS_PER_MICROSECOND: u64 = 1_000;

/// Make a group with a memory limit if possible, else one that only accounts for CPU time.
pub(super) fn create(
    hierarchies: &Hierarchies,
    name: &str,
    options: GroupOptions,
) -> io::Result<ControlGroup> {
    let hierarchy = hierarchies.v2().ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            "control groups version 2 are not mounted",
        )
    })?;
    let parent = best_parent(hierarchy)?;
    let folder = parent.join(name);
    let mut memory_reason = None;
    let mut entry = None;
    create_folder(&folder, || {
        if has(&folder, "cpuset") {
            // The subject is already pinned; this keeps it from moving itself.
            let _ = write_setting(&folder, "cpuset.cpus", &options.cpus.to_string());
        }
        memory_reason = bound_memory(&folder, options);
        entry = Some(open_entry(&folder)?);
        Ok(())
    })?;
    Ok(ControlGroup {
        accounting: Accounting::CgroupV2,
        cpu_folder: Some(folder.clone()),
        memory_folder: memory_reason.is_none().then(|| folder.clone()),
        memory_reason,
        folders: vec![folder],
        entries: entry.into_iter().collect(),
    })
}

/// Return the first parent whose groups have the memory controller, else the first that this user may write to.
fn best_parent(hierarchy: &Hierarchy) -> io::Result<&Path> {
    let offer = |parent: &&Path| {
        // Refused if the parent has processes of its own; the next candidate may work.
        let _ = fs::write(parent.join("cgroup.subtree_control"), "+memory");
        let _ = fs::write(parent.join("cgroup.subtree_control"), "+cpuset");
        enabled(parent, "memory")
    };
    let mut writable = hierarchy
        .parents()
        .filter(|parent| is_writable(parent))
        .peekable();
    let first = writable.peek().copied();
    writable.find(offer).or(first).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("this user may not write to {}", hierarchy.own.display()),
        )
    })
}

fn is_writable(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}

fn enabled(parent: &Path, controller: &str) -> bool {
    lists(&parent.join("cgroup.subtree_control"), controller)
}

fn has(folder: &Path, controller: &str) -> bool {
    lists(&folder.join("cgroup.controllers"), controller)
}

fn lists(file: &Path, controller: &str) -> bool {
    fs::read_to_string(file)
        .is_ok_and(|text| text.split_whitespace().any(|found| found == controller))
}

/// Set the memory limit; return why it is not enforced, if so.
fn bound_memory(folder: &Path, options: GroupOptions) -> Option<String> {
    if !has(folder, "memory") {
        return Some(format!(
            "the memory controller is not enabled for groups in {}",
            folder.parent().unwrap_or(folder).display()
        ));
    }
    let limit = options.memory_limit_bytes?;
    // Without this, the kernel would kill one process of a subject and leave the others hanging.
    let _ = write_setting(folder, "memory.oom.group", "1");
    let _ = write_setting(folder, "memory.swap.max", "0");
    write_setting(folder, "memory.max", &limit.to_string())
        .err()
        .map(|error| error.to_string())
}

/// File with the CPU time of all past and present processes of the group.
pub(super) const CPU_FILES: &[&str] = &["cpu.stat"];

/// Parse this file.
pub(super) fn cpu_time(texts: &[String]) -> Option<CpuTime> {
    let number = |key| find_keyed(texts.first()?, key);
    Some(CpuTime {
        cpu_user_ns: number("user_usec")? * NANOSECONDS_PER_MICROSECOND,
        cpu_system_ns: number("system_usec")? * NANOSECONDS_PER_MICROSECOND,
    })
}
