//! Records each request when it ends, and the open requests at the end of the run.

use std::cell::RefCell;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use dyno_client::Expectation;

use crate::checker::Checker;
use crate::label_counts::LabelCounts;
use crate::outcome::Outcome;
use crate::recording::LATE_NS;
use crate::samples::Sample;
use crate::slot::{Slot, Stage};
use crate::tally::Tally;
use crate::thread::{Last, ThreadEnd};
use crate::worker::{Moment, Worker};

impl Worker {
    /// Records the outcome of a request; `None` if it ended after the end of the run, when it counts as open.
    #[inline]
    pub(crate) fn record_outcome(
        &self,
        slot: &Slot,
        outcome: &Outcome,
        checker: Option<&mut Checker>,
    ) -> Option<Moment> {
        let ended = self.moment(match &outcome.result {
            Ok(exchanged) => exchanged.end,
            Err(_) => Instant::now(),
        });
        if ended.ns > self.end_ns.get() {
            return None;
        }
        slot.stage.set(Stage::Free);
        self.requests_ended.set(self.requests_ended.get() + 1);
        self.last_end_ns.set(ended.ns);
        let tally = &mut *self.tally.borrow_mut();
        let intended = outcome.intended;
        if let (true, Some(sent)) = (self.is_open_loop, outcome.progress.sent) {
            // The generator's own lateness counts from when the request was due and a connection was free for it.
            let opened_ns = outcome.progress.opened.map_or(0, |opened| self.ns(opened));
            let possible_ns = intended.ns.max(outcome.free.ns).max(opened_ns);
            let lag_ns = self.ns(sent).saturating_sub(possible_ns);
            tally.send_lag.record(lag_ns);
        }
        let is_good = match &outcome.result {
            Ok(exchanged) => {
                let ns = |at: Instant| match at {
                    at if at == ended.at => ended.ns,
                    at if at == intended.at => intended.ns,
                    at => self.ns(at),
                };
                let (sent_ns, first_byte_ns) = (ns(exchanged.sent), ns(exchanged.first_byte));
                let answer = outcome.progress.answer;
                tally.answer(answer.status, answer.version);
                tally.counts.content_bytes += answer.content_bytes;
                if exchanged.expectation != Expectation::None {
                    tally.expectation(exchanged.expectation);
                }
                if !exchanged.deviations.is_empty() {
                    tally.counts.tolerated.add(exchanged.deviations);
                }
                let response_ns = ended.ns - intended.ns.min(ended.ns);
                let passed = checker.and_then(|checker| {
                    checker.end(
                        answer.status,
                        answer.content_bytes,
                        &mut tally.checked,
                        &mut tally.wrong_examples,
                    )
                });
                let is_good = passed.unwrap_or_else(|| answer.is_success());
                if !is_good {
                    tally.failed_answers.record(response_ns);
                } else if sent_ns == intended.ns && first_byte_ns == ended.ns {
                    tally.at_once.record(ended.ns - sent_ns);
                } else {
                    tally.response.record(response_ns);
                    tally.service.record(ended.ns - sent_ns);
                    tally.first_byte.record(first_byte_ns - sent_ns);
                    tally.content.record(ended.ns - first_byte_ns);
                }
                is_good
            }
            Err(failure) => {
                tally.error(*failure);
                let sent = outcome.progress.sent;
                let address = sent.map(|_| outcome.progress.address);
                self.addresses.borrow_mut().error(address);
                false
            }
        };
        if self.observes.get() {
            if self.observers.is_some() {
                tally.counts.late += u64::from(self.is_late(outcome));
            }
            self.observe(tally, outcome, ended.ns, is_good);
        }
        Some(ended)
    }

    /// Whether a request was sent noticeably after its moment, for any reason.
    #[cold]
    fn is_late(&self, outcome: &Outcome) -> bool {
        let sent_ns = outcome.progress.sent.map(|sent| self.ns(sent));
        sent_ns.is_some_and(|sent_ns| sent_ns.saturating_sub(outcome.intended.ns) > LATE_NS)
    }

    /// Records a request under its address and its label, in its stage, and as a sample.
    #[cold]
    fn observe(&self, counts: &mut Tally, outcome: &Outcome, ended_ns: u64, is_good: bool) {
        let response_ns = ended_ns.saturating_sub(outcome.intended.ns);
        let address = outcome.progress.address;
        if outcome.result.is_ok() && !self.connector.is_main(address) {
            let mut addresses = self.addresses.borrow_mut();
            addresses.answer(address, is_good, response_ns);
        }
        let Some(observers) = &self.observers else {
            return;
        };
        let observers = &mut *observers.borrow_mut();
        let label = self.plan.requests.at(outcome.place).label;
        if let Some(tally) = observers.labels.get_mut(label) {
            match &outcome.result {
                Ok(_) => tally.answer(outcome.progress.answer.status, is_good, response_ns),
                Err(failure) => tally.error(*failure),
            }
            if let Some(bounds_ns) = self.plan.label_bounds_ns {
                let answer = outcome.result.as_ref();
                let ending = answer.map(|_| outcome.progress.answer.status);
                let ending = ending.map_err(|failure| *failure);
                let good_time_ns = is_good.then_some(response_ns);
                LabelCounts::count(&mut counts.labels, label, ending, good_time_ns, bounds_ns);
            }
        }
        if let Some(stages) = &mut observers.stages {
            let stage = stages.at(outcome.intended.ns);
            stage.sent += u64::from(outcome.progress.sent.is_some());
            if is_good {
                stage.response.record(response_ns);
            } else {
                stage.errors += 1;
            }
        }
        if let Some(blocks) = &mut observers.blocks {
            blocks.add(outcome.intended.ns, response_ns, !is_good, 1);
            if let (true, Some(sent)) = (is_good, outcome.progress.sent) {
                blocks.note_service(ended_ns.saturating_sub(self.ns(sent)));
            }
        }
        if let Some(samples) = &mut observers.samples {
            samples.push(self.sample(outcome, ended_ns));
        }
    }

    fn sample(&self, outcome: &Outcome, ended_ns: u64) -> Sample {
        Sample {
            intended_ns: outcome.intended.ns,
            sent_ns: outcome.progress.sent.map(|sent| self.ns(sent)),
            first_byte_ns: outcome
                .result
                .as_ref()
                .ok()
                .map(|exchanged| self.ns(exchanged.first_byte)),
            end_ns: ended_ns,
            ending: outcome
                .result
                .map(|_| outcome.progress.answer.status)
                .map_err(dyno_client::Failure::name),
            content_bytes: outcome.progress.answer.content_bytes,
            connection: self.first_connection + outcome.request_loop / self.plan.streams,
            place: outcome.place,
        }
    }

    pub(crate) fn tally_so_far(&self, spare: &Receiver<Tally>) -> Tally {
        self.tally.replace(spare.try_recv().unwrap_or_default())
    }

    pub(crate) fn open(&self) -> u64 {
        let open = |slot: &&Slot| matches!(slot.stage.get(), Stage::Head | Stage::Content);
        self.slots.iter().filter(open).count() as u64
    }

    /// Records the age of requests that are in flight, and of those that are due but not begun; takes what the
    /// observers have counted.
    pub(crate) fn last(&self, cpu: Duration, waited_ns: Option<u64>) -> Last {
        let ended = self.running.get() == 0 && self.common.schedule.is_used_up();
        let end_ns = if ended {
            self.last_end_ns.get().min(self.end_ns.get())
        } else {
            self.end_ns.get()
        };
        let mut tally = self.tally.borrow_mut();
        let observers = self.observers.as_ref().map(RefCell::take);
        let mut observers = observers.unwrap_or_default();
        let mut late = |slot: &Slot, age_ns, is_sent: bool| {
            if let Some(stages) = &mut observers.stages {
                let stage = stages.at(slot.intended_ns.get());
                stage.ages.record(age_ns);
                stage.sent += u64::from(is_sent);
            }
            if let Some(blocks) = &mut observers.blocks {
                blocks.add(slot.intended_ns.get(), age_ns, !is_sent, 1);
            }
        };
        for slot in &self.slots {
            // A connection without a request, or with one that is not due yet, is not late.
            let Some(age_ns) = end_ns.checked_sub(slot.intended_ns.get()) else {
                continue;
            };
            match slot.stage.get() {
                stage @ (Stage::Connecting
                | Stage::ConnectingByProxy
                | Stage::Handshaking
                | Stage::Head
                | Stage::Content) => {
                    tally.censored.record(age_ns);
                    late(slot, age_ns, matches!(stage, Stage::Head | Stage::Content));
                }
                Stage::Waiting if self.is_open_loop && age_ns > 0 => {
                    tally.unsent.record(age_ns);
                    late(slot, age_ns, false);
                }
                _ => {}
            }
        }
        drop(tally);
        if let Some(samples) = observers.samples {
            samples.finish();
        }
        let end = ThreadEnd {
            end_ns,
            cpu_ns: u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX),
            spun_ns: self.queue.spun_ns(),
            waited_ns,
        };
        Last {
            end,
            labels: observers.labels,
            addresses: self.addresses.take(),
            stages: observers.stages,
            blocks: observers.blocks,
        }
    }
}
