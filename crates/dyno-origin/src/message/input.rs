//! The bytes of a connection that were received and not used yet.
//!
//! `transport/input.rs` of dyno-load is its twin and stays one: requests are short, so this one begins with all the room that most
//! take; answers may be long, so that one has no memory before its first byte and grows while reads fill it.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Room for the requests of nearly every client.
const USUAL_BYTES: usize = 4 << 10;
/// As much as a head may take.
const MOST_BYTES: usize = 64 << 10;

/// A buffer that is filled at its end and used from its start.
#[derive(Debug)]
pub(crate) struct Input {
    buffer: Vec<u8>,
    unused: Range<usize>,
}

impl Input {
    pub(crate) fn new() -> Self {
        Self {
            buffer: vec![0; USUAL_BYTES],
            unused: 0..0,
        }
    }

    /// What was received before, and more to come.
    pub(crate) fn of(received: &[u8]) -> Self {
        let mut input = Self::new();
        input.buffer[..received.len()].copy_from_slice(received);
        input.unused = 0..received.len();
        input
    }

    /// What was received and not used.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.unused.clone()]
    }

    /// Takes away the first `count` bytes.
    pub(crate) fn consume(&mut self, count: usize) {
        self.unused.start += count;
        if self.unused.is_empty() {
            self.unused = 0..0;
        }
    }

    /// Takes away all bytes.
    pub(crate) fn clear(&mut self) {
        self.unused = 0..0;
    }

    /// Whether more can be received before something is used.
    pub(crate) fn has_room(&self) -> bool {
        self.unused.len() < MOST_BYTES
    }

    /// Receives more; there must be room. False at the end of what the peer sends.
    pub(crate) async fn fill<S: AsyncRead + Unpin>(&mut self, stream: &mut S) -> io::Result<bool> {
        poll_fn(|context| self.poll_fill(context, stream)).await
    }

    /// As [`Input::fill`].
    pub(crate) fn poll_fill<S: AsyncRead + Unpin>(
        &mut self,
        context: &mut Context<'_>,
        stream: &mut S,
    ) -> Poll<io::Result<bool>> {
        if self.unused.end == self.buffer.len() {
            self.make_room();
        }
        let mut room = ReadBuf::new(&mut self.buffer[self.unused.end..]);
        ready!(Pin::new(stream).poll_read(context, &mut room))?;
        let received = room.filled().len();
        self.unused.end += received;
        Poll::Ready(Ok(received > 0))
    }

    fn make_room(&mut self) {
        self.buffer.copy_within(self.unused.clone(), 0);
        self.unused = 0..self.unused.len();
        if self.unused.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn what_is_not_used_stays_in_order() {
        let sent: Vec<u8> = (0..200_000_u32).map(|place| (place % 251) as u8).collect();
        let mut stream = &sent[..];
        let mut input = Input::new();
        let mut used = Vec::new();
        while input.fill(&mut stream).await.unwrap() {
            let some = input.bytes().len() / 3;
            used.extend_from_slice(&input.bytes()[..some]);
            input.consume(some);
        }
        used.extend_from_slice(input.bytes());
        assert!(used == sent);
    }
}
