//! Reads the time of day and the monotonic time with one reading of a clock.

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::live::nanos;

/// How long the time of day is extrapolated with the monotonic clock: a step of the time of day stays unnoticed for at
/// most this time.
const TRUSTED: Duration = Duration::from_millis(100);

/// Required closeness of two readings, and the number of attempts.
const CLOSE: Duration = Duration::from_micros(2);
const ATTEMPTS: usize = 3;

/// A moment on both clocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) at: Instant,
    /// Nanoseconds since 1970; used for time stamps only.
    pub(crate) unix_ns: u64,
}

/// The clock of one thread.
#[derive(Debug)]
pub(crate) struct Clock(Cell<Moment>);

impl Default for Clock {
    fn default() -> Self {
        Self(Cell::new(both()))
    }
}

impl Clock {
    /// The current moment.
    pub(crate) fn now(&self) -> Moment {
        let known = self.0.get();
        let at = Instant::now();
        if at.saturating_duration_since(known.at) < TRUSTED {
            return Moment {
                at,
                unix_ns: known.unix_ns + nanos(known.at, at),
            };
        }
        let read = both();
        self.0.set(read);
        read
    }
}

/// Reads both clocks at nearly the same time; repeats if the thread was interrupted in between.
fn both() -> Moment {
    let mut best = read();
    for _ in 0..ATTEMPTS {
        if best.1 < CLOSE {
            break;
        }
        best = std::cmp::min_by_key(best, read(), |(_, apart)| *apart);
    }
    best.0
}

/// Reads both clocks; also returns the largest possible distance of the readings.
fn read() -> (Moment, Duration) {
    let before = Instant::now();
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let at = Instant::now();
    let unix_ns = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
    (Moment { at, unix_ns }, at.saturating_duration_since(before))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_is_carried_on_by_the_other_clock() {
        let known = Moment {
            at: Instant::now() + Duration::from_secs(60),
            unix_ns: 7,
        };
        assert_eq!(Clock(Cell::new(known)).now().unix_ns, 7);
        let clock = Clock::default();
        for _ in 0..1_000 {
            let known = clock.0.get();
            let now = clock.now();
            if clock.0.get().at == known.at {
                assert_eq!(now.unix_ns - known.unix_ns, nanos(known.at, now.at));
            }
        }
    }

    #[test]
    fn the_time_of_day_is_read_again_in_time() {
        let long_ago = Moment {
            at: Instant::now().checked_sub(TRUSTED).unwrap(),
            unix_ns: 7,
        };
        assert!(Clock(Cell::new(long_ago)).now().unix_ns > 1_000_000_000_000_000_000);
    }
}
