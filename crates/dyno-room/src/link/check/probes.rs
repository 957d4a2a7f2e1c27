//! Round trips: small datagrams that are echoed, with timestamps of sending and arrival at both ends.

use std::time::{Duration, Instant};

use dyno_link::{Link, Nanos};

use super::datagrams::{Datagrams, stamp_now};
use super::plan::{PROBE_BYTES, Plan};
use super::start::{Begun, PATIENCE, length};
use crate::link::account::RoundTrips;

/// When a probe was sent, arrived and was sent back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Stamps {
    sent: Nanos,
    arrived: Nanos,
    returned: Nanos,
}

impl Stamps {
    fn bytes(self) -> [u8; PROBE_BYTES] {
        let mut bytes = [0; PROBE_BYTES];
        for (place, moment) in
            bytes
                .chunks_exact_mut(8)
                .zip([self.sent, self.arrived, self.returned])
        {
            place.copy_from_slice(&moment.0.to_le_bytes());
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let mut moments = bytes
            .chunks_exact(8)
            .filter_map(|chunk| Some(Nanos(u64::from_le_bytes(*chunk.first_chunk()?))));
        Some(Self {
            sent: moments.next()?,
            arrived: moments.next()?,
            returned: moments.next()?,
        })
    }

    /// Return the time on the link, without the time at the echoing end.
    fn time_on_link(self, back: Nanos) -> Nanos {
        self.arrived.saturating_sub(self.sent) + back.saturating_sub(self.returned)
    }
}

/// Send back every probe.
pub(super) fn echo(far: &Datagrams, plan: &Plan, link: &Link, begun: &Begun) {
    let until = begun.at + probing(plan) + PATIENCE;
    begun.sleep_until(begun.at + length(link.up.delay));
    let mut left = plan.probes;
    let mut buffer = [0; PROBE_BYTES];
    while left > 0 {
        let Some((length, arrived)) = far.receive(&mut buffer) else {
            if begun.is_over(until) {
                return;
            }
            continue;
        };
        left -= 1;
        if let Some(stamps) = Stamps::read(&buffer[..length]) {
            let returned = stamp_now();
            let stamps = Stamps {
                arrived,
                returned,
                ..stamps
            };
            far.send(&stamps.bytes());
        }
    }
}

/// Send probes; return the time of each on the link.
pub(super) fn probe(near: &Datagrams, plan: &Plan, begun: &Begun) -> Vec<Nanos> {
    let gap = length(plan.probe_gap);
    let mut due = begun.at;
    for _ in 0..plan.probes {
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let sent = stamp_now();
        near.send(
            &Stamps {
                sent,
                ..Stamps::default()
            }
            .bytes(),
        );
        due += gap;
    }
    let until = begun.at + probing(plan) + PATIENCE;
    let mut buffer = [0; PROBE_BYTES];
    let mut round_trips = Vec::new();
    while (round_trips.len() as u64) < plan.probes {
        match near.receive(&mut buffer) {
            Some((length, back)) => round_trips
                .extend(Stamps::read(&buffer[..length]).map(|stamps| stamps.time_on_link(back))),
            None if begun.is_over(until) => break,
            None => {}
        }
    }
    round_trips
}

/// Return the time from the first probe to the return of the last.
fn probing(plan: &Plan) -> Duration {
    length(Nanos(plan.probes * plan.probe_gap.0) + plan.round_trip)
}

impl RoundTrips {
    pub(super) fn of(mut round_trips: Vec<Nanos>) -> Self {
        round_trips.sort_unstable();
        let at = |percent: usize| {
            let last = round_trips.len().checked_sub(1)?;
            let found = round_trips.get((last * percent).div_ceil(100))?;
            Some(found.0)
        };
        Self {
            count: round_trips.len() as u64,
            min: at(0),
            p50: at(50),
            p99: at(99),
            max: at(100),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_have_quantiles_where_there_are_any() {
        let found = RoundTrips::of((1..=40).rev().map(Nanos::from_millis).collect());
        assert_eq!(
            (found.count, found.min, found.max),
            (40, Some(1_000_000), Some(40_000_000))
        );
        assert_eq!(found.p50, Some(21_000_000));
        assert_eq!(RoundTrips::of(Vec::new()), RoundTrips::default());
    }

    #[test]
    fn the_time_at_the_far_end_is_excluded() {
        let stamps = Stamps {
            sent: Nanos(1_000),
            arrived: Nanos(1_020),
            returned: Nanos(5_020),
        };
        assert_eq!(Stamps::read(&stamps.bytes()), Some(stamps));
        assert_eq!(stamps.time_on_link(Nanos(5_030)), Nanos(30));
        assert_eq!(Stamps::read(&[0; 23]), None);
    }
}
