//! Names of the rooms' control groups: unique, and with the identity of the engine, so that leftovers can be detected.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::str::FromStr;

use crate::process::start_time;

const PREFIX: &str = "httpdyno";

/// Identity of the engine process that made the group: PIDs are reused, but not together with the start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupName {
    /// PID namespace of the PID: other containers may share the control groups.
    pid_namespace: u64,
    pid: i32,
    start_time: u64,
}

impl GroupName {
    /// Return the name for this process.
    pub(crate) fn own() -> Self {
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        Self {
            pid_namespace: own_pid_namespace(),
            pid,
            start_time: start_time(pid).unwrap_or(0),
        }
    }

    /// Return whether the engine that made the group is certainly gone.
    pub(crate) fn is_left_over(self) -> bool {
        self.pid_namespace == own_pid_namespace() && start_time(self.pid) != Some(self.start_time)
    }
}

fn own_pid_namespace() -> u64 {
    std::fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
}

impl fmt::Display for GroupName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            pid_namespace,
            pid,
            start_time,
        } = self;
        write!(formatter, "{PREFIX}-{pid_namespace}-{pid}-{start_time}")
    }
}

impl FromStr for GroupName {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('-');
        let name = (|| {
            parts.next().filter(|prefix| *prefix == PREFIX)?;
            Some(Self {
                pid_namespace: parts.next()?.parse().ok()?,
                pid: parts.next()?.parse().ok()?,
                start_time: parts.next()?.parse().ok()?,
            })
        })();
        name.filter(|_| parts.next().is_none()).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back_and_its_owner_lives() {
        let own = GroupName::own();
        assert_eq!(own.to_string().parse(), Ok(own));
        assert!(!own.is_left_over());
    }

    #[test]
    fn a_reused_pid_is_another_process() {
        let own = GroupName::own();
        let earlier = GroupName {
            start_time: own.start_time - 1,
            ..own
        };
        assert!(earlier.is_left_over());
        let elsewhere = GroupName {
            pid_namespace: own.pid_namespace + 1,
            ..earlier
        };
        assert!(!elsewhere.is_left_over());
    }

    #[test]
    fn foreign_names_are_rejected() {
        for text in [
            "",
            "httpdyno",
            "httpdyno-1-2",
            "httpdyno-1-2-3-4",
            "other-1-2-3",
            "httpdyno-1-x-3",
        ] {
            assert_eq!(text.parse::<GroupName>(), Err(()), "{text}");
        }
    }
}
