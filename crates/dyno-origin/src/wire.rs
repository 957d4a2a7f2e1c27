//! A TCP connection whose bytes are counted.
//!
//! `transport/wire.rs` of dyno-load is its twin and stays one: that one only adds to the traffic of its thread, both are in the
//! way of every byte, and the crates below both know no I/O.

use std::fs::File;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::fs::sendfile;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::accepted::Accepted;
use crate::open_connection::Connection;
use crate::worker::Worker;

/// A connection, with the worker that counts its bytes.
pub(crate) struct Wire {
    stream: TcpStream,
    worker: Rc<Worker>,
    connection: Rc<Connection>,
    has_received: bool,
}

impl Wire {
    pub(crate) fn new(stream: TcpStream, accepted: &Accepted) -> Self {
        Self {
            stream,
            worker: accepted.worker.clone(),
            connection: accepted.connection.clone(),
            has_received: false,
        }
    }

    /// The connection alone.
    pub(crate) fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Whether the peer has sent a byte.
    pub(crate) fn has_received(&self) -> bool {
        self.has_received
    }

    /// Closes the connection by a reset; what the kernel has not sent yet is lost.
    pub(crate) fn reset(&self) {
        // On a connection that has gone already there is nothing to reset.
        drop(SockRef::from(&self.stream).set_linger(Some(Duration::ZERO)));
    }

    /// Waits until the peer closes or resets, without reading what it sends.
    pub(crate) async fn until_peer_goes(&self) -> io::Result<()> {
        loop {
            let ready = self.stream.ready(Interest::READABLE).await?;
            if ready.is_read_closed() || ready.is_error() {
                return Ok(());
            }
            // Bytes came, and stay where they are: only further news is of interest.
            let seen = self.stream.try_io(Interest::READABLE, || {
                Err::<(), _>(io::ErrorKind::WouldBlock.into())
            });
            debug_assert!(seen.is_err());
        }
    }

    /// Whether the peer, which had ended its side before this one was ended, has received all: then the connection is gone.
    ///
    /// # Errors
    ///
    /// The connection's, which it has when the peer resets it.
    pub(crate) fn is_received(&self) -> io::Result<bool> {
        match self.stream.take_error()? {
            Some(error) => Err(error),
            None => Ok(self.stream.peer_addr().is_err()),
        }
    }

    /// Sends the first `bytes` of a file, which the kernel passes on without a copy.
    pub(crate) async fn send_file(&self, file: &File, bytes: usize) -> io::Result<()> {
        let mut offset = 0;
        let mut rest = bytes;
        while rest > 0 {
            let some = || {
                self.worker.begin_sending();
                Ok(sendfile(&self.stream, file, Some(&mut offset), rest)?)
            };
            let sent = self.stream.async_io(Interest::WRITABLE, some).await?;
            if sent == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            rest -= sent;
            self.connection.note();
            self.worker.live().sent_bytes.add(sent as u64);
        }
        Ok(())
    }

    fn count_sent(&self, sent: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = sent {
            self.connection.note();
            self.worker.live().sent_bytes.add(bytes as u64);
        }
        sent
    }
}

/// What answers go out by.
pub(crate) trait Outlet: AsyncRead + AsyncWrite + Unpin {
    /// The TCP connection, unless what goes over it is changed on the way.
    fn wire(&mut self) -> Option<&mut Wire>;
}

impl Outlet for Wire {
    fn wire(&mut self) -> Option<&mut Wire> {
        Some(self)
    }
}

impl Outlet for TlsStream<Wire> {
    fn wire(&mut self) -> Option<&mut Wire> {
        None
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut wire.stream).poll_read(context, buffer);
        let bytes = buffer.filled().len() - before;
        if bytes > 0 {
            wire.has_received = true;
            wire.connection.note();
        }
        wire.worker.live().received_bytes.add(bytes as u64);
        read
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        wire.worker.begin_sending();
        let sent = Pin::new(&mut wire.stream).poll_write(context, bytes);
        wire.count_sent(sent)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        wire.worker.begin_sending();
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
