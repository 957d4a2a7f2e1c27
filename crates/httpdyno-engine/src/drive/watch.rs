//! Requests to a server under load, one at a time, and judgements of the answers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::contract::{Contract, Endpoint, judge_json, judge_plain};
use super::exchange::{Answer, Call, Failure, Server};
use super::proof::judged;
use super::report::{Finding, LoadResults};

/// Maximum number of failures with evidence.
const MOST_EVIDENCE: usize = 5;
/// Longest wait for the last request at the end of the load; a connect cannot be cancelled.
const LEAVING: Duration = Duration::from_millis(300);
/// Poll interval of the end of the load.
const PIECE: Duration = Duration::from_millis(20);

/// A running watch.
pub struct Watch {
    seen: Arc<Mutex<LoadResults>>,
    over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

struct WatchThread {
    server: Server,
    contract: Contract,
    every: Duration,
    patience: Duration,
    begun: Instant,
    seen: Arc<Mutex<LoadResults>>,
    over: Arc<AtomicBool>,
}

impl Watch {
    /// Sends a request to each endpoint in turn at an interval. The next request is sent only after the last is
    /// answered, so an overloaded server gets one additional connection, not a growing number.
    pub fn begin(
        server: &Server,
        contract: &Contract,
        every: Duration,
        patience: Duration,
    ) -> Self {
        let (seen, over) = (Arc::default(), Arc::default());
        let thread = WatchThread {
            server: server.clone(),
            contract: contract.clone(),
            every,
            patience,
            begun: Instant::now(),
            seen: Arc::clone(&seen),
            over: Arc::clone(&over),
        };
        let thread = thread::spawn(move || thread.run());
        Self { seen, over, thread }
    }

    /// Ends the watch and returns its results. A request in flight counts only as sent.
    pub fn end(self) -> LoadResults {
        self.over.store(true, Ordering::Relaxed);
        let end = Instant::now() + LEAVING;
        while !self.thread.is_finished() && Instant::now() < end {
            thread::sleep(PIECE);
        }
        let seen = self.seen.lock();
        seen.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl WatchThread {
    fn run(self) {
        let endpoints = self.contract.endpoints.clone();
        for (number, endpoint) in endpoints.iter().cycle().enumerate() {
            let next = Instant::now() + self.every;
            if !self.ask(number, *endpoint) {
                return;
            }
            while Instant::now() < next {
                thread::sleep(PIECE.min(next.saturating_duration_since(Instant::now())));
                if self.over() {
                    return;
                }
            }
        }
    }

    fn over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Sends one request and records the result; returns false when the load has ended meanwhile.
    fn ask(&self, number: usize, endpoint: Endpoint) -> bool {
        self.note(|seen| seen.asked += 1);
        let text = format!("request {number} of the watch: {}", super::proof::TEXT);
        let call = match endpoint {
            Endpoint::Plain => Call::get("/plain"),
            Endpoint::Json => Call::get("/json"),
            Endpoint::Workloads => Contract::work("POST", &text, 1),
        };
        let asked_s = self.begun.elapsed().as_secs_f64();
        let asked = self.server.ask(&call, self.patience, &|| self.over());
        if self.over() || asked == Err(Failure::Stopped) {
            return false;
        }
        let took = asked.as_ref().ok().map(|answer| answer.took);
        let judge = |answer: &Answer| match endpoint {
            Endpoint::Plain => judge_plain(answer),
            Endpoint::Json => judge_json(answer),
            Endpoint::Workloads => self.contract.judge_work(answer, &text, 1),
        };
        let (finding, evidence) = judged(asked, judge);
        let took_ns = took.map(|took| u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
        self.note(|seen| {
            seen.slowest_ns = seen.slowest_ns.max(took_ns);
            match finding {
                Finding::Right => seen.right += 1,
                Finding::Wrong => seen.wrong += 1,
                Finding::Unanswered => seen.failed += 1,
            }
            if finding != Finding::Right && seen.evidence.len() < MOST_EVIDENCE {
                let path = call.path;
                let line = format!("{path}, asked {asked_s:.3} s into the load: {evidence}");
                seen.evidence.push(line);
            }
        });
        true
    }

    fn note(&self, change: impl FnOnce(&mut LoadResults)) {
        change(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
