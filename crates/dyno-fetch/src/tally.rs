//! Counters of a running crawl; their memory does not grow with the number of URLs.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dyno_client::Exchanged;
use dyno_http::DeviationCounts;
use hdrhistogram::Histogram;

use crate::row::Code;
use crate::shard::{Selection, Share};

/// Counts of a crawl.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub done: u64,
    /// Lines of the list that earlier runs finished.
    pub skipped: u64,
    pub statuses: BTreeMap<u16, u64>,
    pub errors: BTreeMap<&'static str, u64>,
    pub content_bytes: u64,
    pub encoded_bytes: u64,
    /// Contents with an unknown coding.
    pub not_decoded: u64,
    /// URLs with a redirect from https to http.
    pub left_https: u64,
    /// Contents after which TLS ended without `close_notify`.
    pub no_close_notify: u64,
    /// Contents that were cut short or too long, and kept.
    pub partial: u64,
    pub connections_opened: u64,
    pub connections_failed: u64,
    pub tls_full: u64,
    pub tls_resumed: u64,
    pub reused: u64,
    pub resent: u64,
    pub retried: u64,
    /// Hosts that were not tried for a minute.
    pub dead_hosts: u64,
    /// Answers with `Retry-After` that held up their hosts.
    pub pausing_answers: u64,
    /// Pauses of hosts, and their time, added up over the hosts.
    pub pauses: u64,
    pub paused: Duration,
    /// Origins whose `robots.txt` was requested.
    pub robots_requested: u64,
    /// Origins without that file.
    pub robots_absent: u64,
    /// Origins whose file could not be read.
    pub robots_unreachable: u64,
    pub requests: u64,
    /// The lines of the list, if a shard of it is fetched.
    pub selection: Option<Selection>,
    /// Odd answers.
    pub tolerated: DeviationCounts,
    pub phases: Option<Box<Phases>>,
}

#[derive(Debug)]
pub(crate) struct Phases {
    pub dns: Histogram<u64>,
    pub connect: Histogram<u64>,
    pub tls: Histogram<u64>,
    pub first_byte: Histogram<u64>,
    pub content: Histogram<u64>,
    pub total: Histogram<u64>,
}

impl Phases {
    fn new() -> Self {
        let empty = || Histogram::new(3).expect("three digits are allowed");
        Self {
            dns: empty(),
            connect: empty(),
            tls: empty(),
            first_byte: empty(),
            content: empty(),
            total: empty(),
        }
    }
}

fn record(histogram: &mut Histogram<u64>, duration: Duration) {
    // The histogram grows as needed; a duration too long for any histogram would exceed every deadline.
    let _ = histogram.record(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX));
}

impl Tally {
    pub(crate) fn new(measure: bool, share: Option<Share>) -> Self {
        Self {
            selection: share.map(Selection::new),
            phases: measure.then(|| Box::new(Phases::new())),
            ..Self::default()
        }
    }

    /// Records a TCP connection: when the attempt began, when the first address was known, when it was connected.
    pub(crate) fn connected(&mut self, begun: Instant, resolved: Instant, connected: Instant) {
        if let Some(phases) = &mut self.phases {
            record(&mut phases.dns, resolved - begun);
            record(&mut phases.connect, connected - resolved);
        }
    }

    /// Records a completed TLS handshake.
    pub(crate) fn encrypted(&mut self, connected: Instant, resumed: bool) {
        *(if resumed {
            &mut self.tls_resumed
        } else {
            &mut self.tls_full
        }) += 1;
        if let Some(phases) = &mut self.phases {
            record(&mut phases.tls, connected.elapsed());
        }
    }

    /// Records an answered request.
    pub(crate) fn exchanged(&mut self, exchanged: &Exchanged, reused: bool, encoded_bytes: u64) {
        self.requests += 1;
        self.reused += u64::from(reused);
        self.encoded_bytes += encoded_bytes;
        if !exchanged.deviations.is_empty() {
            self.tolerated.add(exchanged.deviations);
        }
        if let Some(phases) = &mut self.phases {
            record(
                &mut phases.first_byte,
                exchanged.first_byte - exchanged.sent,
            );
            record(&mut phases.content, exchanged.end - exchanged.first_byte);
        }
    }

    /// Records an answer that holds up its host, for this much longer than before.
    pub(crate) fn held_up(&mut self, is_new: bool, longer: Duration) {
        self.pausing_answers += 1;
        self.pauses += u64::from(is_new);
        self.paused += longer;
    }

    /// Records a finished URL.
    pub(crate) fn ended(&mut self, code: Code, duration: Duration, length: u64) {
        self.done += 1;
        match code {
            Code::Status(status) => {
                *self.statuses.entry(status).or_default() += 1;
                self.content_bytes += length;
            }
            Code::Failure(failure) => *self.errors.entry(failure.name()).or_default() += 1,
            Code::CheckFailed => *self.errors.entry("CheckFailed").or_default() += 1,
        }
        if let Some(phases) = &mut self.phases {
            record(&mut phases.total, duration);
        }
    }
}
