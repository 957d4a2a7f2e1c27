//! Processes: making them with namespaces of their own, waiting for them, telling one from another that has its number.

use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::cpu_time::{CpuTime, NANOSECONDS_PER_SECOND};
use crate::error::{Result, RoomError, Step};

/// The exit code of a child that panicked.
const PANIC_STATUS: i32 = 70;
const NANOSECONDS_PER_MICROSECOND: u64 = 1_000;

/// Asks the kernel to kill this process when its parent ends, and makes sure that this has not happened yet.
///
/// The kernel watches the parent's *thread* that started this process.
pub(crate) fn die_with_parent() -> Result<()> {
    let parent = getppid();
    set_parent_process_death_signal(Some(Signal::KILL))
        .step(|| "asking to be killed with the parent process".to_owned())?;
    if getppid() == parent {
        Ok(())
    } else {
        Err(RoomError::Init(
            "the parent process has ended already".to_owned(),
        ))
    }
}

/// Whether this process has a single thread.
pub(crate) fn has_one_thread() -> io::Result<bool> {
    Ok(fs::read_dir("/proc/self/task")?.count() == 1)
}

/// Runs `child` in a forked process, in new namespaces (`CLONE_NEW...`; zero for none); it ends when `child` returns.
///
/// # Errors
///
/// When the kernel refuses, or this process has more than one thread: the child gets a copy of the calling one only, and locks that
/// the others hold would stay locked for ever.
pub(crate) fn spawn(namespaces: i32, child: impl FnOnce()) -> io::Result<Pid> {
    if !has_one_thread()? {
        return Err(io::Error::other("the process has more than one thread"));
    }
    let flags = libc::c_long::from(namespaces | libc::SIGCHLD);
    // SAFETY: without CLONE_VM and with no stack of its own the child runs on a copy of this process's memory, as after fork, and there
    // is one thread, so that no lock is held. No pointer is passed.
    let number =
        unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) };
    if number == 0 {
        // A panic must not unwind into what belongs to the parent; its message has been printed by then.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child));
        leave(if outcome.is_ok() { 0 } else { PANIC_STATUS });
    }
    i32::try_from(number)
        .ok()
        .filter(|&number| number > 0)
        .and_then(Pid::from_raw)
        .ok_or_else(io::Error::last_os_error)
}

/// Ends a forked child without running anything of the parent's: no destructors, no handlers, no buffers.
pub(crate) fn leave(status: i32) -> ! {
    // SAFETY: _exit takes any number and touches no memory of this process.
    unsafe { libc::_exit(status) }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It has not: it was stopped.
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
    /// The same as the kernel has it.
    pub(crate) status: i32,
    /// Its own CPU time and that of all its children that it waited for.
    pub(crate) cpu: CpuTime,
}

/// Waits for any child to end; without `block`, looks whether one has ended or stopped. `None` when none has, or none is left.
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
    })
}

/// Waits for this child to end.
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

/// What a wait status says.
pub(crate) fn ended(status: i32) -> Ended {
    if libc::WIFSIGNALED(status) {
        Ended::Signal(libc::WTERMSIG(status))
    } else if libc::WIFSTOPPED(status) {
        Ended::Stopped
    } else {
        Ended::Code(libc::WEXITSTATUS(status))
    }
}

/// Kills every other process of this PID namespace; for its first process only.
pub(crate) fn kill_every_other() {
    // SAFETY: kill takes any numbers and touches no memory; -1 reaches what the kernel lets this process signal, in its own PID namespace.
    // An error means that there is nobody else.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// The CPU time of this process so far, all its threads.
pub(crate) fn own_cpu_time() -> CpuTime {
    cpu_time_of(libc::RUSAGE_SELF)
}

/// The CPU time of all children of this process that have ended and were waited for, with those that they waited for.
#[must_use]
pub fn ended_children_cpu_time() -> CpuTime {
    cpu_time_of(libc::RUSAGE_CHILDREN)
}

/// The CPU time of the calling thread.
pub(crate) fn thread_cpu_time() -> CpuTime {
    cpu_time_of(libc::RUSAGE_THREAD)
}

fn cpu_time_of(who: libc::c_int) -> CpuTime {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is to a live local rusage, which getrusage fills; zeroed is a valid one too.
    let usage = unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    };
    cpu_time(&usage)
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

/// Closes every descriptor above standard error but these.
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
    // SAFETY: the process is a fresh child that gave up every descriptor outside its kept ones: nothing uses the closed ones again.
    let result = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    if result < 0 {
        // Kernels before 5.9: one by one, as far as this process may open any.
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile)
            .current
            .unwrap_or(65_536);
        for descriptor in first..=last.min(i32::try_from(limit).unwrap_or(RawFd::MAX)) {
            // SAFETY: as above.
            unsafe { libc::close(descriptor) };
        }
    }
}

/// Gives every signal its default action back, whatever was inherited.
pub(crate) fn reset_signal_actions() {
    for signal in 1..=64 {
        // SAFETY: SIG_DFL is a valid action for every signal; numbers that cannot be set are refused without effect.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Has children waited for as usual, even where a careless parent of ours had them vanish on their own.
pub(crate) fn keep_children() {
    // SAFETY: SIG_DFL is a valid action for SIGCHLD.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

/// When a process started, in clock ticks since boot: with its number, an identity that no later process can have.
pub(crate) fn start_time(pid: i32) -> Option<u64> {
    parse_start_time(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Field 22 of a `stat` file; the name in field 2 may hold blanks and parentheses.
fn parse_start_time(stat: &str) -> Option<u64> {
    field_after_name(stat, 22)
}

/// The parent's number, field 4 of a `stat` file.
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
    fn a_stat_file_is_read_behind_the_name() {
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
    fn a_wait_status_tells_how_it_ended() {
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
