//! The subject's control group, which accounts for its CPU time and limits its memory.

mod cpu_reader;
mod hierarchy;
mod name;
mod quota;
mod v1;
mod v2;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

pub(crate) use cpu_reader::CpuReader;
pub(crate) use hierarchy::{Hierarchies, Version};
pub(crate) use name::GroupName;
pub(crate) use quota::Quotas;

use crate::account::Accounting;
use crate::cpu::CpuSet;
use crate::cpu_time::CpuTime;

/// Attempts to remove a folder, and the pause between them, while the kernel still cleans up its processes.
const REMOVAL_ATTEMPTS: u32 = 200;
const REMOVAL_PAUSE: Duration = Duration::from_millis(5);

/// Options of a control group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupOptions<'a> {
    pub(crate) cpus: &'a CpuSet,
    pub(crate) memory_limit_bytes: Option<u64>,
}

/// One folder or, in version 1, one per controller. Dropping it removes them.
#[derive(Debug)]
pub(crate) struct ControlGroup {
    accounting: Accounting,
    folders: Vec<PathBuf>,
    /// Folder of the CPU counters.
    cpu_folder: Option<PathBuf>,
    /// Folder of the counter of out-of-memory kills, if the limit is enforced.
    memory_folder: Option<PathBuf>,
    memory_reason: Option<String>,
    entries: Vec<OwnedFd>,
}

impl ControlGroup {
    /// Create the best group that this user may create: version 2 with memory, version 1, version 2 without memory,
    /// else none.
    pub(crate) fn create(options: GroupOptions) -> Self {
        let hierarchies = Hierarchies::of_this_process();
        let name = GroupName::own().to_string();
        let mut group = Self::none("no control group can be created here");
        let mut problems = Vec::new();
        for attempt in [
            v2::create as fn(&Hierarchies, &str, GroupOptions) -> io::Result<ControlGroup>,
            v1::create,
        ] {
            match attempt(&hierarchies, &name, options) {
                Ok(found) if found.memory_folder.is_some() || group.folders.is_empty() => {
                    group = found;
                }
                Ok(_) => {}
                Err(error) => problems.push(error.to_string()),
            }
            if group.memory_folder.is_some() {
                break;
            }
        }
        if group.folders.is_empty() && !problems.is_empty() {
            group.memory_reason = Some(problems.join("; "));
        }
        if options.memory_limit_bytes.is_none() {
            group.memory_reason = None;
        }
        group
    }

    fn none(reason: &str) -> Self {
        Self {
            accounting: Accounting::Rusage,
            folders: Vec::new(),
            cpu_folder: None,
            memory_folder: None,
            memory_reason: Some(reason.to_owned()),
            entries: Vec::new(),
        }
    }

    /// Return the source of the CPU time.
    pub(crate) fn accounting(&self) -> Accounting {
        self.accounting
    }

    /// Return what enforces the memory limit, or why it is not enforced.
    pub(crate) fn memory_limit(&self) -> (Option<Accounting>, Option<&str>) {
        match &self.memory_folder {
            Some(_) if self.memory_reason.is_none() => (Some(self.accounting), None),
            _ => (None, self.memory_reason.as_deref()),
        }
    }

    /// Return the files through which a process joins the group.
    pub(crate) fn take_entries(&mut self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.entries)
    }

    /// Return the CPU time of all past and present processes of the group; `None` if it does not account for CPU time.
    pub(crate) fn cpu_time(&self) -> Option<CpuTime> {
        self.cpu_reader()?.read()
    }

    /// Return a reader for repeated reads of the CPU time; `None` if the group does not account for it.
    pub(crate) fn cpu_reader(&self) -> Option<CpuReader> {
        CpuReader::open(self.accounting, self.cpu_folder.as_deref()?)
    }

    /// Return whether the kernel killed a process of the group because memory ran out.
    pub(crate) fn out_of_memory(&self) -> bool {
        let Some(folder) = self.memory_folder.as_deref() else {
            return false;
        };
        let file = match self.accounting {
            Accounting::CgroupV1 => "memory.oom_control",
            _ => "memory.events",
        };
        keyed_number(&folder.join(file), "oom_kill").is_some_and(|kills| kills > 0)
    }

    /// Remove the folders; wait briefly while the kernel cleans up the processes that ran in them.
    pub(crate) fn remove(&mut self) {
        self.entries.clear();
        for folder in self.folders.drain(..) {
            remove_folder(&folder);
        }
    }
}

impl Drop for ControlGroup {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Remove one folder and the groups that the subject made in it; return true if it is gone.
pub(crate) fn remove_folder(folder: &Path) -> bool {
    for _ in 0..REMOVAL_ATTEMPTS {
        match remove_tree(folder) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => sleep(REMOVAL_PAUSE),
            Err(error) => return error.kind() == io::ErrorKind::NotFound,
            Ok(()) => return true,
        }
    }
    false
}

/// Remove a folder and the groups in it, or return why not.
pub(crate) fn remove_tree(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_tree(&entry.path())?;
        }
    }
    fs::remove_dir(folder)
}

/// Make a folder; remove it again if its setup fails.
fn create_folder(folder: &Path, set_up: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    fs::create_dir(folder).map_err(|error| in_folder(folder, &error))?;
    set_up().inspect_err(|_| {
        remove_folder(folder);
    })
}

fn in_folder(folder: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", folder.display()))
}

fn write_setting(folder: &Path, file: &str, value: &str) -> io::Result<()> {
    fs::write(folder.join(file), value).map_err(|error| in_folder(&folder.join(file), &error))
}

fn open_entry(folder: &Path) -> io::Result<OwnedFd> {
    let file = folder.join("cgroup.procs");
    let opened = fs::OpenOptions::new().write(true).open(&file);
    Ok(opened.map_err(|error| in_folder(&file, &error))?.into())
}

fn keyed_number(path: &Path, key: &str) -> Option<u64> {
    find_keyed(&fs::read_to_string(path).ok()?, key)
}

/// Return the number of a key in lines of `key number`.
fn find_keyed(text: &str, key: &str) -> Option<u64> {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(found, _)| *found == key)
        .and_then(|(_, number)| number.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keyed_numbers_match_the_whole_key() {
        let text = "low 0\noom 2\noom_kill 3\noom_group_kill 4\n";
        assert_eq!(find_keyed(text, "oom_kill"), Some(3));
        assert_eq!(find_keyed(text, "oom"), Some(2));
        assert_eq!(find_keyed(text, "kill"), None);
    }
}
