//! What a run has measured: sums of which its report is made, and which add up over the generators of one load.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::address_tally::NamedAddress;
use crate::find::StepCounts;
use crate::labels::{LabelTally, Labels};
use crate::recording::Recording;
use crate::records::{
    DataRecord, PlanRecord, Row, ThreadRecord, UntilRecord, WarmUpRecord, WireRecord,
};
use crate::stage_tally::StageTallies;
use crate::static_text;
use crate::tally::{Tally, Times};

/// The sums of a run. In a report they have everything that a merge needs, without loss.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measured {
    /// When the first request was due, in Unix time.
    pub(crate) started_unix_ns: i128,
    /// Time from the first request to the end.
    pub(crate) end_ns: u64,
    pub(crate) interrupted: bool,
    pub(crate) plan: PlanRecord,
    /// CPU time: all, in user mode, in the kernel.
    pub(crate) cpu_s: (f64, f64, f64),
    pub(crate) peak_memory_bytes: Option<u64>,
    pub(crate) threads: Vec<ThreadRecord>,
    pub(crate) data: Option<DataRecord>,
    pub(crate) expects_continue: bool,
    pub(crate) is_checked: bool,
    pub(crate) labels: Labels,
    pub(crate) label_tallies: Vec<LabelTally>,
    /// `None` with a Unix socket.
    pub(crate) addresses: Option<Vec<NamedAddress>>,
    pub(crate) wire: WireRecord,
    pub(crate) replay: Option<Recording>,
    pub(crate) warm_up: Option<WarmUpRecord>,
    pub(crate) stages: Option<StageTallies>,
    /// Second by second, with histograms; empty without `--segment`.
    pub(crate) seconds: Vec<PackedSecond>,
    pub(crate) total: Tally,
    /// Answers that are not well-formed, by what was tolerated.
    #[serde(deserialize_with = "static_text::counts")]
    pub(crate) tolerated: BTreeMap<&'static str, u64>,
    /// Second by second; empty after a merge, which has `seconds`.
    #[serde(skip)]
    pub(crate) rows: Vec<Row>,
    /// Only of a load that a goal ends, which has one generator.
    #[serde(skip)]
    pub(crate) until: Option<UntilRecord>,
    /// Only of a step of a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) blocks: Option<StepCounts>,
}

/// A second with the histograms of its times.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PackedSecond {
    #[serde(flatten)]
    pub(crate) row: Row,
    response: String,
    service: String,
    send_lag: String,
}

impl PackedSecond {
    pub(crate) fn new(row: Row, tally: &Tally) -> Self {
        Self {
            row,
            response: tally.response.packed(),
            service: tally.service.packed(),
            send_lag: tally.send_lag.packed(),
        }
    }

    /// Adds the same second of another generator.
    fn merge(&mut self, other: &Self) -> Result<(), String> {
        let sum = |own: &str, other: &str| {
            let mut times = Times::unpacked(own)?;
            times.merge(&Times::unpacked(other)?);
            Ok::<_, String>(times)
        };
        let mut tally = Tally::default();
        tally.response = sum(&self.response, &other.response)?;
        tally.service = sum(&self.service, &other.service)?;
        tally.send_lag = sum(&self.send_lag, &other.send_lag)?;
        let (own, other) = (&self.row, &other.row);
        let row = Row {
            sent: own.sent + other.sent,
            requests: own.requests + other.requests,
            errors: own.errors + other.errors,
            content_bytes: own.content_bytes + other.content_bytes,
            ..Row::new(own.at_s, &tally, own.open + other.open)
        };
        *self = Self::new(row, &tally);
        Ok(())
    }
}

impl Measured {
    /// Adds what another generator of the same load has measured.
    ///
    /// # Errors
    ///
    /// What is damaged.
    pub(crate) fn merge(&mut self, other: Self) -> Result<(), String> {
        self.started_unix_ns = self.started_unix_ns.min(other.started_unix_ns);
        self.end_ns = self.end_ns.max(other.end_ns);
        self.interrupted |= other.interrupted;
        self.merge_plan(&other.plan);
        let (own, more) = (&mut self.cpu_s, other.cpu_s);
        *own = (own.0 + more.0, own.1 + more.1, own.2 + more.2);
        self.peak_memory_bytes = self.peak_memory_bytes.max(other.peak_memory_bytes);
        self.threads.extend(other.threads);
        if let (Some(own), Some(other)) = (&mut self.data, other.data) {
            own.used_up &= other.used_up;
        }
        if self.labels != other.labels || self.label_tallies.len() != other.label_tallies.len() {
            return Err("the labels differ".to_owned());
        }
        for (own, other) in self.label_tallies.iter_mut().zip(&other.label_tallies) {
            own.merge(other);
        }
        for other in other.addresses.into_iter().flatten() {
            let addresses = self.addresses.get_or_insert_default();
            match addresses.iter_mut().find(|own| own.is_same(&other)) {
                Some(own) => own.merge(&other),
                None => addresses.push(other),
            }
        }
        self.wire.sent_bytes += other.wire.sent_bytes;
        self.wire.received_bytes += other.wire.received_bytes;
        self.wire.content_bytes += other.wire.content_bytes;
        if let (Some(own), Some(other)) = (&mut self.warm_up, &other.warm_up) {
            own.requests += other.requests;
            for (name, count) in &other.failures {
                *own.failures.entry(name.clone()).or_default() += count;
            }
        }
        if let (Some(own), Some(other)) = (&mut self.stages, &other.stages) {
            own.merge(other);
        }
        if let (Some(own), Some(other)) = (&mut self.blocks, &other.blocks) {
            own.merge_generator(other);
        }
        self.total.merge(&other.total);
        for (name, count) in other.tolerated {
            *self.tolerated.entry(name).or_default() += count;
        }
        self.rows.clear();
        self.merge_seconds(other.seconds)
    }

    fn merge_plan(&mut self, other: &PlanRecord) {
        let own = &mut self.plan;
        own.connections += other.connections;
        own.cpus.extend(&other.cpus);
        own.opened_per_s = own
            .opened_per_s
            .zip(other.opened_per_s)
            .map(|(own, other)| own + other);
    }

    fn merge_seconds(&mut self, other: Vec<PackedSecond>) -> Result<(), String> {
        let own = std::mem::take(&mut self.seconds).into_iter();
        let mut all: BTreeMap<u64, PackedSecond> =
            own.map(|second| (second.row.at_s, second)).collect();
        for second in other {
            match all.get_mut(&second.row.at_s) {
                Some(own) => own.merge(&second)?,
                None => drop(all.insert(second.row.at_s, second)),
            }
        }
        self.seconds = all.into_values().collect();
        Ok(())
    }
}
