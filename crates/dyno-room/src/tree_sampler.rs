//! Samples of the subject's process tree, taken from outside: proportional set size and open descriptors.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::descriptors::{self, OpenDescriptors};
use crate::process::{parse_parent, thread_cpu_time};
use crate::protocol::Instants;

const FIRST_INTERVAL: Duration = Duration::from_millis(5);
/// Usual interval of samples; the first ones are closer, so that a short-lived process is sampled, too.
const INTERVAL: Duration = Duration::from_millis(100);
/// Reading a tree's pages takes CPU time; the sampler spends at most one part in this many on it.
const COST_SHARE: u32 = 50;
/// PID of the room's first process, which is not part of the subject.
const INIT: i32 = 1;
/// Not a valid PID.
const NO_PROCESS: i32 = 0;
const BYTES_PER_KIB: u64 = 1024;

/// Samples of a process tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TreeSamples {
    /// Nanoseconds since the subject's exec, bytes.
    pub(crate) memory: Vec<(u64, u64)>,
    /// Nanoseconds since the subject's exec, open descriptors.
    pub(crate) descriptors: Vec<(u64, u64)>,
    /// The largest number of descriptors of one process.
    pub(crate) fullest: Option<OpenDescriptors>,
}

/// A thread that samples until it is stopped.
#[derive(Debug)]
pub(crate) struct TreeSampler {
    stop: Sender<()>,
    excluded: Arc<AtomicI32>,
    thread: JoinHandle<TreeSamples>,
}

impl TreeSampler {
    /// Start sampling all processes of this `/proc` except the room's first process and the descendants of `excluded`.
    pub(crate) fn start(
        proc: PathBuf,
        excluded: Option<i32>,
        exec: Instants,
    ) -> std::io::Result<Self> {
        let (stop, stopped) = channel();
        let excluded = Arc::new(AtomicI32::new(excluded.unwrap_or(NO_PROCESS)));
        let tree = Tree {
            proc,
            excluded: Arc::clone(&excluded),
        };
        let thread = thread::Builder::new()
            .name("sampler".to_owned())
            .spawn(move || sample(&tree, exec, &stopped))?;
        Ok(Self {
            stop,
            excluded,
            thread,
        })
    }

    /// Exclude the descendants of this process from now on.
    pub(crate) fn exclude(&self, root: i32) {
        self.excluded.store(root, Ordering::Relaxed);
    }

    /// Stop and return the samples.
    pub(crate) fn finish(self) -> TreeSamples {
        let Self { stop, thread, .. } = self;
        drop(stop);
        thread.join().unwrap_or_default()
    }
}

fn sample(tree: &Tree, exec: Instants, stopped: &Receiver<()>) -> TreeSamples {
    let mut samples = TreeSamples::default();
    let mut interval = FIRST_INTERVAL;
    loop {
        let before = thread_cpu_time();
        if let Some(pids) = tree.pids() {
            let elapsed_ns = || {
                Instants::now()
                    .monotonic_ns
                    .saturating_sub(exec.monotonic_ns)
            };
            let bytes = tree.bytes(&pids);
            // A tree that has just ended has no pages left; its zero is not a measurement.
            if bytes > 0 {
                samples.memory.push((elapsed_ns(), bytes));
                samples.add_descriptors(elapsed_ns(), &tree.descriptors(&pids));
            }
        }
        // The CPU time of a reading is its cost, without the time waiting for a CPU.
        let cost = Duration::from_nanos(thread_cpu_time().since(before).total_ns());
        let pause = interval.max(cost * COST_SHARE);
        interval = (interval * 2).min(INTERVAL);
        if stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
            return samples;
        }
    }
}

impl TreeSamples {
    fn add_descriptors(&mut self, elapsed_ns: u64, found: &[OpenDescriptors]) {
        let total: u64 = found.iter().map(|process| process.count).sum();
        // All of its processes may have ended since their pages were counted.
        if total > 0 {
            self.descriptors.push((elapsed_ns, total));
        }
        for &process in found {
            if self
                .fullest
                .is_none_or(|fullest| fullest.count < process.count)
            {
                self.fullest = Some(process);
            }
        }
    }
}

/// The subject's processes.
struct Tree {
    proc: PathBuf,
    /// Root of the processes that are excluded.
    excluded: Arc<AtomicI32>,
}

impl Tree {
    /// Return the PIDs of the subject's processes.
    fn pids(&self) -> Option<Vec<i32>> {
        let pids: Vec<i32> = fs::read_dir(&self.proc)
            .ok()?
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|&pid| pid != INIT)
            .collect();
        Some(match self.excluded.load(Ordering::Relaxed) {
            NO_PROCESS => pids,
            root => {
                let parents = pids
                    .iter()
                    .filter_map(|&pid| Some((pid, parent(&self.proc, pid)?)));
                outside_of(root, &parents.collect())
            }
        })
    }

    /// Return their proportional set size.
    fn bytes(&self, pids: &[i32]) -> u64 {
        pids.iter()
            .filter_map(|pid| {
                fs::read_to_string(self.proc.join(format!("{pid}/smaps_rollup"))).ok()
            })
            .filter_map(|text| parse_proportional_bytes(&text))
            .sum()
    }

    /// Return their open descriptors.
    fn descriptors(&self, pids: &[i32]) -> Vec<OpenDescriptors> {
        pids.iter()
            .filter_map(|pid| descriptors::of(&self.proc.join(pid.to_string())))
            .collect()
    }
}

fn parent(proc: &Path, pid: i32) -> Option<i32> {
    parse_parent(&fs::read_to_string(proc.join(format!("{pid}/stat"))).ok()?)
}

/// Return the processes that do not descend from `root`.
fn outside_of(root: i32, parents: &HashMap<i32, i32>) -> Vec<i32> {
    let is_outside = |&pid: &i32| {
        let mut ancestor = pid;
        // No chain is longer than the number of processes.
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

/// Parse the line `Pss: N kB` of a `smaps_rollup` file.
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
    fn a_tree_and_its_reparented_processes_are_excluded() {
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
    fn the_fullest_process_is_kept_and_all_are_added() {
        let open = |count| OpenDescriptors {
            count,
            limit: Some(100),
        };
        let mut samples = TreeSamples::default();
        samples.add_descriptors(1, &[open(3), open(7)]);
        samples.add_descriptors(2, &[open(5)]);
        samples.add_descriptors(3, &[]);
        assert_eq!(samples.descriptors, [(1, 10), (2, 5)]);
        assert_eq!(samples.fullest, Some(open(7)));
    }

    #[test]
    fn this_process_has_memory_and_descriptors() {
        // A `/proc` that shows only this process.
        let own = std::process::id().to_string();
        let proc = std::env::temp_dir().join(format!("dyno-room-sampler-{own}"));
        let link = proc.join(&own);
        fs::create_dir_all(&proc).unwrap();
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(format!("/proc/{own}"), link).unwrap();
        // It samples once before it checks whether to stop.
        let sampler = TreeSampler::start(proc.clone(), None, Instants::now()).unwrap();
        let found = sampler.finish();
        fs::remove_dir_all(proc).unwrap();
        assert!(found.memory.iter().all(|&(_, bytes)| bytes > 0));
        assert!(!found.memory.is_empty());
        assert!(!found.descriptors.is_empty());
    }
}
