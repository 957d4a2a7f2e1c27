//! What is noted of a request from its arrival to its end.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use dyno_http::Version;
use dyno_web::Answer;

use super::head::Delivery;
use super::request::Names;
use crate::arrivals::{Place, Url};
use crate::connection::Accepted;
use crate::live::nanos;
use crate::worker::Worker;

/// When a request came, where that stands in the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrived {
    place: Place,
    pub(super) at_ns: u64,
    pub(super) at: Instant,
}

impl Arrived {
    /// Notes that an answer begins, which was planned for some moment.
    pub(super) fn note_head(
        self,
        worker: &Worker,
        answer: &Answer,
        delivery: &Delivery,
        planned: Instant,
    ) {
        let mut counters = worker.counters.borrow_mut();
        counters.lateness(nanos(planned, Instant::now()));
        counters.status(answer.status);
        counters.coding(delivery.coding);
        worker.log.borrow_mut().answer(self.place, answer.status);
    }

    /// Notes that the last byte of an answer was handed over.
    pub(super) fn note_end(self, worker: &Worker) {
        let now = Instant::now();
        worker.live().answers.add(1);
        let elapsed_ns = worker.shared.elapsed_ns(now);
        worker.counters.borrow_mut().bins.count(elapsed_ns);
        let done_ns = self.at_ns + nanos(self.at, now);
        worker.log.borrow_mut().complete(self.place, done_ns);
    }
}

/// Notes a request.
pub(super) fn arrive(
    worker: &Worker,
    accepted: &Accepted,
    names: &Names,
    user_agent: &[u8],
    is_reused: bool,
    version: Version,
) -> Arrived {
    let (at_ns, at) = (unix_ns(), Instant::now());
    let mut counters = worker.counters.borrow_mut();
    counters.requests += 1;
    counters.reused += u64::from(is_reused);
    match version {
        Version::Http10 => counters.http_1_0 += 1,
        Version::Http11 => counters.http_1_1 += 1,
    }
    counters.user_agents.count(user_agent, at_ns);
    worker.live().requests.add(1);
    let url = Url {
        scheme: accepted.scheme,
        authority: &names.authority,
        target: &names.target,
    };
    let place = worker.log.borrow_mut().arrive(url, at_ns, accepted.number);
    Arrived { place, at_ns, at }
}

/// The time of day, which only stamps are made of.
pub(super) fn unix_ns() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
