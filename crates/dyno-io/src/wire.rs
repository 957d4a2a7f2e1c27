//! A TCP connection whose bytes are counted.

use std::fs::File;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::fs::sendfile;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// Counter of the bytes of a connection. Its methods are called for every read and write, and are inlined.
pub trait Meter: Unpin {
    /// Called before bytes are passed to the kernel.
    #[inline]
    fn begin_sending(&self) {}

    /// Called when the kernel has accepted `bytes` bytes.
    fn sent(&self, bytes: usize);

    /// Called when `bytes` bytes were received: 0 if there are none yet, and at the end of the peer's input.
    fn received(&self, bytes: usize);
}

/// A connection, and the meter that counts its bytes.
#[derive(Debug)]
pub struct Wire<M> {
    stream: TcpStream,
    meter: M,
}

impl<M: Meter> Wire<M> {
    /// Starts counting.
    #[must_use]
    pub const fn new(stream: TcpStream, meter: M) -> Self {
        Self { stream, meter }
    }

    /// The counter of its bytes.
    #[inline]
    #[must_use]
    pub const fn meter(&self) -> &M {
        &self.meter
    }

    /// Returns the connection without the meter.
    #[must_use]
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Resets the connection; bytes that the kernel has not sent yet are lost.
    pub fn reset(&self) {
        // If the connection is already closed, there is nothing to reset.
        drop(SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)));
    }

    /// Waits until the peer closes or resets the connection, without reading its input.
    ///
    /// # Errors
    ///
    /// An error of the runtime, if it ends.
    pub async fn until_peer_goes(&self) -> io::Result<()> {
        loop {
            let ready = self.stream.ready(Interest::READABLE).await?;
            if ready.is_read_closed() || ready.is_error() {
                return Ok(());
            }
            // Bytes arrived, and stay unread: wait for the next event.
            let seen = self.stream.try_io(Interest::READABLE, || {
                Err::<(), _>(io::ErrorKind::WouldBlock.into())
            });
            debug_assert!(seen.is_err());
        }
    }

    /// Whether the peer, which closed its side first, has received everything: then the connection no longer exists.
    ///
    /// # Errors
    ///
    /// An error of the connection, such as a reset by the peer.
    pub fn is_received(&self) -> io::Result<bool> {
        match self.stream.take_error()? {
            Some(error) => Err(error),
            None => Ok(self.stream.peer_addr().is_err()),
        }
    }

    /// Sends the first `bytes` bytes of a file without copying them to user space.
    ///
    /// # Errors
    ///
    /// An error of the connection, or if the file is shorter.
    pub async fn send_file(&self, file: &File, bytes: usize) -> io::Result<()> {
        let mut offset = 0;
        let mut rest = bytes;
        while rest > 0 {
            let some = || {
                self.meter.begin_sending();
                Ok(sendfile(&self.stream, file, Some(&mut offset), rest)?)
            };
            let sent = self.stream.async_io(Interest::WRITABLE, some).await?;
            if sent == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            rest -= sent;
            self.meter.sent(sent);
        }
        Ok(())
    }

    #[inline]
    fn count_sent(&self, sent: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = sent {
            self.meter.sent(bytes);
        }
        sent
    }
}

impl<M: Meter> AsyncRead for Wire<M> {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut wire.stream).poll_read(context, buffer);
        wire.meter.received(buffer.filled().len() - before);
        read
    }
}

impl<M: Meter> AsyncWrite for Wire<M> {
    #[inline]
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        wire.meter.begin_sending();
        let sent = Pin::new(&mut wire.stream).poll_write(context, bytes);
        wire.count_sent(sent)
    }

    #[inline]
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        wire.meter.begin_sending();
        let sent = Pin::new(&mut wire.stream).poll_write_vectored(context, slices);
        wire.count_sent(sent)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
