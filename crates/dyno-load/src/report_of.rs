//! The report that the sums of a run make.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::address_tally::address_records;
use crate::measured::Measured;
use crate::recording::ReplayRecord;
use crate::records::{
    Censored, ChecksRecord, ConnectionsRecord, ExpectRecord, Phases, Row, Summary,
};
use crate::report::{Report, VERSION};
use crate::tally::{Tally, Times};
use crate::validity;

impl Measured {
    fn series(&self) -> Vec<Row> {
        if self.rows.is_empty() {
            return self.seconds.iter().map(|second| second.row).collect();
        }
        self.rows.clone()
    }

    /// Makes the report, and judges it.
    #[expect(clippy::cast_precision_loss, reason = "shown as seconds and rates")]
    pub(crate) fn report(&self) -> Report {
        let total = &self.total;
        let counts = total.counts;
        let elapsed_s = self.end_ns as f64 / 1e9;
        let failed_answers = total.failed_answers.histogram().len();
        let mut report = Report {
            version: VERSION,
            started: OffsetDateTime::from_unix_timestamp_nanos(self.started_unix_ns)
                .ok()
                .and_then(|started| started.format(&Rfc3339).ok())
                .unwrap_or_default(),
            elapsed_s,
            interrupted: self.interrupted,
            validity: None,
            plan: self.plan.clone(),
            sent: counts.sent,
            requests: counts.requests,
            rps: if self.end_ns == 0 {
                0.0
            } else {
                (counts.requests - failed_answers) as f64 / elapsed_s
            },
            cpu_s: self.cpu_s.0,
            cpu_user_s: self.cpu_s.1,
            cpu_system_s: self.cpu_s.2,
            peak_memory_bytes: self.peak_memory_bytes,
            threads: self.threads.clone(),
            data: self.data,
            statuses: total.statuses(),
            errors: total.errors().clone(),
            errors_total: total.errors_total(),
            failed_answers,
            resent: counts.resent,
            tolerated: self.tolerated.clone(),
            expect_continue: self.expects_continue.then_some(ExpectRecord {
                continued: counts.continued,
                answered: counts.answered_at_once,
                silent: counts.silent,
            }),
            checks: self.is_checked.then(|| checks_record(total)),
            labels: self.labels.records(&self.label_tallies),
            addresses: self.addresses.as_deref().map(address_records),
            censored: censored(&total.censored),
            unsent: total.unsent.histogram().len(),
            wire: self.wire,
            connections: ConnectionsRecord {
                opened: counts.opened,
                failed: counts.failed,
                tls_full: counts.tls_full,
                tls_resumed: counts.tls_resumed,
                reused_requests: counts.reused,
            },
            versions: total.versions(),
            response_time: Summary::new(&total.response),
            response_time_at_least: at_least(&total.response, [&total.censored, &total.unsent]),
            response_time_all: all_answers(total),
            service_time: Summary::new(&total.service),
            send_lag: self.plan.rate_per_s.map(|_| Summary::new(&total.send_lag)),
            phases: phases(total),
            replay: self
                .replay
                .as_ref()
                .map(|recording| ReplayRecord::new(recording, counts.late, counts.sent)),
            until: self.until.clone(),
            warm_up: self.warm_up.clone(),
            stages: self
                .stages
                .as_ref()
                .map(|stages| stages.records(self.end_ns)),
            series: self.series(),
            segment: None,
            nodes: None,
            sums: None,
            found: None,
            blocks: self.blocks.clone(),
        };
        if !self.interrupted && report.requests > 0 {
            report.validity = Some(validity::judge(&report));
        }
        report
    }
}

fn phases(total: &Tally) -> Phases {
    Phases {
        dns: Summary::of_some(&total.dns),
        connect: Summary::of_some(&total.connect),
        tls: Summary::of_some(&total.tls),
        first_byte: Summary::of_some(&total.first_byte),
        content: Summary::of_some(&total.content),
    }
}

fn checks_record(total: &Tally) -> ChecksRecord {
    let mut examples = total.wrong_examples.clone();
    examples.sort_by_key(|example| example.kind);
    ChecksRecord {
        counts: total.checked,
        examples,
    }
}

fn censored(ages: &Times) -> Censored {
    let summary = Summary::of_some(ages);
    Censored {
        count: ages.histogram().len(),
        oldest_ns: summary.is_some().then(|| ages.histogram().max()),
        ages: summary,
    }
}

/// Response times including requests that have not ended, each with the time that it has waited. `None` if all have
/// ended.
fn at_least(ended: &Times, ages: [&Times; 2]) -> Option<Summary> {
    let mut all = ended.clone();
    for ages in ages {
        all.merge(ages);
    }
    (all.histogram().len() > ended.histogram().len()).then(|| Summary::new(&all))
}

/// Response times of all answers, including requests that have not ended; `None` if all answers are good.
fn all_answers(total: &Tally) -> Option<Summary> {
    if total.failed_answers.histogram().is_empty() {
        return None;
    }
    let mut all = total.response.clone();
    all.merge(&total.failed_answers);
    let ended = Summary::new(&all);
    let with_ages = at_least(&all, [&total.censored, &total.unsent]);
    Some(with_ages.map_or_else(|| ended.clone(), |with_ages| ended.at_least(&with_ages)))
}
