//! Capacity of the descriptor table, reserved at the start.

use std::io::stdin;

use rustix::process::{Resource, getrlimit};

/// More than a usual run opens; a table of this size takes 32 KiB.
const USUAL: u64 = 4096;

/// Grows the kernel's table of this process's descriptors at once.
///
/// The table starts with 64 entries and grows as files are opened. In a process with several threads, each growth waits
/// until no CPU can still read the old table (RCU): for some ten milliseconds no thread can open or accept a socket.
/// Call this before the second thread starts.
pub fn reserve() {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(USUAL);
    let highest = USUAL.min(limit).saturating_sub(1);
    if let Ok(highest) = i32::try_from(highest) {
        // The copy is closed at once, but the table stays large. On failure the table grows later, as usual.
        let _ = rustix::io::fcntl_dupfd_cloexec(stdin(), highest);
    }
}
