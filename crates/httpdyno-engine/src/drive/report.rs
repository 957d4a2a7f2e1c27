//! What a drive came to.

use serde::Serialize;

/// The form of the report.
const VERSION: u32 = 1;

/// How one thing that was asked turned out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    Right,
    Wrong,
    Unanswered,
}

/// One thing that was asked, and what came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Checked {
    pub check: &'static str,
    pub passed: bool,
    /// Whether an answer came at all, right or wrong.
    pub answered: bool,
    pub evidence: String,
}

impl Checked {
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

/// What was asked beside the load.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct During {
    pub asked: u64,
    pub right: u64,
    pub wrong: u64,
    /// Not answered, or not to the end.
    pub failed: u64,
    /// The longest that an answer took, right or wrong.
    pub slowest_ns: Option<u64>,
    /// The first of what was not right.
    pub evidence: Vec<String>,
}

impl During {
    fn finding(&self) -> Finding {
        if self.wrong > 0 {
            Finding::Wrong
        } else if self.failed > 0 && self.right == 0 {
            // Some unanswered ones belong to a server at its end; all of them, to none.
            Finding::Unanswered
        } else {
            Finding::Right
        }
    }
}

/// How the load generator ended, and what it cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Generator {
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// Since the Unix epoch.
    pub started_at_ns: u64,
    pub wall_ns: u64,
    /// With all the processes that it waited for.
    pub cpu_user_ns: u64,
    pub cpu_system_ns: u64,
}

/// The whole drive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    version: u32,
    before: Vec<Checked>,
    during: During,
    after: Vec<Checked>,
    /// `None` when the server was not right before.
    generator: Option<Generator>,
    /// Whether it was stopped by a signal before it was through.
    interrupted: bool,
    verdict: &'static str,
}

impl Report {
    /// A report with its verdict: one wrong answer is enough; an absent one where the server had to answer, too.
    pub fn new(
        before: Vec<Checked>,
        during: During,
        after: Vec<Checked>,
        generator: Option<Generator>,
        interrupted: bool,
    ) -> Self {
        let findings: Vec<Finding> = before
            .iter()
            .chain(&after)
            .map(Checked::finding)
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
        let checked = |finding| vec![Checked::new("plain", finding, String::new())];
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
            let during = During {
                right,
                wrong,
                failed,
                ..During::default()
            };
            let case = format!("{before:?} {during:?} {after:?} {interrupted}");
            let report = Report::new(checked(before), during, checked(after), None, interrupted);
            assert_eq!(report.verdict, verdict, "{case}");
        }
    }
}
