//! A room measures its own link before the subject starts, from the subject's side.

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

/// A machine that is busy for a moment has another chance, or two.
const TRIES: usize = 3;

/// What the room found when it measured its link.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkCheck {
    /// What was asked for beside what was measured, in a line for people.
    pub line: String,
    /// Why the link is not what was asked for; absent when it is.
    pub reason: Option<String>,
    pub(crate) measured: LinkMeasured,
}

/// Measures until the link is what was asked for, a few times at the most; none when it was interrupted.
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
