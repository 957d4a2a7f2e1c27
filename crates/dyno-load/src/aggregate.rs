//! Adds up the measurements that the threads report for each interval (a stretch): for the whole run, for each
//! second, and for the live display. No I/O.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::address_tally::AddressTallies;
use crate::confidence::Batches;
use crate::find::StepCounts;
use crate::labels::LabelTally;
use crate::live::Live;
use crate::measured::PackedSecond;
use crate::records::Row;
use crate::stage_tally::StageTallies;
use crate::tally::Tally;
use crate::thread::{Stretch, ThreadEnd};

/// Sum of the stretches of all threads so far.
#[derive(Debug)]
pub(crate) struct Aggregate {
    is_warm_up: bool,
    stretch: Duration,
    threads: Vec<Thread>,
    /// Stretches that not all threads have reported yet.
    pending: BTreeMap<u64, Part>,
    /// The second that is not complete; `None` before its first stretch.
    second: Option<Part>,
    second_number: u64,
    pub(crate) total: Tally,
    pub(crate) labels: Vec<LabelTally>,
    pub(crate) addresses: AddressTallies,
    errors: u64,
    pub(crate) rows: Vec<Row>,
    /// The seconds with their histograms, for a merge; `None` for one generator.
    pub(crate) packed_seconds: Option<Vec<PackedSecond>>,
    /// Of the response times whose interval may end the run.
    pub(crate) batches: Option<Batches>,
    /// Of the threads that have ended.
    pub(crate) stages: Option<StageTallies>,
    /// The same.
    pub(crate) blocks: Option<StepCounts>,
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
    pub(crate) seconds: Vec<EndedSecond>,
}

/// A second that is complete.
#[derive(Debug)]
pub(crate) struct EndedSecond {
    pub(crate) row: Row,
    /// Its end, since the start; the last second ends with the run.
    pub(crate) end_s: f64,
    pub(crate) tally: Tally,
}

impl Aggregate {
    pub(crate) fn new(threads: usize, stretch: Duration, is_warm_up: bool) -> Self {
        Self {
            is_warm_up,
            stretch,
            threads: vec![Thread::default(); threads],
            pending: BTreeMap::new(),
            second: None,
            second_number: 0,
            total: Tally::default(),
            labels: Vec::new(),
            addresses: AddressTallies::default(),
            errors: 0,
            rows: Vec::new(),
            packed_seconds: None,
            batches: None,
            stages: None,
            blocks: None,
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
        self.addresses.merge(&stretch.addresses);
        let thread = &mut self.threads[stretch.thread];
        thread.next = stretch.number + 1;
        thread.last = thread.last.or(stretch.last);
        if let Some(stages) = stretch.stages.take() {
            match &mut self.stages {
                Some(all) => all.merge(&stages),
                None => self.stages = Some(stages),
            }
        }
        if let Some(blocks) = stretch.blocks.take() {
            match &mut self.blocks {
                Some(all) => all.merge(&blocks),
                None => self.blocks = Some(blocks),
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
            ended.seconds.extend(self.end_second());
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
        let stretches = stretches.unwrap_or(1).max(1);
        self.second_number = number / stretches;
        self.total.merge(&part.tally);
        let second = self.second.get_or_insert_default();
        second.tally.merge(&part.tally);
        second.open = part.open;
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
            errors_by_name: self.total.errors().clone(),
            failed_answers: self.total.failed_answers.histogram().len(),
            wrong: self.total.checked.wrong(),
            statuses: self.total.statuses(),
            opened: self.total.counts.opened,
            not_opened: self.total.counts.failed,
            rps: part.tally.counts.requests as f64 / self.stretch.as_secs_f64(),
            open: part.open,
            response_p50_ns: at(0.5),
            response_p99_ns: at(0.99),
        };
        ended.live = Some(live);
        if (number + 1).is_multiple_of(stretches) {
            ended.seconds.extend(self.end_second());
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "times of less than months")]
    fn end_second(&mut self) -> Option<EndedSecond> {
        let second = self.second.take()?;
        let row = Row::new(self.second_number, &second.tally, second.open);
        self.rows.push(row);
        if let Some(seconds) = &mut self.packed_seconds {
            seconds.push(PackedSecond::new(row, &second.tally));
        }
        let mut end_s = (self.second_number + 1) as f64;
        if self.is_over() {
            let run_end_ns = self.lasts().map(|last| last.end_ns).max();
            end_s = end_s.min(run_end_ns.unwrap_or(0) as f64 / 1e9);
        }
        Some(EndedSecond {
            row,
            end_s,
            tally: second.tally,
        })
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
            addresses: AddressTallies::default(),
            last: last.then_some(ThreadEnd {
                end_ns: 1_750_000_000,
                cpu_ns: 0,
                spun_ns: 0,
                waited_ns: None,
            }),
            stages: None,
            blocks: None,
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
                    .map(|second| (second.row.at_s, second.tally.counts.requests, second.end_s)),
            );
            lives.extend(
                ended
                    .live
                    .map(|live| (live.elapsed_s, live.requests, live.open)),
            );
        }
        assert!(aggregate.is_over());
        assert_eq!(seconds, [(0, 27, 1.0), (1, 36, 1.75)]);
        assert_eq!(lives, [(0.5, 9, 2), (1.5, 31, 1), (2.0, 63, 1)]);
        assert_eq!(aggregate.rows.len(), 2);
        assert_eq!(aggregate.total.counts.requests, 63);
    }
}
