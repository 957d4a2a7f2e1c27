//! The proof that a server keeps its contract: real requests, before the load and after it.

use std::thread;
use std::time::Duration;

use super::contract::{
    COUNTS, Contract, Endpoint, Judgement, MALFORMED, judge_json, judge_plain, judge_refusal,
};
use super::exchange::{Answer, Call, Failure, Server};
use super::report::{Checked, Finding};

/// Of any script, with whatever JSON has to escape.
pub const TEXT: &str = "Grüße, \"世界\" \\ / 🌍\n";

/// A server, what it is held to, and whether anybody still wants to know.
pub struct Proof<'p> {
    pub server: &'p Server,
    pub contract: &'p Contract,
    pub given_up: &'p (dyn Fn() -> bool + Sync),
}

impl Proof<'_> {
    /// Everything that the contract says, of a server that has nothing else to do; nothing more once it is silent.
    pub fn whole(&self) -> Vec<Checked> {
        let mut checks = self.documents(self.contract.at_once());
        let answers = |checks: &[Checked]| checks.iter().all(|check| check.answered);
        if self.contract.has(Endpoint::Workloads) && answers(&checks) {
            checks.extend(self.work());
            if answers(&checks) {
                checks.push(self.refuses("malformed", &MALFORMED));
                checks.push(self.refuses("count_below_1", &COUNTS));
            }
        }
        checks
    }

    /// Each endpoint once, however long it takes up to `patience`: a load may have left work behind.
    pub fn again(&self, patience: Duration) -> Vec<Checked> {
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

    fn documents(&self, patience: Duration) -> Vec<Checked> {
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

    /// Waits in parallel, alone; then two requests at once, whose texts must not be mixed up.
    fn work(&self) -> Vec<Checked> {
        let contract = self.contract;
        // Twice the time, so that a server that is slow is told from one that is silent.
        let patience = contract.at_most() * 2 + contract.at_once();
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

    /// All of several contents must be refused; the first that is not is the evidence.
    fn refuses(&self, check: &'static str, contents: &[(&str, &[u8])]) -> Checked {
        for (what, content) in contents {
            let asked = self.ask(&Contract::content("POST", content), self.contract.at_once());
            let one = checked(check, asked, judge_refusal);
            if !one.passed {
                let evidence = format!("{what}: {}", one.evidence);
                return Checked { evidence, ..one };
            }
        }
        let evidence = format!("400 for each of {}", contents.len());
        Checked::new(check, Finding::Right, evidence)
    }

    fn ask(&self, call: &Call, patience: Duration) -> Result<Answer, Failure> {
        self.server.ask(call, patience, self.given_up)
    }
}

fn checked(
    check: &'static str,
    asked: Result<Answer, Failure>,
    judge: impl Fn(&Answer) -> Judgement,
) -> Checked {
    let (finding, evidence) = found(asked, judge);
    Checked::new(check, finding, evidence)
}

/// How it turned out, and the evidence.
pub fn found(
    asked: Result<Answer, Failure>,
    judge: impl Fn(&Answer) -> Judgement,
) -> (Finding, String) {
    match asked.map(|answer| judge(&answer)) {
        Ok(Ok(evidence)) => (Finding::Right, evidence),
        Ok(Err(evidence)) | Err(Failure::Malformed(evidence)) => (Finding::Wrong, evidence),
        Err(Failure::Unanswered(evidence)) => (Finding::Unanswered, evidence),
        Err(Failure::GivenUp) => (
            Finding::Unanswered,
            "not waited for: the drive was stopped".to_owned(),
        ),
    }
}
