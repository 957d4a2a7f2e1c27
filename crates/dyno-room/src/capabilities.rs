//! Capabilities of programs in the room: none that would let root change routes, unmount or reach other processes.

use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// The network that a program uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    OfTheRoom,
    OfTheMachine,
}

/// Capabilities that root keeps: file ownership and file capabilities (required to map itself into a user namespace of
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

/// Drop every capability except those kept for root, for this process and its descendants. Raw sockets are kept only
/// in the room's own network: on the machine's they could read the traffic of others.
///
/// An ordinary user has none after the next exec.
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
