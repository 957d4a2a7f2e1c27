//! The right to make namespaces: root has it, an ordinary user gets it from a user namespace of its own.

use std::fs;
use std::io;

use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities, unshare_unsafe};

use crate::error::{Result, Step};

/// What making a room takes.
const NEEDED: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::NET_ADMIN)
    .union(CapabilitySet::SETPCAP);

/// Moves this process into new namespaces.
pub(crate) fn unshare(flags: UnshareFlags, step: &str) -> Result<()> {
    // SAFETY: unshare_unsafe is unsafe for CLONE_FILES only, which would close descriptors that others own; no caller passes it.
    unsafe { unshare_unsafe(flags) }
        .step(|| step.to_owned())
        .map_err(|error| error.with_cure(&cure()))
}

/// Whether this process may make namespaces without a user namespace.
pub(crate) fn is_privileged() -> bool {
    capabilities(None).is_ok_and(|held| held.effective.contains(NEEDED))
}

/// Makes sure that this process may make namespaces: nothing to do for root, else a user namespace that maps the user to itself.
///
/// The identity map gives the subject its own user id back, and an exec by a user other than root drops every capability.
pub(crate) fn gain_privilege() -> Result<()> {
    if is_privileged() {
        Ok(())
    } else {
        enter_user_namespace()
    }
}

/// Moves this process into a user namespace in which it has every capability and keeps its user and group.
pub(crate) fn enter_user_namespace() -> Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(UnshareFlags::NEWUSER, "making a user namespace")?;
    map_identities(user, group)
        .step(|| "mapping the user into its user namespace".to_owned())
        .map_err(|error| error.with_cure(&cure()))
}

fn map_identities(user: u32, group: u32) -> io::Result<()> {
    // The kernel lets an ordinary user map its group only after giving up setgroups.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// What keeps ordinary users from namespaces on this machine, as far as its settings tell, with what to do.
pub(crate) fn cure() -> String {
    cure_of(|name| {
        fs::read_to_string(format!("/proc/sys/{name}"))
            .ok()
            .and_then(|text| text.trim().parse().ok())
    })
}

fn cure_of(setting: impl Fn(&str) -> Option<u64>) -> String {
    if setting("user/max_user_namespaces") == Some(0) {
        "allow user namespaces (as root: sysctl -w user.max_user_namespaces=10000) or run as root"
    } else if setting("kernel/unprivileged_userns_clone") == Some(0) {
        "allow user namespaces (as root: sysctl -w kernel.unprivileged_userns_clone=1) or run as root"
    } else if setting("kernel/apparmor_restrict_unprivileged_userns") == Some(1) {
        "AppArmor keeps them from ordinary users: run as root, or (as root) sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    } else {
        "run as root; in a container it takes --privileged"
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cure_follows_the_settings() {
        let table: &[(&[(&str, u64)], &str)] = &[
            (
                &[("user/max_user_namespaces", 0)],
                "user.max_user_namespaces",
            ),
            (
                &[("kernel/unprivileged_userns_clone", 0)],
                "kernel.unprivileged_userns_clone=1",
            ),
            (
                &[("kernel/apparmor_restrict_unprivileged_userns", 1)],
                "AppArmor",
            ),
            (&[("user/max_user_namespaces", 96365)], "--privileged"),
            (&[], "run as root"),
        ];
        for (settings, expected) in table {
            let lookup = |name: &str| {
                settings
                    .iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| *value)
            };
            let cure = cure_of(lookup);
            assert!(cure.contains(expected), "{settings:?}: {cure}");
        }
    }
}
