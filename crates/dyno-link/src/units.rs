//! Units as types: moments and lengths of time, rates, shares.

use std::ops::Add;

/// Nanoseconds: a length of time, or a moment on the clock of whoever drives the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// From whole microseconds.
    #[must_use]
    pub const fn from_micros(microseconds: u64) -> Self {
        Self(microseconds * 1_000)
    }

    /// From whole milliseconds.
    #[must_use]
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds * 1_000_000)
    }

    /// What is left after `other`, or zero.
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

/// Bits of IP packets a second; never zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// The rate of so many bits a second; none of zero.
    #[must_use]
    pub const fn new(bits_per_second: u64) -> Option<Self> {
        match bits_per_second {
            0 => None,
            rate => Some(Self(rate)),
        }
    }

    /// In bits a second.
    #[must_use]
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// How many whole bytes it carries in `time`.
    #[must_use]
    pub fn bytes_in(self, time: Nanos) -> u64 {
        let bits = u128::from(self.0) * u128::from(time.0) / u128::from(SECOND);
        u64::try_from(bits / 8).unwrap_or(u64::MAX)
    }
}

/// Nanoseconds of a second.
pub(crate) const SECOND: u64 = 1_000_000_000;

/// A share of all, in billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Share(u32);

impl Share {
    /// Billionths in the whole.
    pub const WHOLE: u32 = 1_000_000_000;
    /// Nothing of it.
    pub const NONE: Self = Self(0);

    /// A share of so many billionths; none beyond the whole.
    #[must_use]
    pub const fn from_billionths(billionths: u32) -> Option<Self> {
        if billionths <= Self::WHOLE {
            Some(Self(billionths))
        } else {
            None
        }
    }

    /// In billionths.
    #[must_use]
    pub const fn billionths(self) -> u32 {
        self.0
    }

    /// From 0 to 1, for those who only show it.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(Self::WHOLE)
    }
}
