//! Leftovers of engines that were killed with SIGKILL: control groups outlive their makers.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use crate::control_group::{GroupName, Hierarchies, remove_tree};

/// Maximum number of folders to search: a machine with thousands of services must not slow a room's start.
const MAXIMUM_FOLDERS: usize = 1_000;

/// Return the control groups whose engine is gone, in any session.
pub(crate) fn control_groups() -> Vec<PathBuf> {
    let hierarchies = Hierarchies::of_this_process();
    let mut found: Vec<PathBuf> = hierarchies
        .used()
        .flat_map(|hierarchy| left_over_below(&hierarchy.top))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// Breadth first, so that groups near the top are found even if the limit is reached.
fn left_over_below(top: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = VecDeque::from([top.to_owned()]);
    for _ in 0..MAXIMUM_FOLDERS {
        let Some(folder) = folders.pop_front() else {
            break;
        };
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            match entry.file_name().to_str().map(str::parse::<GroupName>) {
                Some(Ok(name)) if name.is_left_over() => found.push(entry.path()),
                Some(Ok(_)) => {}
                _ => folders.push_back(entry.path()),
            }
        }
    }
    found
}

/// Remove them if this user may; `doctor` lists those of other users.
pub(crate) fn sweep() {
    for folder in control_groups() {
        let _ = remove_tree(&folder);
    }
}

/// Return the names and PIDs of other running engines.
pub(crate) fn other_engines() -> Vec<String> {
    let own = std::process::id().to_string();
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().into_string().ok()?;
            pid.parse::<u32>().ok().filter(|_| pid != own)?;
            let name = fs::read_to_string(entry.path().join("comm")).ok()?;
            (name.trim_end() == ENGINE).then(|| format!("{ENGINE} {pid}"))
        })
        .collect()
}

/// The engine's name in `/proc`.
const ENGINE: &str = "httpdyno-engine";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftovers_are_found_at_any_depth() {
        let top = std::env::temp_dir().join(format!("dyno-room-leftovers-{}", std::process::id()));
        let own = GroupName::own().to_string();
        let earlier = own
            .rsplit_once('-')
            .map(|(head, _)| format!("{head}-1"))
            .unwrap();
        for name in [&own, &earlier] {
            fs::create_dir_all(top.join("user.slice/session").join(name)).unwrap();
        }
        fs::create_dir(top.join(&earlier)).unwrap();
        assert_eq!(
            left_over_below(&top),
            [
                top.join(&earlier),
                top.join("user.slice/session").join(&earlier)
            ]
        );
        fs::remove_dir_all(&top).unwrap();
    }
}
