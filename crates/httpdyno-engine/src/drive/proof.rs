//! Verification of a server's contract by real requests, before the load and after it.

use std::thread;
use std::time::Duration;

use super::contract::{
    COUNTS, Contract, Endpoint, Judgement, MALFORMED, judge_json, judge_plain, judge_refusal,
};
use super::exchange::{Answer, Call, Failure, Server};
use super::report::{CheckResult, Finding};

/// Text in several scripts, with characters that JSON escapes.
pub const TEXT: &str = "Grüße, \"世界\" \\ / 🌍\n";

/// A verification: the server, its contract, the stop flag.
pub struct Proof<'p> {
    pub server: &'p Server,
    pub contract: &'p Contract,
    pub is_stopped: &'p (dyn Fn() -> bool + Sync),
}

impl Proof<'_> {
    /// Checks the whole contract of an idle server; stops at the first missing answer.
    pub fn check_all(&self) -> Vec<CheckResult> {
        let mut checks = self.documents(self.contract.quick_limit());
        let answers = |checks: &[CheckResult]| checks.iter().all(|check| check.answered);
        if self.contract.has(Endpoint::Workloads) && answers(&checks) {
            checks.extend(self.work());
            if answers(&checks) {
                checks.push(self.refuses("malformed", &MALFORMED));
                checks.push(self.refuses("count_below_1", &COUNTS));
            }
        }
        checks
    }

    /// Checks each endpoint once, each within `patience`: the server may still be processing requests of the load.
    pub fn check_again(&self, patience: Duration) -> Vec<CheckResult> {
        let mut checks = self.documents(patience);
        if self.contract.has(Endpoint::Workloads) {
            let work = Contract::work("POST", TEXT, 1);
            let asked = self.ask(&work, patience);
            checks.push(checked(self.name_of_work(), asked, |answer| {
                self.contract.judge_work(answer, TEXT, 1)
            }));
        }
        checks
    }

    fn documents(&self, patience: Duration) -> Vec<CheckResult> {
        let mut checks = Vec::new();
        if self.contract.has(Endpoint::Plain) {
            let asked = self.ask(&Call::get("/plain"), patience);
            checks.push(checked("plain", asked, judge_plain));
        }
        if self.contract.has(Endpoint::Json) {
            let asked = self.ask(&Call::get("/json"), patience);
            checks.push(checked("json", asked, judge_json));
        }
        checks
    }

    fn name_of_work(&self) -> &'static str {
        if self.contract.always_times_out().is_some() {
            "timeout"
        } else {
            "workloads"
        }
    }

    /// Checks that the waits of one request run in parallel, and that two concurrent requests get their own texts.
    fn work(&self) -> Vec<CheckResult> {
        let contract = self.contract;
        // Twice the limit, to distinguish a slow server from a silent one.
        let patience = contract.idle_limit() * 2 + contract.quick_limit();
        let alone = self.ask(&Contract::work("POST", TEXT, 2), patience);
        let mut checks = vec![checked(self.name_of_work(), alone, |answer| {
            contract.judge_idle_work(answer, TEXT, 2)
        })];
        let (one, other) = ("one of two", "the other of two");
        let (got, posted) = thread::scope(|scope| {
            let got = scope.spawn(|| self.ask(&Contract::work("GET", one, 1), patience));
            let posted = self.ask(&Contract::work("POST", other, 1), patience);
            (got.join().expect("asking does not panic"), posted)
        });
        checks.push(checked("workloads_by_get", got, |answer| {
            contract.judge_work(answer, one, 1)
        }));
        checks.push(checked("workloads_at_once", posted, |answer| {
            contract.judge_work(answer, other, 1)
        }));
        checks
    }

    /// Checks that each content is refused; the first one that is accepted is the evidence.
    fn refuses(&self, check: &'static str, contents: &[(&str, &[u8])]) -> CheckResult {
        for (what, content) in contents {
            let asked = self.ask(
                &Contract::content("POST", content),
                self.contract.quick_limit(),
            );
            let one = checked(check, asked, judge_refusal);
            if !one.passed {
                let evidence = format!("{what}: {}", one.evidence);
                return CheckResult { evidence, ..one };
            }
        }
        let evidence = format!("400 for each of {}", contents.len());
        CheckResult::new(check, Finding::Right, evidence)
    }

    fn ask(&self, call: &Call, patience: Duration) -> Result<Answer, Failure> {
        self.server.ask(call, patience, self.is_stopped)
    }
}

fn checked(
    check: &'static str,
    asked: Result<Answer, Failure>,
    judge: impl Fn(&Answer) -> Judgement,
) -> CheckResult {
    let (finding, evidence) = judged(asked, judge);
    CheckResult::new(check, finding, evidence)
}

/// The finding and its evidence.
pub fn judged(
    asked: Result<Answer, Failure>,
    judge: impl Fn(&Answer) -> Judgement,
) -> (Finding, String) {
    match asked.map(|answer| judge(&answer)) {
        Ok(Ok(evidence)) => (Finding::Right, evidence),
        Ok(Err(evidence)) | Err(Failure::Malformed(evidence)) => (Finding::Wrong, evidence),
        Err(Failure::Unanswered(evidence)) => (Finding::Unanswered, evidence),
        Err(Failure::Stopped) => (
            Finding::Unanswered,
            "the drive was stopped before an answer came".to_owned(),
        ),
    }
}
