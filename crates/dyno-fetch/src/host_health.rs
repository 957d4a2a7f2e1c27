//! Remembers hosts whose connections failed, and how long `Retry-After` has held up each host. Memory is bounded; the clock
//! is passed in.

use std::time::{Duration, Instant};

use dyno_client::Failure;
use dyno_client::resolve::Cache;

/// Limit of remembered hosts; beyond it, the oldest is forgotten.
const MOST_HOSTS: usize = 16 << 10;
/// How long a dead host is not tried.
const DOWN: Duration = Duration::from_secs(60);
/// How long failed connections in a row are remembered while they are too few.
const COUNTED: Duration = Duration::from_secs(600);

/// Hosts whose last connections failed.
#[derive(Debug)]
pub(crate) struct DeadHosts {
    /// Failed connections in a row after which a host is dead; 0: never.
    limit: u32,
    failed: Cache<u32>,
}

impl DeadHosts {
    pub(crate) fn new(limit: u32) -> Self {
        Self {
            limit,
            failed: Cache::new(MOST_HOSTS),
        }
    }

    /// Whether no connection to the host should be attempted now. `host` is its name with the port.
    pub(crate) fn is_dead(&mut self, host: &str, now: Instant) -> bool {
        let failed = self.failed.get(host, now);
        failed.is_some_and(|failed| *failed >= self.limit)
    }

    /// Whether failures are counted.
    pub(crate) const fn is_used(&self) -> bool {
        self.limit > 0
    }

    /// Whether all hosts are well, so that none needs to be looked up.
    pub(crate) fn is_empty(&self) -> bool {
        self.failed.is_empty()
    }

    /// Notes a failed connection; returns whether it makes the host dead.
    pub(crate) fn failed(&mut self, host: &str, now: Instant) -> bool {
        let failed = self
            .failed
            .get(host, now)
            .map_or(1, |failed| failed.saturating_add(1));
        let kept = if failed >= self.limit { DOWN } else { COUNTED };
        self.failed.insert(host.into(), failed, now + kept);
        failed == self.limit
    }

    /// Notes a successful connection.
    pub(crate) fn succeeded(&mut self, host: &str) {
        self.failed.remove(host);
    }
}

/// Whether a failed connection shows that the host is dead, rather than its certificate, a proxy or this machine.
pub(crate) const fn is_of_host(failure: Failure) -> bool {
    matches!(
        failure,
        Failure::ResolverFailed
            | Failure::ResolveTimeout
            | Failure::ConnectionRefused
            | Failure::NetworkUnreachable
            | Failure::ConnectTimeout
            | Failure::ConnectionReset
            | Failure::TlsTimeout
    )
}

/// How long hosts have been held up by `Retry-After` since their last other answer.
#[derive(Debug)]
pub(crate) struct Pauses {
    /// Limit of the pauses of a host in a row.
    most: Duration,
    spent: Cache<Duration>,
}

impl Pauses {
    pub(crate) fn new(most: Duration) -> Self {
        Self {
            most,
            spent: Cache::new(MOST_HOSTS),
        }
    }

    /// Whether hosts are held up at all.
    pub(crate) const fn is_used(&self) -> bool {
        !self.most.is_zero()
    }

    /// Returns the pause that the host gets: `requested`, limited to what is left of the longest time; `None` if nothing is
    /// left.
    pub(crate) fn allowed(
        &mut self,
        host: &str,
        requested: Duration,
        now: Instant,
    ) -> Option<Duration> {
        let spent = self.spent.get(host, now).copied().unwrap_or_default();
        let left = self.most.saturating_sub(spent);
        (!left.is_zero()).then(|| requested.min(left))
    }

    /// Notes that a host is held up for this much longer.
    pub(crate) fn add(&mut self, host: &str, longer: Duration, now: Instant) {
        let spent = self.spent.get(host, now).copied().unwrap_or_default();
        let until = now + longer + self.most.max(COUNTED);
        self.spent.insert(host.into(), spent + longer, until);
    }

    /// Notes an answer that asks for no pause.
    pub(crate) fn answered(&mut self, host: &str) {
        if !self.spent.is_empty() {
            self.spent.remove(host);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_host_is_dead_for_a_minute_after_failures_in_a_row() {
        let (start, mut dead) = (Instant::now(), DeadHosts::new(3));
        assert!(!dead.failed("a.test:80", start));
        dead.failed("a.test:80", start);
        dead.succeeded("a.test:80");
        assert!(dead.is_empty());
        for second in 0..3 {
            assert!(!dead.is_dead("a.test:80", start + s(second)));
            assert_eq!(dead.failed("a.test:80", start + s(second)), second == 2);
        }
        assert!(dead.is_dead("a.test:80", start + s(61)));
        assert!(!dead.is_dead("a.test:443", start + s(61)));
        assert!(!dead.is_dead("a.test:80", start + s(62)));
        // Then it is tried again, as often as before.
        assert!(!dead.failed("a.test:80", start + s(62)));
    }

    proptest! {
        #[test]
        fn only_failures_in_a_row_count(limit in 1..5_u32, connections in prop::collection::vec(any::<bool>(), 0..60)) {
            let (now, mut dead, mut row) = (Instant::now(), DeadHosts::new(limit), 0);
            for succeeds in connections {
                prop_assert_eq!(dead.is_dead("a", now), row >= limit);
                if succeeds {
                    dead.succeeded("a");
                    row = 0;
                } else {
                    row += 1;
                    prop_assert_eq!(dead.failed("a", now), row == limit);
                }
            }
        }
    }

    #[test]
    fn pauses_of_a_host_add_up_until_it_answers() {
        let (now, mut pauses) = (Instant::now(), Pauses::new(s(300)));
        assert_eq!(pauses.allowed("a", s(3_600), now), Some(s(300)));
        assert_eq!(pauses.allowed("a", s(200), now), Some(s(200)));
        pauses.add("a", s(200), now);
        assert_eq!(pauses.allowed("a", s(200), now), Some(s(100)));
        assert_eq!(pauses.allowed("b", s(200), now), Some(s(200)));
        pauses.add("a", s(100), now);
        assert_eq!(pauses.allowed("a", s(1), now), None);
        pauses.answered("a");
        assert_eq!(pauses.allowed("a", s(1), now), Some(s(1)));
        assert!(!Pauses::new(s(0)).is_used());
    }
}
