//! Raises the limit on open files, of which each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit on open files of this process to its maximum; returns the new limit, if there is one.
///
/// If that is refused, the process continues with the current limit: a later shortage is reported as such.
#[must_use]
pub fn raise() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    match setrlimit(Resource::Nofile, most) {
        Ok(()) => most.current,
        Err(_) => limit.current,
    }
}
