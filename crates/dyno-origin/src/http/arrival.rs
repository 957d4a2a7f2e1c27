//! What is noted of a request from its arrival to its end.

use std::time::Instant;

use dyno_http::Version;
use dyno_web::{Answer, Coding};

use crate::accepted::Accepted;
use crate::arrivals::Url;
use crate::clock::Moment;
use crate::live::nanos;
use crate::message::arrived::Arrived;
use crate::message::delivery::Delivery;
use crate::message::kept::Same;
use crate::message::request::Names;
use crate::worker::Worker;

/// The version of HTTP that a request is in.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Spoken {
    Http1(Version),
    Http2,
}

impl Arrived {
    /// Notes that an answer begins, which was planned for some moment.
    pub(crate) fn note_head(
        self,
        worker: &Worker,
        answer: &Answer,
        delivery: &Delivery,
        planned: Instant,
    ) {
        self.note_answer(worker, answer.status, delivery.coding, planned);
    }

    /// As [`Arrived::note_head`], for what is known of an answer that was given before.
    pub(super) fn note_answer(
        self,
        worker: &Worker,
        status: u16,
        coding: Coding,
        planned: Instant,
    ) {
        let mut counters = worker.counters.borrow_mut();
        counters.lateness(nanos(planned, Instant::now()));
        counters.status(status);
        counters.coding(coding);
        worker.log.borrow_mut().answer(self.place, status);
    }

    /// Notes that the last byte of an answer was handed over, by the last call that handed any to the kernel.
    pub(crate) fn note_end(self, worker: &Worker) {
        // HTTP/2 copies short content into a frame that is sent soon after: the call before may be of another answer.
        let done = worker.sending_since.get().max(self.at);
        worker.live().answers.add(1);
        let elapsed_ns = worker.shared.elapsed_ns(done);
        worker.counters.borrow_mut().bins.count(elapsed_ns);
        let done_ns = self.at_ns + nanos(self.at, done);
        worker.log.borrow_mut().complete(self.place, done_ns);
    }
}

/// Notes a request.
pub(crate) fn arrive(
    worker: &Worker,
    accepted: &Accepted,
    names: &Names,
    user_agent: &[u8],
    is_reused: bool,
    spoken: Spoken,
) -> Arrived {
    let now = worker.clock.now();
    count(worker, now, user_agent, is_reused, spoken);
    let url = Url {
        scheme: accepted.scheme,
        authority: &names.authority,
        target: &names.target,
    };
    let mut log = worker.log.borrow_mut();
    Arrived::new(log.arrive(url, now.unix_ns, accepted.number), now)
}

/// Notes a request that was noted before.
pub(super) fn arrive_again(
    worker: &Worker,
    connection: u64,
    same: &Same,
    is_reused: bool,
) -> Arrived {
    let now = worker.clock.now();
    count(
        worker,
        now,
        &same.user_agent,
        is_reused,
        Spoken::Http1(same.version),
    );
    let mut log = worker.log.borrow_mut();
    let place = log.arrive_again(same.arrived.place, now.unix_ns, connection);
    Arrived::new(place, now)
}

fn count(worker: &Worker, now: Moment, user_agent: &[u8], is_reused: bool, spoken: Spoken) {
    let mut counters = worker.counters.borrow_mut();
    counters.requests += 1;
    counters.reused += u64::from(is_reused);
    match spoken {
        Spoken::Http1(Version::Http10) => counters.http_1_0 += 1,
        Spoken::Http1(Version::Http11) => counters.http_1_1 += 1,
        Spoken::Http2 => counters.http_2 += 1,
    }
    counters.user_agents.count(user_agent, now.unix_ns);
    worker.live().requests.add(1);
}
