//! A count that one thread writes and all threads read.

use std::sync::atomic::{AtomicU64, Ordering};

/// A count with a single writer: a load and a store cost a tenth of a locked addition.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds; only one thread may.
    #[inline]
    pub fn add(&self, more: u64) {
        self.0
            .store(self.0.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }

    /// Takes back what was added.
    pub fn take_back(&self, some: u64) {
        self.0.store(
            self.0.load(Ordering::Relaxed).saturating_sub(some),
            Ordering::Relaxed,
        );
    }

    /// The count now.
    #[inline]
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
