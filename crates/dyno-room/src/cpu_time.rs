//! Processor time, in user space and in the kernel.

use serde::{Deserialize, Serialize};

/// In a second.
pub(crate) const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// Processor time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    /// In user space.
    pub cpu_user_ns: u64,
    /// In the kernel on its behalf.
    pub cpu_system_ns: u64,
}

impl CpuTime {
    /// What was used since an earlier moment.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            cpu_user_ns: self.cpu_user_ns.saturating_sub(earlier.cpu_user_ns),
            cpu_system_ns: self.cpu_system_ns.saturating_sub(earlier.cpu_system_ns),
        }
    }

    /// Both kinds together.
    #[must_use]
    pub fn total_ns(self) -> u64 {
        self.cpu_user_ns + self.cpu_system_ns
    }
}
