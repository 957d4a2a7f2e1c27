//! The judgement of a load: its verdict, and the reading of each rule.

use serde::Serialize;

/// Whether the figures of a load describe the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// The figures describe the server.
    Valid,
    /// The generator limited the throughput or delayed requests.
    GeneratorLimited,
    /// Too many answers are wrong.
    Incorrect,
    /// The throughput drifted.
    Unsteady,
}

impl Verdict {
    /// The name in reports and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::GeneratorLimited => "GENERATOR_LIMITED",
            Self::Incorrect => "INCORRECT",
            Self::Unsteady => "UNSTEADY",
        }
    }
}

/// The verdict on a load, with its reasons.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// The verdict of the first broken rule, or valid.
    pub verdict: Verdict,
    /// Why the load is not valid: a sentence about the first broken rule, and the names of the others.
    pub reason: Option<String>,
    /// All rules with their readings.
    pub rules: Vec<Finding>,
}

impl Judgement {
    /// The first broken rule, which determines the verdict and the reason.
    #[must_use]
    pub fn broken(&self) -> Option<&Finding> {
        self.rules.iter().find(|found| found.passed == Some(false))
    }
}

/// A rule with its reading.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The name of the rule.
    pub rule: &'static str,
    /// Verdict of a load that breaks the rule.
    pub verdict: Verdict,
    /// The largest reading that is allowed, in per cent.
    pub threshold: f64,
    /// The reading in per cent; `None` if the rule does not apply or nothing was measured.
    pub number: Option<f64>,
    /// The parts of the reading, or why there is none.
    pub detail: String,
    /// Whether the load meets the rule; `None` without a reading.
    pub passed: Option<bool>,
    /// A sentence about the broken rule; `None` if the load meets it.
    pub sentence: Option<String>,
}
