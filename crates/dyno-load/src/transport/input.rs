//! The bytes of a connection that were received and not used yet.
//!
//! `message/input.rs` of dyno-origin is its twin and stays one: answers may be long, so this one has no memory before its first byte
//! and grows while reads fill it; requests are short, so that one begins with all the room that most take.

use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Room for the answers of most APIs: ten thousand connections with it take 40 MiB.
const USUAL_BYTES: usize = 4 << 10;
/// Room that a connection comes to when its answers are long; also what a head may take.
pub(super) const MOST_BYTES: usize = 64 << 10;

/// A buffer that is filled at its end and used from its start.
#[derive(Debug, Default)]
pub(super) struct Input {
    buffer: Vec<u8>,
    unused: Range<usize>,
    /// Whether the last bytes that came filled it: then more were waiting, and a larger buffer takes them in fewer calls.
    filled: bool,
}

impl Input {
    /// What was received and not used.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.unused.clone()]
    }

    /// Takes away the first `count` bytes.
    #[inline]
    pub(super) fn consume(&mut self, count: usize) {
        self.unused.start += count;
        if self.unused.is_empty() {
            self.unused = 0..0;
        }
    }

    /// Receives more. False at the end of what the peer sends.
    #[inline]
    pub(super) fn poll_fill<S: AsyncRead + Unpin>(
        &mut self,
        context: &mut Context<'_>,
        stream: &mut S,
    ) -> Poll<io::Result<bool>> {
        if self.unused.end == self.buffer.len() || self.filled {
            self.make_room();
        }
        let mut room = ReadBuf::new(&mut self.buffer[self.unused.end..]);
        ready!(Pin::new(stream).poll_read(context, &mut room))?;
        let received = room.filled().len();
        self.filled = room.remaining() == 0;
        self.unused.end += received;
        Poll::Ready(Ok(received > 0))
    }

    #[cold]
    fn make_room(&mut self) {
        self.buffer.copy_within(self.unused.clone(), 0);
        self.unused = 0..self.unused.len();
        let length = match self.buffer.len() {
            0 => USUAL_BYTES,
            length if self.filled && length < MOST_BYTES => length * 2,
            // All of it is a head that goes on: one byte beyond what a head may take lets the parser refuse it.
            length if self.unused.end == length => length + USUAL_BYTES,
            length => length,
        };
        self.filled = false;
        self.buffer.resize(length, 0);
    }
}
