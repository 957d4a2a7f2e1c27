//! One request at a time beside a load, and whether its answer is right.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::contract::{Contract, Endpoint, judge_json, judge_plain};
use super::exchange::{Answer, Call, Failure, Server};
use super::proof::found;
use super::report::{During, Finding};

/// How many of those that are not right are told of.
const MOST_EVIDENCE: usize = 5;
/// How long the end of the load waits for a request that nobody wants any more; connecting cannot be broken off.
const LEAVING: Duration = Duration::from_millis(300);
/// How often it is looked whether the load has ended.
const PIECE: Duration = Duration::from_millis(20);

/// A watch under way.
pub struct Watch {
    seen: Arc<Mutex<During>>,
    over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

struct Watching {
    server: Server,
    contract: Contract,
    every: Duration,
    patience: Duration,
    begun: Instant,
    seen: Arc<Mutex<During>>,
    over: Arc<AtomicBool>,
}

impl Watch {
    /// Asks each endpoint in turn, one request every so often; the next is not sent before the last was answered, so that a
    /// server at its end has one connection more to serve, and not ever more of them.
    pub fn begin(
        server: &Server,
        contract: &Contract,
        every: Duration,
        patience: Duration,
    ) -> Self {
        let (seen, over) = (Arc::default(), Arc::default());
        let watching = Watching {
            server: server.clone(),
            contract: contract.clone(),
            every,
            patience,
            begun: Instant::now(),
            seen: Arc::clone(&seen),
            over: Arc::clone(&over),
        };
        let thread = thread::spawn(move || watching.run());
        Self { seen, over, thread }
    }

    /// Ends it, and says what was seen. A request that is still open counts as asked, and as nothing else.
    pub fn end(self) -> During {
        self.over.store(true, Ordering::Relaxed);
        let end = Instant::now() + LEAVING;
        while !self.thread.is_finished() && Instant::now() < end {
            thread::sleep(PIECE);
        }
        let seen = self.seen.lock();
        seen.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Watching {
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

    /// Asks once and notes what came; false when the load has ended meanwhile.
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
        if self.over() || asked == Err(Failure::GivenUp) {
            return false;
        }
        let took = asked.as_ref().ok().map(|answer| answer.took);
        let judge = |answer: &Answer| match endpoint {
            Endpoint::Plain => judge_plain(answer),
            Endpoint::Json => judge_json(answer),
            Endpoint::Workloads => self.contract.judge_work(answer, &text, 1),
        };
        let (finding, evidence) = found(asked, judge);
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

    fn note(&self, change: impl FnOnce(&mut During)) {
        change(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
