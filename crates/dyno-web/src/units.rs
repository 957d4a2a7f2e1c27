//! Units as types, so that milliseconds never meet bytes.

use std::ops::{Add, AddAssign};
use std::time::Duration;

use serde::Serialize;

/// A length of time in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// From whole milliseconds.
    #[must_use]
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds * 1_000_000)
    }

    /// From microseconds, the grain of every planned delay.
    #[must_use]
    pub const fn from_micros(microseconds: u64) -> Self {
        Self(microseconds * 1_000)
    }

    /// As the standard library's duration.
    #[must_use]
    pub const fn duration(self) -> Duration {
        Duration::from_nanos(self.0)
    }

    /// `share_ppb` billionths of this time.
    #[must_use]
    pub fn share(self, share_ppb: u64) -> Self {
        let nanos = u128::from(self.0) * u128::from(share_ppb) / 1_000_000_000;
        Self(u64::try_from(nanos).unwrap_or(u64::MAX))
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

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// A number of bytes of content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct Bytes(pub u64);
