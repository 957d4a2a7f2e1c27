//! The offset of another machine's clock, from exchanges of the time of day, as in NTP.

use serde::Serialize;

/// Maximum drift between the clocks in parts per million; a larger one means that a clock was set in between.
const MOST_DRIFT_PPM: i64 = 500;

/// One exchange, in Unix time: request and answer by this machine's clock, `there` by the other's.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "each name contains its unit")]
pub struct Exchange {
    pub asked_ns: i64,
    pub there_ns: i64,
    pub answered_ns: i64,
}

impl Exchange {
    /// Round-trip time of the exchange.
    pub fn rtt_ns(&self) -> i64 {
        self.answered_ns - self.asked_ns
    }
}

/// The offset of the other clock at one time of this clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_field_names, reason = "each name contains its unit")]
pub struct Reading {
    at_ns: i64,
    ahead_ns: i64,
    /// Maximum error of the offset: half of the round-trip time.
    bound_ns: i64,
}

impl Reading {
    /// The time by which the other clock is ahead.
    pub const fn ahead_ns(&self) -> i64 {
        self.ahead_ns
    }

    /// Maximum error of that.
    pub const fn bound_ns(&self) -> i64 {
        self.bound_ns
    }

    /// The reading of the quickest exchange, which is the most precise.
    pub fn best_of(exchanges: &[Exchange]) -> Option<Self> {
        let best = exchanges
            .iter()
            .min_by_key(|exchange| exchange.rtt_ns().max(0))?;
        let middle_ns = best.asked_ns + best.rtt_ns() / 2;
        Some(Self {
            at_ns: middle_ns,
            ahead_ns: best.there_ns - middle_ns,
            bound_ns: best.rtt_ns().max(0) / 2 + 1,
        })
    }
}

/// The other clock, interpolated between a first and a last reading.
#[derive(Debug, Clone, Copy)]
pub struct OtherClock {
    first: Reading,
    last: Reading,
}

/// The clock in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[expect(clippy::struct_field_names, reason = "each name contains its unit")]
pub struct ClockReport {
    /// Offset of the other clock at the beginning of the trial.
    pub ahead_ns: i64,
    /// Change of the offset until the end of the trial.
    pub drifted_ns: i64,
    /// Maximum error of a time translated between the clocks.
    pub bound_ns: i64,
}

impl OtherClock {
    pub fn new(first: Reading, last: Reading) -> Self {
        Self { first, last }
    }

    /// Translates a time of the other clock to this one; between the two readings the offset changes linearly.
    pub fn local_ns(&self, there_ns: i64) -> i64 {
        let Self { first, last } = self;
        let between_ns = i128::from(last.at_ns - first.at_ns);
        let elapsed_ns = i128::from(there_ns - first.ahead_ns - first.at_ns);
        let drifted_ns = i128::from(self.drifted_ns());
        let so_far_ns = if between_ns > 0 {
            drifted_ns * elapsed_ns.clamp(0, between_ns) / between_ns
        } else {
            0
        };
        there_ns - first.ahead_ns - i64::try_from(so_far_ns).unwrap_or(0)
    }

    fn drifted_ns(&self) -> i64 {
        self.last.ahead_ns - self.first.ahead_ns
    }

    /// The larger error of the two readings; if a clock was set between them, also their whole difference, because the
    /// time of the change is unknown.
    pub fn report(&self) -> ClockReport {
        let known_ns = self.first.bound_ns.max(self.last.bound_ns);
        let doubt_ns = self.first.bound_ns + self.last.bound_ns;
        let lasted_ns = (self.last.at_ns - self.first.at_ns).max(0);
        let drift_ns = lasted_ns / 1_000_000 * MOST_DRIFT_PPM;
        let was_set = self.drifted_ns().abs() > doubt_ns + drift_ns;
        ClockReport {
            ahead_ns: self.first.ahead_ns,
            drifted_ns: self.drifted_ns(),
            bound_ns: known_ns + if was_set { self.drifted_ns().abs() } else { 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn exchange(asked_ns: i64, out_ns: i64, back_ns: i64, ahead_ns: i64) -> Exchange {
        Exchange {
            asked_ns,
            there_ns: asked_ns + out_ns + ahead_ns,
            answered_ns: asked_ns + out_ns + back_ns,
        }
    }

    #[test]
    fn the_bound_holds_for_asymmetric_delays() {
        for ahead_ns in [-40 * SECOND, -3, 0, 7_000_000] {
            for (out_ns, back_ns) in [
                (0, 0),
                (100_000, 100_000),
                (900_000, 10_000),
                (1, 5_000_000),
            ] {
                let exchanges = [
                    exchange(SECOND, out_ns + 50_000, back_ns + 80_000, ahead_ns),
                    exchange(2 * SECOND, out_ns, back_ns, ahead_ns),
                    exchange(3 * SECOND, out_ns, back_ns + 1, ahead_ns),
                ];
                let reading = Reading::best_of(&exchanges).expect("three exchanges");
                assert_eq!(reading.bound_ns, i64::midpoint(out_ns, back_ns) + 1);
                assert!((reading.ahead_ns - ahead_ns).abs() <= reading.bound_ns);
            }
        }
        assert_eq!(Reading::best_of(&[]), None);
    }

    #[test]
    fn drift_is_interpolated() {
        let reading = |at_ns, ahead_ns| Reading {
            at_ns,
            ahead_ns,
            bound_ns: 1_000,
        };
        // 20 ppm over 100 s.
        let clock = OtherClock::new(
            reading(0, 5 * SECOND),
            reading(100 * SECOND, 5 * SECOND + 2_000_000),
        );
        for (local_ns, drifted_ns) in [(0, 0), (50 * SECOND, 1_000_000), (100 * SECOND, 2_000_000)]
        {
            let there_ns = local_ns + 5 * SECOND + drifted_ns;
            assert!(
                (clock.local_ns(there_ns) - local_ns).abs() <= 100,
                "{local_ns}"
            );
        }
        let report = clock.report();
        assert_eq!((report.drifted_ns, report.bound_ns), (2_000_000, 1_000));
        // No extrapolation before the first and after the last reading.
        assert_eq!(clock.local_ns(4 * SECOND), -SECOND);
    }

    #[test]
    fn the_bound_includes_the_step_of_a_clock_that_was_set() {
        let reading = |at_ns, ahead_ns| Reading {
            at_ns,
            ahead_ns,
            bound_ns: 1_000,
        };
        let clock = OtherClock::new(reading(0, 0), reading(SECOND, -3_000_000));
        assert_eq!(clock.report().bound_ns, 3_001_000);
        let same = OtherClock::new(reading(0, 5), reading(0, 5));
        assert_eq!((same.local_ns(15), same.report().bound_ns), (10, 1_000));
    }
}
