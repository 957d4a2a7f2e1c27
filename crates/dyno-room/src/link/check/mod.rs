//! The room's measurement of its own link before the subject starts, from the subject's side.

mod datagrams;
mod measure;
mod plan;
mod probes;
mod start;
mod trains;
mod verdict;

use std::os::fd::BorrowedFd;

use dyno_link::Link;

use self::plan::Plan;
use super::account::LinkMeasured;
use crate::cpu::CpuSet;
use crate::error::Result;

/// Attempts, in case the machine is busy for a moment.
const TRIES: usize = 3;

/// Result of the room's measurement of its link.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkCheck {
    /// One line that compares the requested with the measured link.
    pub line: String,
    /// Why the link does not match its settings; absent if it does.
    pub reason: Option<String>,
    pub(crate) measured: LinkMeasured,
}

/// Measure up to a few times, until the link matches its settings; none after an interruption.
pub(super) fn check(
    link: &Link,
    subject_namespace: BorrowedFd,
    subject_cpus: &CpuSet,
    interrupted: &dyn Fn() -> bool,
) -> Result<Option<LinkCheck>> {
    let plan = Plan::of(link, link.super_packet().longest_bytes());
    let mut tries = 1;
    loop {
        let measured = measure::measure(link, &plan, subject_namespace, subject_cpus, interrupted)?;
        if interrupted() {
            return Ok(None);
        }
        let reason = verdict::reason(link, &plan, &measured);
        if reason.is_none() || tries == TRIES {
            return Ok(Some(LinkCheck {
                line: verdict::line(link, &measured),
                reason,
                measured,
            }));
        }
        tries += 1;
    }
}
