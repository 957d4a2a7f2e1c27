//! Feeds lines to the subject's standard input on a schedule: an open loop for any client that streams.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use rustix::fd::OwnedFd;
use serde::Serialize;

/// What was fed: line `i` was intended `i / rate` seconds after the start.
#[derive(Debug, Clone, Serialize)]
pub struct Fed {
    /// Lines a second that were asked for.
    pub rate_per_s: f64,
    /// Unix time at which the first line was intended.
    pub started_at_ns: u64,
    /// Lines handed over.
    pub lines: u64,
    /// The most that a line was behind its intended time: the subject's pipe was full, or the machine was busy.
    pub most_late_ns: u64,
}

/// A feeder about to start.
pub struct Feeder {
    lines: BufReader<File>,
    pipe: File,
    rate_per_s: f64,
}

impl Feeder {
    /// Opens the file and a pipe; returns the end that the subject reads.
    pub fn new(path: &Path, rate_per_s: f64) -> Result<(Self, OwnedFd)> {
        let file = File::open(path).with_context(|| format!("--stdin {}", path.display()))?;
        let (read, write) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).context("making a pipe")?;
        Ok((
            Self {
                lines: BufReader::new(file),
                pipe: File::from(write),
                rate_per_s,
            },
            read,
        ))
    }

    /// Feeds from now on; ends with the file, or when the subject reads no more.
    pub fn start(self) -> JoinHandle<Fed> {
        thread::spawn(move || self.feed())
    }

    fn feed(mut self) -> Fed {
        let start = Instant::now();
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let started_at_ns = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let mut fed = Fed {
            rate_per_s: self.rate_per_s,
            started_at_ns,
            lines: 0,
            most_late_ns: 0,
        };
        let mut line = Vec::new();
        loop {
            line.clear();
            if !self
                .lines
                .read_until(b'\n', &mut line)
                .is_ok_and(|bytes| bytes > 0)
            {
                return fed;
            }
            #[expect(
                clippy::cast_precision_loss,
                reason = "line numbers are far below 2^53"
            )]
            let intended = start + Duration::from_secs_f64(fed.lines as f64 / self.rate_per_s);
            thread::sleep(intended.saturating_duration_since(Instant::now()));
            if self.pipe.write_all(&line).is_err() {
                return fed;
            }
            let late = u64::try_from(intended.elapsed().as_nanos()).unwrap_or(u64::MAX);
            fed.most_late_ns = fed.most_late_ns.max(late);
            fed.lines += 1;
        }
    }
}
