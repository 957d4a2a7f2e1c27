//! The report of a drive.

use serde::Serialize;

/// The version of the report's format.
const VERSION: u32 = 1;

/// Result of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    Right,
    Wrong,
    Unanswered,
}

/// A check and its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckResult {
    pub check: &'static str,
    pub passed: bool,
    /// Whether an answer came, right or wrong.
    pub answered: bool,
    pub evidence: String,
}

impl CheckResult {
    pub fn new(check: &'static str, finding: Finding, evidence: String) -> Self {
        Self {
            check,
            passed: finding == Finding::Right,
            answered: finding != Finding::Unanswered,
            evidence,
        }
    }

    fn finding(&self) -> Finding {
        match (self.passed, self.answered) {
            (true, _) => Finding::Right,
            (false, true) => Finding::Wrong,
            (false, false) => Finding::Unanswered,
        }
    }
}

/// Results of the requests under load.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LoadResults {
    pub asked: u64,
    pub right: u64,
    pub wrong: u64,
    /// Requests without a complete answer.
    pub failed: u64,
    /// Longest time of an answer, right or wrong.
    pub slowest_ns: Option<u64>,
    /// Evidence of the first failures.
    pub evidence: Vec<String>,
}

impl LoadResults {
    fn finding(&self) -> Finding {
        if self.wrong > 0 {
            Finding::Wrong
        } else if self.failed > 0 && self.right == 0 {
            // An overloaded server may leave some requests unanswered; one that leaves all unanswered is down.
            Finding::Unanswered
        } else {
            Finding::Right
        }
    }
}

/// End and cost of the load generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Generator {
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// Start, in Unix time.
    pub started_at_ns: u64,
    pub wall_ns: u64,
    /// Includes child processes that the generator has waited for.
    pub cpu_user_ns: u64,
    pub cpu_system_ns: u64,
}

/// The report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    version: u32,
    before: Vec<CheckResult>,
    during: LoadResults,
    after: Vec<CheckResult>,
    /// `None` if the server was not right before the load.
    generator: Option<Generator>,
    /// Whether a signal stopped the drive.
    interrupted: bool,
    verdict: &'static str,
}

impl Report {
    /// Creates a report with its verdict: a wrong answer decides first, then a missing answer where one was required.
    pub fn new(
        before: Vec<CheckResult>,
        during: LoadResults,
        after: Vec<CheckResult>,
        generator: Option<Generator>,
        interrupted: bool,
    ) -> Self {
        let findings: Vec<Finding> = before
            .iter()
            .chain(&after)
            .map(CheckResult::finding)
            .chain([during.finding()])
            .collect();
        let verdict = if findings.contains(&Finding::Wrong) {
            "wrong"
        } else if findings.contains(&Finding::Unanswered) || interrupted {
            "unanswered"
        } else {
            "right"
        };
        Self {
            version: VERSION,
            before,
            during,
            after,
            generator,
            interrupted,
            verdict,
        }
    }

    pub fn is_right(&self) -> bool {
        self.verdict == "right"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_answer_outweighs_all_others() {
        let checked = |finding| vec![CheckResult::new("plain", finding, String::new())];
        let (right, wrong, unanswered) = (Finding::Right, Finding::Wrong, Finding::Unanswered);
        let cases = [
            (right, (9, 0, 0), right, false, "right"),
            (right, (9, 0, 3), right, false, "right"),
            (right, (0, 0, 0), right, false, "right"),
            (right, (0, 0, 3), right, false, "unanswered"),
            (right, (9, 1, 0), right, false, "wrong"),
            (wrong, (0, 0, 0), right, false, "wrong"),
            (unanswered, (0, 0, 0), right, false, "unanswered"),
            (right, (9, 0, 0), unanswered, false, "unanswered"),
            (right, (9, 1, 0), unanswered, false, "wrong"),
            (right, (9, 0, 0), right, true, "unanswered"),
            (right, (9, 1, 0), right, true, "wrong"),
        ];
        for (before, (right, wrong, failed), after, interrupted, verdict) in cases {
            let during = LoadResults {
                right,
                wrong,
                failed,
                ..LoadResults::default()
            };
            let case = format!("{before:?} {during:?} {after:?} {interrupted}");
            let report = Report::new(checked(before), during, checked(after), None, interrupted);
            assert_eq!(report.verdict, verdict, "{case}");
        }
    }
}
