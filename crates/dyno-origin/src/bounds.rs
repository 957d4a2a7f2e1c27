//! Limits on the state that a long-running origin keeps; the newest entries stay.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

/// Limits on the state of each thread of an origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Open connections. A further connection closes the one that has been silent for longest.
    pub connections: usize,
    /// How long a connection may be silent while its peer has to act. While a trial is logged, no connection is closed.
    pub idle: Duration,
    /// Distinct URLs, and distinct DNS questions, that are remembered. A forgotten one counts as new when it returns.
    pub names: usize,
    /// DNS queries over UDP whose answers are delayed. Further queries are not answered.
    pub queries: usize,
}

/// The set of distinct fingerprints seen so far, or the last of them.
#[derive(Debug, Default)]
pub(crate) struct Distinct {
    seen: HashSet<u128>,
    /// Fingerprints in the order of arrival; used only with a limit.
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

    /// Number of distinct fingerprints in several sets together.
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
        // A forgotten fingerprint counts as new.
        assert_eq!(Distinct::count([&seen(Some(1), [1, 2, 1])].into_iter()), 3);
    }
}
