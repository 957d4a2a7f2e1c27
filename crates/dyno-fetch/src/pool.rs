//! Idle connections: bounded per origin and in total, the oldest closed first. The clock is passed in.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A connection of the pool.
#[derive(Debug)]
pub(crate) enum Pooled<A, S> {
    /// A connection for one exchange at a time: taking it removes it from the pool.
    Alone(A),
    /// A connection for several exchanges at once: the pool keeps it and hands out clones.
    Shared(S),
}

/// Idle connections by origin.
#[derive(Debug)]
pub(crate) struct Pool<O, A, S> {
    /// Connections of each origin, in the order of their numbers.
    idle: HashMap<Rc<O>, VecDeque<Idle<A, S>>>,
    /// Connections in the order they were added or, if shared, last taken. May contain entries that are no longer
    /// valid.
    order: VecDeque<(u64, Instant, Rc<O>)>,
    count: usize,
    next: u64,
    most_per_origin: usize,
    timeout: Duration,
}

#[derive(Debug)]
struct Idle<A, S> {
    number: u64,
    connection: Pooled<A, S>,
}

impl<O: Eq + Hash, A, S: Clone> Pool<O, A, S> {
    pub(crate) fn new(most_per_origin: usize, timeout: Duration) -> Self {
        Self {
            idle: HashMap::new(),
            order: VecDeque::new(),
            count: 0,
            next: 0,
            most_per_origin,
            timeout,
        }
    }

    /// Number of idle connections.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Takes the most recently used connection to an origin. A shared one stays, as if it had been added now.
    pub(crate) fn take(&mut self, origin: &Rc<O>, now: Instant) -> Option<Pooled<A, S>> {
        let idle = self.idle.get_mut(origin)?;
        if let Some(Idle {
            connection: Pooled::Shared(shared),
            number,
        }) = idle.back_mut()
        {
            let shared = shared.clone();
            *number = self.next;
            self.list(now, origin.clone());
            return Some(Pooled::Shared(shared));
        }
        let taken = idle.pop_back()?;
        self.count -= 1;
        if idle.is_empty() {
            self.idle.remove(origin);
        }
        Some(taken.connection)
    }

    /// Adds a connection. A shared one replaces all others to its origin.
    pub(crate) fn put(&mut self, origin: Rc<O>, connection: Pooled<A, S>, now: Instant) {
        let number = self.next;
        let idle = self.idle.entry(origin.clone()).or_default();
        let shared = matches!(connection, Pooled::Shared(_));
        let most = if shared {
            1
        } else {
            self.most_per_origin.max(1)
        };
        while idle.len() >= most {
            idle.pop_front();
            self.count -= 1;
        }
        idle.push_back(Idle { number, connection });
        self.count += 1;
        self.list(now, origin);
    }

    /// Appends the connection with the next number to `order`.
    fn list(&mut self, now: Instant, origin: Rc<O>) {
        self.order.push_back((self.next, now, origin));
        self.next += 1;
        if self.order.len() > 2 * self.count + 64 {
            self.forget_taken();
        }
    }

    /// Drops all connections to an origin, because its shared connection is unusable.
    pub(crate) fn drop_all(&mut self, origin: &Rc<O>) {
        self.count -= self.idle.remove(origin).map_or(0, |idle| idle.len());
    }

    /// Closes connections that have been idle for too long.
    pub(crate) fn expire(&mut self, now: Instant) {
        while self
            .order
            .front()
            .is_some_and(|(_, since, _)| *since + self.timeout <= now)
        {
            self.close_oldest();
        }
    }

    /// When [`Self::expire`] may have something to close.
    pub(crate) fn next_expiry(&self) -> Option<Instant> {
        self.order
            .front()
            .map(|(_, since, _)| *since + self.timeout)
    }

    /// Closes the oldest connections until at most `most` are idle.
    pub(crate) fn shrink_to(&mut self, most: usize) {
        while self.count > most && !self.order.is_empty() {
            self.close_oldest();
        }
    }

    fn close_oldest(&mut self) {
        let Some((number, _, origin)) = self.order.pop_front() else {
            return;
        };
        let Some(idle) = self.idle.get_mut(&origin) else {
            return;
        };
        if idle.front().is_some_and(|idle| idle.number == number) {
            idle.pop_front();
            self.count -= 1;
        }
        if idle.is_empty() {
            self.idle.remove(&origin);
        }
    }

    fn forget_taken(&mut self) {
        let idle = &self.idle;
        self.order.retain(|(number, _, origin)| {
            idle.get(origin).is_some_and(|idle| {
                idle.binary_search_by_key(number, |idle| idle.number)
                    .is_ok()
            })
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Numbers = Pool<u8, usize, usize>;

    proptest! {
        #[test]
        fn bounds_hold_and_no_connection_is_handed_out_twice(
            steps in prop::collection::vec((0..6_u8, 0..4_u8, 0..40_u64), 0..400),
        ) {
            let mut pool = Numbers::new(2, Duration::from_millis(100));
            let mut now = Instant::now();
            let mut seen = std::collections::HashSet::new();
            let mut put_at = HashMap::new();
            for (number, (origin, action, pass)) in steps.into_iter().enumerate() {
                now += Duration::from_millis(pass);
                let origin = Rc::new(origin);
                match action {
                    0 | 1 => {
                        put_at.insert(number, now);
                        pool.put(origin, Pooled::Alone(number), now);
                    }
                    2 => {
                        pool.expire(now);
                        if let Some(Pooled::Alone(taken)) = pool.take(&origin, now) {
                            prop_assert!(seen.insert(taken));
                            prop_assert!(put_at[&taken] + Duration::from_millis(100) > now);
                        }
                    }
                    _ => pool.shrink_to(3),
                }
                prop_assert!(action < 3 || pool.len() <= 3);
                prop_assert!(pool.idle.values().all(|idle| !idle.is_empty() && idle.len() <= 2));
                prop_assert_eq!(pool.idle.values().map(VecDeque::len).sum::<usize>(), pool.len());
                prop_assert!(pool.order.len() <= 2 * pool.len() + 65 + 12);
            }
            pool.expire(now + Duration::from_secs(1));
            prop_assert_eq!(pool.len(), 0);
        }
    }

    #[test]
    fn the_newest_is_used_the_oldest_closed_and_a_shared_one_stays() {
        let (now, mut pool) = (Instant::now(), Numbers::new(8, Duration::from_secs(1)));
        let [a, b] = [Rc::new(1), Rc::new(2)];
        (0..3).for_each(|number| pool.put(a.clone(), Pooled::Alone(number), now));
        assert!(matches!(pool.take(&a, now), Some(Pooled::Alone(2))));
        pool.shrink_to(1);
        assert!(matches!(pool.take(&a, now), Some(Pooled::Alone(1))));
        assert!(pool.take(&a, now).is_none());
        pool.put(b.clone(), Pooled::Shared(7), now);
        for _ in 0..2 {
            assert!(matches!(pool.take(&b, now), Some(Pooled::Shared(7))));
        }
        pool.drop_all(&b);
        assert!(pool.take(&b, now).is_none());
        assert_eq!(pool.len(), 0);
    }

    #[test]
    fn a_shared_one_waits_from_when_it_was_last_taken() {
        // Times of taking a connection that was added at 0, and whether it is still there at the end; the timeout is
        // 4 s.
        let cases: [(&[u64], u64, bool); 6] = [
            (&[], 3, true),
            (&[], 4, false),
            (&[3], 6, true),
            (&[3], 7, false),
            (&[1, 2, 5, 8, 11], 14, true),
            (&[1, 2, 5, 8, 11], 15, false),
        ];
        let (start, origin) = (Instant::now(), Rc::new(1));
        let at = |second| start + Duration::from_secs(second);
        for (taken, then, stays) in cases {
            let mut pool = Numbers::new(8, Duration::from_secs(4));
            pool.put(origin.clone(), Pooled::Shared(7), start);
            for second in taken.iter().copied() {
                pool.expire(at(second));
                assert!(pool.take(&origin, at(second)).is_some(), "{taken:?}");
            }
            pool.expire(at(then));
            assert_eq!(pool.len(), usize::from(stays), "{taken:?} {then}");
            let expiry = pool.next_expiry();
            assert!(!stays || expiry.is_some_and(|expiry| expiry > at(then)));
        }
    }

    #[test]
    fn what_was_taken_longest_ago_is_closed_first() {
        let (now, mut pool) = (Instant::now(), Numbers::new(8, Duration::from_secs(4)));
        let [a, b] = [Rc::new(1), Rc::new(2)];
        pool.put(a.clone(), Pooled::Shared(1), now);
        pool.put(b.clone(), Pooled::Shared(2), now);
        // Often enough to show that `order` does not grow.
        for _ in 0..1_000 {
            assert!(pool.take(&a, now).is_some());
        }
        assert!(pool.order.len() <= 2 * pool.len() + 65);
        pool.shrink_to(1);
        assert!(pool.take(&b, now).is_none());
        assert!(matches!(pool.take(&a, now), Some(Pooled::Shared(1))));
    }
}
