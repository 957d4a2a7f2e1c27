//! Hands a subject its lines in batches: the next ones when it has printed as many as it was given.
//!
//! So that this is known, the subject prints into a pipe, and what it prints is stored here.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::num::NonZeroU64;
use std::path::Path;
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::io::ioctl_fionbio;
use rustix::pipe::{PipeFlags, pipe_with};
use serde::Serialize;

const BUFFER_BYTES: usize = 1 << 16;

/// What was handed over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Handed {
    /// Lines of a batch; the last one may be smaller.
    pub batch: u64,
    /// Lines handed over.
    pub lines: u64,
    /// Batches handed over.
    pub batches: u64,
}

/// The other ends of the pipes of a [`Batcher`].
pub struct SubjectEnds {
    /// What the subject reads.
    pub stdin: OwnedFd,
    /// Where it prints.
    pub stdout: OwnedFd,
}

/// Hands over batches once it is started.
pub struct Batcher {
    lines: BufReader<File>,
    /// Absent when there is nothing more to hand over, or nobody reads.
    to_subject: Option<File>,
    from_subject: File,
    store: File,
    batch: NonZeroU64,
}

impl Batcher {
    /// Opens the lines; what the subject prints is to be stored in `store`.
    pub fn new(path: &Path, batch: NonZeroU64, store: OwnedFd) -> Result<(Self, SubjectEnds)> {
        let file = File::open(path).with_context(|| format!("--stdin {}", path.display()))?;
        let pipe = || pipe_with(PipeFlags::CLOEXEC).context("making a pipe");
        let (stdin, to_subject) = pipe()?;
        let (from_subject, stdout) = pipe()?;
        // Of this end only: a batch that does not fit must not keep us from reading what the subject prints.
        ioctl_fionbio(&to_subject, true).context("a pipe that does not block")?;
        let batcher = Self {
            lines: BufReader::new(file),
            to_subject: Some(to_subject.into()),
            from_subject: from_subject.into(),
            store: store.into(),
            batch,
        };
        Ok((batcher, SubjectEnds { stdin, stdout }))
    }

    /// Hands over from now on; ends when nobody can print any more.
    pub fn start(self) -> JoinHandle<Handed> {
        thread::spawn(move || self.run())
    }

    fn run(mut self) -> Handed {
        let mut handed = Handed {
            batch: self.batch.get(),
            lines: 0,
            batches: 0,
        };
        let (mut pending, mut pending_lines) = (Vec::new(), 0);
        let mut printed = 0;
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            if pending.is_empty() && printed >= handed.lines && self.to_subject.is_some() {
                pending_lines = self.read_batch(&mut pending);
                if pending_lines == 0 {
                    self.to_subject = None;
                }
            }
            let (can_read, can_write) = self.wait(!pending.is_empty());
            if can_write && self.hand_over(&mut pending) && pending.is_empty() {
                handed.lines += pending_lines;
                handed.batches += 1;
            }
            if can_read {
                match self.store(&mut buffer) {
                    Some(lines) => printed += lines,
                    None => return handed,
                }
            }
        }
    }

    /// Reads the next batch; returns how many lines it has.
    fn read_batch(&mut self, batch: &mut Vec<u8>) -> u64 {
        let mut lines = 0;
        while lines < self.batch.get()
            && self
                .lines
                .read_until(b'\n', batch)
                .is_ok_and(|read| read > 0)
        {
            lines += 1;
        }
        // A last line without an end would be waited for, since the pipe stays open until it is answered.
        if batch.last().is_some_and(|&byte| byte != b'\n') {
            batch.push(b'\n');
        }
        lines
    }

    /// Waits until the subject has printed something, or takes something if there is any for it.
    fn wait(&self, has_pending: bool) -> (bool, bool) {
        let mut descriptors = vec![PollFd::new(&self.from_subject, PollFlags::IN)];
        let to_subject = self.to_subject.as_ref().filter(|_| has_pending);
        descriptors.extend(to_subject.map(|pipe| PollFd::new(pipe, PollFlags::OUT)));
        if poll(&mut descriptors, None).is_err() {
            // Interrupted.
            return (false, false);
        }
        let told = |which: usize| {
            descriptors
                .get(which)
                .is_some_and(|descriptor| !descriptor.revents().is_empty())
        };
        (told(0), told(1))
    }

    /// Hands over as much as the pipe takes; false when nobody reads any more.
    fn hand_over(&mut self, pending: &mut Vec<u8>) -> bool {
        let Some(pipe) = &mut self.to_subject else {
            return false;
        };
        match pipe.write(pending) {
            Ok(written) => {
                pending.drain(..written);
                true
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                true
            }
            Err(_) => {
                self.to_subject = None;
                pending.clear();
                false
            }
        }
    }

    /// Stores what the subject has printed; returns how many lines it ended, `None` when it prints no more.
    fn store(&mut self, buffer: &mut [u8]) -> Option<u64> {
        match self.from_subject.read(buffer) {
            Ok(0) => None,
            Ok(length) => {
                let printed = &buffer[..length];
                // With nowhere to store it, the subject is told by a broken pipe.
                self.store.write_all(printed).ok()?;
                let lines = printed.split(|&byte| byte == b'\n').count() - 1;
                u64::try_from(lines).ok()
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Some(0),
            Err(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Seek;

    use rustix::fd::AsRawFd;
    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;

    struct Stage {
        thread: JoinHandle<Handed>,
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
    fn a_batch_comes_when_the_one_before_was_answered() {
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
            // Nothing is ahead of its turn: all that was handed over has been read.
            assert!(input.buffer().is_empty());
            assert_eq!(rustix::io::ioctl_fionread(input.get_ref()).unwrap(), 0);
            for _ in 0..size {
                output.write_all(b"done\n").unwrap();
            }
        }
        assert_eq!(input.read_line(&mut String::new()).unwrap(), 0);
        drop(output);
        assert_eq!(seen, ["1", "2", "3", "4", "5"]);
        let expected = Handed {
            batch: 2,
            lines: 5,
            batches: 3,
        };
        assert_eq!(stage.thread.join().unwrap(), expected);
        assert_eq!(text(stage.stored), "done\n".repeat(5));
    }

    #[test]
    fn a_batch_that_no_pipe_holds_does_not_stop_what_comes_back() {
        let line = format!("{}\n", "x".repeat(999));
        let stage = stage(&line.repeat(1000), 1000);
        let mut input = BufReader::new(File::from(stage.subject.stdin));
        let mut output = File::from(stage.subject.stdout);
        // Answers each line at length before it reads the next: neither pipe holds it all.
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
        let deaf = stage("1\n2\n3\n", 1);
        drop(deaf.subject.stdin);
        let mut output = File::from(deaf.subject.stdout);
        output.write_all(b"a\nb\n").unwrap();
        drop(output);
        assert!(deaf.thread.join().unwrap().batches <= 1);
        assert_eq!(text(deaf.stored), "a\nb\n");
    }
}
