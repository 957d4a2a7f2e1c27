//! How many files this process may have open: a connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lets this process have as many files open as it may; says how many that are, if there is a limit.
///
/// Refused, it goes on with what there is: what lacks shows by its name.
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
