//! Counts and logs a request from its arrival to its end.

use std::time::Instant;

use dyno_http::HttpVersion;
use dyno_web::{Answer, Coding};

use crate::access_log::Url;
use crate::clock::Moment;
use crate::connection_info::ConnectionInfo;
use crate::live::nanos;
use crate::message::answer_cache::CacheKey;
use crate::message::delivery::Delivery;
use crate::message::request::Names;
use crate::message::request_stamp::RequestStamp;
use crate::worker::Worker;

impl RequestStamp {
    /// Notes that an answer begins, which was planned for `planned`; returns the current time.
    pub(crate) fn note_head(
        self,
        worker: &Worker,
        answer: &Answer,
        delivery: &Delivery,
        planned: Instant,
    ) -> Instant {
        self.note_answer(worker, answer.status, delivery.coding, planned)
    }

    /// Like [`RequestStamp::note_head`], for an answer from the cache.
    pub(crate) fn note_answer(
        self,
        worker: &Worker,
        status: u16,
        coding: Coding,
        planned: Instant,
    ) -> Instant {
        let now = Instant::now();
        let mut counters = worker.counters.borrow_mut();
        counters.lateness(nanos(planned, now));
        counters.status(status);
        counters.coding(coding);
        worker.log.borrow_mut().answer(self.place, status);
        now
    }

    /// Notes that the last byte of an answer was passed to the kernel, in the most recent call that sent bytes.
    pub(crate) fn note_end(self, worker: &Worker) {
        // HTTP/2 copies short content into a frame that is sent soon afterwards: the last call may belong to another
        // answer.
        let done = worker.sending_since.get().max(self.at);
        worker.live().answers.add(1);
        let elapsed_ns = worker.shared.elapsed_ns(done);
        worker.counters.borrow_mut().bins.count(elapsed_ns);
        let done_ns = self.at_ns + nanos(self.at, done);
        worker.log.borrow_mut().complete(self.place, done_ns);
    }
}

/// Notes a request.
pub(crate) fn note_request(
    worker: &Worker,
    info: &ConnectionInfo,
    names: &Names,
    user_agent: &[u8],
    is_reused: bool,
    version: HttpVersion,
) -> RequestStamp {
    let now = worker.clock.now();
    count(worker, now, user_agent, is_reused, version);
    let url = Url {
        scheme: info.scheme,
        authority: &names.authority,
        target: &names.target,
    };
    let mut log = worker.log.borrow_mut();
    RequestStamp::new(log.arrive(url, now.unix_ns, info.number), now)
}

/// Notes a request with a cached answer.
pub(crate) fn note_cached_request(
    worker: &Worker,
    connection: u64,
    key: &CacheKey,
    is_reused: bool,
) -> RequestStamp {
    let now = worker.clock.now();
    count(worker, now, &key.user_agent, is_reused, key.version);
    let mut log = worker.log.borrow_mut();
    let place = log.arrive_again(key.stamp.place, now.unix_ns, connection);
    RequestStamp::new(place, now)
}

fn count(worker: &Worker, now: Moment, user_agent: &[u8], is_reused: bool, version: HttpVersion) {
    let mut counters = worker.counters.borrow_mut();
    counters.requests += 1;
    counters.reused += u64::from(is_reused);
    counters.requests_by_version[version] += 1;
    counters.user_agents.count(user_agent, now.unix_ns);
    worker.live().requests.add(1);
}
