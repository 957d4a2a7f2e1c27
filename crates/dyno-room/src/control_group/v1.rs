//! Control groups, version 1: one folder in each controller's hierarchy.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::hierarchy::{Hierarchies, Hierarchy};
use super::{
    ControlGroup, GroupOptions, create_folder, in_folder, open_entry, remove_folder, write_setting,
};
use crate::account::Accounting;
use crate::cpu_time::CpuTime;

/// Make a group in the hierarchies of `cpuacct` and, if mounted, `memory` and `cpuset`.
pub(super) fn create(
    hierarchies: &Hierarchies,
    name: &str,
    options: GroupOptions,
) -> io::Result<ControlGroup> {
    let cpu_folder = folder_for(hierarchies, "cpuacct", name, |_| Ok(()))?;
    let mut folders = vec![cpu_folder.clone()];
    let mut memory_folder = None;
    let mut memory_reason = None;
    match folder_for(hierarchies, "memory", name, |folder| {
        bound_memory(folder, options)
    }) {
        Ok(folder) => memory_folder = Some(folder),
        Err(error) => memory_reason = Some(error.to_string()),
    }
    // The subject is already pinned; this keeps it from moving itself.
    let pinned = folder_for(hierarchies, "cpuset", name, |folder| pin(folder, options)).ok();
    folders.extend(memory_folder.iter().cloned().chain(pinned));
    folders.sort();
    folders.dedup();
    let entries = folders
        .iter()
        .map(|folder| open_entry(folder))
        .collect::<io::Result<_>>();
    let entries =
        entries.inspect_err(|_| folders.iter().for_each(|folder| _ = remove_folder(folder)))?;
    Ok(ControlGroup {
        accounting: Accounting::CgroupV1,
        folders,
        cpu_folder: Some(cpu_folder),
        memory_folder,
        memory_reason,
        entries,
    })
}

fn folder_for(
    hierarchies: &Hierarchies,
    controller: &str,
    name: &str,
    set_up: impl Fn(&Path) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let mut problem = io::Error::new(
        io::ErrorKind::NotFound,
        format!("no hierarchy of control groups has the controller {controller}"),
    );
    for parent in hierarchies
        .v1(controller)
        .into_iter()
        .flat_map(Hierarchy::parents)
    {
        let folder = parent.join(name);
        // Controllers mounted together share the folder.
        let created = if folder.is_dir() {
            set_up(&folder)
        } else {
            create_folder(&folder, || set_up(&folder))
        };
        match created {
            Ok(()) => return Ok(folder),
            Err(error) => problem = error,
        }
    }
    Err(problem)
}

fn bound_memory(folder: &Path, options: GroupOptions) -> io::Result<()> {
    let Some(limit) = options.memory_limit_bytes else {
        return Ok(());
    };
    write_setting(folder, "memory.limit_in_bytes", &limit.to_string())?;
    // Absent if the kernel does not account for swap.
    let _ = write_setting(folder, "memory.memsw.limit_in_bytes", &limit.to_string());
    Ok(())
}

fn pin(folder: &Path, options: GroupOptions) -> io::Result<()> {
    // A new group has no memory nodes and accepts no process until it has some.
    let parent = folder
        .parent()
        .unwrap_or(folder)
        .join("cpuset.effective_mems");
    let nodes = fs::read_to_string(&parent).map_err(|error| in_folder(&parent, &error))?;
    write_setting(folder, "cpuset.mems", nodes.trim())?;
    write_setting(folder, "cpuset.cpus", &options.cpus.to_string())
}

/// Files with the CPU time of all past and present processes of the group.
pub(super) const CPU_FILES: &[&str] = &["cpuacct.usage", "cpuacct.usage_user", "cpuacct.usage_sys"];

/// Parse these files.
///
/// The total is exact. Its two parts are counted in ticks; only their proportion is used.
pub(super) fn cpu_time(texts: &[String]) -> Option<CpuTime> {
    let number = |which: usize| texts.get(which)?.trim().parse().ok();
    Some(apportion(number(0)?, number(1)?, number(2)?))
}

fn apportion(total: u64, user: u64, system: u64) -> CpuTime {
    let counted = u128::from(user) + u128::from(system);
    let cpu_user_ns = (u128::from(total) * u128::from(user))
        .checked_div(counted)
        .and_then(|part| u64::try_from(part).ok())
        .unwrap_or(total);
    CpuTime {
        cpu_user_ns,
        cpu_system_ns: total - cpu_user_ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_add_up_to_the_total() {
        for (total, user, system, expected_user) in [
            (100, 3, 1, 75),
            (100, 0, 1, 0),
            (100, 1, 0, 100),
            (100, 0, 0, 100),
            (0, 5, 5, 0),
            (u64::MAX, 1, 1, u64::MAX / 2),
        ] {
            let time = apportion(total, user, system);
            assert_eq!(time.cpu_user_ns, expected_user, "{total} {user} {system}");
            assert_eq!(time.cpu_user_ns + time.cpu_system_ns, total);
        }
    }
}
