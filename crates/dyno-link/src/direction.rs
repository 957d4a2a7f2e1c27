//! One direction of a link at work: packets go in, and come out when they are due.

use crate::in_flight::InFlight;
use crate::link::Path;
use crate::stage::{Burst, Gone, Passing, Stage, Way};
use crate::units::Nanos;

/// What became of a packet that was offered; who does not take it gives it back, so that its buffer can be used again.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Offered<P> {
    /// It is on its way, and comes out of [`Direction::due`].
    Accepted,
    /// It was lost on its way.
    Lost(P),
    /// The queue before the rate was full.
    Dropped(P),
}

/// What a direction has seen so far: `packets` = delivered + in flight + `lost` + `dropped`. Segments of super-packets count each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets that were offered.
    pub packets: u64,
    /// Bytes that the rate had to carry: of all packets but those that were dropped.
    pub bytes: u64,
    /// Packets lost on the way.
    pub lost: u64,
    /// Packets for which the queue had no room.
    pub dropped: u64,
    /// Packets that came out.
    pub delivered: u64,
    /// The longest that a packet waited for the rate.
    pub longest_wait: Nanos,
}

/// A direction of a link, with the packets that are on their way; `P` is what the driver knows a packet by.
///
/// The driver's clock may start anywhere, and does not go back. Nothing is allocated a packet once as many have been in flight
/// together as ever will be.
#[derive(Debug)]
pub struct Direction<P> {
    stages: Vec<Box<dyn Stage>>,
    in_flight: InFlight<(u32, P)>,
    counts: Counts,
}

impl<P> Direction<P> {
    /// An empty direction that does what `path` says. The same `seed` and `way` give the same packets the same fates.
    #[must_use]
    pub fn new(path: &Path, seed: u64, way: Way) -> Self {
        Self::of_stages(path.stages(seed, way))
    }

    /// An empty direction of these stages, in this order.
    #[must_use]
    pub fn of_stages(stages: Vec<Box<dyn Stage>>) -> Self {
        Self {
            stages,
            in_flight: InFlight::new(),
            counts: Counts::default(),
        }
    }

    /// Offers a packet, or a super-packet, at this moment.
    ///
    /// A super-packet passes as one: it waits as long as its first segment would, leaves when its last segment has, and is lost where
    /// one segment is. So a caller bounds it (see [`SuperPacket`](crate::SuperPacket)), and splits it where
    /// [`first_lost`](Self::first_lost) says so.
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

    /// Which of the next packets, counted from 0, is the first that will be lost on the way; none where all of them pass.
    #[must_use]
    pub fn first_lost(&self, packets: u32) -> Option<u32> {
        (0..packets).find(|&place| {
            let number = self.counts.packets + u64::from(place);
            self.stages.iter().any(|stage| stage.loses(number))
        })
    }

    /// Counts packets that could not even be offered as dropped.
    pub fn refuse(&mut self, packets: u32) {
        self.counts.packets += u64::from(packets);
        self.counts.dropped += u64::from(packets);
    }

    /// Takes out the next packet that is due by now, with the moment at which it was. Call until there is none.
    pub fn due(&mut self, now: Nanos) -> Option<(Nanos, P)> {
        let (due, (packets, packet)) = self.in_flight.take(now)?;
        self.counts.delivered += u64::from(packets);
        Some((due, packet))
    }

    /// When the next packet is due; none when nothing is in flight.
    #[must_use]
    pub fn next_due(&self) -> Option<Nanos> {
        self.in_flight.next_due()
    }

    /// How many packets are on their way, those in the queue included.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// What was seen so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let waits = self.stages.iter().map(|stage| stage.longest_wait());
        Counts {
            longest_wait: waits.max().unwrap_or_default(),
            ..self.counts
        }
    }
}
