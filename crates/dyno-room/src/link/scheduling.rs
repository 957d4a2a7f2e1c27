//! Raises the priority of the thread for which all packets wait above other programs of the machine.

use std::num::NonZeroU64;

use rustix::thread::set_current_timer_slack;

/// `struct sched_attr` in its first published form (Linux 3.14).
#[repr(C)]
struct Scheduling {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

/// Requested time slice of a thread without the right to real-time priority: a short slice is scheduled sooner (Linux
/// 6.12).
const SLICE_NS: u64 = 100_000;

/// Raise the priority of the calling thread as far as the kernel allows, and have its timers fire when they are due.
pub(crate) fn raise_priority() {
    // If the kernel refuses a setting, it is left out: the check of the link shows whether it matters.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    if !schedule(libc::SCHED_RR, 1, 0) {
        schedule(libc::SCHED_OTHER, 0, SLICE_NS);
    }
}

/// Request a scheduling policy; return whether the kernel applied it.
fn schedule(policy: libc::c_int, priority: u32, runtime_ns: u64) -> bool {
    let wanted = Scheduling {
        size: u32::try_from(size_of::<Scheduling>()).unwrap_or(0),
        policy: u32::try_from(policy).unwrap_or(0),
        flags: 0,
        nice: 0,
        priority,
        runtime_ns,
        deadline_ns: 0,
        period_ns: 0,
    };
    // SAFETY: the pointer is to a live structure whose size it holds itself, and 0 is the calling thread.
    let status = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const wanted, 0) };
    status == 0
}
