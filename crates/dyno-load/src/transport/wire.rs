//! A TCP connection whose bytes are counted.
//!
//! `wire.rs` of dyno-origin is its twin and stays one: that one counts for its worker and knows how to break a connection, both
//! are in the way of every byte, and the crates below both know no I/O.

use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

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

/// How long a request and the end of its connection may cross where the round trip is shorter: processes are late.
const LONGEST_CROSSING: Duration = Duration::from_millis(5);

/// Where a connection leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// The address of the peer.
    pub address: IpAddr,
    /// How long the handshake of TCP took.
    pub round_trip: Duration,
}

impl Reach {
    /// Whether a server that closed or reset a connection so long after a request was sent may not have seen the request: the two
    /// crossed on their way (RFC 9112, 9.3.1). Later the server has worked on it, and failed.
    #[must_use]
    pub fn may_have_crossed(self, since_sent: Duration) -> bool {
        since_sent <= LONGEST_CROSSING.max(2 * self.round_trip)
    }
}

/// A connection that adds its bytes to the traffic of its thread.
#[derive(Debug)]
pub struct Wire {
    stream: TcpStream,
    reach: Reach,
    traffic: Arc<Traffic>,
}

impl Wire {
    /// Counts from now on.
    #[must_use]
    pub fn new(stream: TcpStream, reach: Reach, traffic: Arc<Traffic>) -> Self {
        Self {
            stream,
            reach,
            traffic,
        }
    }

    /// Where it leads.
    #[must_use]
    pub const fn reach(&self) -> Reach {
        self.reach
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_and_an_end_cross_within_two_round_trips_or_five_milliseconds() {
        let micros = Duration::from_micros;
        let cases = [
            (0, 0, true),
            (0, 5_000, true),
            (0, 5_001, false),
            (2_500, 5_001, false),
            (2_501, 5_001, true),
            (100_000, 200_000, true),
            (100_000, 200_001, false),
        ];
        for (round_trip, since_sent, expected) in cases {
            let reach = Reach {
                address: IpAddr::from([127, 0, 0, 1]),
                round_trip: micros(round_trip),
            };
            let found = reach.may_have_crossed(micros(since_sent));
            assert_eq!(found, expected, "{round_trip} {since_sent}");
        }
    }
}
