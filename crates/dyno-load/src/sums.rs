//! Sums of a run and of its warm-up, and what had been counted before the measured time.

use std::sync::Arc;

use dyno_client::Traffic;

use crate::aggregate::Aggregate;
use crate::usage::Cpu;

/// Sums of a run and of its warm-up.
pub(crate) struct Sums {
    pub(crate) warm_up: Option<Aggregate>,
    pub(crate) measured: Aggregate,
    pub(crate) before: Before,
}

/// Counters of this process when the measured time begins.
#[derive(Debug, Clone, Default)]
pub(crate) struct Before {
    pub(crate) cpu: Cpu,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
}

impl Before {
    pub(crate) fn now(traffic: &[Arc<Traffic>]) -> Self {
        Self {
            cpu: Cpu::now(),
            sent_bytes: traffic.iter().map(|traffic| traffic.sent_bytes()).sum(),
            received_bytes: traffic.iter().map(|traffic| traffic.received_bytes()).sum(),
        }
    }
}
