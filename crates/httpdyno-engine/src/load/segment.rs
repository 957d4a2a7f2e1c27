//! `--segment`: what a report has for the merge with those of the other generators.

use std::fs;

use dyno_load::{ClockRecord, Measured, Plan, Segment, SegmentRecord};
use rustix::system::uname;

use super::arguments::Arguments;
use super::keep;
use super::plan::CONNECTIONS;
use super::start::StartMoment;

/// Identity of the running kernel.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The part of a load that this generator sends.
#[derive(Debug)]
pub struct Part {
    segment: Segment,
    target: String,
    plan_sha256: String,
}

impl Part {
    /// `None`: it sends all of the load.
    pub fn of(arguments: &Arguments, plan: &Plan) -> Option<Self> {
        let segment = plan.segment;
        (segment.count() > 1).then(|| Self {
            segment,
            target: keep::target(arguments),
            plan_sha256: plan.digest(arguments.connections.unwrap_or(CONNECTIONS)),
        })
    }

    /// The record of the report.
    pub fn record(
        self,
        sums: Measured,
        start: StartMoment,
        clock: Option<ClockRecord>,
    ) -> SegmentRecord {
        let boot_id = fs::read_to_string(BOOT_ID).ok();
        SegmentRecord {
            segment: self.segment,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: uname().nodename().to_string_lossy().into_owned(),
            boot_id: boot_id.map(|text| text.trim().to_owned()),
            plan_sha256: self.plan_sha256,
            target: self.target,
            start_unix_ns: start.unix_ns,
            clock,
            sums,
        }
    }
}
