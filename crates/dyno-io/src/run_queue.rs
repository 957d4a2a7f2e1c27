//! Time that threads have waited for a CPU, from the kernel's scheduler statistics.

use std::fs;

use rustix::thread::{Pid, gettid};

/// Time in which these threads of this process were ready to run but did not run, since each started; `None` if the
/// kernel does not count it.
#[must_use]
pub fn waited_ns(threads: &[Pid]) -> Option<u64> {
    threads
        .iter()
        .map(|thread| {
            let file = format!(
                "/proc/self/task/{}/schedstat",
                thread.as_raw_nonzero().get()
            );
            parse(&fs::read_to_string(file).ok()?)
        })
        .sum()
}

/// Like [`waited_ns`], for the calling thread.
#[must_use]
pub fn thread_waited_ns() -> Option<u64> {
    waited_ns(&[gettid()])
}

/// The second number of `running waiting slices`.
fn parse(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_waited_is_the_second_number() {
        assert_eq!(parse("9022415 66112 7\n"), Some(66_112));
        assert_eq!(parse("0 0\n"), Some(0));
        assert_eq!(parse("1\n"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn a_thread_that_is_not_there_is_not_known() {
        assert_eq!(waited_ns(&[]), Some(0));
        let first = Pid::from_raw(1).unwrap();
        assert_eq!(waited_ns(&[gettid(), first]), None);
    }

    #[test]
    fn the_calling_thread_is_known_where_the_kernel_counts() {
        let kernel_counts = std::path::Path::new("/proc/thread-self/schedstat").exists();
        assert_eq!(thread_waited_ns().is_some(), kernel_counts);
    }
}
