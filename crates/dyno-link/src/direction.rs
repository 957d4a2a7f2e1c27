//! One direction of a link: packets are offered, and taken out when they are due.

use crate::in_flight::InFlight;
use crate::link::Path;
use crate::stage::{Burst, Gone, Passing, Stage, Way};
use crate::units::Nanos;

/// Result of offering a packet; a rejected packet is returned, so that its buffer can be reused.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Offered<P> {
    /// In flight; [`Direction::due`] returns it later.
    Accepted,
    /// Lost by chance.
    Lost(P),
    /// Dropped because the queue before the rate was full.
    Dropped(P),
}

/// Counters of a direction: `packets` = delivered + in flight + `lost` + `dropped`. Each segment of a super-packet counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets offered.
    pub packets: u64,
    /// Bytes of all packets that used the rate: all but the dropped ones.
    pub bytes: u64,
    /// Packets lost by chance.
    pub lost: u64,
    /// Packets dropped because the queue was full.
    pub dropped: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Longest wait of a packet for the rate.
    pub longest_wait: Nanos,
}

/// A direction of a link with its packets in flight; `P` identifies a packet to the caller.
///
/// The caller's clock may have any origin but must not go back. No memory is allocated per packet once the number in flight has
/// reached its maximum.
#[derive(Debug)]
pub struct Direction<P> {
    stages: Vec<Box<dyn Stage>>,
    in_flight: InFlight<(u32, P)>,
    counts: Counts,
}

impl<P> Direction<P> {
    /// Make an empty direction for `path`. The same `seed` and `way` lose the same packets.
    #[must_use]
    pub fn new(path: &Path, seed: u64, way: Way) -> Self {
        Self::of_stages(path.stages(seed, way))
    }

    /// Make an empty direction with these stages, in this order.
    #[must_use]
    pub fn of_stages(stages: Vec<Box<dyn Stage>>) -> Self {
        Self {
            stages,
            in_flight: InFlight::new(),
            counts: Counts::default(),
        }
    }

    /// Offer a packet or a super-packet at this moment.
    ///
    /// A super-packet passes as one: it waits as long as its first segment, leaves when its last segment does, and is lost if any
    /// segment is lost. The caller therefore limits its length (see [`SuperPacket`](crate::SuperPacket)) and splits it according to
    /// [`first_lost`](Self::first_lost).
    pub fn offer(&mut self, now: Nanos, packet: P, burst: Burst) -> Offered<P> {
        let mut passing = Passing {
            number: self.counts.packets,
            burst,
            at: now,
        };
        let packets = u64::from(burst.packets);
        self.counts.packets += packets;
        for stage in &mut self.stages {
            match stage.pass(passing) {
                Ok(leaves) => passing.at = leaves,
                Err(Gone::Lost) => {
                    self.counts.bytes += u64::from(burst.bytes);
                    self.counts.lost += packets;
                    return Offered::Lost(packet);
                }
                Err(Gone::Dropped) => {
                    self.counts.dropped += packets;
                    return Offered::Dropped(packet);
                }
            }
        }
        self.counts.bytes += u64::from(burst.bytes);
        self.in_flight
            .put(passing.at, passing.number, (burst.packets, packet));
        Offered::Accepted
    }

    /// Return which of the next packets, counted from 0, is the first that will be lost; none if all pass.
    #[must_use]
    pub fn first_lost(&self, packets: u32) -> Option<u32> {
        (0..packets).find(|&place| {
            let number = self.counts.packets + u64::from(place);
            self.stages.iter().any(|stage| stage.loses(number))
        })
    }

    /// Count packets that could not be offered as dropped.
    pub fn refuse(&mut self, packets: u32) {
        self.counts.packets += u64::from(packets);
        self.counts.dropped += u64::from(packets);
    }

    /// Take the next packet that is due by now, with its due time. Call this until it returns none.
    pub fn due(&mut self, now: Nanos) -> Option<(Nanos, P)> {
        let (due, (packets, packet)) = self.in_flight.take(now)?;
        self.counts.delivered += u64::from(packets);
        Some((due, packet))
    }

    /// Return when the next packet is due; none if nothing is in flight.
    #[must_use]
    pub fn next_due(&self) -> Option<Nanos> {
        self.in_flight.next_due()
    }

    /// Return the number of packets in flight, including those in the queue.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Return the counters.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let waits = self.stages.iter().map(|stage| stage.longest_wait());
        Counts {
            longest_wait: waits.max().unwrap_or_default(),
            ..self.counts
        }
    }
}
