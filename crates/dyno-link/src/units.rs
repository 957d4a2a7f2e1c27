//! Units as types: times, rates, shares.

use std::ops::Add;

/// Nanoseconds: a duration, or a time on the caller's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// Convert whole microseconds.
    #[must_use]
    pub const fn from_micros(microseconds: u64) -> Self {
        Self(microseconds * 1_000)
    }

    /// Convert whole milliseconds.
    #[must_use]
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds * 1_000_000)
    }

    /// Return the difference to `other`, or zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Add for Nanos {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Bits of IP packets per second; never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// Make a rate; none for zero.
    #[must_use]
    pub const fn new(bits_per_second: u64) -> Option<Self> {
        match bits_per_second {
            0 => None,
            rate => Some(Self(rate)),
        }
    }

    /// Return bits per second.
    #[must_use]
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// Return how many whole bytes it carries in `time`.
    #[must_use]
    pub fn bytes_in(self, time: Nanos) -> u64 {
        let bits = u128::from(self.0) * u128::from(time.0) / u128::from(SECOND);
        u64::try_from(bits / 8).unwrap_or(u64::MAX)
    }
}

/// Nanoseconds in a second.
pub(crate) const SECOND: u64 = 1_000_000_000;

/// A share in billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Share(u32);

impl Share {
    /// Billionths in the whole.
    pub const WHOLE: u32 = 1_000_000_000;
    /// Zero.
    pub const NONE: Self = Self(0);

    /// Make a share of so many billionths; none beyond the whole.
    #[must_use]
    pub const fn from_billionths(billionths: u32) -> Option<Self> {
        if billionths <= Self::WHOLE {
            Some(Self(billionths))
        } else {
            None
        }
    }

    /// Return billionths.
    #[must_use]
    pub const fn billionths(self) -> u32 {
        self.0
    }

    /// Return a number from 0 to 1, for display only.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Self::WHOLE)
    }
}
