//! What a program in the room may do: nothing that would let root inside change routes, unmount, or reach other processes.

use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// Whose network a program is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    OfTheRoom,
    OfTheMachine,
}

/// What root keeps inside: file ownership and capabilities of files (without which it cannot map itself into a user namespace of
/// its own), changes of user, low ports, memory locks, priorities.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::SETFCAP)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::SYS_CHROOT);

/// Gives up, for this process and all it executes, every capability but those that are kept for root. Raw sockets are among them
/// in a network of the room's own; in the machine's they would hear what others send.
///
/// An ordinary user has none at all after the next exec.
pub(crate) fn drop_capabilities(network: Network) -> rustix::io::Result<()> {
    let kept = match network {
        Network::OfTheRoom => KEPT.union(CapabilitySet::NET_RAW),
        Network::OfTheMachine => KEPT,
    };
    clear_ambient_capability_set()?;
    for capability in CapabilitySet::all().difference(kept).iter() {
        match remove_capability_from_bounding_set(capability) {
            // Capabilities that this kernel does not know.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => return Err(error),
        }
    }
    set_capabilities(
        None,
        CapabilitySets {
            effective: kept,
            permitted: kept,
            inheritable: CapabilitySet::empty(),
        },
    )
}
