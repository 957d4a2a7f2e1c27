//! A bounded cache whose entries expire; the clock is passed in.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::Instant;

/// A limited number of values by name. When it is full, the oldest entry is dropped: a crawl returns to a host soon or
/// never.
#[derive(Debug)]
pub struct Cache<V> {
    entries: HashMap<Rc<str>, Entry<V>>,
    /// Names in the order of insertion, with the number of their entry: a name that was inserted twice occurs twice.
    order: VecDeque<(Rc<str>, u64)>,
    most: usize,
    next: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    until: Instant,
    number: u64,
}

impl<V> Cache<V> {
    /// Creates a cache of at most `most` entries.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self {
            entries: HashMap::new(),
            order: VecDeque::new(),
            most,
            next: 0,
        }
    }

    /// Whether it has no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value, unless it has expired.
    pub fn get(&mut self, name: &str, now: Instant) -> Option<&V> {
        let entry = self.entries.get(name)?;
        if entry.until <= now {
            self.entries.remove(name);
            return None;
        }
        self.entries.get(name).map(|entry| &entry.value)
    }

    /// Stores a value until `until`.
    pub fn insert(&mut self, name: Rc<str>, value: V, until: Instant) {
        let number = self.next;
        self.next += 1;
        self.order.push_back((name.clone(), number));
        self.entries.insert(
            name,
            Entry {
                value,
                until,
                number,
            },
        );
        while self.entries.len() > self.most || self.order.len() > 2 * self.most {
            let Some((name, number)) = self.order.pop_front() else {
                return;
            };
            // A later entry of that name is further back in the order.
            if self
                .entries
                .get(&name)
                .is_some_and(|entry| entry.number == number)
            {
                self.entries.remove(&name);
            }
        }
    }

    /// Removes an entry.
    pub fn remove(&mut self, name: &str) {
        self.entries.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_stays_within_its_bound_and_never_answers_with_what_has_expired(
            inserts in prop::collection::vec((0..40_u8, 0..50_u64), 0..300),
        ) {
            let (start, mut cache) = (Instant::now(), Cache::new(10));
            let at = |ms| start + Duration::from_millis(ms);
            for (step, (name, life)) in inserts.iter().enumerate() {
                let now = step as u64;
                let text = name.to_string();
                cache.insert(text.as_str().into(), now + life, at(now + life));
                prop_assert!(cache.entries.len() <= 10);
                prop_assert!(cache.order.len() <= 20);
                if *life > 0 {
                    prop_assert_eq!(cache.get(&text, at(now)), Some(&(now + life)));
                }
                for other in 0..40_u8 {
                    if let Some(until) = cache.get(&other.to_string(), at(now)) {
                        prop_assert!(*until > now);
                    }
                }
            }
        }
    }

    #[test]
    fn the_entry_that_came_first_goes() {
        let (now, mut cache) = (Instant::now(), Cache::new(2));
        let until = now + Duration::from_secs(1);
        for name in ["a", "b", "a", "c"] {
            cache.insert(name.into(), (), until);
        }
        assert_eq!(
            ["a", "b", "c"].map(|name| cache.get(name, now).is_some()),
            [true, false, true]
        );
    }
}
