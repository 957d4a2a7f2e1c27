//! The pipes to and from a subject that is handed its lines as it answers: what it prints is stored here, and looked at.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::time::Instant;

use anyhow::{Context, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::ioctl_fionbio;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

const BUFFER_BYTES: usize = 1 << 16;
/// A subject that prints much is not held up while this side does something else.
const OUTPUT_PIPE_BYTES: usize = 1 << 20;

/// Our ends of the pipes.
pub struct Pipes {
    /// Absent when there is nothing more to hand over, or nobody reads.
    to_subject: Option<File>,
    from_subject: File,
    store: File,
    /// What is handed over next.
    pub pending: Vec<u8>,
    buffer: Vec<u8>,
}

/// The subject's ends.
pub struct SubjectEnds {
    /// What it reads.
    pub stdin: OwnedFd,
    /// Where it prints.
    pub stdout: OwnedFd,
}

/// What has happened to the pipes.
pub struct Turn<'p> {
    /// The last of what was pending was taken.
    pub is_delivered: bool,
    /// What the subject has printed.
    pub printed: &'p [u8],
}

impl Pipes {
    /// Makes them; what the subject prints is to be stored in `store`.
    pub fn open(store: OwnedFd) -> Result<(Self, SubjectEnds)> {
        let pipe = || pipe_with(PipeFlags::CLOEXEC).context("making a pipe");
        let (stdin, to_subject) = pipe()?;
        let (from_subject, stdout) = pipe()?;
        // A smaller one does, too.
        let _ = fcntl_setpipe_size(&stdout, OUTPUT_PIPE_BYTES);
        // Of this end only: lines that do not fit must not keep us from reading what the subject prints.
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

    /// Whether the subject can be handed anything.
    pub fn is_open(&self) -> bool {
        self.to_subject.is_some()
    }

    /// Hands nothing over any more: the subject reads the end of its input.
    pub fn hang_up(&mut self) {
        self.to_subject = None;
        self.pending.clear();
    }

    /// Waits until the subject has printed something, or taken something, or the moment has come; none when it prints no more.
    pub fn turn(&mut self, until: Option<Instant>) -> Option<Turn<'_>> {
        let (can_read, can_write) = self.wait(until);
        let is_delivered = can_write && self.hand_over();
        let length = if can_read { self.store()? } else { 0 };
        Some(Turn {
            is_delivered,
            printed: &self.buffer[..length],
        })
    }

    fn wait(&self, until: Option<Instant>) -> (bool, bool) {
        let timeout = until.map(|moment| moment.saturating_duration_since(Instant::now()));
        let timeout = timeout.and_then(|left| Timespec::try_from(left).ok());
        let mut descriptors = vec![PollFd::new(&self.from_subject, PollFlags::IN)];
        // Nothing is asked for when nothing is pending: the kernel tells of a reader that is gone in any case.
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
        let told = |which: usize| {
            descriptors
                .get(which)
                .is_some_and(|descriptor| !descriptor.revents().is_empty())
        };
        (told(0), told(1))
    }

    /// Hands over as much as the pipe takes; true when that was the last of it.
    fn hand_over(&mut self) -> bool {
        let Some(pipe) = self
            .to_subject
            .as_mut()
            .filter(|_| !self.pending.is_empty())
        else {
            // Nobody reads any more, which is all that can be told of a pipe that nothing waits for.
            self.hang_up();
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
                self.hang_up();
                false
            }
        }
    }

    /// Stores what the subject has printed; returns its length, `None` when it prints no more.
    fn store(&mut self) -> Option<usize> {
        match self.from_subject.read(&mut self.buffer) {
            Ok(0) => None,
            Ok(length) => {
                // With nowhere to store it, the subject is told by a broken pipe.
                self.store.write_all(&self.buffer[..length]).ok()?;
                Some(length)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Some(0),
            Err(_) => None,
        }
    }
}
