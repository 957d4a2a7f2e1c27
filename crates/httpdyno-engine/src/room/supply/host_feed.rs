//! Feeds the lines of a list with a limit per host: the next line of a host follows when the subject has answered the
//! last one.

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
use crate::progress::Counters;

/// The record of the feeding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostFeedRecord {
    /// Maximum number of lines of one host in flight.
    pub per_host: NonZeroUsize,
    /// Lines fed.
    pub lines: u64,
    /// Lines fed that were not answered.
    pub owed: u64,
    /// Why the other lines were not fed; absent if the subject was not the reason.
    pub withheld: Option<String>,
}

/// Count of the answered lines; unknown by default.
#[derive(Debug, Clone, Default)]
pub struct AnswerCount {
    /// URLs in the list.
    pub listed: Option<u64>,
    /// Answered URLs.
    rows: Arc<AtomicU64>,
}

impl AnswerCount {
    /// Reads the count.
    pub fn watcher(self) -> impl Fn() -> Counters + Send + 'static {
        move || Counters {
            requests: self.rows.load(Ordering::Relaxed),
            sent_bytes: 0,
        }
    }
}

/// Feeds lines within a limit per host.
pub struct HostFeeder {
    lines: BufReader<File>,
    pipes: Pipes,
    limit: HostLimit,
    /// Count of the answered lines.
    pub answered: AnswerCount,
}

impl HostFeeder {
    /// Opens the lines; the subject's output is stored in `store`.
    pub fn new(path: &Path, limit: HostLimit, store: OwnedFd) -> Result<(Self, SubjectEnds)> {
        let open = || File::open(path).with_context(|| format!("--stdin {}", path.display()));
        let listed = urls(BufReader::new(open()?)).fold(0, |count, _| count + 1);
        let (pipes, ends) = Pipes::open(store)?;
        let feeder = Self {
            lines: BufReader::new(open()?),
            pipes,
            limit,
            answered: AnswerCount {
                listed: Some(listed),
                rows: Arc::default(),
            },
        };
        Ok((feeder, ends))
    }

    /// Starts feeding; the thread ends when the subject's output ends.
    pub fn start(self) -> JoinHandle<HostFeedRecord> {
        thread::spawn(move || self.run())
    }

    fn run(mut self) -> HostFeedRecord {
        let mut list = PerHost::new(urls(self.lines), self.limit, Instant::now());
        loop {
            let is_open = self.pipes.is_open();
            if is_open && !list.fill(&mut self.pipes.pending, Instant::now()) {
                self.pipes.close_input();
            }
            let waits = self.pipes.is_open() && self.pipes.pending.is_empty();
            let Some(events) = self.pipes.wait_and_transfer(waits.then(|| list.wake_at())) else {
                return HostFeedRecord {
                    per_host: self.limit.per_host,
                    lines: list.lines_fed(),
                    owed: list.owed(),
                    withheld: list.withheld().map(str::to_owned),
                };
            };
            if !events.printed.is_empty() {
                list.read_output(events.printed, Instant::now());
                self.answered.rows.store(list.rows(), Ordering::Relaxed);
            }
        }
    }
}

/// The lines with text, trimmed.
fn urls(lines: impl BufRead) -> impl Iterator<Item = Vec<u8>> {
    let lines = lines.split(b'\n').map_while(Result::ok);
    let stripped = lines.map(|line| line.trim_ascii().to_vec());
    stripped.filter(|line| !line.is_empty())
}
