//! The judgement of a load: its verdict, and what each rule found.

use serde::Serialize;

/// Whether the figures of a load say something about the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// They do.
    Valid,
    /// The generator was the limit.
    GeneratorLimited,
    /// Too many answers are wrong.
    Incorrect,
    /// The throughput drifted.
    Unsteady,
}

impl Verdict {
    /// The name, as reports and tables have it.
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

/// Verdict of a load, and its reasons.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// The verdict of the first rule that is broken, else valid.
    pub verdict: Verdict,
    /// Why it is not valid: the rule that is broken, in a sentence, and the others by name.
    pub reason: Option<String>,
    /// Every rule with what was read.
    pub rules: Vec<Finding>,
}

impl Judgement {
    /// The first broken rule, which the verdict and the reason are about.
    #[must_use]
    pub fn broken(&self) -> Option<&Finding> {
        self.rules.iter().find(|found| found.passed == Some(false))
    }
}

/// A rule, and what was read for it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// The name of the rule.
    pub rule: &'static str,
    /// Verdict of a load that breaks the rule.
    pub verdict: Verdict,
    /// The largest number that is allowed, in per cent.
    pub threshold: f64,
    /// The reading in per cent; `None` if the rule does not apply, or without a reading.
    pub number: Option<f64>,
    /// The parts of the number, or why there is none.
    pub detail: String,
    /// Whether the rule is met; `None` without a number.
    pub passed: Option<bool>,
    /// The sentence about a rule that is broken; `None` where it is met.
    pub sentence: Option<String>,
}
