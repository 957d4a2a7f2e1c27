//! Decides which address to connect to, and when (RFC 8305, "Happy Eyeballs"). No I/O; the clock is passed in.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use super::lookup::FamilyResult;
use super::message::Family;
use crate::failure::Failure;

/// How long an answer with IPv4 addresses waits for the IPv6 addresses (section 3).
const RESOLUTION_DELAY: Duration = Duration::from_millis(50);
/// How long an attempt runs before the next one starts in parallel (section 5).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);
/// Limit of addresses to try: if so many do not answer, further ones are unlikely to.
const MAX_ATTEMPTS: usize = 16;

/// A race of connection attempts to the addresses of one host.
#[derive(Debug)]
pub struct Race {
    port: u16,
    /// Untried addresses, by family.
    waiting: [VecDeque<IpAddr>; 2],
    /// State of each family.
    families: [FamilyState; 2],
    started: usize,
    open: usize,
    last: Family,
    next_at: Option<Instant>,
    failure: Option<Failure>,
}

/// State of the lookup of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FamilyState {
    Unknown,
    Addresses,
    Failed(Failure),
}

/// The next action of a race.
#[derive(Debug, PartialEq)]
pub enum Step {
    /// Start an attempt, then call again.
    Connect(SocketAddr),
    /// Wait for an answer, for the end of an attempt, or until this moment.
    Wait(Option<Instant>),
    /// All addresses have failed.
    Lost(Failure),
}

impl Race {
    /// Creates a race to a port, with no address known yet.
    #[must_use]
    pub fn new(port: u16) -> Self {
        Self {
            port,
            waiting: [VecDeque::new(), VecDeque::new()],
            families: [FamilyState::Unknown; 2],
            started: 0,
            open: 0,
            last: Family::V4,
            next_at: None,
            failure: None,
        }
    }

    /// Number of families with a result.
    #[must_use]
    pub fn families_known(&self) -> usize {
        self.families
            .iter()
            .filter(|state| **state != FamilyState::Unknown)
            .count()
    }

    /// Adds the result for a family; only the first one counts.
    pub fn learn(&mut self, family: Family, found: FamilyResult, now: Instant) {
        let place = family.index();
        if self.families[place] != FamilyState::Unknown {
            return;
        }
        let state = match found {
            Ok(addresses) if addresses.is_empty() => FamilyState::Failed(Failure::HostNotFound),
            Ok(addresses) => {
                self.waiting[place].extend(addresses.iter());
                FamilyState::Addresses
            }
            Err(failure) => FamilyState::Failed(failure),
        };
        let alone = state == FamilyState::Addresses
            && family == Family::V4
            && self.families[Family::V6.index()] == FamilyState::Unknown;
        self.families[place] = state;
        if self.started == 0 {
            self.next_at = Some(if alone { now + RESOLUTION_DELAY } else { now });
        }
    }

    /// Notes that an attempt failed, so the next one need not wait.
    pub fn failed(&mut self, failure: Failure) {
        self.open = self.open.saturating_sub(1);
        self.failure = Some(failure);
        self.next_at = None;
    }

    /// Returns the next action.
    pub fn step(&mut self, now: Instant) -> Step {
        if self.waiting.iter().all(VecDeque::is_empty) || self.started == MAX_ATTEMPTS {
            let undecided = self.open > 0
                || (self.families.contains(&FamilyState::Unknown) && self.started < MAX_ATTEMPTS);
            return if undecided {
                Step::Wait(None)
            } else {
                Step::Lost(self.why())
            };
        }
        match self.next_at {
            Some(moment) if moment > now => return Step::Wait(Some(moment)),
            _ => {}
        }
        let family = match self.last {
            Family::V4 if !self.waiting[Family::V6.index()].is_empty() => Family::V6,
            Family::V6 if self.waiting[Family::V4.index()].is_empty() => Family::V6,
            _ => Family::V4,
        };
        let Some(address) = self.waiting[family.index()].pop_front() else {
            return Step::Wait(None);
        };
        self.last = family;
        self.started += 1;
        self.open += 1;
        self.next_at = Some(now + ATTEMPT_DELAY);
        Step::Connect((address, self.port).into())
    }

    /// The failure to report: of the last attempt, or, without an attempt, the worse one of the two lookups.
    fn why(&self) -> Failure {
        if let Some(failure) = self.failure {
            return failure;
        }
        let why = |state: &FamilyState| match state {
            FamilyState::Failed(failure) => Some(*failure),
            FamilyState::Unknown | FamilyState::Addresses => None,
        };
        let whys: Vec<Failure> = self.families.iter().filter_map(why).collect();
        let worst = [Failure::ResolveTimeout, Failure::ResolverFailed];
        let found = worst.into_iter().find(|failure| whys.contains(failure));
        found
            .or(whys.first().copied())
            .unwrap_or(Failure::HostNotFound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "as a lookup tells it")]
    fn addresses(texts: &[&str]) -> FamilyResult {
        Ok(texts.iter().map(|text| text.parse().unwrap()).collect())
    }

    fn connect(address: &str) -> Step {
        Step::Connect((address.parse::<IpAddr>().unwrap(), 80).into())
    }

    fn at(start: Instant, ms: u64) -> Instant {
        start + Duration::from_millis(ms)
    }

    #[test]
    fn the_families_take_turns_a_quarter_second_apart() {
        let (start, mut race) = (Instant::now(), Race::new(80));
        race.learn(Family::V4, addresses(&["192.0.2.1", "192.0.2.2"]), start);
        race.learn(
            Family::V6,
            addresses(&["2001:db8::1", "2001:db8::2", "2001:db8::3"]),
            start,
        );
        let order = [
            "2001:db8::1",
            "192.0.2.1",
            "2001:db8::2",
            "192.0.2.2",
            "2001:db8::3",
        ];
        for (turn, address) in order.into_iter().enumerate() {
            let now = at(start, 250 * turn as u64);
            assert_eq!(race.step(now), connect(address));
            if turn < 4 {
                assert_eq!(race.step(at(now, 249)), Step::Wait(Some(at(now, 250))));
            }
        }
        assert_eq!(race.step(at(start, 9_000)), Step::Wait(None));
        (0..5).for_each(|_| race.failed(Failure::ConnectionRefused));
        assert_eq!(
            race.step(at(start, 9_000)),
            Step::Lost(Failure::ConnectionRefused)
        );
    }

    #[test]
    fn version_4_waits_a_little_for_version_6_and_not_the_other_way_round() {
        let (start, mut race) = (Instant::now(), Race::new(80));
        assert_eq!(race.step(start), Step::Wait(None));
        race.learn(Family::V4, addresses(&["192.0.2.1"]), start);
        assert_eq!(race.step(start), Step::Wait(Some(at(start, 50))));
        assert_eq!(race.step(at(start, 50)), connect("192.0.2.1"));

        let mut race = Race::new(80);
        race.learn(Family::V4, addresses(&["192.0.2.1"]), start);
        race.learn(Family::V6, addresses(&[]), at(start, 10));
        assert_eq!(race.step(at(start, 10)), connect("192.0.2.1"));

        let mut race = Race::new(80);
        race.learn(Family::V6, addresses(&["2001:db8::1"]), start);
        assert_eq!(race.step(start), connect("2001:db8::1"));
        race.learn(Family::V4, addresses(&["192.0.2.1"]), at(start, 20));
        assert_eq!(race.step(at(start, 20)), Step::Wait(Some(at(start, 250))));
        race.failed(Failure::ConnectionRefused);
        assert_eq!(race.step(at(start, 30)), connect("192.0.2.1"));
    }

    #[test]
    fn an_attempt_that_fails_while_a_family_is_unknown_waits_for_it() {
        let (start, mut race) = (Instant::now(), Race::new(80));
        race.learn(Family::V6, addresses(&["2001:db8::1"]), start);
        assert_eq!(race.step(start), connect("2001:db8::1"));
        race.failed(Failure::NetworkUnreachable);
        assert_eq!(race.step(start), Step::Wait(None));
        race.learn(Family::V4, addresses(&["192.0.2.1"]), at(start, 40));
        assert_eq!(race.step(at(start, 40)), connect("192.0.2.1"));
    }

    #[test]
    fn without_an_address_the_worse_of_the_reasons_is_returned() {
        use Failure::{HostNotFound, ResolveTimeout, ResolverFailed};
        let cases = [
            (addresses(&[]), addresses(&[]), HostNotFound),
            (Err(HostNotFound), Err(HostNotFound), HostNotFound),
            (addresses(&[]), Err(ResolverFailed), ResolverFailed),
            (Err(ResolveTimeout), Err(ResolverFailed), ResolveTimeout),
        ];
        for (v4, v6, expected) in cases {
            let (start, mut race) = (Instant::now(), Race::new(80));
            race.learn(Family::V4, v4, start);
            race.learn(Family::V6, v6, start);
            assert_eq!(race.step(start), Step::Lost(expected));
        }
    }

    #[test]
    fn a_host_of_hundreds_of_addresses_is_given_up() {
        let (start, mut race) = (Instant::now(), Race::new(80));
        let many: Vec<String> = (0..200).map(|n| format!("192.0.2.{n}")).collect();
        race.learn(
            Family::V4,
            addresses(&many.iter().map(String::as_str).collect::<Vec<_>>()),
            start,
        );
        race.learn(Family::V6, addresses(&[]), start);
        for _ in 0..MAX_ATTEMPTS {
            assert!(matches!(race.step(start), Step::Connect(_)));
            race.failed(Failure::ConnectionRefused);
        }
        assert_eq!(race.step(start), Step::Lost(Failure::ConnectionRefused));
    }
}
