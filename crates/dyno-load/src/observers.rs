//! Observers of each request besides the tally, if the plan needs them: samples, labels, stages, a replay, the blocks of a
//! search.

use crate::find::StepCounts;
use crate::labels::LabelTally;
use crate::plan::Plan;
use crate::samples::Samples;
use crate::stage_tally::StageTallies;

/// Observers of the requests of one thread, in one place, so that a run without any makes a single test per request.
#[derive(Debug, Default)]
pub(crate) struct Observers {
    pub(crate) samples: Option<Samples>,
    /// Of the whole run; empty without labels.
    pub(crate) labels: Vec<LabelTally>,
    pub(crate) stages: Option<StageTallies>,
    pub(crate) blocks: Option<StepCounts>,
}

impl Observers {
    /// `None` if the plan asks for none.
    pub(crate) fn new(plan: &Plan, samples: Option<Samples>) -> Option<Self> {
        let labels = plan.requests.labels().tallies();
        let stages = stages_of(plan);
        let blocks = plan.objective.as_ref().map(StepCounts::new);
        let is_needed = samples.is_some()
            || !labels.is_empty()
            || stages.is_some()
            || blocks.is_some()
            || plan.replay.is_some();
        is_needed.then_some(Self {
            samples,
            labels,
            stages,
            blocks,
        })
    }
}

/// The stages of a plan that reports them, without a request yet.
fn stages_of(plan: &Plan) -> Option<StageTallies> {
    let (rate, _) = plan.pace.as_ref().filter(|_| plan.reports_stages)?;
    Some(StageTallies::new(rate))
}
