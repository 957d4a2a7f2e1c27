//! Packets on their way, by the moment at which they are due.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use crate::units::Nanos;

/// Packets that have a moment at which they come out; of one moment, who went in first.
///
/// A path without jitter keeps the order, so that a packet is put at the end and taken from the front. One that overtakes
/// goes to a heap beside it.
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

    /// Takes in a packet; `number` grows with each.
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

    /// When the next packet comes out.
    pub(crate) fn next_due(&self) -> Option<Nanos> {
        let entry = if self.next_is_ordered()? {
            self.ordered.front()
        } else {
            self.overtaking.peek().map(|Reverse(entry)| entry)
        };
        entry.map(|entry| entry.due)
    }

    /// Takes the next packet out, if it is due, with the moment at which it was.
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

    /// Whether the next packet is one of those in order; None when there is none at all.
    fn next_is_ordered(&self) -> Option<bool> {
        match (self.ordered.front(), self.overtaking.peek()) {
            (None, None) => None,
            (Some(_), None) => Some(true),
            (None, Some(_)) => Some(false),
            (Some(ordered), Some(Reverse(overtaking))) => Some(ordered < overtaking),
        }
    }
}

/// A packet with its place among the others.
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
