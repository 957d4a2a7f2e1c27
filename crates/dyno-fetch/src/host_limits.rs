//! Limits per host: concurrent URLs, and the delay between two starts. No I/O; the clock is passed in.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Releases items host by host, and sets aside those whose host is busy.
///
/// Memory is bounded: a host has state only while one of its items is in progress, set aside, or within its delay.
#[derive(Debug)]
pub struct HostLimits<T> {
    most_at_once: usize,
    delay: Duration,
    most_aside: usize,
    aside: usize,
    hosts: HashMap<Rc<str>, Host<T>>,
    /// Hosts that wait only for their delay, by its end.
    due: BTreeMap<(Instant, u64), Rc<str>>,
    /// Number of these hosts with items set aside.
    wanted: usize,
    next_number: u64,
}

#[derive(Debug)]
struct Host<T> {
    under_way: usize,
    free_at: Instant,
    aside: VecDeque<T>,
    /// Its key in `due`, if it is there.
    due: Option<(Instant, u64)>,
}

impl<T> HostLimits<T> {
    /// Limits each host to `most_at_once` items with `delay` between two starts; at most `most_aside` items of all
    /// hosts are set aside.
    #[must_use]
    pub fn new(most_at_once: usize, delay: Duration, most_aside: usize) -> Self {
        Self {
            most_at_once,
            delay,
            most_aside,
            aside: 0,
            hosts: HashMap::new(),
            due: BTreeMap::new(),
            wanted: 0,
            next_number: 0,
        }
    }

    /// Whether no more items can be accepted now.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.aside >= self.most_aside
    }

    /// Number of items that are set aside.
    #[must_use]
    pub fn aside(&self) -> usize {
        self.aside
    }

    /// Accepts an item, which [`Self::next`] returns when its host allows it.
    pub fn offer(&mut self, host: &str, item: T, now: Instant) {
        let name: Rc<str> = match self.hosts.get_key_value(host) {
            Some((name, _)) => name.clone(),
            None => host.into(),
        };
        let entry = self.hosts.entry(name.clone()).or_insert_with(|| Host {
            under_way: 0,
            free_at: now,
            aside: VecDeque::new(),
            due: None,
        });
        self.wanted += usize::from(entry.due.is_some() && entry.aside.is_empty());
        entry.aside.push_back(item);
        self.aside += 1;
        self.schedule(&name);
    }

    /// Returns an item that may start now, with the name of its host.
    pub fn next(&mut self, now: Instant) -> Option<(Rc<str>, T)> {
        loop {
            let (&place, _) = self.due.first_key_value()?;
            if place.0 > now {
                return None;
            }
            let name = self.due.remove(&place)?;
            let host = self.hosts.get_mut(&name)?;
            host.due = None;
            let Some(item) = host.aside.pop_front() else {
                // The delay is over, and no item of this host waits.
                if host.under_way == 0 {
                    self.hosts.remove(&name);
                }
                continue;
            };
            self.wanted -= 1;
            self.aside -= 1;
            host.under_way += 1;
            host.free_at = now + self.delay;
            self.schedule(&name);
            return Some((name, item));
        }
    }

    /// When [`Self::next`] may return an item that it does not return now; `None` if no item waits for a delay
    /// only.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        let (moment, _) = self.due.keys().next().filter(|_| self.wanted > 0)?;
        Some(*moment)
    }

    /// Notes that an item of this host has ended.
    pub fn ended(&mut self, name: &Rc<str>) {
        if let Some(host) = self.hosts.get_mut(name) {
            host.under_way -= 1;
        }
        self.schedule(name);
    }

    /// Schedules the end of a host's delay, unless the host must first wait for an item in progress.
    fn schedule(&mut self, name: &Rc<str>) {
        let Some(host) = self.hosts.get_mut(name) else {
            return;
        };
        let waits = host.under_way >= self.most_at_once;
        if waits || host.due.is_some() || (host.aside.is_empty() && host.under_way > 0) {
            return;
        }
        self.wanted += usize::from(!host.aside.is_empty());
        let place = (host.free_at, self.next_number);
        self.next_number += 1;
        host.due = Some(place);
        self.due.insert(place, name.clone());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn limits_hold_order_is_kept_and_nothing_is_lost_or_left(
            most_at_once in 1..4_usize,
            delay_ms in 0..30_u64,
            steps in prop::collection::vec((0..4_u8, 0..20_u64, any::<bool>()), 1..200),
        ) {
            let delay = Duration::from_millis(delay_ms);
            let mut limits = HostLimits::new(most_at_once, delay, 1_000);
            let mut now = Instant::now();
            let mut under_way: HashMap<Rc<str>, usize> = HashMap::new();
            let mut begun: HashMap<Rc<str>, Vec<(usize, Instant)>> = HashMap::new();
            let take = |limits: &mut HostLimits<usize>, now, under_way: &mut HashMap<Rc<str>, usize>, begun: &mut HashMap<Rc<str>, Vec<(usize, Instant)>>| {
                while let Some((host, item)) = limits.next(now) {
                    *under_way.entry(host.clone()).or_default() += 1;
                    assert!(under_way[&host] <= most_at_once);
                    begun.entry(host).or_default().push((item, now));
                }
                let waits_for_time = |host: &Host<_>| !host.aside.is_empty() && host.under_way < most_at_once;
                assert_eq!(limits.next_due().is_some(), limits.hosts.values().any(waits_for_time));
            };
            for (item, (host, pass, end)) in steps.iter().enumerate() {
                limits.offer(&host.to_string(), item, now);
                take(&mut limits, now, &mut under_way, &mut begun);
                now += Duration::from_millis(*pass);
                if *end && let Some((host, count)) = under_way.iter_mut().find(|(_, count)| **count > 0) {
                    *count -= 1;
                    limits.ended(host);
                }
                take(&mut limits, now, &mut under_way, &mut begun);
            }
            // All items in progress end, until nothing is left.
            for _ in 0..=steps.len() {
                for (host, count) in &mut under_way {
                    (0..std::mem::take(count)).for_each(|_| limits.ended(host));
                }
                now += delay;
                take(&mut limits, now, &mut under_way, &mut begun);
            }
            prop_assert_eq!(limits.aside(), 0);
            prop_assert!(limits.hosts.is_empty() && limits.due.is_empty());
            prop_assert_eq!(begun.values().map(Vec::len).sum::<usize>(), steps.len());
            for items in begun.values() {
                prop_assert!(items.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[1].1 - pair[0].1 >= delay));
            }
        }
    }

    #[test]
    fn a_busy_host_holds_up_no_other() {
        let (now, mut limits) = (Instant::now(), HostLimits::new(1, Duration::ZERO, 3));
        for item in 0..3 {
            limits.offer("busy.test", item, now);
        }
        assert!(limits.is_full());
        let (busy, first) = limits.next(now).unwrap();
        assert_eq!((&*busy, first), ("busy.test", 0));
        assert!(!limits.is_full());
        limits.offer("other.test", 9, now);
        assert_eq!(
            limits
                .next(now)
                .map(|(host, item)| (host.to_string(), item)),
            Some(("other.test".into(), 9))
        );
        assert_eq!(limits.next(now), None);
        limits.ended(&busy);
        assert_eq!(limits.next(now).map(|(_, item)| item), Some(1));
    }
}
