//! CPU time, in user space and in the kernel.

use serde::{Deserialize, Serialize};

/// Nanoseconds in a second.
pub(crate) const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// CPU time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    /// In user space.
    pub cpu_user_ns: u64,
    /// In the kernel.
    pub cpu_system_ns: u64,
}

impl CpuTime {
    /// Return the time used since an earlier reading.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            cpu_user_ns: self.cpu_user_ns.saturating_sub(earlier.cpu_user_ns),
            cpu_system_ns: self.cpu_system_ns.saturating_sub(earlier.cpu_system_ns),
        }
    }

    /// Return the sum of both.
    #[must_use]
    pub fn total_ns(self) -> u64 {
        self.cpu_user_ns + self.cpu_system_ns
    }
}
