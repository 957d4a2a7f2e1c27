//! Tallies of the requests of each stage. A request belongs to the stage in which it was due.

use serde::{Deserialize, Serialize};

use crate::arrival_process::{Rate, RateStage};
use crate::records::{StageRecord, Summary};
use crate::tally::Times;

/// The requests of all stages, counted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StageTallies(Vec<StageTally>);

/// The requests of one stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StageTally {
    stage: RateStage,
    begin_ns: u64,
    end_ns: u64,
    pub(crate) sent: u64,
    pub(crate) errors: u64,
    /// Response times of good answers.
    pub(crate) response: Times,
    /// Ages of requests that had not ended.
    pub(crate) ages: Times,
}

impl StageTallies {
    pub(crate) fn new(rate: &Rate) -> Self {
        let tally = |(stage, begin_ns, end_ns)| StageTally {
            stage,
            begin_ns,
            end_ns,
            sent: 0,
            errors: 0,
            response: Times::default(),
            ages: Times::default(),
        };
        Self(rate.spans().map(tally).collect())
    }

    /// The stage that a request was meant for; there is one.
    pub(crate) fn at(&mut self, intended_ns: u64) -> &mut StageTally {
        let place = self.0.partition_point(|stage| stage.end_ns <= intended_ns);
        let last = self.0.len() - 1;
        &mut self.0[place.min(last)]
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            own.sent += other.sent;
            own.errors += other.errors;
            own.response.merge(&other.response);
            own.ages.merge(&other.ages);
        }
    }

    pub(crate) fn records(&self, end_ns: u64) -> Vec<StageRecord> {
        self.0.iter().map(|stage| stage.record(end_ns)).collect()
    }
}

impl StageTally {
    #[expect(clippy::cast_precision_loss, reason = "shown as seconds and rates")]
    fn record(&self, end_ns: u64) -> StageRecord {
        let good = self.response.histogram().len();
        let mut all = self.response.clone();
        all.merge(&self.ages);
        let response =
            (good > 0).then(|| Summary::new(&self.response).at_least(&Summary::new(&all)));
        let lasted_ns = self.end_ns.min(end_ns).saturating_sub(self.begin_ns);
        StageRecord {
            stage: self.stage.to_string(),
            at_s: self.begin_ns as f64 / 1e9,
            duration_s: self.stage.over_ns as f64 / 1e9,
            from_per_s: self.stage.from.get(),
            to_per_s: self.stage.to.get(),
            planned_per_s: self.stage.mean_per_s(),
            sent: self.sent,
            requests: good,
            rps: (lasted_ns > 0).then(|| good as f64 / (lasted_ns as f64 / 1e9)),
            errors: self.errors,
            response_p50_ns: response.as_ref().map(|times| times.p50_ns),
            response_p99_ns: response.as_ref().map(|times| times.p99_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stages::Stages;

    #[test]
    fn a_request_belongs_to_the_stage_that_it_was_meant_for() {
        let stages = Stages::parse("10/1s,0/1s,20..40/2s").unwrap();
        let mut tallies = StageTallies::new(&stages.rate());
        for intended_ns in [0, 999_999_999, 2_000_000_000, 3_999_999_999, 9_000_000_000] {
            let tally = tallies.at(intended_ns);
            tally.sent += 1;
            tally.response.record(1_000);
        }
        tallies.at(2_500_000_000).ages.record_many(5_000_000, 1_000);
        tallies.at(0).errors += 1;
        let mut twice = tallies.clone();
        twice.merge(&tallies);
        let records = twice.records(3_000_000_000);
        let counts: Vec<_> = records
            .iter()
            .map(|one| (one.sent, one.requests, one.errors))
            .collect();
        assert_eq!(counts, [(4, 4, 2), (0, 0, 0), (6, 6, 0)]);
        // Ended after the first of its two seconds, with requests that waited.
        assert_eq!((records[2].at_s, records[2].rps), (2.0, Some(6.0)));
        assert!(records[2].response_p50_ns >= Some(5_000_000));
        assert_eq!(records[0].response_p50_ns, Some(1_000));
        assert_eq!(
            (records[1].rps, records[1].response_p50_ns),
            (Some(0.0), None)
        );
        assert!((records[2].planned_per_s - 30.0).abs() < 1e-9);
    }
}
