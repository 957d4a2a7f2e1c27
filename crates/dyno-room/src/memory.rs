//! Memory of the subject's tree: its proportional set size, sampled from outside.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::process::parse_parent;
use crate::protocol::Instants;

const FIRST_INTERVAL: Duration = Duration::from_millis(5);
/// The usual distance of two samples; the first ones lie closer, so that a short life is seen too.
const INTERVAL: Duration = Duration::from_millis(100);
/// Walking a tree's pages takes time; at most one part in this many is spent on it.
const COST_SHARE: u32 = 50;
/// The room's first process, which is not the subject's.
const INIT: i32 = 1;
const BYTES_PER_KIB: u64 = 1024;

/// Samples of memory: nanoseconds since the subject's exec, bytes.
pub(crate) type Samples = Vec<(u64, u64)>;

/// A thread that samples until it is told to stop.
#[derive(Debug)]
pub(crate) struct MemorySampler {
    stop: Sender<()>,
    thread: JoinHandle<Samples>,
}

impl MemorySampler {
    /// Starts sampling all processes of this `/proc` but the room's first and the descendants of `excluded`.
    pub(crate) fn start(
        proc: PathBuf,
        excluded: Option<i32>,
        exec: Instants,
    ) -> std::io::Result<Self> {
        let (stop, stopped) = channel();
        let thread = thread::Builder::new()
            .name("memory".to_owned())
            .spawn(move || sample(&proc, excluded, exec, &stopped))?;
        Ok(Self { stop, thread })
    }

    /// Stops and hands over the samples.
    pub(crate) fn finish(self) -> Samples {
        let Self { stop, thread } = self;
        drop(stop);
        thread.join().unwrap_or_default()
    }
}

fn sample(proc: &Path, excluded: Option<i32>, exec: Instants, stopped: &Receiver<()>) -> Samples {
    let mut samples = Samples::new();
    let mut interval = FIRST_INTERVAL;
    loop {
        let before = thread_cpu_time();
        // A tree that has just ended has no pages left, and its zero says nothing.
        if let Some(bytes) = tree_bytes(proc, excluded).filter(|&bytes| bytes > 0) {
            let now = Instants::now().monotonic_ns;
            samples.push((now.saturating_sub(exec.monotonic_ns), bytes));
        }
        let pause = interval.max(thread_cpu_time().saturating_sub(before) * COST_SHARE);
        interval = (interval * 2).min(INTERVAL);
        if stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
            return samples;
        }
    }
}

/// The processor time of this thread: what sampling costs, however long it had to wait for its CPU.
fn thread_cpu_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or_default()
}

/// The proportional set size of all processes that count.
fn tree_bytes(proc: &Path, excluded: Option<i32>) -> Option<u64> {
    let pids: Vec<i32> = fs::read_dir(proc)
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&pid| pid != INIT)
        .collect();
    let counted = match excluded {
        None => pids,
        Some(root) => {
            let parents = pids
                .iter()
                .filter_map(|&pid| Some((pid, parent(proc, pid)?)));
            outside_of(root, &parents.collect())
        }
    };
    Some(
        counted
            .into_iter()
            .filter_map(|pid| fs::read_to_string(proc.join(format!("{pid}/smaps_rollup"))).ok())
            .filter_map(|text| parse_proportional_bytes(&text))
            .sum(),
    )
}

fn parent(proc: &Path, pid: i32) -> Option<i32> {
    parse_parent(&fs::read_to_string(proc.join(format!("{pid}/stat"))).ok()?)
}

/// The processes that do not descend from `root`.
fn outside_of(root: i32, parents: &HashMap<i32, i32>) -> Vec<i32> {
    let is_outside = |&pid: &i32| {
        let mut ancestor = pid;
        // No chain is longer than there are processes.
        for _ in 0..=parents.len() {
            if ancestor == root {
                return false;
            }
            match parents.get(&ancestor) {
                Some(&next) => ancestor = next,
                None => return true,
            }
        }
        true
    };
    parents.keys().copied().filter(is_outside).collect()
}

/// The line `Pss: N kB` of a `smaps_rollup` file.
fn parse_proportional_bytes(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    Some(kibibytes * BYTES_PER_KIB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proportional_size_is_read() {
        let text = "5581 r--p 00000000 00:00 0 [rollup]\nRss:  9999 kB\nPss:     1234 kB\nPss_Dirty: 7 kB\n";
        assert_eq!(parse_proportional_bytes(text), Some(1234 * 1024));
        assert_eq!(parse_proportional_bytes("Rss: 1 kB\n"), None);
    }

    #[test]
    fn a_tree_and_what_it_left_to_its_root_are_outside() {
        let parents = HashMap::from([(2, 1), (3, 2), (4, 3), (5, 1), (6, 5), (7, 0)]);
        let mut found = outside_of(2, &parents);
        found.sort_unstable();
        assert_eq!(found, [5, 6, 7]);
    }

    #[test]
    fn a_loop_of_parents_ends() {
        assert_eq!(outside_of(9, &HashMap::from([(2, 3), (3, 2)])).len(), 2);
    }

    #[test]
    fn this_process_has_memory() {
        let sampler = MemorySampler::start("/proc".into(), None, Instants::now()).unwrap();
        thread::sleep(FIRST_INTERVAL);
        let found = sampler.finish();
        assert!(found.iter().all(|&(_, bytes)| bytes > 0));
        assert!(!found.is_empty());
    }
}
