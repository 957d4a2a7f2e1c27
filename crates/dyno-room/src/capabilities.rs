//! What a program in the room may do: nothing that would let root inside change routes, unmount, or reach other processes.

use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// What root keeps inside: file ownership, changes of user, low ports, raw sockets, memory locks, priorities.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::SYS_CHROOT);

/// Gives up, for this process and all it executes, every capability but those that are kept for root.
///
/// An ordinary user has none at all after the next exec.
pub(crate) fn drop_capabilities() -> rustix::io::Result<()> {
    clear_ambient_capability_set()?;
    for capability in CapabilitySet::all().difference(KEPT).iter() {
        match remove_capability_from_bounding_set(capability) {
            // Capabilities that this kernel does not know.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(error),
        }
    }
    set_capabilities(
        None,
        CapabilitySets {
            effective: KEPT,
            permitted: KEPT,
            inheritable: CapabilitySet::empty(),
        },
    )
}
