//! The queue before a rate: packets leave one after the other, and a packet that would wait too long is dropped.

use crate::stage::{Gone, Passing, Stage};
use crate::units::{Nanos, Rate, SECOND};

/// A transmitter with a rate and a queue bounded by waiting time (tail drop).
#[derive(Debug)]
pub struct Bottleneck {
    rate: Rate,
    longest: Nanos,
    /// When the transmitter becomes idle: this moment plus `left / rate` nanoseconds.
    free: Nanos,
    /// Remainder of the division by the rate, carried over so that no rate drifts. Below the rate.
    left: u64,
    longest_wait: Nanos,
}

impl Bottleneck {
    /// Make a bottleneck of a rate and the longest time that a packet may wait for it.
    #[must_use]
    pub fn new(rate: Rate, longest: Nanos) -> Self {
        Self {
            rate,
            longest,
            free: Nanos::ZERO,
            left: 0,
            longest_wait: Nanos::ZERO,
        }
    }
}

impl Stage for Bottleneck {
    /// A packet leaves when its last bit is sent, rounded up to a whole nanosecond, so that the rate is never exceeded.
    fn pass(&mut self, packet: Passing) -> Result<Nanos, Gone> {
        if packet.at > self.free {
            // The transmitter was idle: no remainder of an earlier packet applies.
            (self.free, self.left) = (packet.at, 0);
        }
        let wait = self.free.saturating_sub(packet.at);
        if wait > self.longest {
            return Err(Gone::Dropped);
        }
        self.longest_wait = self.longest_wait.max(wait);
        let rate = u128::from(self.rate.bits_per_second());
        let work = u128::from(packet.burst.bytes) * 8 * u128::from(SECOND) + u128::from(self.left);
        let whole = u64::try_from(work / rate).unwrap_or(u64::MAX);
        self.free = self.free + Nanos(whole);
        self.left = u64::try_from(work % rate).expect("a remainder is below a rate of 64 bits");
        Ok(self.free + Nanos(u64::from(self.left > 0)))
    }

    fn longest_wait(&self) -> Nanos {
        self.longest_wait
    }
}
