//! Packets in flight, ordered by the time at which they are due.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use crate::units::Nanos;

/// Packets with a due time; packets of equal time stay in the order of entry.
///
/// Without jitter the order is kept, so that packets are added at the end and taken from the front. A packet that overtakes
/// others goes to a separate heap.
#[derive(Debug)]
pub(crate) struct InFlight<P> {
    ordered: VecDeque<Entry<P>>,
    overtaking: BinaryHeap<Reverse<Entry<P>>>,
}

impl<P> InFlight<P> {
    pub(crate) fn new() -> Self {
        Self {
            ordered: VecDeque::new(),
            overtaking: BinaryHeap::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ordered.len() + self.overtaking.len()
    }

    /// Add a packet; `number` increases with each.
    pub(crate) fn put(&mut self, due: Nanos, number: u64, packet: P) {
        let entry = Entry {
            due,
            number,
            packet,
        };
        if self.ordered.back().is_some_and(|last| due < last.due) {
            self.overtaking.push(Reverse(entry));
        } else {
            self.ordered.push_back(entry);
        }
    }

    /// Return when the next packet is due.
    pub(crate) fn next_due(&self) -> Option<Nanos> {
        let entry = if self.next_is_ordered()? {
            self.ordered.front()
        } else {
            self.overtaking.peek().map(|Reverse(entry)| entry)
        };
        entry.map(|entry| entry.due)
    }

    /// Take the next packet if it is due, with its due time.
    pub(crate) fn take(&mut self, now: Nanos) -> Option<(Nanos, P)> {
        if self.next_due()? > now {
            return None;
        }
        let entry = if self.next_is_ordered()? {
            self.ordered.pop_front()
        } else {
            self.overtaking.pop().map(|Reverse(entry)| entry)
        };
        entry.map(|entry| (entry.due, entry.packet))
    }

    /// Return whether the next packet is an ordered one; `None` if there is no packet.
    fn next_is_ordered(&self) -> Option<bool> {
        match (self.ordered.front(), self.overtaking.peek()) {
            (None, None) => None,
            (Some(_), None) => Some(true),
            (None, Some(_)) => Some(false),
            (Some(ordered), Some(Reverse(overtaking))) => Some(ordered < overtaking),
        }
    }
}

/// A packet with its sort key.
#[derive(Debug)]
struct Entry<P> {
    due: Nanos,
    number: u64,
    packet: P,
}

impl<P> Entry<P> {
    fn place(&self) -> (Nanos, u64) {
        (self.due, self.number)
    }
}

impl<P> PartialEq for Entry<P> {
    fn eq(&self, other: &Self) -> bool {
        self.place() == other.place()
    }
}

impl<P> Eq for Entry<P> {}

impl<P> PartialOrd for Entry<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P> Ord for Entry<P> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}
