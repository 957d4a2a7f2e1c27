//! Hands a subject the lines of a list so that no host is asked for too much at once: the next of a host when it has printed the last.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use anyhow::{Context, Result};
use rustix::fd::OwnedFd;
use serde::Serialize;

use super::per_host::{HostLimit, PerHost};
use super::pipes::{Pipes, SubjectEnds};
use crate::progress::Done;

/// What was handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostFed {
    /// Lines of one host in flight at most.
    pub per_host: NonZeroUsize,
    /// Lines handed over.
    pub lines: u64,
    /// Lines of them that were not answered.
    pub owed: u64,
    /// Why the others were not handed over; absent when the subject was not the reason.
    pub withheld: Option<String>,
}

/// How far a subject is, as its lines tell; unknown by default.
#[derive(Debug, Clone, Default)]
pub struct Answered {
    /// URLs in the list.
    pub listed: Option<u64>,
    /// Those of them that were answered.
    rows: Arc<AtomicU64>,
}

impl Answered {
    /// Tells how far it is, whenever it is asked.
    pub fn watcher(self) -> impl Fn() -> Done + Send + 'static {
        move || Done {
            requests: self.rows.load(Ordering::Relaxed),
            sent_bytes: 0,
        }
    }
}

/// Hands over once it is started.
pub struct HostFeeder {
    lines: BufReader<File>,
    pipes: Pipes,
    limit: HostLimit,
    /// How far the subject is.
    pub answered: Answered,
}

impl HostFeeder {
    /// Opens the lines; what the subject prints is to be stored in `store`.
    pub fn new(path: &Path, limit: HostLimit, store: OwnedFd) -> Result<(Self, SubjectEnds)> {
        let open = || File::open(path).with_context(|| format!("--stdin {}", path.display()));
        let listed = urls(BufReader::new(open()?)).fold(0, |count, _| count + 1);
        let (pipes, ends) = Pipes::open(store)?;
        let feeder = Self {
            lines: BufReader::new(open()?),
            pipes,
            limit,
            answered: Answered {
                listed: Some(listed),
                rows: Arc::default(),
            },
        };
        Ok((feeder, ends))
    }

    /// Hands over from now on; ends when nobody can print any more.
    pub fn start(self) -> JoinHandle<HostFed> {
        thread::spawn(move || self.run())
    }

    fn run(mut self) -> HostFed {
        let mut list = PerHost::new(urls(self.lines), self.limit, Instant::now());
        loop {
            let is_open = self.pipes.is_open();
            if is_open && !list.fill(&mut self.pipes.pending, Instant::now()) {
                self.pipes.hang_up();
            }
            let waits = self.pipes.is_open() && self.pipes.pending.is_empty();
            let Some(turn) = self.pipes.turn(waits.then(|| list.wake_at())) else {
                return HostFed {
                    per_host: self.limit.per_host,
                    lines: list.handed(),
                    owed: list.owed(),
                    withheld: list.withheld().map(str::to_owned),
                };
            };
            if !turn.printed.is_empty() {
                list.printed(turn.printed, Instant::now());
                self.answered.rows.store(list.rows(), Ordering::Relaxed);
            }
        }
    }
}

/// The lines that say something, without what stands around them.
fn urls(lines: impl BufRead) -> impl Iterator<Item = Vec<u8>> {
    let lines = lines.split(b'\n').map_while(Result::ok);
    let stripped = lines.map(|line| line.trim_ascii().to_vec());
    stripped.filter(|line| !line.is_empty())
}
