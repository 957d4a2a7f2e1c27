//! Decides which address of a server a connection opens at: all in turn, without those that failed a moment ago. No I/O; the
//! clock is passed in.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use dyno_client::Failure;

use crate::names::Numbered;

/// Pause of an address after its first failure; each further failure doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The addresses of one server, as one thread knows them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rotation {
    places: Vec<Place>,
    /// Index of the address whose turn it is.
    turn: usize,
}

#[derive(Debug, Clone)]
struct Place {
    at: Numbered,
    has_worked: bool,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    InTurn,
    /// Failed; one connection tries it again at this moment.
    Aside {
        again_at: Instant,
        pause: Duration,
    },
    /// This machine has no way to it: it is tried only after all others have failed.
    LeftOut,
}

/// An attempt to connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) at: Numbered,
    /// Whether it tries an address again whose pause is over.
    is_retry: bool,
}

impl Rotation {
    /// Begins with the address at index `first`, modulo their number.
    pub(crate) fn new(addresses: &[Numbered], first: usize) -> Self {
        let mut rotation = Self::default();
        rotation.adopt(addresses);
        rotation.turn = first % addresses.len().max(1);
        rotation
    }

    /// Replaces the list; addresses that stay keep their state.
    pub(crate) fn adopt(&mut self, addresses: &[Numbered]) {
        let known = std::mem::take(&mut self.places);
        let place = |at: &Numbered| {
            let known = known.iter().find(|place| place.at == *at);
            known.cloned().unwrap_or(Place {
                at: *at,
                has_worked: false,
                state: State::InTurn,
            })
        };
        self.places = addresses.iter().map(place).collect();
    }

    pub(crate) const fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether the address of this number is in the list.
    pub(crate) fn holds(&self, number: usize) -> bool {
        self.places.iter().any(|place| place.at.number == number)
    }

    /// Returns the next attempt of a connection that has tried these addresses: the next one in turn, or, if none is
    /// left, one that is set aside. `None` if all have been tried.
    pub(crate) fn next(&mut self, tried: &[SocketAddr], now: Instant) -> Option<Attempt> {
        let count = self.places.len();
        let from_turn = (0..count).map(|step| (self.turn + step) % count);
        let mut untried =
            from_turn.filter(|index| !tried.contains(&self.places[*index].at.address));
        let is_due = |index: &usize| match self.places[*index].state {
            State::InTurn => true,
            State::Aside { again_at, .. } => again_at <= now,
            State::LeftOut => false,
        };
        let is_aside = |index: &usize| matches!(self.places[*index].state, State::Aside { .. });
        let index = untried
            .clone()
            .find(is_due)
            .or_else(|| untried.clone().find(is_aside))
            .or_else(|| untried.next())?;
        if tried.is_empty() {
            self.turn = (index + 1) % count;
        }
        let place = &mut self.places[index];
        let mut is_retry = false;
        if let State::Aside { again_at, pause } = &mut place.state
            && *again_at <= now
        {
            // Only this connection tries it now.
            *again_at = now + *pause;
            is_retry = true;
        }
        Some(Attempt {
            at: place.at,
            is_retry,
        })
    }

    /// Notes that a connection to the address was opened.
    pub(crate) fn succeeded(&mut self, attempt: Attempt) {
        if let Some(place) = self.place(attempt) {
            place.has_worked = true;
            place.state = State::InTurn;
        }
    }

    /// Notes that an attempt failed; returns whether the address counts as failed. It does not if this machine has no
    /// way to it, or lacks files or ports.
    pub(crate) fn failed(&mut self, attempt: Attempt, failure: Failure, now: Instant) -> bool {
        let is_only = self.places.len() == 1;
        let Some(place) = self.place(attempt) else {
            return true;
        };
        if !place.has_worked && !is_only && has_no_way(attempt.at.address, failure) {
            place.state = State::LeftOut;
            return false;
        }
        if matches!(failure, Failure::NoLocalPort | Failure::TooManyOpenFiles) {
            return false;
        }
        let pause = match place.state {
            State::InTurn | State::LeftOut => FIRST_PAUSE,
            State::Aside { pause, .. } if attempt.is_retry => (2 * pause).min(LONGEST_PAUSE),
            // One of several connections that failed at the same time, or while all addresses fail.
            State::Aside { .. } => return true,
        };
        let again_at = now + pause;
        place.state = State::Aside { again_at, pause };
        true
    }

    fn place(&mut self, attempt: Attempt) -> Option<&mut Place> {
        self.places.iter_mut().find(|place| place.at == attempt.at)
    }
}

/// Whether a failure means that this machine has no IPv6, or that a server of this machine listens at 127.0.0.1 only
/// (`localhost` also stands for `::1`).
fn has_no_way(address: SocketAddr, failure: Failure) -> bool {
    address.is_ipv6()
        && match failure {
            Failure::NetworkUnreachable | Failure::NoLocalPort => true,
            Failure::ConnectionRefused => address.ip().is_loopback(),
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const REFUSED: Failure = Failure::ConnectionRefused;

    fn numbered(texts: &[&str]) -> Vec<Numbered> {
        let all = texts.iter().enumerate();
        all.map(|(number, text)| Numbered {
            address: text.parse().unwrap(),
            number,
        })
        .collect()
    }

    fn three() -> Vec<Numbered> {
        numbered(&["192.0.2.1:80", "192.0.2.2:80", "192.0.2.3:80"])
    }

    fn after(start: Instant, millis: u64) -> Instant {
        start + Duration::from_millis(millis)
    }

    /// Opens a connection at a moment, while the addresses of these numbers are dead; returns the numbers it tried.
    fn open(rotation: &mut Rotation, dead: &[usize], now: Instant) -> Vec<usize> {
        let (mut tried, mut numbers) = (Vec::new(), Vec::new());
        while let Some(attempt) = rotation.next(&tried, now) {
            tried.push(attempt.at.address);
            numbers.push(attempt.at.number);
            if !dead.contains(&attempt.at.number) {
                rotation.succeeded(attempt);
                break;
            }
            rotation.failed(attempt, REFUSED, now);
        }
        numbers
    }

    #[test]
    fn a_dead_address_is_left_and_tried_again_after_growing_pauses() {
        let start = Instant::now();
        let mut rotation = Rotation::new(&three(), 1);
        let dead: &[usize] = &[1];
        for (at_ms, dead, tried) in [
            (0, &[][..], &[1][..]),
            (0, &[], &[2]),
            (0, &[], &[0]),
            // Its connection opens at the next one, and the following ones leave it out.
            (0, dead, &[1, 2]),
            (0, dead, &[2]),
            (0, dead, &[0]),
            (999, dead, &[2]),
            (999, dead, &[0]),
            // One connection tries it again, then one after 2 s.
            (1_000, dead, &[1, 2]),
            (1_000, dead, &[2]),
            (2_999, dead, &[0]),
            (2_999, dead, &[2]),
            (3_000, dead, &[0]),
            (3_000, dead, &[1, 2]),
            // It is up again, and takes its turns.
            (7_000, &[], &[2]),
            (7_000, &[], &[0]),
            (7_000, &[], &[1]),
            (7_000, &[], &[2]),
            (7_000, &[], &[0]),
            (7_000, &[], &[1]),
            // The pauses begin anew.
            (8_000, &[], &[2]),
            (8_000, &[], &[0]),
            (8_000, dead, &[1, 2]),
            (9_000, dead, &[2]),
            (9_000, dead, &[0]),
            (9_000, dead, &[1, 2]),
        ] {
            assert_eq!(
                open(&mut rotation, dead, after(start, at_ms)),
                tried,
                "{at_ms}"
            );
        }
    }

    #[test]
    fn the_longest_pause_is_half_a_minute() {
        let start = Instant::now();
        let two = &three()[..2];
        let mut rotation = Rotation::new(two, 0);
        let mut retried_s = Vec::new();
        for second in 0..130 {
            for _ in two {
                if open(&mut rotation, &[0], after(start, 1000 * second))[0] == 0 {
                    retried_s.push(second);
                }
            }
        }
        assert_eq!(retried_s, [0, 1, 3, 7, 15, 31, 61, 91, 121]);
    }

    #[test]
    fn connections_that_fail_at_the_same_time_begin_one_pause() {
        let start = Instant::now();
        let two = &three()[..2];
        let mut rotation = Rotation::new(two, 0);
        let attempts: Vec<_> = (0..20)
            .map(|_| rotation.next(&[], start).unwrap())
            .collect();
        for attempt in attempts.iter().filter(|attempt| attempt.at.number == 0) {
            assert!(rotation.failed(*attempt, REFUSED, start));
        }
        assert_eq!(open(&mut rotation, &[], after(start, 999)), [1]);
        assert_eq!(open(&mut rotation, &[], after(start, 1_000)), [0]);
    }

    #[test]
    fn dead_addresses_are_all_tried_and_come_back_at_once() {
        let start = Instant::now();
        let mut rotation = Rotation::new(&three(), 0);
        let all = [0, 1, 2];
        for at_ms in 0..500 {
            let mut tried = open(&mut rotation, &all, after(start, at_ms));
            tried.sort_unstable();
            assert_eq!(tried, all);
        }
        let last = open(&mut rotation, &[1, 2], after(start, 500)).pop();
        assert_eq!(last, Some(0));
        // The pauses did not grow while all failed.
        let next = (0..3).flat_map(|_| open(&mut rotation, &[], after(start, 1_499)));
        let mut next: Vec<usize> = next.collect();
        next.sort_unstable();
        assert_eq!(next, all);
    }

    #[test]
    fn addresses_without_a_way_are_left_out_unless_all_others_fail() {
        let start = Instant::now();
        let both = numbered(&["[2001:db8::1]:80", "192.0.2.1:80"]);
        let local = numbered(&["[::1]:80", "127.0.0.1:80"]);
        for (addresses, failure, is_counted) in [
            (&both, Failure::NetworkUnreachable, false),
            (&both, Failure::NoLocalPort, false),
            (&both, Failure::ConnectionRefused, true),
            (&local, Failure::ConnectionRefused, false),
            (&local, Failure::ConnectionReset, true),
        ] {
            let mut rotation = Rotation::new(addresses, 0);
            let attempt = rotation.next(&[], start).unwrap();
            assert_eq!(rotation.failed(attempt, failure, start), is_counted);
            let later = [0; 2].map(|_| open(&mut rotation, &[], after(start, 60_000))[0]);
            assert_eq!(later.contains(&0), is_counted, "{failure:?}");
        }
        // An address that has worked fails like any other.
        let mut rotation = Rotation::new(&local, 0);
        let attempt = rotation.next(&[], start).unwrap();
        rotation.succeeded(attempt);
        assert!(rotation.failed(attempt, REFUSED, start));
        // The only way is tried each time, and counts.
        let mut rotation = Rotation::new(&local[..1], 0);
        for _ in 0..3 {
            let attempt = rotation.next(&[], start).unwrap();
            assert!(rotation.failed(attempt, REFUSED, start));
        }
        let six = numbered(&["[2001:db8::1]:80", "[2001:db8::2]:80"]);
        let mut rotation = Rotation::new(&six, 0);
        for attempt in [0, 1].map(|_| rotation.next(&[], start).unwrap()) {
            rotation.failed(attempt, Failure::NetworkUnreachable, start);
        }
        assert_eq!(open(&mut rotation, &[0, 1], start), [0, 1]);
    }

    #[test]
    fn a_lack_of_this_machine_sets_no_address_aside() {
        let start = Instant::now();
        let mut rotation = Rotation::new(&three(), 0);
        for failure in [Failure::NoLocalPort, Failure::TooManyOpenFiles] {
            let attempt = rotation.next(&[], start).unwrap();
            assert!(!rotation.failed(attempt, failure, start));
        }
        let turns = [0; 3].map(|_| open(&mut rotation, &[], start)[0]);
        assert_eq!(turns, [2, 0, 1]);
    }

    #[test]
    fn a_new_list_keeps_what_is_known_of_addresses_that_stay() {
        let start = Instant::now();
        let all = three();
        let mut rotation = Rotation::new(&all[..2], 0);
        assert_eq!(open(&mut rotation, &[0], start), [0, 1]);
        rotation.adopt(&[all[0], all[2]]);
        assert!(rotation.holds(2) && !rotation.holds(1));
        assert_eq!(open(&mut rotation, &[], start), [2]);
        assert_eq!(open(&mut rotation, &[], start), [2]);
        assert_eq!(open(&mut rotation, &[], after(start, 1_000)), [0]);
        // The end of an attempt at an address that has left changes nothing.
        let attempt = rotation.next(&[], start).unwrap();
        rotation.adopt(&[]);
        rotation.succeeded(attempt);
        assert!(rotation.failed(attempt, REFUSED, start));
        assert_eq!(rotation.next(&[], start), None);
    }

    proptest! {
        #[test]
        fn connections_of_all_threads_have_equal_shares(
            count in 1_usize..20,
            threads in proptest::collection::vec(0_usize..50, 1..5),
        ) {
            let texts: Vec<String> = (0..count).map(|number| format!("192.0.2.{number}:80")).collect();
            let addresses = numbered(&texts.iter().map(String::as_str).collect::<Vec<_>>());
            let mut opened = vec![0_usize; count];
            let mut first = 0;
            for connections in threads {
                let mut rotation = Rotation::new(&addresses, first);
                for _ in 0..connections {
                    opened[open(&mut rotation, &[], Instant::now())[0]] += 1;
                }
                first += connections;
            }
            prop_assert!(opened.iter().max().unwrap() - opened.iter().min().unwrap() <= 1);
        }

        #[test]
        fn a_connection_opens_if_any_address_is_alive(
            dead in proptest::collection::vec((0_u64..3_000, proptest::collection::vec(0_usize..3, 0..3)), 1..60),
        ) {
            let mut now = Instant::now();
            let mut rotation = Rotation::new(&three(), 0);
            for (millis, dead) in dead {
                now = after(now, millis);
                let tried = open(&mut rotation, &dead, now);
                let is_open = tried.last().is_some_and(|last| !dead.contains(last));
                prop_assert_eq!(is_open, (0..3).any(|number| !dead.contains(&number)));
                let mut once = tried.clone();
                once.sort_unstable();
                once.dedup();
                prop_assert_eq!(once.len(), tried.len());
            }
        }
    }
}
