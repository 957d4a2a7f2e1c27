//! The pipes to and from a subject that is fed while it answers: the engine stores and inspects its output.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::time::Instant;

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::ioctl_fionbio;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

const BUFFER_BYTES: usize = 1 << 16;
/// Large enough that a subject with much output is not blocked while the engine is busy.
const OUTPUT_PIPE_BYTES: usize = 1 << 20;

/// The engine's ends of the pipes.
pub struct Pipes {
    /// Absent if there is nothing more to feed, or the subject has closed its input.
    to_subject: Option<File>,
    from_subject: File,
    store: File,
    /// Bytes to feed next.
    pub pending: Vec<u8>,
    buffer: Vec<u8>,
}

/// The subject's ends.
pub struct SubjectEnds {
    /// Its standard input.
    pub stdin: OwnedFd,
    /// Its standard output.
    pub stdout: OwnedFd,
}

/// The events of one wait.
pub struct PipeEvents<'p> {
    /// Whether the last of the pending bytes was written.
    pub is_delivered: bool,
    /// New output of the subject.
    pub printed: &'p [u8],
}

impl Pipes {
    /// Creates the pipes; the subject's output is stored in `store`.
    pub fn open(store: OwnedFd) -> Result<(Self, SubjectEnds)> {
        let pipe = || pipe_with(PipeFlags::CLOEXEC).context("making a pipe");
        let (stdin, to_subject) = pipe()?;
        let (from_subject, stdout) = pipe()?;
        // On failure the pipe keeps its default size, which works, too.
        let _ = fcntl_setpipe_size(&stdout, OUTPUT_PIPE_BYTES);
        // This end only: a full pipe must not keep the engine from reading the subject's output.
        ioctl_fionbio(&to_subject, true).context("a pipe that does not block")?;
        let pipes = Self {
            to_subject: Some(to_subject.into()),
            from_subject: from_subject.into(),
            store: store.into(),
            pending: Vec::new(),
            buffer: vec![0; BUFFER_BYTES],
        };
        Ok((pipes, SubjectEnds { stdin, stdout }))
    }

    /// Whether the subject can get more input.
    pub fn is_open(&self) -> bool {
        self.to_subject.is_some()
    }

    /// Closes the subject's input.
    pub fn close_input(&mut self) {
        self.to_subject = None;
        self.pending.clear();
    }

    /// Waits until the subject has printed or read something, or until the given time; `None` at the end of its output.
    pub fn wait_and_transfer(&mut self, until: Option<Instant>) -> Option<PipeEvents<'_>> {
        let (can_read, can_write) = self.wait(until);
        let is_delivered = can_write && self.write_pending();
        let length = if can_read { self.store()? } else { 0 };
        Some(PipeEvents {
            is_delivered,
            printed: &self.buffer[..length],
        })
    }

    fn wait(&self, until: Option<Instant>) -> (bool, bool) {
        let timeout = until.map(|moment| moment.saturating_duration_since(Instant::now()));
        let timeout = timeout.and_then(|left| Timespec::try_from(left).ok());
        let mut descriptors = vec![PollFd::new(&self.from_subject, PollFlags::IN)];
        // Without pending bytes no events are requested: the kernel always reports a closed reader.
        let wanted = if self.pending.is_empty() {
            PollFlags::empty()
        } else {
            PollFlags::OUT
        };
        let to_subject = self.to_subject.as_ref();
        descriptors.extend(to_subject.map(|pipe| PollFd::new(pipe, wanted)));
        if poll(&mut descriptors, timeout.as_ref()).is_err() {
            // Interrupted.
            return (false, false);
        }
        let is_ready = |which: usize| {
            descriptors
                .get(which)
                .is_some_and(|descriptor| !descriptor.revents().is_empty())
        };
        (is_ready(0), is_ready(1))
    }

    /// Writes as much as the pipe takes; returns true when that was the last of it.
    fn write_pending(&mut self) -> bool {
        let Some(pipe) = self
            .to_subject
            .as_mut()
            .filter(|_| !self.pending.is_empty())
        else {
            // The only event of a pipe without pending bytes: its reader has closed it.
            self.close_input();
            return false;
        };
        match pipe.write(&self.pending) {
            Ok(written) => {
                self.pending.drain(..written);
                self.pending.is_empty()
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                false
            }
            Err(_) => {
                self.close_input();
                false
            }
        }
    }

    /// Stores new output of the subject; returns its length, `None` at its end.
    fn store(&mut self) -> Option<usize> {
        match self.from_subject.read(&mut self.buffer) {
            Ok(0) => None,
            Ok(length) => {
                // When it cannot be stored, the subject gets a broken pipe.
                self.store.write_all(&self.buffer[..length]).ok()?;
                Some(length)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Some(0),
            Err(_) => None,
        }
    }
}
