//! Counts and histograms of a stretch of a run, which add up over stretches and threads.

use std::collections::BTreeMap;

use dyno_client::Failure;
use dyno_http::{HttpVersion, PerVersion};
use hdrhistogram::Histogram;

use crate::check::Checked;

/// Nanoseconds with three significant digits.
#[derive(Debug, Clone)]
pub(crate) struct Times(Histogram<u64>);

impl Default for Times {
    fn default() -> Self {
        Self(Histogram::new(3).expect("three digits are a precision it knows"))
    }
}

impl Times {
    #[inline]
    pub(crate) fn record(&mut self, time_ns: u64) {
        self.0.record(time_ns).expect("it grows as it needs");
    }

    pub(crate) fn record_many(&mut self, time_ns: u64, count: u64) {
        self.0
            .record_n(time_ns, count)
            .expect("it grows as it needs");
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        if !other.0.is_empty() {
            self.0.add(&other.0).expect("it grows as it needs");
            give_way();
        }
    }

    fn clear(&mut self) {
        // Clearing touches all of its memory, which most of these never used.
        if !self.0.is_empty() {
            self.0.reset();
            give_way();
        }
    }

    pub(crate) const fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }
}

/// Lets a thread that sends, and shares this CPU, go first: putting all histograms of a second together takes a millisecond or
/// two, for which nothing would be sent.
fn give_way() {
    std::thread::yield_now();
}

/// Plain counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Requests that went out.
    pub(crate) sent: u64,
    /// Answers that came whole.
    pub(crate) requests: u64,
    pub(crate) content_bytes: u64,
    pub(crate) opened: u64,
    pub(crate) failed: u64,
    pub(crate) tls_full: u64,
    pub(crate) tls_resumed: u64,
    /// Requests on a connection that had carried one before.
    pub(crate) reused: u64,
    /// Requests sent again: the server closed their connection before it can have seen them.
    pub(crate) resent: u64,
}

impl Counts {
    fn merge(&mut self, other: &Self) {
        self.sent += other.sent;
        self.requests += other.requests;
        self.content_bytes += other.content_bytes;
        self.opened += other.opened;
        self.failed += other.failed;
        self.tls_full += other.tls_full;
        self.tls_resumed += other.tls_resumed;
        self.reused += other.reused;
        self.resent += other.resent;
    }
}

/// A stretch of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub(crate) counts: Counts,
    /// By status code, from 100 on.
    statuses: Statuses,
    versions: PerVersion<u64>,
    errors: BTreeMap<&'static str, u64>,
    pub(crate) checked: Checked,
    /// Answers that came in one piece to requests that went out when they were meant to: their response time, service time
    /// and first byte are one number, recorded once. [`Tally::unfold`] adds them where they belong.
    pub(crate) at_once: Times,
    pub(crate) response: Times,
    /// Response times of answers that are not good: neither 2xx nor 3xx, or wrong by a check. They are in no other times.
    pub(crate) failed_answers: Times,
    pub(crate) service: Times,
    pub(crate) send_lag: Times,
    pub(crate) dns: Times,
    pub(crate) connect: Times,
    pub(crate) tls: Times,
    pub(crate) first_byte: Times,
    pub(crate) content: Times,
    /// Ages of the requests that were open when the run ended.
    pub(crate) censored: Times,
    /// Ages of those that were due then, and had no connection.
    pub(crate) unsent: Times,
}

#[derive(Debug, Clone)]
struct Statuses(Box<[u64; 900]>);

impl Default for Statuses {
    fn default() -> Self {
        Self(Box::new([0; 900]))
    }
}

impl Tally {
    #[inline]
    pub(crate) fn answer(&mut self, status: u16, version: HttpVersion) {
        self.counts.requests += 1;
        self.statuses.0[usize::from(status.clamp(100, 999)) - 100] += 1;
        self.versions[version] += 1;
    }

    #[cold]
    pub(crate) fn error(&mut self, failure: Failure) {
        *self.errors.entry(failure.name()).or_default() += 1;
    }

    /// Adds the answers that were recorded once to all the times that they are.
    pub(crate) fn unfold(&mut self) {
        for times in [&mut self.response, &mut self.service, &mut self.first_byte] {
            times.merge(&self.at_once);
        }
        self.content.record_many(0, self.at_once.0.len());
        self.at_once.clear();
    }

    /// Adds another part, which was unfolded.
    pub(crate) fn merge(&mut self, other: &Self) {
        debug_assert!(other.at_once.0.is_empty());
        self.counts.merge(&other.counts);
        for (own, other) in self.statuses.0.iter_mut().zip(other.statuses.0.iter()) {
            *own += other;
        }
        for (version, count) in other.versions.iter() {
            self.versions[version] += count;
        }
        for (name, count) in &other.errors {
            *self.errors.entry(name).or_default() += count;
        }
        self.checked.merge(&other.checked);
        for (own, other) in self.times_mut().into_iter().zip(other.times()) {
            own.merge(other);
        }
    }

    /// Back to nothing, with the memory kept.
    pub(crate) fn clear(&mut self) {
        self.counts = Counts::default();
        self.statuses.0.fill(0);
        self.versions = PerVersion::default();
        self.errors.clear();
        self.checked = Checked::default();
        self.at_once.clear();
        for times in self.times_mut() {
            times.clear();
        }
    }

    fn times(&self) -> [&Times; 11] {
        [
            &self.response,
            &self.failed_answers,
            &self.service,
            &self.send_lag,
            &self.dns,
            &self.connect,
            &self.tls,
            &self.first_byte,
            &self.content,
            &self.censored,
            &self.unsent,
        ]
    }

    fn times_mut(&mut self) -> [&mut Times; 11] {
        [
            &mut self.response,
            &mut self.failed_answers,
            &mut self.service,
            &mut self.send_lag,
            &mut self.dns,
            &mut self.connect,
            &mut self.tls,
            &mut self.first_byte,
            &mut self.content,
            &mut self.censored,
            &mut self.unsent,
        ]
    }

    pub(crate) const fn errors(&self) -> &BTreeMap<&'static str, u64> {
        &self.errors
    }

    pub(crate) fn errors_total(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Whether connections failed, and none carried a request.
    pub(crate) fn reaches_no_server(&self) -> bool {
        self.counts.sent == 0 && !self.errors.is_empty()
    }

    /// Status codes that came, with how often.
    pub(crate) fn statuses(&self) -> BTreeMap<u16, u64> {
        (100..)
            .zip(self.statuses.0.iter().copied())
            .filter(|(_, count)| *count > 0)
            .collect()
    }

    /// Versions that answers came in, with how often.
    pub(crate) fn versions(&self) -> BTreeMap<&'static str, u64> {
        self.versions
            .iter()
            .map(|(version, count)| (version.as_str(), *count))
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tally(times: &[u64]) -> Tally {
        let mut tally = Tally::default();
        for &time in times {
            tally.response.record(time);
            tally.answer(
                u16::try_from(100 + time % 900).unwrap(),
                HttpVersion::Http11,
            );
            if time % 3 == 0 {
                tally.error(Failure::ConnectionReset);
            }
        }
        tally
    }

    #[test]
    fn what_was_recorded_once_is_counted_everywhere() {
        let mut tally = Tally::default();
        tally.response.record(7);
        for time in [5, 6] {
            tally.at_once.record(time);
        }
        tally.unfold();
        let counts = [
            &tally.response,
            &tally.service,
            &tally.first_byte,
            &tally.content,
        ]
        .map(|times| (times.0.len(), times.0.min(), times.0.max()));
        assert_eq!(counts, [(3, 5, 7), (2, 5, 6), (2, 5, 6), (2, 0, 0)]);
        assert!(tally.at_once.0.is_empty());
    }

    proptest! {
        #[test]
        fn parts_add_up_to_the_whole(
            first in proptest::collection::vec(0_u64..1 << 40, 0..50),
            second in proptest::collection::vec(0_u64..1 << 40, 0..50),
        ) {
            let whole = tally(&[&first[..], &second[..]].concat());
            let mut merged = tally(&first);
            merged.merge(&tally(&second));
            prop_assert_eq!(merged.counts, whole.counts);
            prop_assert_eq!(merged.statuses(), whole.statuses());
            prop_assert_eq!(merged.versions(), whole.versions());
            prop_assert_eq!(merged.errors(), whole.errors());
            prop_assert_eq!(merged.response.histogram(), whole.response.histogram());
            merged.clear();
            prop_assert_eq!(merged.counts, Counts::default());
            prop_assert!(merged.response.histogram().is_empty());
        }
    }
}
