//! Number and limit of a process's open descriptors.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The open descriptors of a process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenDescriptors {
    pub(crate) count: u64,
    /// Limit; absent if the kernel does not report it.
    pub(crate) limit: Option<u64>,
}

/// Read the number and limit for a process's folder in `/proc`; `None` if it has ended.
pub(crate) fn of(folder: &Path) -> Option<OpenDescriptors> {
    Some(OpenDescriptors {
        count: count(&folder.join("fd"))?,
        limit: limit(&fs::read_to_string(folder.join("limits")).unwrap_or_default()),
    })
}

fn count(folder: &Path) -> Option<u64> {
    // Since Linux 6.2 the folder's size is their number, so that thousands need not be listed.
    match fs::metadata(folder).ok()?.size() {
        0 => u64::try_from(fs::read_dir(folder).ok()?.count()).ok(),
        size => Some(size),
    }
}

/// Parse the soft limit in the line `Max open files  SOFT  HARD  files`.
fn limit(limits: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_read() {
        for (text, expected) in [
            (
                "Max processes 1 2 p\nMax open files            1024                 524288               files\n",
                Some(1024),
            ),
            (
                "Max open files            unlimited            unlimited            files\n",
                None,
            ),
            ("", None),
        ] {
            assert_eq!(limit(text), expected, "{text}");
        }
    }

    #[test]
    fn descriptors_of_this_process_are_counted() {
        let own = Path::new("/proc/self");
        let before = of(own).unwrap();
        let opened: Vec<_> = (0..50)
            .map(|_| fs::File::open("/dev/null").unwrap())
            .collect();
        let after = of(own).unwrap();
        // Other tests of this process open and close some of their own.
        assert!(after.count + 25 > before.count + opened.len() as u64);
        assert!(before.limit.is_some_and(|limit| limit >= before.count));
    }

    #[test]
    fn a_process_that_has_ended_has_none() {
        assert_eq!(of(Path::new("/proc/0")), None);
    }
}
