//! An outgoing message: head, framed content, end; each is written from where it is stored.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::piece::{LINE_BYTES, Piece, size_line};
use crate::prepared::Source;

/// Slices passed to the kernel at once; a chunk takes three.
const SLICES: usize = 32;

/// References to the bytes to send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outgoing<'m> {
    /// Bytes before the content.
    pub(crate) head: &'m [u8],
    /// The content.
    pub(crate) source: Source<'m>,
    /// Start of the range of the content to send.
    pub(crate) from: u64,
    /// End of that range.
    pub(crate) to: u64,
    /// Longest chunk, if the content is sent in chunks.
    pub(crate) chunk_bytes: Option<u64>,
    /// Bytes after the content.
    pub(crate) end: &'m [u8],
}

/// A position in an outgoing message.
#[derive(Debug, Clone, Copy)]
struct Cursor {
    part: Part,
    /// Offset in the content.
    offset: u64,
}

/// Result of a write.
struct Sent {
    bytes: usize,
    /// Number of bytes offered to the kernel, and the position after them.
    offered: usize,
    after: Cursor,
}

#[derive(Debug, Clone, Copy)]
enum Part {
    Head,
    SizeLine,
    Content,
    ChunkEnd,
    End,
    Over,
}

impl<'m> Outgoing<'m> {
    /// Sends the whole message.
    pub(crate) async fn send<S: AsyncWrite + Unpin>(&self, stream: &mut S) -> io::Result<()> {
        let mut cursor = self.start();
        let mut skip = 0;
        while self.next(cursor).is_some() {
            let sent = poll_fn(|context| self.poll_write(context, stream, cursor, skip)).await?;
            if sent.bytes == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            skip += sent.bytes;
            if sent.bytes == sent.offered {
                (cursor, skip) = (sent.after, 0);
            }
            while let Some((piece, after)) = self.next(cursor).filter(|_| skip > 0) {
                if skip < piece.len() {
                    break;
                }
                skip -= piece.len();
                cursor = after;
            }
        }
        // Needed for TLS; TCP has nothing to flush.
        stream.flush().await
    }

    /// Writes bytes from `cursor` on, except the first `skip`, which were sent before.
    fn poll_write<S: AsyncWrite + Unpin>(
        &self,
        context: &mut Context<'_>,
        stream: &mut S,
        mut cursor: Cursor,
        skip: usize,
    ) -> Poll<io::Result<Sent>> {
        let mut lines = [[0; LINE_BYTES]; SLICES];
        let mut slices = [IoSlice::new(&[]); SLICES];
        let mut count = 0;
        let mut offered = 0;
        for line in &mut lines {
            let Some((piece, after)) = self.next(cursor) else {
                break;
            };
            let bytes = match piece {
                Piece::Bytes(bytes) => bytes,
                Piece::SizeLine(length) => size_line(length, line),
            };
            let skipped = if count == 0 { skip } else { 0 };
            slices[count] = IoSlice::new(&bytes[skipped..]);
            count += 1;
            offered += bytes.len() - skipped;
            cursor = after;
        }
        let bytes = ready!(Pin::new(stream).poll_write_vectored(context, &slices[..count]))?;
        Poll::Ready(Ok(Sent {
            bytes,
            offered,
            after: cursor,
        }))
    }

    /// The whole message in one piece.
    pub(crate) fn gather(&self) -> Vec<u8> {
        let mut cursor = self.start();
        let mut gathered = Vec::new();
        while let Some((piece, after)) = self.next(cursor) {
            let mut line = [0; LINE_BYTES];
            gathered.extend_from_slice(match piece {
                Piece::Bytes(bytes) => bytes,
                Piece::SizeLine(length) => size_line(length, &mut line),
            });
            cursor = after;
        }
        gathered
    }

    /// The first position.
    fn start(&self) -> Cursor {
        Cursor {
            part: Part::Head,
            offset: self.from,
        }
    }

    /// The next non-empty piece from a position on, with the position after it.
    #[inline]
    fn next(&self, mut cursor: Cursor) -> Option<(Piece<'m>, Cursor)> {
        loop {
            let Cursor { part, offset } = cursor;
            let chunked = self.chunk_bytes.is_some();
            let (piece, part, offset) = match part {
                Part::Head => (Piece::Bytes(self.head), self.after(offset), offset),
                Part::SizeLine => (
                    Piece::SizeLine(self.content(offset).len()),
                    Part::Content,
                    offset,
                ),
                Part::Content => {
                    let content = self.content(offset);
                    let offset = offset + content.len() as u64;
                    let next = if chunked {
                        Part::ChunkEnd
                    } else {
                        self.after(offset)
                    };
                    (Piece::Bytes(content), next, offset)
                }
                Part::ChunkEnd => (Piece::Bytes(b"\r\n"), self.after(offset), offset),
                Part::End => (Piece::Bytes(self.end), Part::Over, offset),
                Part::Over => return None,
            };
            cursor = Cursor { part, offset };
            if piece.len() > 0 {
                return Some((piece, cursor));
            }
        }
    }

    /// Returns the part that follows the chunk or content range that ended at `offset`.
    fn after(&self, offset: u64) -> Part {
        if self.content(offset).is_empty() {
            Part::End
        } else if self.chunk_bytes.is_some() {
            Part::SizeLine
        } else {
            Part::Content
        }
    }

    /// The content from `offset` on that is contiguous and fits into one chunk.
    fn content(&self, offset: u64) -> &'m [u8] {
        let piece = self.source.from(offset);
        let most = (self.to.saturating_sub(offset)).min(self.chunk_bytes.unwrap_or(u64::MAX));
        &piece[..piece.len().min(usize::try_from(most).unwrap_or(usize::MAX))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream that accepts at most `width` bytes at a time.
    struct Narrow {
        taken: Vec<u8>,
        width: usize,
    }

    impl AsyncWrite for Narrow {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let narrow = self.get_mut();
            let count = bytes.len().min(narrow.width);
            narrow.taken.extend_from_slice(&bytes[..count]);
            Poll::Ready(Ok(count))
        }

        fn poll_write_vectored(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            slices: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            let narrow = self.get_mut();
            let mut rest = narrow.width;
            for slice in slices {
                assert!(!slice.is_empty());
                let count = slice.len().min(rest);
                narrow.taken.extend_from_slice(&slice[..count]);
                rest -= count;
            }
            Poll::Ready(Ok(narrow.width - rest))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    /// Returns messages to send, and their bytes.
    fn cases() -> [(Outgoing<'static>, String); 7] {
        let plain = Outgoing {
            head: b"HEAD ",
            source: Source::repeated(b"abcdefghijklmnopqrstuvwxyz", 30),
            from: 0,
            to: 30,
            chunk_bytes: None,
            end: b"",
        };
        let letters = "abcdefghijklmnopqrstuvwxyz";
        [
            (plain, format!("HEAD {letters}abcd")),
            (
                Outgoing {
                    from: 5,
                    to: 28,
                    head: b"",
                    ..plain
                },
                format!("{}ab", &letters[5..]),
            ),
            (
                Outgoing {
                    source: Source::EMPTY,
                    ..plain
                },
                "HEAD ".to_owned(),
            ),
            (
                Outgoing {
                    source: Source::ended(b"abc", b"de"),
                    to: 5,
                    ..plain
                },
                "HEAD abcde".to_owned(),
            ),
            (
                Outgoing {
                    chunk_bytes: Some(17),
                    end: b"0\r\n\r\n",
                    ..plain
                },
                format!(
                    "HEAD 11\r\n{}\r\n9\r\n{}\r\n4\r\nabcd\r\n0\r\n\r\n",
                    &letters[..17],
                    &letters[17..]
                ),
            ),
            (
                Outgoing {
                    chunk_bytes: Some(17),
                    to: 19,
                    ..plain
                },
                format!("HEAD 11\r\n{}\r\n2\r\nrs\r\n", &letters[..17]),
            ),
            (
                Outgoing {
                    source: Source::EMPTY,
                    chunk_bytes: Some(17),
                    end: b"0\r\n\r\n",
                    ..plain
                },
                "HEAD 0\r\n\r\n".to_owned(),
            ),
        ]
    }

    #[tokio::test(flavor = "current_thread")]
    async fn any_width_of_writes_sends_the_same() {
        for (outgoing, expected) in cases() {
            for width in [1, 2, 3, 7, 1_000] {
                let mut narrow = Narrow {
                    taken: Vec::new(),
                    width,
                };
                outgoing.send(&mut narrow).await.unwrap();
                assert_eq!(outgoing.gather(), expected.as_bytes());
                assert_eq!(
                    String::from_utf8(narrow.taken).unwrap(),
                    expected,
                    "{width} bytes at a time"
                );
            }
        }
    }
}
