//! Adds up the measurements that the threads report for each interval (a stretch): for the whole run, for each
//! second, and for the live display. No I/O.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::confidence::Batches;
use crate::labels::LabelTally;
use crate::report::Row;
use crate::stage_tally::StageTallies;
use crate::tally::Tally;
use crate::thread::{Stretch, ThreadEnd};

/// Figures of a run in progress.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Live {
    /// Whether this is the warm-up.
    pub is_warm_up: bool,
    /// Seconds since the start.
    pub elapsed_s: f64,
    /// Requests sent so far.
    pub sent: u64,
    /// Complete answers so far.
    pub requests: u64,
    /// Failures so far.
    pub errors: u64,
    /// Answers per second in the last stretch.
    pub rps: f64,
    /// Requests in flight.
    pub open: u64,
    /// Median of the response times of the last stretch.
    pub response_p50_ns: Option<u64>,
    /// Their 99th percentile.
    pub response_p99_ns: Option<u64>,
}

/// Sum of the stretches of all threads so far.
#[derive(Debug)]
pub(crate) struct Aggregate {
    is_warm_up: bool,
    stretch: Duration,
    threads: Vec<Thread>,
    /// Stretches that not all threads have reported yet.
    pending: BTreeMap<u64, Part>,
    second: Part,
    second_number: u64,
    pub(crate) total: Tally,
    pub(crate) labels: Vec<LabelTally>,
    errors: u64,
    pub(crate) rows: Vec<Row>,
    /// Of the response times whose interval may end the run.
    pub(crate) batches: Option<Batches>,
    /// Of the threads that have ended.
    pub(crate) stages: Option<StageTallies>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Thread {
    next: u64,
    last: Option<ThreadEnd>,
}

#[derive(Debug, Default)]
struct Part {
    tally: Tally,
    open: u64,
}

/// Figures of the seconds that are complete.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    pub(crate) live: Option<Live>,
    /// Tally of each second, with its number.
    pub(crate) seconds: Vec<(u64, Tally)>,
}

impl Aggregate {
    pub(crate) fn new(threads: usize, stretch: Duration, is_warm_up: bool) -> Self {
        Self {
            is_warm_up,
            stretch,
            threads: vec![Thread::default(); threads],
            pending: BTreeMap::new(),
            second: Part::default(),
            second_number: 0,
            total: Tally::default(),
            labels: Vec::new(),
            errors: 0,
            rows: Vec::new(),
            batches: None,
            stages: None,
        }
    }

    /// Adds the tally of a thread; returns the tally's memory for reuse, and the seconds that are complete now.
    pub(crate) fn take(&mut self, mut stretch: Stretch) -> (Tally, Ended) {
        stretch.tally.unfold();
        for (own, other) in self.labels.iter_mut().zip(&stretch.labels) {
            own.merge(other);
        }
        if self.labels.is_empty() {
            self.labels = std::mem::take(&mut stretch.labels);
        }
        let thread = &mut self.threads[stretch.thread];
        thread.next = stretch.number + 1;
        thread.last = thread.last.or(stretch.last);
        if let Some(stages) = stretch.stages.take() {
            match &mut self.stages {
                Some(all) => all.merge(&stages),
                None => self.stages = Some(stages),
            }
        }
        let part = self.pending.entry(stretch.number).or_default();
        part.tally.merge(&stretch.tally);
        part.open += stretch.open;
        let mut ended = Ended::default();
        while let Some((&number, _)) = self.pending.first_key_value() {
            let has_reported = |thread: &Thread| thread.last.is_some() || thread.next > number;
            if !self.threads.iter().all(has_reported) {
                break;
            }
            if let Some(part) = self.pending.remove(&number) {
                self.end_stretch(number, &part, &mut ended);
            }
        }
        if self.is_over() {
            ended.seconds.push(self.end_second());
        }
        let mut tally = stretch.tally;
        tally.clear();
        (tally, ended)
    }

    /// Whether every thread has reported its last stretch.
    pub(crate) fn is_over(&self) -> bool {
        self.threads.iter().all(|thread| thread.last.is_some()) && self.pending.is_empty()
    }

    /// Returns the end of each thread.
    pub(crate) fn lasts(&self) -> impl Iterator<Item = ThreadEnd> + '_ {
        self.threads.iter().filter_map(|thread| thread.last)
    }

    fn end_stretch(&mut self, number: u64, part: &Part, ended: &mut Ended) {
        let stretches = u64::try_from(Duration::from_secs(1).as_nanos() / self.stretch.as_nanos());
        let second_number = number / stretches.unwrap_or(1).max(1);
        if second_number > self.second_number {
            ended.seconds.push(self.end_second());
            self.second_number = second_number;
        }
        self.total.merge(&part.tally);
        self.second.tally.merge(&part.tally);
        self.second.open = part.open;
        self.errors += part.tally.errors_total();
        let times = part.tally.response.histogram();
        if let Some(batches) = &mut self.batches {
            batches.add(times);
        }
        let at = |quantile| (!times.is_empty()).then(|| times.value_at_quantile(quantile));
        #[expect(clippy::cast_precision_loss, reason = "shown to people")]
        let live = Live {
            is_warm_up: self.is_warm_up,
            elapsed_s: self.stretch.as_secs_f64() * (number + 1) as f64,
            sent: self.total.counts.sent,
            requests: self.total.counts.requests,
            errors: self.errors,
            rps: part.tally.counts.requests as f64 / self.stretch.as_secs_f64(),
            open: part.open,
            response_p50_ns: at(0.5),
            response_p99_ns: at(0.99),
        };
        ended.live = Some(live);
    }

    fn end_second(&mut self) -> (u64, Tally) {
        let second = std::mem::take(&mut self.second);
        self.rows
            .push(Row::new(self.second_number, &second.tally, second.open));
        (self.second_number, second.tally)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_http::HttpVersion;

    fn stretch(thread: usize, number: u64, answers: u64, last: bool) -> Stretch {
        let mut tally = Tally::default();
        for answer in 0..answers {
            tally.answer(200, HttpVersion::Http11);
            tally.response.record(answer);
        }
        Stretch {
            thread,
            is_warm_up: false,
            number,
            open: 1,
            tally,
            labels: Vec::new(),
            last: last.then_some(ThreadEnd {
                end_ns: 0,
                cpu_ns: 0,
                spun_ns: 0,
                waited_ns: None,
            }),
            stages: None,
        }
    }

    #[test]
    fn seconds_are_whole_in_any_order_of_the_threads() {
        let half = Duration::from_millis(500);
        let mut aggregate = Aggregate::new(2, half, false);
        // One thread is two stretches ahead, and the other ends early.
        let stretches = [
            stretch(0, 0, 1, false),
            stretch(0, 1, 2, false),
            stretch(0, 2, 4, false),
            stretch(1, 0, 8, false),
            stretch(1, 1, 16, true),
            stretch(0, 3, 32, true),
        ];
        let mut seconds = Vec::new();
        let mut lives = Vec::new();
        for stretch in stretches {
            assert!(!aggregate.is_over());
            let (spare, ended) = aggregate.take(stretch);
            assert!(spare.response.histogram().is_empty());
            seconds.extend(
                ended
                    .seconds
                    .iter()
                    .map(|(number, tally)| (*number, tally.counts.requests)),
            );
            lives.extend(
                ended
                    .live
                    .map(|live| (live.elapsed_s, live.requests, live.open)),
            );
        }
        assert!(aggregate.is_over());
        assert_eq!(seconds, [(0, 27), (1, 36)]);
        assert_eq!(lives, [(0.5, 9, 2), (1.5, 31, 1), (2.0, 63, 1)]);
        assert_eq!(aggregate.rows.len(), 2);
        assert_eq!(aggregate.total.counts.requests, 63);
    }
}
