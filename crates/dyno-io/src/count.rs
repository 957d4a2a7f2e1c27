//! A count that one thread writes and all threads read.

use std::sync::atomic::{AtomicU64, Ordering};

/// A count with a single writer: a load and a store cost a tenth of an atomic addition.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds `more`; only one thread may call this.
    #[inline]
    pub fn add(&self, more: u64) {
        self.0
            .store(self.0.load(Ordering::Relaxed) + more, Ordering::Relaxed);
    }

    /// Subtracts `some`, which was added before.
    pub fn take_back(&self, some: u64) {
        self.0.store(
            self.0.load(Ordering::Relaxed).saturating_sub(some),
            Ordering::Relaxed,
        );
    }

    /// The current count.
    #[inline]
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
