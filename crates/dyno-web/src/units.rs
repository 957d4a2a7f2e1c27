//! Units as types, so that times and sizes cannot be confused.

use std::ops::{Add, AddAssign};
use std::time::Duration;

use serde::Serialize;

/// A length of time in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct Nanos(pub u64);

impl Nanos {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// Converts whole milliseconds.
    #[must_use]
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds * 1_000_000)
    }

    /// Converts microseconds, the resolution of every planned delay.
    #[must_use]
    pub const fn from_micros(microseconds: u64) -> Self {
        Self(microseconds * 1_000)
    }

    /// Converts to the standard library's duration.
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

    /// The difference to `other`, at least zero.
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
