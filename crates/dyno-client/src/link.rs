//! The peer's address of a connection, and the counter of its bytes.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use dyno_io::{Count, Meter};

/// Bytes that one thread has sent and received, TLS included. Only that thread adds; any thread may read.
#[derive(Debug, Default)]
pub struct Traffic {
    sent: Count,
    received: Count,
}

impl Traffic {
    /// Bytes sent.
    #[must_use]
    pub fn sent_bytes(&self) -> u64 {
        self.sent.get()
    }

    /// Bytes received.
    #[must_use]
    pub fn received_bytes(&self) -> u64 {
        self.received.get()
    }
}

/// Longest time in which a request and the end of its connection can cross, if the round trip is shorter: processes may
/// be late.
const LONGEST_CROSSING: Duration = Duration::from_millis(5);

/// The peer of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reach {
    /// The address of the peer.
    pub address: IpAddr,
    /// Duration of the TCP handshake.
    pub round_trip: Duration,
}

impl Reach {
    /// Whether a server that closed or reset a connection this long after a request was sent may not have seen the
    /// request, because the two crossed on the way (RFC 9112, 9.3.1). If it closed later, it had processed the request
    /// and failed.
    #[must_use]
    pub fn may_have_crossed(self, since_sent: Duration) -> bool {
        since_sent <= LONGEST_CROSSING.max(2 * self.round_trip)
    }
}

/// A TCP connection that adds its bytes to the counter of its thread.
pub type Wire = dyno_io::Wire<Link>;

/// The peer of a connection, and the counter of its bytes.
#[derive(Debug)]
pub struct Link {
    reach: Reach,
    traffic: Arc<Traffic>,
}

impl Link {
    /// Creates the link of a new connection.
    #[must_use]
    pub const fn new(reach: Reach, traffic: Arc<Traffic>) -> Self {
        Self { reach, traffic }
    }

    /// The peer's address.
    #[must_use]
    pub const fn reach(&self) -> Reach {
        self.reach
    }
}

/// A connection whose way goes on behind a proxy: its round trip is at most as long as the handshake that opened the
/// tunnel.
pub(crate) fn with_way_on(wire: Wire, handshake: Duration) -> Wire {
    let mut reach = wire.meter().reach;
    let traffic = wire.meter().traffic.clone();
    reach.round_trip = reach.round_trip.max(handshake);
    Wire::new(wire.into_stream(), Link { reach, traffic })
}

impl Meter for Link {
    #[inline]
    fn sent(&self, bytes: usize) {
        self.traffic.sent.add(bytes as u64);
    }

    #[inline]
    fn received(&self, bytes: usize) {
        self.traffic.received.add(bytes as u64);
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
