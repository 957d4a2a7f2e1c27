//! How a clock is set, and whether it was set in between.

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Readings of a clock's setting, of which the sharpest counts.
const SETTINGS: usize = 4;
/// Change of a setting that means nothing.
const STILL_NS: i64 = 5_000;

/// How a clock is set: the time of day minus the time since boot. It changes only when the clock is set, since both run
/// at the same speed, also while NTP corrects it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    ns: i64,
    /// Maximum error.
    bound_ns: i64,
}

impl Setting {
    /// The setting of this machine's clock.
    pub fn now() -> Self {
        let read = |_| {
            let before_ns = since_boot_ns();
            let unix = SystemTime::now().duration_since(UNIX_EPOCH);
            let width_ns = since_boot_ns() - before_ns;
            let unix_ns = i64::try_from(unix.unwrap_or_default().as_nanos()).unwrap_or(i64::MAX);
            Self {
                ns: unix_ns.saturating_sub(before_ns + width_ns / 2),
                bound_ns: width_ns / 2 + 1,
            }
        };
        Self::sharpest_of((0..SETTINGS).map(read)).expect("there are readings")
    }

    /// A reading with its maximum error.
    #[cfg(test)]
    pub const fn of(ns: i64, bound_ns: i64) -> Self {
        Self { ns, bound_ns }
    }

    /// The reading with the smallest error.
    pub fn sharpest_of(readings: impl IntoIterator<Item = Self>) -> Option<Self> {
        readings.into_iter().min_by_key(|reading| reading.bound_ns)
    }

    /// Time by which the clock was set since `earlier`; 0: it was not.
    fn step_since(self, earlier: Self) -> i64 {
        let step_ns = self.ns.saturating_sub(earlier.ns);
        let doubt_ns = self
            .bound_ns
            .saturating_add(earlier.bound_ns)
            .saturating_add(STILL_NS);
        if step_ns.saturating_abs() > doubt_ns {
            step_ns
        } else {
            0
        }
    }
}

fn since_boot_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// The settings of both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    pub here: Setting,
    pub there: Setting,
}

impl Settings {
    /// The larger step of the two clocks since `earlier`; 0: none was set.
    pub fn step_since(self, earlier: Self) -> i64 {
        let steps = [
            self.here.step_since(earlier.here),
            self.there.step_since(earlier.there),
        ];
        steps
            .into_iter()
            .max_by_key(|step| step.saturating_abs())
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn a_step_between_two_readings_is_found() {
        let setting = |ns, bound_ns| Setting { ns, bound_ns };
        let at = |here_ns, there_ns| Settings {
            here: setting(here_ns, 500),
            there: setting(there_ns, 500),
        };
        let first = at(1_000 * SECOND, -7 * SECOND);
        for (here_ns, there_ns, expected_ns) in [
            // Neither was set, however far the clocks are apart, and however long the load was.
            (0, 0, 0),
            (900, -900, 0),
            (5_000_000, 0, 5_000_000),
            (-5_000_000, 0, -5_000_000),
            (0, 5_000_000, 5_000_000),
            (20_000, -5_000_000, -5_000_000),
            (7_000, 0, 7_000),
        ] {
            let last = at(1_000 * SECOND + here_ns, -7 * SECOND + there_ns);
            assert_eq!(last.step_since(first), expected_ns);
        }
        // A reading that was interrupted proves nothing smaller than its error.
        let blurred = Settings {
            here: setting(1_000 * SECOND + 5_000_000, 6_000_000),
            ..first
        };
        assert_eq!(blurred.step_since(first), 0);
        let damaged = at(i64::MAX, i64::MIN);
        assert_ne!(damaged.step_since(first), 0);
        let sharpest = Setting::sharpest_of([setting(1, 30), setting(2, 10), setting(3, 20)]);
        assert_eq!(sharpest, Some(setting(2, 10)));
        assert_eq!(Setting::now().step_since(Setting::now()), 0);
    }
}
