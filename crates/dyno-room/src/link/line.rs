//! One direction of a link: packets are read at one end, delayed, and written at the other.

use std::ops::Range;

use dyno_link::{Burst, Counts, Direction, Nanos, Offered, Path, Way};
use hdrhistogram::Histogram;
use rustix::time::{ClockId, clock_gettime};

use super::account::Lateness;
use super::arena::{Arena, Parcel};
use super::chunk_pool::ChunkPool;
use super::cut::cut;
use super::tun::Tun;
use super::virtio::{OnWire, SuperPacket, is_for_a_group};
use crate::cpu_time::NANOSECONDS_PER_SECOND;

/// Packets read or written before the other direction's turn; each takes some microseconds.
const TURN: usize = 4;
/// Significant digits of a lateness.
const DIGITS: u8 = 3;
/// Longer lateness counts as this value.
const LONGEST_LATENESS_NS: u64 = 60_000_000_000;

/// Read the monotonic clock.
pub(crate) fn now() -> Nanos {
    let time = clock_gettime(ClockId::Monotonic);
    Nanos(
        u64::try_from(time.tv_sec).unwrap_or(0) * NANOSECONDS_PER_SECOND
            + u64::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// One direction with its packets in flight.
#[derive(Debug)]
pub(crate) struct Line {
    path: Path,
    seed: u64,
    way: Way,
    direction: Direction<Parcel>,
    arena: Arena,
    /// Buffer for a super-packet that is being split.
    whole: Vec<u8>,
    lateness: Histogram<u64>,
    super_packets: u64,
}

/// Counters of a direction since it was last reset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Done {
    pub(crate) counts: Counts,
    pub(crate) super_packets: u64,
    pub(crate) lateness: Lateness,
}

impl Line {
    pub(crate) fn new(path: Path, seed: u64, way: Way) -> Self {
        Self {
            path,
            seed,
            way,
            direction: Direction::new(&path, seed, way),
            arena: Arena::new(),
            whole: Vec::new(),
            lateness: Histogram::new_with_bounds(1, LONGEST_LATENESS_NS, DIGITS)
                .expect("a minute in nanoseconds and three digits are within bounds"),
            super_packets: 0,
        }
    }

    /// Allocate memory for the first packets, and use the pool for later ones.
    pub(crate) fn make_ready(&mut self, pool: ChunkPool) {
        self.arena.make_ready(pool);
    }

    /// Reset: discard packets in flight and restart packet numbers at 0.
    pub(crate) fn reset(&mut self, from: &Tun) {
        let forever = Nanos(u64::MAX);
        while let Some((_, parcel)) = self.direction.due(forever) {
            self.arena.release(parcel);
        }
        // Discard packets that were sent and not yet read.
        while self.arena.room().and_then(|room| from.read(room)).is_some() {}
        self.direction = Direction::new(&self.path, self.seed, self.way);
        self.lateness.reset();
        self.super_packets = 0;
    }

    /// Read some packets; return whether there were any.
    pub(crate) fn accept(&mut self, from: &Tun) -> bool {
        for count in 0..TURN {
            let Some(length) = self.arena.room().and_then(|room| from.read(room)) else {
                return count > 0;
            };
            let parcel = self.arena.keep(length);
            if is_for_a_group(self.arena.bytes(parcel)) {
                self.arena.release(parcel);
                continue;
            }
            let on_wire = OnWire::of(self.arena.bytes(parcel));
            self.super_packets += u64::from(on_wire.is_super_packet());
            let is_to_be_split = on_wire.is_super_packet()
                && self.direction.first_lost(on_wire.burst.packets).is_some();
            if is_to_be_split {
                self.offer_in_pieces(parcel);
            } else {
                self.offer(now(), parcel, on_wire.burst);
            }
        }
        true
    }

    fn offer(&mut self, now: Nanos, parcel: Parcel, burst: Burst) {
        match self.direction.offer(now, parcel, burst) {
            Offered::Accepted => {}
            Offered::Lost(parcel) | Offered::Dropped(parcel) => self.arena.release(parcel),
        }
    }

    /// Offer a super-packet that loses segments: each lost segment alone, each run between them as one piece.
    fn offer_in_pieces(&mut self, parcel: Parcel) {
        let mut whole = std::mem::take(&mut self.whole);
        whole.clear();
        whole.extend_from_slice(self.arena.bytes(parcel));
        self.arena.release(parcel);
        let now = now();
        if let Some(parts) = SuperPacket::of(&whole) {
            let mut first = 0;
            while first < parts.segments() {
                let left = parts.segments() - first;
                let packets = match self.direction.first_lost(u32::try_from(left).unwrap_or(0)) {
                    Some(0) => 1,
                    Some(place) => place as usize,
                    None => left,
                };
                self.offer_piece(now, &whole, parts, first..first + packets);
                first += packets;
            }
        }
        self.whole = whole;
    }

    fn offer_piece(
        &mut self,
        now: Nanos,
        whole: &[u8],
        parts: SuperPacket,
        segments: Range<usize>,
    ) {
        let Some(room) = self.arena.room() else {
            self.direction
                .refuse(u32::try_from(segments.len()).unwrap_or(0));
            return;
        };
        let length = cut(whole, parts, segments.start, segments.len(), room);
        let burst = OnWire::of(&room[..length]).burst;
        let parcel = self.arena.keep(length);
        self.offer(now, parcel, burst);
    }

    /// Write some of the packets that are due; return whether there were any.
    pub(crate) fn deliver(&mut self, to: &Tun) -> bool {
        for count in 0..TURN {
            let now = now();
            let Some((due, parcel)) = self.direction.due(now) else {
                return count > 0;
            };
            self.lateness.saturating_record(now.saturating_sub(due).0);
            // A device that is being shut down accepts no packets; it no longer has a receiver.
            to.write(self.arena.bytes(parcel));
            self.arena.release(parcel);
        }
        true
    }

    /// Return when the next packet is due.
    pub(crate) fn next_due(&self) -> Option<Nanos> {
        self.direction.next_due()
    }

    /// Return the counters since the last reset.
    pub(crate) fn done(&self) -> Done {
        Done {
            counts: self.direction.counts(),
            super_packets: self.super_packets,
            lateness: Lateness::of(&self.lateness),
        }
    }
}
