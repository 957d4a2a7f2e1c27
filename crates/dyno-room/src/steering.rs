//! Receive packet steering: process incoming packets on the receiver's CPUs. By default the kernel does so on the sender's.
//!
//! Receive packet steering (RPS) hands the packets of a device to the CPUs of a mask. The masks are files of sysfs, which shows
//! the devices of the network namespace in which it was mounted; a separate process mounts it.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::BorrowedFd;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::Serialize;

use crate::cpu::CpuSet;
use crate::error::{Result, RoomError, Step};
use crate::network_plan::{TO_PEER, TO_SUBJECT};
use crate::process;

/// Whether packets are processed on the receiver's CPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ReceiveSteering {
    /// It was requested.
    pub asked: bool,
    /// It is active at both ends.
    pub done: bool,
    /// Why it is not, if it was requested.
    pub reason: Option<String>,
}

/// Have each end of the link receive on its own CPUs. Requires a process with a single thread.
pub(crate) fn steer(
    subject_namespace: BorrowedFd,
    engine: &CpuSet,
    subject: &CpuSet,
) -> ReceiveSteering {
    let reason = steer_in_child(subject_namespace, engine, subject)
        .err()
        .map(|error| error.to_string());
    ReceiveSteering {
        asked: true,
        done: reason.is_none(),
        reason,
    }
}

fn steer_in_child(subject_namespace: BorrowedFd, engine: &CpuSet, subject: &CpuSet) -> Result<()> {
    let (mut reader, mut writer) = io::pipe().step(|| "making a pipe".to_owned())?;
    let child = process::spawn(libc::CLONE_NEWNS, || {
        let outcome = keep_mounts_private()
            .and_then(|()| set_mask(TO_SUBJECT.name, engine))
            .and_then(|()| {
                move_into_link_name_space(subject_namespace, Some(LinkNameSpaceType::Network))
                    .step(|| "entering the subject's network namespace".to_owned())
            })
            .and_then(|()| set_mask(TO_PEER.name, subject));
        if let Err(error) = outcome {
            // The parent reads the error from the pipe.
            let _ = writer.write_all(error.to_string().as_bytes());
        }
    })
    .step(|| "forking a process that configures packet steering".to_owned())?;
    drop(writer);
    let mut reason = String::new();
    reader
        .read_to_string(&mut reason)
        .step(|| "waiting for the process that configures packet steering".to_owned())?;
    match (reason.is_empty(), process::reap_one(child)) {
        (true, Some(process::Ended::Code(0))) => Ok(()),
        (true, _) => Err(RoomError::Init(
            "the process that configures packet steering ended unexpectedly".to_owned(),
        )),
        (false, _) => Err(RoomError::Init(reason)),
    }
}

fn keep_mounts_private() -> Result<()> {
    mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .step(|| "making mounts private".to_owned())
}

/// Set the mask of a device of this process's network namespace.
fn set_mask(device: &str, cpus: &CpuSet) -> Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("sysfs", "/sys", "sysfs", flags, None)
        .step(|| "mounting /sys of a network namespace".to_owned())
        .map_err(|error| error.with_cure("run as root"))?;
    let file = format!("/sys/class/net/{device}/queues/rx-0/rps_cpus");
    fs::write(&file, mask(cpus))
        .step(|| format!("writing {file}"))
        .map_err(|error| error.with_cure("run as root"))
}

/// Format a set of CPUs as a mask of the kernel: hexadecimal, the highest bits first, a comma after each 32.
fn mask(cpus: &CpuSet) -> String {
    let mut words = vec![0_u32];
    for cpu in cpus.iter() {
        let word = cpu / 32;
        words.resize(words.len().max(word + 1), 0);
        words[word] |= 1 << (cpu % 32);
    }
    let words: Vec<String> = words
        .iter()
        .rev()
        .map(|word| format!("{word:08x}"))
        .collect();
    words.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_have_the_kernels_format() {
        for (cpus, expected) in [
            ("0", "00000001"),
            ("1,3", "0000000a"),
            ("0-31", "ffffffff"),
            ("33", "00000002,00000000"),
            ("0,64", "00000001,00000000,00000001"),
        ] {
            assert_eq!(mask(&cpus.parse().unwrap()), expected, "{cpus}");
        }
    }
}
