//! Limits per host (or domain, or address): concurrent items, the delay between two starts, and pauses. No I/O; the
//! clock is passed in.

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
    /// Its own delay, if that is longer.
    delay: Duration,
    paused_until: Instant,
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
        self.offer_after(Duration::ZERO, host, item, now);
    }

    /// Accepts an item of a host that has this delay, if it is longer than that of all hosts.
    pub fn offer_after(&mut self, delay: Duration, host: &str, item: T, now: Instant) {
        let name: Rc<str> = match self.hosts.get_key_value(host) {
            Some((name, _)) => name.clone(),
            None => host.into(),
        };
        let entry = self.hosts.entry(name.clone()).or_insert_with(|| Host {
            under_way: 0,
            free_at: now,
            delay: Duration::ZERO,
            paused_until: now,
            aside: VecDeque::new(),
            due: None,
        });
        entry.delay = delay;
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
            host.free_at = now + self.delay.max(host.delay);
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

    /// Starts no item of a host before `until`; returns by how much that extends its pause.
    pub fn hold(&mut self, host: &str, until: Instant, now: Instant) -> Duration {
        let name: Rc<str> = host.into();
        let entry = self.hosts.entry(name.clone()).or_insert_with(|| Host {
            under_way: 0,
            free_at: now,
            delay: Duration::ZERO,
            paused_until: now,
            aside: VecDeque::new(),
            due: None,
        });
        let longer = until.saturating_duration_since(entry.paused_until.max(now));
        entry.paused_until = entry.paused_until.max(until);
        entry.free_at = entry.free_at.max(until);
        if let Some(place) = entry.due.take() {
            self.due.remove(&place);
            self.wanted -= usize::from(!entry.aside.is_empty());
        }
        self.schedule(&name);
        longer
    }

    /// Whether a new item of this host would be set aside for a pause.
    #[must_use]
    pub fn is_held(&self, host: &str, now: Instant) -> bool {
        self.hosts
            .get(host)
            .is_some_and(|host| host.paused_until > now)
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

    proptest! {
        #[test]
        fn a_pause_holds_up_its_host_only_and_is_forgotten(
            steps in prop::collection::vec((0..3_u8, 0..20_u64, 0..40_u64), 1..100),
        ) {
            let mut limits = HostLimits::new(usize::MAX, Duration::ZERO, 1_000);
            let mut now = Instant::now();
            let mut held: HashMap<String, Instant> = HashMap::new();
            let mut started = 0;
            let take = |limits: &mut HostLimits<usize>, now, held: &HashMap<String, Instant>| {
                let mut count = 0;
                while let Some((host, _)) = limits.next(now) {
                    assert!(held.get(&*host).is_none_or(|until| *until <= now));
                    limits.ended(&host);
                    count += 1;
                }
                count
            };
            for (item, (host, pass, pause)) in steps.iter().enumerate() {
                let host = host.to_string();
                limits.offer(&host, item, now);
                if *pause < 20 {
                    let until = now + Duration::from_millis(*pause);
                    let before = held.get(&host).copied().unwrap_or(now).max(now);
                    prop_assert_eq!(limits.hold(&host, until, now), until.saturating_duration_since(before));
                    held.insert(host.clone(), before.max(until));
                    prop_assert_eq!(limits.is_held(&host, now), held[&host] > now);
                }
                started += take(&mut limits, now, &held);
                now += Duration::from_millis(*pass);
                started += take(&mut limits, now, &held);
            }
            now += Duration::from_millis(40);
            started += take(&mut limits, now, &held);
            prop_assert_eq!(started, steps.len());
            prop_assert!(limits.hosts.is_empty() && limits.due.is_empty() && limits.next_due().is_none());
        }
    }

    #[test]
    fn a_host_may_have_a_longer_delay_and_its_pause_goes_on() {
        let (start, s) = (Instant::now(), Duration::from_secs);
        let mut limits = HostLimits::new(usize::MAX, s(1), 10);
        for item in 0..3 {
            limits.offer_after(s(5), "slow.test", item, start);
            limits.offer_after(Duration::ZERO, "other.test", item, start);
        }
        let starts = |limits: &mut HostLimits<i32>, second| {
            let mut started = 0;
            while let Some((host, _)) = limits.next(start + s(second)) {
                limits.ended(&host);
                started += if &*host == "slow.test" { 10 } else { 1 };
            }
            started
        };
        let started: Vec<_> = (0..12).map(|second| starts(&mut limits, second)).collect();
        assert_eq!(started, [11, 1, 1, 0, 0, 10, 0, 0, 0, 0, 10, 0]);
        // A delay is no pause, and a pause is longer than the rest of a delay.
        assert!(!limits.is_held("slow.test", start + s(11)));
        assert_eq!(limits.hold("slow.test", start + s(20), start + s(11)), s(9));
        assert!(limits.is_held("slow.test", start + s(19)));
        for item in 3..5 {
            limits.offer_after(s(5), "slow.test", item, start + s(12));
        }
        let started: Vec<_> = (12..27).map(|second| starts(&mut limits, second)).collect();
        assert_eq!(started, [0, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 10, 0]);
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
