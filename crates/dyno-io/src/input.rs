//! A buffer for the received bytes of a connection.

use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// Enough for the requests of nearly every client, and for the answers of most APIs; ten thousand connections take 40
/// MiB.
const USUAL_BYTES: usize = 4 << 10;

/// A buffer that is filled at the end and consumed from the start. It has no memory before its first byte.
#[derive(Debug)]
pub struct Input {
    buffer: Vec<u8>,
    unused: Range<usize>,
    /// Whether the last read filled the buffer: then more bytes were waiting, and a larger buffer needs fewer calls.
    filled: bool,
    /// Whether the buffer grows whenever a read fills it, or only when all of its bytes are unused.
    grows: bool,
}

impl Input {
    /// Limit on a head, and largest size of the buffer of a connection with long messages.
    pub const MAX_BYTES: usize = 64 << 10;

    /// Creates a buffer for short messages, such as requests: it grows only for a head that does not fit.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            buffer: Vec::new(),
            unused: 0..0,
            filled: false,
            grows: false,
        }
    }

    /// Creates a buffer for messages that may be long, such as answers: it grows while reads fill it.
    #[must_use]
    pub fn growing() -> Self {
        Self {
            grows: true,
            ..Self::new()
        }
    }

    /// Creates a buffer for short messages that contains `received`.
    #[must_use]
    pub fn of(received: &[u8]) -> Self {
        let mut buffer = vec![0; USUAL_BYTES.max(received.len())];
        buffer[..received.len()].copy_from_slice(received);
        Self {
            buffer,
            unused: 0..received.len(),
            ..Self::new()
        }
    }

    /// Returns the received bytes that are not consumed.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.unused.clone()]
    }

    /// Consumes the first `count` bytes.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        self.unused.start += count;
        if self.unused.is_empty() {
            self.unused = 0..0;
        }
    }

    /// Consumes all bytes.
    #[inline]
    pub fn clear(&mut self) {
        self.unused = 0..0;
    }

    /// Whether the unconsumed bytes are still within the limit on a head.
    #[inline]
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.unused.len() < Self::MAX_BYTES
    }

    /// Receives more bytes. False at the end of the peer's input.
    ///
    /// # Errors
    ///
    /// An error of the stream.
    pub async fn fill<S: AsyncRead + Unpin>(&mut self, stream: &mut S) -> io::Result<bool> {
        poll_fn(|context| self.poll_fill(context, stream)).await
    }

    /// See [`Input::fill`].
    ///
    /// # Errors
    ///
    /// An error of the stream.
    #[inline]
    pub fn poll_fill<S: AsyncRead + Unpin>(
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
        self.filled = self.grows && room.remaining() == 0;
        self.unused.end += received;
        Poll::Ready(Ok(received > 0))
    }

    #[cold]
    fn make_room(&mut self) {
        self.buffer.copy_within(self.unused.clone(), 0);
        self.unused = 0..self.unused.len();
        let is_full = self.unused.end == self.buffer.len();
        match self.buffer.len() {
            0 => self.buffer = vec![0; USUAL_BYTES],
            length if (self.filled || is_full) && length < Self::MAX_BYTES => {
                self.buffer.resize(length * 2, 0);
            }
            // All of it is an incomplete head: one byte beyond the limit lets the parser refuse it.
            length if is_full => self.buffer.resize(length + USUAL_BYTES, 0),
            _ => {}
        }
        self.filled = false;
    }
}

impl Default for Input {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn what_is_not_used_stays_in_order() {
        let sent: Vec<u8> = (0..200_000_u32).map(|place| (place % 251) as u8).collect();
        for mut input in [Input::new(), Input::growing(), Input::of(&[])] {
            let mut stream = &sent[..];
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

    #[tokio::test(flavor = "current_thread")]
    async fn only_an_input_of_long_messages_grows_while_all_is_used() {
        let sent = vec![7; 200_000];
        for (mut input, most) in [
            (Input::new(), USUAL_BYTES),
            (Input::growing(), Input::MAX_BYTES),
        ] {
            assert_eq!(input.buffer.capacity(), 0);
            let mut stream = &sent[..];
            while input.fill(&mut stream).await.unwrap() {
                input.consume(input.bytes().len());
            }
            assert_eq!(input.buffer.len(), most);
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_head_may_fill_all_and_one_byte_more_is_received() {
        let sent = vec![7; Input::MAX_BYTES + 1];
        for mut input in [Input::new(), Input::growing()] {
            let mut stream = &sent[..];
            while input.fill(&mut stream).await.unwrap() {}
            assert_eq!(input.bytes().len(), sent.len());
            assert!(!input.has_room());
        }
    }
}
