//! The mounted hierarchies of control groups, and this process's groups in them.

use std::fs;
use std::path::{Path, PathBuf};

/// Controllers of version 1 that a room uses.
const USED_CONTROLLERS: &[&str] = &["cpuacct", "memory", "cpuset"];

/// Version of a hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Version {
    /// Version 1, with its controllers.
    V1(Vec<String>),
    /// Version 2.
    V2,
}

/// A mounted hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hierarchy {
    pub(crate) version: Version,
    /// Topmost visible folder.
    pub(crate) top: PathBuf,
    /// Folder of this process's group.
    pub(crate) own: PathBuf,
}

/// All mounted hierarchies.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Hierarchies(Vec<Hierarchy>);

impl Hierarchies {
    /// Read the hierarchies from `/proc`.
    pub(crate) fn of_this_process() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        Self::parse(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"))
    }

    fn parse(mountinfo: &str, memberships: &str) -> Self {
        let found = mountinfo
            .lines()
            .filter_map(Mount::parse)
            .filter_map(|mount| mount.hierarchy(memberships));
        let mut hierarchies: Vec<Hierarchy> = Vec::new();
        for hierarchy in found {
            // A hierarchy may be mounted twice.
            if !hierarchies
                .iter()
                .any(|known| known.version == hierarchy.version)
            {
                hierarchies.push(hierarchy);
            }
        }
        Self(hierarchies)
    }

    /// Return all hierarchies.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Hierarchy> {
        self.0.iter()
    }

    /// Return the hierarchies in which a room makes groups.
    pub(crate) fn used(&self) -> impl Iterator<Item = &Hierarchy> {
        self.v2().into_iter().chain(
            USED_CONTROLLERS
                .iter()
                .filter_map(|controller| self.v1(controller)),
        )
    }

    /// Return the hierarchy of version 2.
    pub(crate) fn v2(&self) -> Option<&Hierarchy> {
        self.iter()
            .find(|hierarchy| hierarchy.version == Version::V2)
    }

    /// Return the hierarchy of version 1 with this controller.
    pub(crate) fn v1(&self, controller: &str) -> Option<&Hierarchy> {
        self.iter().find(|hierarchy| match &hierarchy.version {
            Version::V1(controllers) => controllers.iter().any(|found| found == controller),
            Version::V2 => false,
        })
    }
}

impl Hierarchy {
    /// Return the possible parents of a room's group, best first: this process's own group, whose limits then apply, else the top.
    pub(crate) fn parents(&self) -> impl Iterator<Item = &Path> {
        let top = (self.top != self.own).then_some(self.top.as_path());
        [self.own.as_path()].into_iter().chain(top)
    }
}

/// One line of `mountinfo`.
struct Mount<'a> {
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (head, tail) = line.split_once(" - ")?;
        let mut head = head.split(' ').skip(3);
        let mut tail = tail.split(' ');
        Some(Self {
            root: head.next()?,
            point: head.next()?,
            kind: tail.next()?,
            options: tail.nth(1)?,
        })
    }

    fn hierarchy(&self, memberships: &str) -> Option<Hierarchy> {
        let version = match self.kind {
            "cgroup2" => Version::V2,
            "cgroup" => Version::V1(
                self.options
                    .split(',')
                    .filter(|option| !matches!(*option, "rw" | "ro" | "xattr"))
                    .map(str::to_owned)
                    .collect(),
            ),
            _ => return None,
        };
        let membership = memberships.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            let (controllers, path) = rest.split_once(':')?;
            let matches = match &version {
                Version::V2 => controllers.is_empty(),
                Version::V1(found) => controllers
                    .split(',')
                    .any(|name| found.iter().any(|one| one == name)),
            };
            matches.then_some(path)
        })?;
        // In a container the mount may show only a part of the hierarchy, and this process's group may be outside of it.
        let below = membership
            .strip_prefix(self.root.trim_end_matches('/'))
            .unwrap_or("");
        let top = PathBuf::from(self.point);
        let below = below.trim_start_matches('/');
        let own = if below.is_empty() || !top.join(below).is_dir() {
            top.clone()
        } else {
            top.join(below)
        };
        Some(Hierarchy { version, top, own })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "\
22 1 0:20 / /proc rw,relatime - proc proc rw
33 24 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
34 24 0:30 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory
35 24 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
36 24 0:30 / /mnt/again rw - cgroup cgroup rw,memory
";

    #[test]
    fn a_hybrid_machine_has_both_versions() {
        let memberships = "4:memory:/no/such/group\n1:cpu,cpuacct:/\n0::/\n";
        let hierarchies = Hierarchies::parse(HYBRID, memberships);
        assert_eq!(hierarchies.iter().count(), 3);
        assert_eq!(
            hierarchies.v2().unwrap().top,
            Path::new("/sys/fs/cgroup/unified")
        );
        let cpu = hierarchies.v1("cpuacct").unwrap();
        assert_eq!(cpu, hierarchies.v1("cpu").unwrap());
        assert_eq!(
            hierarchies.v1("memory").unwrap().own,
            Path::new("/sys/fs/cgroup/memory")
        );
        assert_eq!(hierarchies.v1("pids"), None);
    }

    #[test]
    fn a_membership_is_found_below_the_mounted_part() {
        let folder =
            std::env::temp_dir().join(format!("dyno-room-hierarchy-{}", std::process::id()));
        fs::create_dir_all(folder.join("session")).unwrap();
        let mountinfo = format!(
            "35 24 0:31 /docker/abc {} rw - cgroup2 cgroup2 rw\n",
            folder.display()
        );
        let hierarchies = Hierarchies::parse(&mountinfo, "0::/docker/abc/session\n");
        let found = hierarchies.v2().unwrap();
        assert_eq!(found.own, folder.join("session"));
        assert_eq!(
            found.parents().collect::<Vec<_>>(),
            [folder.join("session"), folder.clone()]
        );
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_machine_without_control_groups_has_none() {
        assert_eq!(Hierarchies::parse("", ""), Hierarchies::default());
        assert_eq!(
            Hierarchies::parse("nonsense\n", "nonsense\n"),
            Hierarchies::default()
        );
    }
}
