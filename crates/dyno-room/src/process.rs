//! Processes: creation in new namespaces, waiting, and identity across reuse of PIDs.

use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::cpu_time::{CpuTime, NANOSECONDS_PER_SECOND};
use crate::error::{Result, RoomError, Step};

/// Exit code of a child that panicked.
const PANIC_STATUS: i32 = 70;
const NANOSECONDS_PER_MICROSECOND: u64 = 1_000;
const BYTES_PER_KIB: u64 = 1024;

/// Have the kernel kill this process when its parent ends; fail if the parent has already ended.
///
/// The kernel watches the *thread* of the parent that started this process.
pub(crate) fn die_with_parent() -> Result<()> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL))
        .step(|| "setting the parent-death signal".to_owned())?;
    if getppid() == parent {
        Ok(())
    } else {
        Err(RoomError::Init(
            "the parent process has already ended".to_owned(),
        ))
    }
}

/// Return whether this process has a single thread.
pub(crate) fn has_one_thread() -> io::Result<bool> {
    Ok(fs::read_dir("/proc/self/task")?.count() == 1)
}

/// Run `child` in a forked process, in new namespaces (`CLONE_NEW...`; zero for none), which exits when `child` returns.
///
/// # Errors
///
/// When the kernel refuses, or this process has more than one thread: the child copies only the calling thread, and locks held by
/// other threads would stay locked.
pub(crate) fn spawn(namespaces: i32, child: impl FnOnce()) -> io::Result<Pid> {
    if !has_one_thread()? {
        return Err(io::Error::other("the process has more than one thread"));
    }
    let flags = libc::c_long::from(namespaces | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and without a stack of its own, the child runs on a copy of this process's memory, as after fork.
    // With a single thread no lock is held. No pointer is passed.
    let number =
        unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) };
    if number == 0 {
        // A panic must not unwind into the parent's frames. Its message is already printed.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
        leave(if outcome.is_ok() { 0 } else { PANIC_STATUS });
    }
    i32::try_from(number)
        .ok()
        .filter(|&number| number > 0)
        .and_then(Pid::from_raw)
        .ok_or_else(io::Error::last_os_error)
}

/// Exit a forked child without running the parent's destructors, handlers or buffer flushes.
pub(crate) fn leave(status: i32) -> ! {
    // SAFETY: _exit takes any number and touches no memory of this process.
    unsafe { libc::_exit(status) }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// It was stopped and has not ended.
    Stopped,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "exit code {code}"),
            Self::Signal(signal) => write!(formatter, "signal {signal}"),
            Self::Stopped => formatter.write_str("stopped"),
        }
    }
}

/// A child that changed its state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reaped {
    pub(crate) pid: i32,
    pub(crate) ended: Ended,
    /// The raw wait status.
    pub(crate) status: i32,
    /// CPU time of the child and of all descendants that were waited for.
    pub(crate) cpu: CpuTime,
    /// Largest resident set of the child or of one of these descendants, from its start as a copy of its parent.
    pub(crate) peak_resident_bytes: u64,
}

/// Wait for any child to end; without `block`, poll for one that ended or stopped. `None` if there is none.
pub(crate) fn reap(block: bool) -> Option<Reaped> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    let options = if block {
        0
    } else {
        libc::WNOHANG | libc::WUNTRACED
    };
    let pid = loop {
        // SAFETY: both pointers are to live local variables of the types that wait4 fills.
        let pid = unsafe { libc::wait4(-1, &raw mut status, options, usage.as_mut_ptr()) };
        if pid >= 0 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            break pid;
        }
    };
    if pid <= 0 {
        return None;
    }
    // SAFETY: zeroed is a valid rusage, and wait4 has filled it.
    let usage = unsafe { usage.assume_init() };
    Some(Reaped {
        pid,
        ended: ended(status),
        status,
        cpu: cpu_time(&usage),
        peak_resident_bytes: peak_resident_bytes(&usage),
    })
}

/// Wait for this child to end.
pub(crate) fn reap_one(pid: Pid) -> Option<Ended> {
    let options = rustix::process::WaitOptions::empty();
    loop {
        match rustix::process::waitpid(Some(pid), options) {
            Ok(Some((_, status))) => return Some(ended(status.as_raw())),
            Err(rustix::io::Errno::INTR) => {}
            _ => return None,
        }
    }
}

/// Decode a wait status.
pub(crate) fn ended(status: i32) -> Ended {
    if libc::WIFSIGNALED(status) {
        Ended::Signal(libc::WTERMSIG(status))
    } else if libc::WIFSTOPPED(status) {
        Ended::Stopped
    } else {
        Ended::Code(libc::WEXITSTATUS(status))
    }
}

/// Kill every other process of this PID namespace; only for its first process.
pub(crate) fn kill_every_other() {
    // SAFETY: kill takes any numbers and touches no memory; -1 addresses every process that this one may signal in its PID namespace.
    // An error means that there is no other process.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// Return the CPU time of all threads of this process so far.
pub(crate) fn own_cpu_time() -> CpuTime {
    cpu_time_of(libc::RUSAGE_SELF)
}

/// Return the CPU time of all reaped descendants of this process.
#[must_use]
pub fn ended_children_cpu_time() -> CpuTime {
    cpu_time_of(libc::RUSAGE_CHILDREN)
}

/// Return the CPU time of the calling thread.
pub(crate) fn thread_cpu_time() -> CpuTime {
    cpu_time_of(libc::RUSAGE_THREAD)
}

/// Return the largest resident set of this process so far.
pub(crate) fn own_peak_resident_bytes() -> u64 {
    peak_resident_bytes(&usage_of(libc::RUSAGE_SELF))
}

fn cpu_time_of(who: libc::c_int) -> CpuTime {
    cpu_time(&usage_of(who))
}

fn usage_of(who: libc::c_int) -> libc::rusage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a live local rusage, which getrusage fills; a zeroed one is valid too.
    unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    }
}

fn peak_resident_bytes(usage: &libc::rusage) -> u64 {
    u64::try_from(usage.ru_maxrss).unwrap_or(0) * BYTES_PER_KIB
}

fn cpu_time(usage: &libc::rusage) -> CpuTime {
    let nanoseconds = |time: libc::timeval| {
        u64::try_from(time.tv_sec).unwrap_or(0) * NANOSECONDS_PER_SECOND
            + u64::try_from(time.tv_usec).unwrap_or(0) * NANOSECONDS_PER_MICROSECOND
    };
    CpuTime {
        cpu_user_ns: nanoseconds(usage.ru_utime),
        cpu_system_ns: nanoseconds(usage.ru_stime),
    }
}

/// Close every descriptor above standard error except these.
pub(crate) fn close_all_but(kept: &[BorrowedFd]) {
    let mut kept: Vec<RawFd> = kept.iter().map(AsRawFd::as_raw_fd).collect();
    kept.sort_unstable();
    let mut first = libc::STDERR_FILENO + 1;
    for last in kept.into_iter().map(|kept| kept - 1).chain([RawFd::MAX]) {
        if first <= last {
            close_range(first, last);
        }
        first = first.max(last.saturating_add(2));
    }
}

fn close_range(first: RawFd, last: RawFd) {
    // SAFETY: the process is a fresh child that uses no descriptor outside its kept ones again.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    if result < 0 {
        // Kernels before 5.9: close one by one, up to the limit of open files.
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile)
            .current
            .unwrap_or(65_536);
        for descriptor in first..=last.min(i32::try_from(limit).unwrap_or(RawFd::MAX)) {
            // SAFETY: as above.
            unsafe { libc::close(descriptor) };
        }
    }
}

/// Reset every signal to its default action, whatever was inherited.
pub(crate) fn reset_signal_actions() {
    for signal in 1..=64 {
        // SAFETY: SIG_DFL is a valid action for every signal; the kernel refuses invalid numbers without effect.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Reset SIGCHLD, so that children can be waited for even if the parent ignored the signal.
pub(crate) fn keep_children() {
    // SAFETY: SIG_DFL is a valid action for SIGCHLD.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// Return the start time of a process in clock ticks since boot. Together with its PID it identifies the process.
pub(crate) fn start_time(pid: i32) -> Option<u64> {
    parse_start_time(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Parse field 22 of a `stat` file; the name in field 2 may contain blanks and parentheses.
fn parse_start_time(stat: &str) -> Option<u64> {
    field_after_name(stat, 22)
}

/// Parse the parent's PID, field 4 of a `stat` file.
pub(crate) fn parse_parent(stat: &str) -> Option<i32> {
    field_after_name(stat, 4)
}

fn field_after_name<T: std::str::FromStr>(stat: &str, number: usize) -> Option<T> {
    let (_, after_name) = stat.rsplit_once(") ")?;
    after_name.split(' ').nth(number - 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_file_is_parsed_after_the_name() {
        let stat = "42 (a) b ( c)) S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2\n";
        assert_eq!(parse_parent(stat), Some(7));
        assert_eq!(parse_start_time(stat), Some(98765));
        assert_eq!(parse_start_time("42 (x"), None);
    }

    #[test]
    fn this_process_has_a_start_time() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(start_time(own).unwrap() > 0);
        assert_eq!(start_time(0), None);
    }

    #[test]
    fn a_wait_status_is_decoded() {
        for (status, expected) in [
            (0, Ended::Code(0)),
            (3 << 8, Ended::Code(3)),
            (9, Ended::Signal(9)),
            (0x8b, Ended::Signal(11)),
            (0x137f, Ended::Stopped),
        ] {
            assert_eq!(ended(status), expected, "{status}");
        }
    }
}
