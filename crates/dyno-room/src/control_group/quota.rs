//! Time for which CPU quotas of the control groups above a room have throttled processes.

use std::path::{Path, PathBuf};

use super::hierarchy::{Hierarchies, Hierarchy};
use super::keyed_number;

const NANOSECONDS_PER_MICROSECOND: u64 = 1_000;

/// Throttled time so far of each group from this process's own to the topmost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Quotas(Vec<(PathBuf, u64)>);

impl Quotas {
    /// Read the counters. A machine's quota is set on a group above the room (a container, a service), never below.
    pub(crate) fn read() -> Self {
        let hierarchies = Hierarchies::of_this_process();
        let found = [hierarchies.v2(), hierarchies.v1("cpu")];
        let groups = found.into_iter().flatten().flat_map(groups_above);
        Self(
            groups
                .filter_map(|folder| Some((folder.clone(), throttled_ns(&folder)?)))
                .collect(),
        )
    }

    /// Return the time since an earlier reading, of the group that throttled most; `None` if no group counts it.
    pub(crate) fn throttled_since(&self, earlier: &Self) -> Option<u64> {
        let since = |(folder, now): &(PathBuf, u64)| {
            let (_, before) = earlier.0.iter().find(|(found, _)| found == folder)?;
            Some(now.saturating_sub(*before))
        };
        self.0.iter().filter_map(since).max()
    }
}

/// Return the folders from a process's own to the topmost visible one.
fn groups_above(hierarchy: &Hierarchy) -> Vec<PathBuf> {
    hierarchy
        .own
        .ancestors()
        .take_while(|folder| folder.starts_with(&hierarchy.top))
        .map(Path::to_owned)
        .collect()
}

fn throttled_ns(folder: &Path) -> Option<u64> {
    let file = folder.join("cpu.stat");
    let of_version_2 =
        || keyed_number(&file, "throttled_usec")?.checked_mul(NANOSECONDS_PER_MICROSECOND);
    of_version_2().or_else(|| keyed_number(&file, "throttled_time"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::control_group::hierarchy::Version;

    fn quotas<const N: usize>(counts: [(&str, u64); N]) -> Quotas {
        Quotas(counts.map(|(folder, ns)| (folder.into(), ns)).into())
    }

    #[test]
    fn the_group_that_throttled_most_counts() {
        let before = quotas([("/a", 5), ("/a/b", 100)]);
        let after = quotas([("/a", 25), ("/a/b", 110), ("/new", 900)]);
        assert_eq!(after.throttled_since(&before), Some(20));
        assert_eq!(before.throttled_since(&before), Some(0));
        assert_eq!(quotas([]).throttled_since(&before), None);
    }

    #[test]
    fn both_versions_of_the_counter_are_read() {
        let top = std::env::temp_dir().join(format!("dyno-room-quota-{}", std::process::id()));
        let own = top.join("service");
        fs::create_dir_all(&own).unwrap();
        fs::write(
            top.join("cpu.stat"),
            "nr_periods 9\nnr_throttled 1\nthrottled_time 7000\n",
        )
        .unwrap();
        fs::write(own.join("cpu.stat"), "usage_usec 1\nthrottled_usec 3\n").unwrap();
        let hierarchy = Hierarchy {
            version: Version::V2,
            top: top.clone(),
            own: own.clone(),
        };
        let groups = groups_above(&hierarchy);
        assert_eq!(groups, [own.clone(), top.clone()]);
        let counts: Vec<_> = groups.iter().map(|folder| throttled_ns(folder)).collect();
        assert_eq!(counts, [Some(3_000), Some(7_000)]);
        assert_eq!(throttled_ns(Path::new("/no/such/group")), None);
        fs::remove_dir_all(&top).unwrap();
    }
}
