//! Counts and histograms of one stretch of a run, which can be added over stretches and threads.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dyno_client::{Expectation, Failure};
use dyno_http::{DeviationCounts, HttpVersion, PerVersion};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer as Reader, Serializer as _, V2DeflateSerializer};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::check::{CheckExample, Checked};
use crate::label_counts::LabelCounts;
use crate::static_text;

/// Significant digits of times.
const DIGITS: u8 = 3;

/// Histogram of times in nanoseconds with three significant digits.
#[derive(Debug, Clone)]
pub(crate) struct Times(Histogram<u64>);

impl Default for Times {
    fn default() -> Self {
        Self::with_digits(DIGITS)
    }
}

impl Times {
    /// Times with another precision.
    pub(crate) fn with_digits(digits: u8) -> Self {
        Self(Histogram::new(digits).expect("a precision of up to five digits"))
    }

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

    /// These times without those of its parts, which have the same precision.
    pub(crate) fn without<'t>(&self, parts: impl Iterator<Item = &'t Self>) -> Self {
        let mut rest = self.clone();
        for part in parts {
            rest.0.subtract(&part.0).expect("it contains its parts");
        }
        rest
    }

    fn clear(&mut self) {
        // Clearing touches all of its memory, which most histograms never use.
        if !self.0.is_empty() {
            self.0.reset();
            give_way();
        }
    }

    pub(crate) const fn histogram(&self) -> &Histogram<u64> {
        &self.0
    }

    /// The whole histogram (`HdrHistogram` V2, base64).
    pub(crate) fn packed(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(&self.0, &mut bytes)
            .expect("memory takes what is written");
        STANDARD.encode(bytes)
    }

    /// Reads the form of [`Times::packed`]; empty text stands for no times.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    pub(crate) fn unpacked(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let bytes = STANDARD.decode(text).map_err(|error| error.to_string())?;
        let read: Histogram<u64> = Reader::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| error.to_string())?;
        // One that was read does not grow.
        let mut own = Self::with_digits(read.sigfig());
        own.0.add(&read).map_err(|error| error.to_string())?;
        Ok(own)
    }
}

impl Serialize for Times {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.0.is_empty() && self.0.sigfig() == DIGITS {
            return to.serialize_str("");
        }
        to.serialize_str(&self.packed())
    }
}

impl<'de> Deserialize<'de> for Times {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Self::unpacked(&text).map_err(|reason| D::Error::custom(format!("a histogram: {reason}")))
    }
}

/// Yields to a sending thread on the same CPU: adding all histograms of a second takes a millisecond or two, in which
/// nothing would be sent.
fn give_way() {
    std::thread::yield_now();
}

/// Counts of requests and connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Sent requests.
    pub(crate) sent: u64,
    /// Complete answers.
    pub(crate) requests: u64,
    pub(crate) content_bytes: u64,
    pub(crate) opened: u64,
    pub(crate) failed: u64,
    pub(crate) tls_full: u64,
    pub(crate) tls_resumed: u64,
    /// Requests on a connection that carried another before.
    pub(crate) reused: u64,
    /// Requests sent again, because the server closed their connection before it could have seen them.
    pub(crate) resent: u64,
    /// Requests of a replay that were sent noticeably after their moment.
    pub(crate) late: u64,
    /// Of requests with `Expect: 100-continue`: status 100 came, a final answer, or nothing for a second.
    pub(crate) continued: u64,
    pub(crate) answered_at_once: u64,
    pub(crate) silent: u64,
    /// Odd answers.
    #[serde(skip)]
    pub(crate) tolerated: DeviationCounts,
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
        self.late += other.late;
        self.continued += other.continued;
        self.answered_at_once += other.answered_at_once;
        self.silent += other.silent;
        self.tolerated.merge(&other.tolerated);
    }
}

/// The form of wrong answers in the sums of a report: with the kind of the check.
mod examples {
    use super::{CheckExample, Deserialize, Deserializer, Serialize, Serializer};
    use crate::check::Kind;

    pub(super) fn serialize<S: Serializer>(
        examples: &[CheckExample],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let parts = examples.iter();
        let parts = parts.map(|example| (example.kind, &example.check, &example.got));
        parts.collect::<Vec<_>>().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<CheckExample>, D::Error> {
        let parts = Vec::<(Kind, String, String)>::deserialize(from)?;
        let example = |(kind, check, got)| CheckExample { kind, check, got };
        Ok(parts.into_iter().map(example).collect())
    }
}

/// The form of counts by version in a report: by its name.
mod versions {
    use super::{
        BTreeMap, Deserialize, Deserializer, HttpVersion, PerVersion, Serialize, Serializer,
    };

    pub(super) fn serialize<S: Serializer>(
        counts: &PerVersion<u64>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let named = counts
            .iter()
            .map(|(version, count)| (version.as_str(), *count));
        named.collect::<BTreeMap<_, _>>().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<PerVersion<u64>, D::Error> {
        let read = BTreeMap::<String, u64>::deserialize(from)?;
        let count = |version: HttpVersion| read.get(version.as_str()).copied().unwrap_or(0);
        Ok(PerVersion::from_fn(count))
    }
}

/// Counts and histograms of a stretch.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) counts: Counts,
    /// Counts by status code, from 100 on.
    statuses: Statuses,
    #[serde(with = "versions")]
    versions: PerVersion<u64>,
    #[serde(deserialize_with = "static_text::counts")]
    errors: BTreeMap<&'static str, u64>,
    pub(crate) checked: Checked,
    /// The first wrong answer of each kind of check.
    #[serde(with = "examples")]
    pub(crate) wrong_examples: Vec<CheckExample>,
    /// Answers that arrived in one piece to requests that were sent on time: their response time, service time and time
    /// to first byte are equal, and recorded once. [`Tally::unfold`] adds them to all three.
    #[serde(skip)]
    pub(crate) at_once: Times,
    pub(crate) response: Times,
    /// Response times of answers that are not good: neither 2xx nor 3xx, or failed by a check. No other histogram
    /// counts them.
    pub(crate) failed_answers: Times,
    pub(crate) service: Times,
    pub(crate) send_lag: Times,
    pub(crate) dns: Times,
    pub(crate) connect: Times,
    pub(crate) tls: Times,
    pub(crate) first_byte: Times,
    pub(crate) content: Times,
    /// Ages of the requests in flight when the run ended.
    pub(crate) censored: Times,
    /// Ages of the requests that were due then, and had no connection.
    pub(crate) unsent: Times,
    /// By label, where an observer reads them.
    #[serde(skip)]
    pub(crate) labels: Vec<LabelCounts>,
}

#[derive(Debug, Clone)]
struct Statuses(Box<[u64; 900]>);

impl Default for Statuses {
    fn default() -> Self {
        Self(Box::new([0; 900]))
    }
}

impl Statuses {
    fn by_code(&self) -> BTreeMap<u16, u64> {
        (100..)
            .zip(self.0.iter().copied())
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}

impl Serialize for Statuses {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.by_code().serialize(to)
    }
}

impl<'de> Deserialize<'de> for Statuses {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut statuses = Self::default();
        for (status, count) in BTreeMap::<u16, u64>::deserialize(from)? {
            statuses.0[usize::from(status.clamp(100, 999)) - 100] += count;
        }
        Ok(statuses)
    }
}

impl Tally {
    #[inline]
    pub(crate) fn answer(&mut self, status: u16, version: HttpVersion) {
        self.counts.requests += 1;
        self.statuses.0[usize::from(status.clamp(100, 999)) - 100] += 1;
        self.versions[version] += 1;
    }

    /// Counts what ended the wait of an answered request with `Expect: 100-continue`.
    #[cold]
    pub(crate) fn expectation(&mut self, expectation: Expectation) {
        match expectation {
            Expectation::None => {}
            Expectation::Continue => self.counts.continued += 1,
            Expectation::Final => self.counts.answered_at_once += 1,
            Expectation::Silence => self.counts.silent += 1,
        }
    }

    #[cold]
    pub(crate) fn error(&mut self, failure: Failure) {
        *self.errors.entry(failure.full_name()).or_default() += 1;
    }

    /// Adds the answers of `at_once` to each histogram that they belong to.
    pub(crate) fn unfold(&mut self) {
        for times in [&mut self.response, &mut self.service, &mut self.first_byte] {
            times.merge(&self.at_once);
        }
        self.content.record_many(0, self.at_once.0.len());
        self.at_once.clear();
    }

    /// Adds another tally, which is already unfolded.
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
        for example in &other.wrong_examples {
            if self
                .wrong_examples
                .iter()
                .all(|own| own.kind != example.kind)
            {
                self.wrong_examples.push(example.clone());
            }
        }
        for (own, other) in self.times_mut().into_iter().zip(other.times()) {
            own.merge(other);
        }
        let missing = self.labels.len()..other.labels.len();
        self.labels.extend(missing.map(|_| LabelCounts::default()));
        for (own, other) in self.labels.iter_mut().zip(&other.labels) {
            own.add(other);
        }
    }

    /// Resets everything and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.counts = Counts::default();
        self.statuses.0.fill(0);
        self.versions = PerVersion::default();
        self.errors.clear();
        self.checked = Checked::default();
        self.wrong_examples.clear();
        self.labels.clear();
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

    /// Whether connections failed and none carried a request.
    pub(crate) fn reaches_no_server(&self) -> bool {
        self.counts.sent == 0 && !self.errors.is_empty()
    }

    /// Status codes with their counts.
    pub(crate) fn statuses(&self) -> BTreeMap<u16, u64> {
        self.statuses.by_code()
    }

    /// Versions of HTTP with their numbers of answers.
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
