//! Feeds lines to a subject in batches: the next batch follows when the subject has printed a line for each line of the
//! last one.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::num::NonZeroU64;
use std::path::Path;
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use rustix::fd::OwnedFd;
use serde::Serialize;

use super::pipes::{Pipes, SubjectEnds};

/// The record of the batches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BatchRecord {
    /// Lines per batch; the last one may be smaller.
    pub batch: u64,
    /// Lines fed.
    pub lines: u64,
    /// Batches fed.
    pub batches: u64,
}

/// Feeds batches.
pub struct Batcher {
    lines: BufReader<File>,
    pipes: Pipes,
    batch: NonZeroU64,
}

impl Batcher {
    /// Opens the lines; the subject's output is stored in `store`.
    pub fn new(path: &Path, batch: NonZeroU64, store: OwnedFd) -> Result<(Self, SubjectEnds)> {
        let file = File::open(path).with_context(|| format!("--stdin {}", path.display()))?;
        let (pipes, ends) = Pipes::open(store)?;
        let batcher = Self {
            lines: BufReader::new(file),
            pipes,
            batch,
        };
        Ok((batcher, ends))
    }

    /// Starts feeding; the thread ends when the subject's output ends.
    pub fn start(self) -> JoinHandle<BatchRecord> {
        thread::spawn(move || self.run())
    }

    fn run(mut self) -> BatchRecord {
        let mut record = BatchRecord {
            batch: self.batch.get(),
            lines: 0,
            batches: 0,
        };
        let (mut pending_lines, mut printed) = (0, 0);
        loop {
            let is_answered = self.pipes.pending.is_empty() && printed >= record.lines;
            if is_answered && self.pipes.is_open() {
                pending_lines = self.read_batch();
                if pending_lines == 0 {
                    self.pipes.close_input();
                }
            }
            let Some(events) = self.pipes.wait_and_transfer(None) else {
                return record;
            };
            if events.is_delivered {
                record.lines += pending_lines;
                record.batches += 1;
            }
            printed += events
                .printed
                .iter()
                .map(|&byte| u64::from(byte == b'\n'))
                .sum::<u64>();
        }
    }

    /// Reads the next batch; returns its number of lines.
    fn read_batch(&mut self) -> u64 {
        let (mut lines, batch) = (0, &mut self.pipes.pending);
        while lines < self.batch.get()
            && self
                .lines
                .read_until(b'\n', batch)
                .is_ok_and(|read| read > 0)
        {
            lines += 1;
        }
        // The pipe stays open, so a subject would wait for the end of a last line without line feed.
        if batch.last().is_some_and(|&byte| byte != b'\n') {
            batch.push(b'\n');
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};

    use rustix::fd::AsRawFd;
    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;

    struct Stage {
        thread: JoinHandle<BatchRecord>,
        subject: SubjectEnds,
        stored: File,
    }

    fn stage(lines: &str, batch: u64) -> Stage {
        let file = memfd_create("lines", MemfdFlags::CLOEXEC).unwrap();
        File::from(file.try_clone().unwrap())
            .write_all(lines.as_bytes())
            .unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let store = memfd_create("store", MemfdFlags::CLOEXEC).unwrap();
        let stored = File::from(store.try_clone().unwrap());
        let batch = NonZeroU64::new(batch).unwrap();
        let (batcher, subject) = Batcher::new(Path::new(&path), batch, store).unwrap();
        Stage {
            thread: batcher.start(),
            subject,
            stored,
        }
    }

    fn text(mut file: File) -> String {
        file.rewind().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_batch_follows_the_answers_to_the_last() {
        let stage = stage("1\n2\n3\n4\n5", 2);
        let mut input = BufReader::new(File::from(stage.subject.stdin));
        let mut output = File::from(stage.subject.stdout);
        let mut seen = Vec::new();
        for size in [2, 2, 1] {
            for _ in 0..size {
                let mut line = String::new();
                input.read_line(&mut line).unwrap();
                seen.push(line.trim().to_owned());
            }
            // Nothing is fed early: all lines fed so far have been read.
            assert!(input.buffer().is_empty());
            assert_eq!(rustix::io::ioctl_fionread(input.get_ref()).unwrap(), 0);
            for _ in 0..size {
                output.write_all(b"done\n").unwrap();
            }
        }
        assert_eq!(input.read_line(&mut String::new()).unwrap(), 0);
        drop(output);
        assert_eq!(seen, ["1", "2", "3", "4", "5"]);
        let expected = BatchRecord {
            batch: 2,
            lines: 5,
            batches: 3,
        };
        assert_eq!(stage.thread.join().unwrap(), expected);
        assert_eq!(text(stage.stored), "done\n".repeat(5));
    }

    #[test]
    fn a_batch_larger_than_a_pipe_does_not_block_the_output() {
        let line = format!("{}\n", "x".repeat(999));
        let stage = stage(&line.repeat(1000), 1000);
        let mut input = BufReader::new(File::from(stage.subject.stdin));
        let mut output = File::from(stage.subject.stdout);
        // Answers each line with a long one before it reads the next, so that both pipes fill up.
        let mut found = String::new();
        while input.read_line(&mut found).unwrap() > 0 {
            output.write_all(found.as_bytes()).unwrap();
            found.clear();
        }
        drop(output);
        assert_eq!(stage.thread.join().unwrap().lines, 1000);
        assert_eq!(text(stage.stored).len(), 1_000_000);
    }

    #[test]
    fn a_subject_that_ends_or_stops_reading_ends_the_batches() {
        let ends = stage("1\n2\n", 1);
        drop(ends.subject);
        ends.thread.join().unwrap();
        let not_reading = stage("1\n2\n3\n", 1);
        drop(not_reading.subject.stdin);
        let mut output = File::from(not_reading.subject.stdout);
        output.write_all(b"a\nb\n").unwrap();
        drop(output);
        assert!(not_reading.thread.join().unwrap().batches <= 1);
        assert_eq!(text(not_reading.stored), "a\nb\n");
    }
}
