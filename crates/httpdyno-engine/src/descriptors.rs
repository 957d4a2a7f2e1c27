//! Room for open files, made while it costs nothing.

use std::io::stdin;

use rustix::process::{Resource, getrlimit};

/// More than a usual run has open; the table of so many takes 32 KiB.
const USUAL: u64 = 4096;

/// Has the kernel make its table of this process's descriptors large enough at once.
///
/// It begins with 64 places and grows as files are opened. In a process with several threads each growth waits until no CPU can
/// still read the old table (RCU): some ten milliseconds for which whoever opens a socket, or accepts one, stands still. So: before
/// there is a second thread.
pub fn make_room() {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(USUAL);
    let highest = USUAL.min(limit).saturating_sub(1);
    if let Ok(highest) = i32::try_from(highest) {
        // The copy is closed at once, its place remains. Without it everything works, and may wait.
        let _ = rustix::io::fcntl_dupfd_cloexec(stdin(), highest);
    }
}
