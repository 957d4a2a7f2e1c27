//! What engines that were killed outright left behind: control groups, which outlive their makers.

use std::fs;
use std::path::PathBuf;

use crate::control_group::{GroupName, Hierarchies, Hierarchy, remove_tree};

/// Folders of control groups whose engine is gone.
pub(crate) fn control_groups() -> Vec<PathBuf> {
    let hierarchies = Hierarchies::of_this_process();
    let mut found: Vec<PathBuf> = hierarchies
        .iter()
        .flat_map(Hierarchy::parents)
        .filter_map(|parent| fs::read_dir(parent).ok())
        .flatten()
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name
                .to_str()
                .and_then(|name| name.parse::<GroupName>().ok());
            name.is_some_and(GroupName::is_left_over)
        })
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// Removes them, as far as this user may; what another user left stays for `doctor` to list.
pub(crate) fn sweep() {
    for folder in control_groups() {
        let _ = remove_tree(&folder);
    }
}

/// Engines that run now, besides this one: their names and numbers.
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

/// The engine's name as the kernel shows it.
const ENGINE: &str = "httpdyno-engine";
