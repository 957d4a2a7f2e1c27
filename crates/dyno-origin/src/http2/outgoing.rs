//! Outgoing content as references to prepared bytes.

use std::io::IoSlice;
use std::rc::Rc;

use bytes::Buf;
use dyno_web::{Coding, Content};
use tokio::sync::oneshot;

use super::session::Completion;
use crate::prepared::Source;
use crate::worker::Worker;

/// A range of prepared content, from which frames are cut; only short ranges are copied.
pub(super) struct Outgoing {
    pub(super) worker: Rc<Worker>,
    pub(super) content: Content,
    pub(super) coding: Coding,
    /// Start of the bytes still to be sent.
    pub(super) from: u64,
    /// End of the range.
    pub(super) to: u64,
    /// Action when all of it has been passed to the kernel.
    pub(super) then: Then,
}

/// Action when a range has been passed to the kernel; omitted if its stream ends first.
pub(super) enum Then {
    /// The answer is complete.
    Complete(Completion),
    /// Notify the emitter, which waits.
    Tell(oneshot::Sender<()>),
    Nothing,
}

impl Outgoing {
    fn source(&self) -> Source<'_> {
        let (source, _) = self.worker.pages.source(&self.content, self.coding);
        source.cut(self.to)
    }
}

impl Buf for Outgoing {
    fn remaining(&self) -> usize {
        usize::try_from(self.to - self.from).unwrap_or(usize::MAX)
    }

    fn chunk(&self) -> &[u8] {
        self.source().from(self.from)
    }

    fn chunks_vectored<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let source = self.source();
        let mut from = self.from;
        for (count, slice) in slices.iter_mut().enumerate() {
            let piece = source.from(from);
            if piece.is_empty() {
                return count;
            }
            *slice = IoSlice::new(piece);
            from += piece.len() as u64;
        }
        slices.len()
    }

    fn advance(&mut self, count: usize) {
        self.from += count as u64;
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        if self.has_remaining() {
            return;
        }
        match std::mem::replace(&mut self.then, Then::Nothing) {
            Then::Complete(completion) => completion.complete(),
            // The emitter may have stopped waiting.
            Then::Tell(waiting) => drop(waiting.send(())),
            Then::Nothing => {}
        }
    }
}
