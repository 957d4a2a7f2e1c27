//! The report of a run: one JSON object, version 1. Its keys are those of docs/reference/load-report.md.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::find::StepCounts;
use crate::judgement::Judgement;
use crate::measured::Measured;
use crate::recording::ReplayRecord;
use crate::records::{
    AddressRecord, Censored, ChecksRecord, ConnectionsRecord, DataRecord, ExpectRecord,
    FoundRecord, LabelRecord, Phases, PlanRecord, Row, StageRecord, Summary, ThreadRecord,
    UntilRecord, WarmUpRecord, WireRecord,
};
use crate::segment_record::{NodeRecord, SegmentRecord};

/// Version of the report's format.
pub(crate) const VERSION: u32 = 1;

/// The complete report of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Version of the format.
    pub version: u32,
    /// When the run started (RFC 3339).
    pub started: String,
    /// Time from the first request to the end.
    pub elapsed_s: f64,
    /// Whether the run was stopped early.
    pub interrupted: bool,
    /// Whether its figures represent the server; `None` if it was stopped early or no answer came.
    pub validity: Option<Judgement>,
    /// The request and the schedule.
    pub plan: PlanRecord,
    /// Requests that were sent.
    pub sent: u64,
    /// Complete answers, whatever their status.
    pub requests: u64,
    /// Good answers per second.
    pub rps: f64,
    /// CPU time of the generator.
    pub cpu_s: f64,
    /// CPU time in user mode.
    pub cpu_user_s: f64,
    /// CPU time in the kernel.
    pub cpu_system_s: f64,
    /// Largest memory of the generator.
    pub peak_memory_bytes: Option<u64>,
    /// Each thread of the generator.
    pub threads: Vec<ThreadRecord>,
    /// The data of placeholders; `None` without `--data`.
    pub data: Option<DataRecord>,
    /// Answers by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Failures by name.
    pub errors: BTreeMap<&'static str, u64>,
    /// Sum of all failures.
    pub errors_total: u64,
    /// Answers that are not good: neither 2xx nor 3xx, or wrong by a check.
    pub failed_answers: u64,
    /// Requests sent again, because the server closed their connection before it could have seen them.
    pub resent: u64,
    /// Answers that are not well-formed, by what was tolerated.
    pub tolerated: BTreeMap<&'static str, u64>,
    /// Answers to requests with `Expect: 100-continue`; `None` without any such request.
    pub expect_continue: Option<ExpectRecord>,
    /// Answers by the result of `--check`; `None` without a check.
    pub checks: Option<ChecksRecord>,
    /// Requests by label; `None` where all have the same and none gave its own.
    pub labels: Option<Vec<LabelRecord>>,
    /// Connections and requests by the address of the server; `None` with a Unix socket.
    pub addresses: Option<Vec<AddressRecord>>,
    /// Requests that had not ended when the run did.
    pub censored: Censored,
    /// Requests that were due and never sent.
    pub unsent: u64,
    /// Bytes on the wire.
    pub wire: WireRecord,
    /// Connections.
    pub connections: ConnectionsRecord,
    /// Answers by version of HTTP.
    pub versions: BTreeMap<&'static str, u64>,
    /// Time from when a request was due to the end of its answer; like all times, of good answers.
    pub response_time: Summary,
    /// The response time, including requests that had not ended, each with the time that it had waited.
    pub response_time_at_least: Option<Summary>,
    /// Response times of all answers, including failed ones and requests that had not ended; `None` if all answers
    /// are good.
    pub response_time_all: Option<Summary>,
    /// Time from sending a request to the end of its answer.
    pub service_time: Summary,
    /// Delay of the generator beyond the moment at which it could send; `None` in a closed loop.
    pub send_lag: Option<Summary>,
    /// Times of the phases of a request.
    pub phases: Phases,
    /// The recording that was replayed; `None` without one.
    pub replay: Option<ReplayRecord>,
    /// The interval that was to end the run; `None` without one.
    pub until: Option<UntilRecord>,
    /// The warm-up, which is in nothing else; `None` without one.
    pub warm_up: Option<WarmUpRecord>,
    /// Stage by stage; `None` without stages.
    pub stages: Option<Vec<StageRecord>>,
    /// One row for each second.
    pub series: Vec<Row>,
    /// What a merge needs of one of several generators; `None` without `--segment`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<Box<SegmentRecord>>,
    /// The generators of a merged report; `None` for one generator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Vec<NodeRecord>>,
    /// The sums of which it was made; `None` without `--segment`.
    #[serde(skip)]
    pub sums: Option<Box<Measured>>,
    /// The result of a search, whose step nearest to it this is; `None` without `--find`.
    #[serde(flatten)]
    pub found: Option<FoundRecord>,
    /// Counts per block of 50 ms, for a search.
    #[serde(skip)]
    pub blocks: Option<StepCounts>,
}

impl Report {
    /// Response times of the requests that have ended, or a lower bound that includes the others.
    ///
    /// A request that had not ended takes longer than it had waited. If counting these waits makes a percentile longer,
    /// they count. A few short waits, as a closed loop has at its end, would make it shorter, and do not count. `None`
    /// if no request ended.
    #[must_use]
    pub fn response(&self) -> Option<Summary> {
        let ended = self.response_time.some()?;
        let all = self.response_time_at_least.as_ref().and_then(Summary::some);
        Some(all.map_or_else(|| ended.clone(), |all| ended.at_least(all)))
    }

    /// Requests that failed: without an answer, or with an answer that is not good.
    #[must_use]
    pub const fn failed(&self) -> u64 {
        self.errors_total + self.failed_answers
    }

    /// Requests that ended, with an answer or without.
    #[must_use]
    pub const fn ended(&self) -> u64 {
        self.requests + self.errors_total
    }

    /// Busy share of the busiest thread.
    #[must_use]
    pub fn busy_share(&self) -> Option<f64> {
        self.threads
            .iter()
            .map(|thread| thread.busy_share)
            .reduce(f64::max)
    }

    /// Waiting share of the thread that waited longest for its CPU.
    #[must_use]
    pub fn waiting_share(&self) -> Option<f64> {
        self.threads
            .iter()
            .filter_map(|thread| thread.waiting_share)
            .reduce(f64::max)
    }
}
