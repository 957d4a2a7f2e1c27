//! Connections and requests by the address of the server. The address of the first connection has what the others do not
//! have: a run with one address counts nothing twice.

use serde::{Deserialize, Serialize};

use crate::records::{AddressRecord, Summary};
use crate::tally::{Tally, Times};

/// Addresses whose times are recorded.
const TIMED: usize = 100;

/// What was counted, by the number of the address.
#[derive(Debug, Clone, Default)]
pub(crate) struct AddressTallies(Vec<AddressTally>);

/// What was counted for an address.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct AddressTally {
    pub(crate) opened: u64,
    pub(crate) failed: u64,
    /// Requests that were sent and had no answer.
    errors: u64,
    /// Answers; 0 for the address of the first connection.
    requests: u64,
    failed_answers: u64,
    /// Of good answers.
    response: Option<Box<Times>>,
}

impl AddressTallies {
    /// Returns the tally of an address.
    pub(crate) fn of(&mut self, number: usize) -> &mut AddressTally {
        if self.0.len() <= number {
            self.0.resize_with(number + 1, AddressTally::default);
        }
        &mut self.0[number]
    }

    /// Counts a request that had no answer, if it was sent.
    pub(crate) fn error(&mut self, number: Option<usize>) {
        if let Some(number) = number {
            self.of(number).errors += 1;
        }
    }

    /// Counts an answer.
    pub(crate) fn answer(&mut self, number: usize, is_good: bool, response_ns: u64) {
        let tally = self.of(number);
        tally.requests += 1;
        if !is_good {
            tally.failed_answers += 1;
        } else if number < TIMED {
            tally.response.get_or_insert_default().record(response_ns);
        }
    }

    /// Forgets failed connections, which belong to a warm-up.
    pub(crate) fn forget_failed(&mut self) {
        self.0.iter_mut().for_each(|tally| tally.failed = 0);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (number, other) in other.0.iter().enumerate() {
            self.of(number).merge(other);
        }
    }

    /// Gives the address of the first connection what no other has of all answers.
    pub(crate) fn complete(&mut self, main: Option<usize>, total: &Tally) {
        let Some(main) = main else { return };
        self.of(main);
        let sum = |read: fn(&AddressTally) -> u64| self.0.iter().map(read).sum::<u64>();
        let requests = total
            .counts
            .requests
            .saturating_sub(sum(|tally| tally.requests));
        let failed_answers = total.failed_answers.histogram().len();
        let failed_answers = failed_answers.saturating_sub(sum(|tally| tally.failed_answers));
        let are_timed = self.0[TIMED.min(self.0.len())..]
            .iter()
            .all(|tally| tally.requests == 0);
        let others = self.0.iter().filter_map(|tally| tally.response.as_deref());
        let response =
            (are_timed && main < TIMED).then(|| Box::new(total.response.without(others)));
        let tally = self.of(main);
        (tally.requests, tally.failed_answers, tally.response) =
            (requests, failed_answers, response);
    }

    /// Each address to which a connection was opened, or failed; `grouped` is the number of addresses that the last
    /// text stands for.
    pub(crate) fn named(self, texts: &[String], grouped: Option<u64>) -> Vec<NamedAddress> {
        let last = texts.len().saturating_sub(1);
        let all = texts.iter().zip(self.0).enumerate();
        all.filter(|(_, (_, tally))| {
            tally.opened + tally.failed + tally.requests + tally.errors > 0
        })
        .map(|(number, (text, tally))| NamedAddress {
            address: text.clone(),
            grouped: grouped.filter(|_| number == last),
            tally,
        })
        .collect()
    }
}

impl AddressTally {
    fn merge(&mut self, other: &Self) {
        self.opened += other.opened;
        self.failed += other.failed;
        self.errors += other.errors;
        self.requests += other.requests;
        self.failed_answers += other.failed_answers;
        if let Some(times) = &other.response {
            self.response.get_or_insert_default().merge(times);
        }
    }
}

/// What was counted for an address, with its text.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NamedAddress {
    address: String,
    /// Addresses that it stands for; `None` for a single one.
    grouped: Option<u64>,
    tally: AddressTally,
}

impl NamedAddress {
    /// Whether another generator counts the same address, or the rest of its addresses.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.address == other.address
    }

    /// Adds the counts of another generator.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.grouped = self.grouped.max(other.grouped);
        self.tally.merge(&other.tally);
    }
}

/// The records of a report.
pub(crate) fn address_records(addresses: &[NamedAddress]) -> Vec<AddressRecord> {
    let record = |one: &NamedAddress| {
        let tally = &one.tally;
        let times = tally.response.as_deref().and_then(Summary::of_some);
        AddressRecord {
            address: one.address.clone(),
            grouped: one.grouped,
            opened: tally.opened,
            failed: tally.failed,
            requests: tally.requests,
            failed_answers: tally.failed_answers,
            errors: tally.errors,
            response_p50_ns: times.as_ref().map(|times| times.p50_ns),
            response_p99_ns: times.as_ref().map(|times| times.p99_ns),
        }
    };
    addresses.iter().map(record).collect()
}
