//! A TCP connection whose bytes are counted.
//!
//! `wire.rs` of dyno-origin is its twin and stays one: that one counts for its worker and knows how to break a connection, both
//! are in the way of every byte, and the crates below both know no I/O.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// Bytes on the wires of one thread, TLS included. Only that thread adds; anyone may read.
#[derive(Debug, Default)]
pub struct Traffic {
    sent: AtomicU64,
    received: AtomicU64,
}

impl Traffic {
    /// Bytes sent.
    #[must_use]
    pub fn sent_bytes(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Bytes received.
    #[must_use]
    pub fn received_bytes(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}

/// Adds where only one thread does: a load and a store, which cost a tenth of a locked addition.
fn add(counter: &AtomicU64, bytes: usize) {
    counter.store(
        counter.load(Ordering::Relaxed) + bytes as u64,
        Ordering::Relaxed,
    );
}

/// A connection that adds its bytes to the traffic of its thread.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    traffic: Arc<Traffic>,
}

impl Wire {
    /// Counts from now on.
    #[must_use]
    pub fn new(stream: TcpStream, traffic: Arc<Traffic>) -> Self {
        Self { stream, traffic }
    }

    fn count_sent(&self, sent: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = sent {
            add(&self.traffic.sent, bytes);
        }
        sent
    }
}

impl AsyncRead for Wire {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut wire.stream).poll_read(context, buffer);
        add(&wire.traffic.received, buffer.filled().len() - before);
        read
    }
}

impl AsyncWrite for Wire {
    #[inline]
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        let sent = Pin::new(&mut wire.stream).poll_write(context, bytes);
        wire.count_sent(sent)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
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
