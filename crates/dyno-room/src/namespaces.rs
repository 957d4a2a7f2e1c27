//! Privilege to make namespaces: root has it, an ordinary user gets it from a user namespace.

use std::fs;
use std::io;

use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities, unshare_unsafe};

use crate::error::{Result, Step};

/// Capabilities that making a room requires.
const NEEDED: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::NET_ADMIN)
    .union(CapabilitySet::SETPCAP);

/// Move this process into new namespaces.
pub(crate) fn unshare(flags: UnshareFlags, step: &str) -> Result<()> {
    // SAFETY: unshare_unsafe is unsafe only with CLONE_FILES, which could invalidate other owners' descriptors; no caller passes it.
    unsafe { unshare_unsafe(flags) }
        .step(|| step.to_owned())
        .map_err(|error| error.with_cure(&cure()))
}

/// Return whether this process may make namespaces without a user namespace.
pub(crate) fn is_privileged() -> bool {
    capabilities(None).is_ok_and(|held| held.effective.contains(NEEDED))
}

/// Ensure that this process may make namespaces: root may; others enter a user namespace that maps the user to itself.
///
/// With the identity map the subject keeps its user id, and an exec by a user other than root drops every capability.
pub(crate) fn gain_privilege() -> Result<()> {
    if is_privileged() {
        Ok(())
    } else {
        enter_user_namespace()
    }
}

/// Move this process into a user namespace in which it has every capability and keeps its user and group.
pub(crate) fn enter_user_namespace() -> Result<()> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    unshare(UnshareFlags::NEWUSER, "making a user namespace")?;
    map_identities(user, group)
        .step(|| "mapping the user into its user namespace".to_owned())
        .map_err(|error| error.with_cure(&cure()))
}

fn map_identities(user: u32, group: u32) -> io::Result<()> {
    // The kernel lets an ordinary user map its group only after disabling setgroups.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Return what prevents ordinary users from making namespaces, according to the machine's settings, and the remedy.
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
        "AppArmor denies user namespaces to ordinary users: run as root, or (as root) sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
    } else {
        "run as root; in a container, start it with --privileged"
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_follows_the_settings() {
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
