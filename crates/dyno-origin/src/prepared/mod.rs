//! The contents of a web, ready in memory in every coding that it serves.

mod coder;
mod document;
mod pages;
mod source;
mod stream;

pub(crate) use pages::{Pages, Preparation};
pub(crate) use source::Source;

/// Lets everybody else go first: called by threads that prepare what nobody may ever ask for, on the one CPU that the engine
/// has. Without it a room starts 30 ms later. (On Linux, niceness is a thread's own, and its children's.)
pub(crate) fn give_way() {
    const NICENESS: i32 = 15;
    // Where it is refused, the thread is merely in the way.
    let _ = rustix::process::nice(NICENESS);
}
