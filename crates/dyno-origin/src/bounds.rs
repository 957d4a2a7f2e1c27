//! Bounds of the state that a long-running origin keeps; the newest is kept.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

/// How much each thread of an origin keeps, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Connections that are open. One more closes the one that has been silent for longest.
    pub connections: usize,
    /// How long a connection may be silent while its peer has to act. Of a trial that is being logged none is closed.
    pub idle: Duration,
    /// Different URLs, and different DNS questions, that are remembered. One that was forgotten is new when it comes again.
    pub names: usize,
    /// DNS queries over UDP whose answers are delayed. One more is not answered.
    pub queries: usize,
}

/// The different fingerprints that were seen, or the last of them.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    seen: HashSet<u128>,
    /// In the order in which they came, where there is a bound.
    order: VecDeque<u128>,
    most: Option<usize>,
    forgotten: u64,
}

impl Distinct {
    pub(crate) fn new(most: Option<usize>) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    pub(crate) fn insert(&mut self, fingerprint: u128) {
        let Some(most) = self.most else {
            self.seen.insert(fingerprint);
            return;
        };
        if !self.seen.insert(fingerprint) {
            return;
        }
        self.order.push_back(fingerprint);
        if self.order.len() > most
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
            self.forgotten += 1;
        }
    }

    /// How many different ones several have seen together.
    pub(crate) fn count<'d>(all: impl Iterator<Item = &'d Self> + Clone) -> u64 {
        let together: HashSet<_> = all.clone().flat_map(|one| &one.seen).collect();
        together.len() as u64 + all.map(|one| one.forgotten).sum::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(most: Option<usize>, fingerprints: impl IntoIterator<Item = u128>) -> Distinct {
        let mut distinct = Distinct::new(most);
        fingerprints
            .into_iter()
            .for_each(|one| distinct.insert(one));
        distinct
    }

    #[test]
    fn what_several_saw_is_counted_once() {
        let (first, second) = (seen(None, [1, 2, 2]), seen(None, [2, 3]));
        assert_eq!(Distinct::count([&first, &second].into_iter()), 3);
    }

    #[test]
    fn the_oldest_are_forgotten_and_stay_counted() {
        let bounded = seen(Some(100), (0..200_000).chain(199_950..200_000));
        assert_eq!(Distinct::count([&bounded].into_iter()), 200_000);
        assert_eq!((bounded.seen.len(), bounded.order.len()), (100, 100));
        // One that was forgotten is new.
        assert_eq!(Distinct::count([&seen(Some(1), [1, 2, 1])].into_iter()), 3);
    }
}
