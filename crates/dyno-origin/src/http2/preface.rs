//! Recognises HTTP/2 without TLS by its first bytes (RFC 9113, section 3.3).

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::message::Input;

/// First bytes of a client of HTTP/2 (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Whether a connection begins with the preface; its first bytes are in `input` afterwards.
pub(crate) async fn is_announced<S: AsyncRead + Unpin>(stream: &mut S, input: &mut Input) -> bool {
    loop {
        if input.bytes().starts_with(PREFACE) {
            return true;
        }
        // An end or an error is returned again by the next read.
        if !PREFACE.starts_with(input.bytes()) || !matches!(input.fill(stream).await, Ok(true)) {
            return false;
        }
    }
}

/// A connection whose first bytes were already received.
pub(crate) struct Preceded<'c, S> {
    pub(crate) received: Input,
    pub(crate) stream: &'c mut S,
}

impl<S: AsyncRead + Unpin> AsyncRead for Preceded<'_, S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let preceded = self.get_mut();
        let bytes = preceded.received.bytes();
        if bytes.is_empty() {
            return Pin::new(&mut *preceded.stream).poll_read(context, buffer);
        }
        let count = bytes.len().min(buffer.remaining());
        buffer.put_slice(&bytes[..count]);
        preceded.received.consume(count);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Preceded<'_, S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.get_mut().stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn a_preface_is_known_however_it_comes_and_no_byte_is_lost() {
        let cases: [(&[u8], bool); 6] = [
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nand more", true),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", true),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n", false),
            (b"PRI * HTTP/2.1\r\n\r\nSM\r\n\r\n", false),
            (b"POST / HTTP/1.1\r\n\r\n", false),
            (b"", false),
        ];
        for (bytes, expected) in cases {
            for width in [1, 3, 100] {
                let pieces = bytes.chunks(width);
                let mut stream: Box<dyn AsyncRead + Unpin> = Box::new(&b""[..]);
                for piece in pieces.rev() {
                    stream = Box::new(piece.chain(stream));
                }
                let mut input = Input::new();
                assert_eq!(is_announced(&mut stream, &mut input).await, expected);
                let mut rest = input.bytes().to_vec();
                stream.read_to_end(&mut rest).await.unwrap();
                assert_eq!(rest, bytes);
            }
        }
    }
}
