//! Labels of requests: their names, what is counted for each, and the order that weights give requests. No I/O.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{Hash, Hasher};

use dyno_client::Failure;
use serde::{Deserialize, Serialize};

use crate::records::{LabelRecord, Summary};
use crate::static_text;
use crate::tally::Times;

/// Labels of a report; further ones are counted together in the last.
const MAX_LABELS: usize = 1000;
const OTHER: &str = "(other)";
/// Labels whose times have three digits; with more they have two, for a seventh of the memory.
const PRECISE_LABELS: usize = 100;
/// Requests after which an order by weights begins again, at most.
const MAX_CYCLE: f64 = 1e6;
/// Decimals of weights that are kept exactly.
const DECIMALS: i32 = 6;

/// The labels of a run; none where all requests have the same, and none gave its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    names: Vec<String>,
    grouped: u64,
}

impl Labels {
    /// Their names, in order of appearance.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    pub(crate) fn tallies(&self) -> Vec<LabelTally> {
        let digits = if self.names.len() > PRECISE_LABELS {
            2
        } else {
            3
        };
        let tally = || LabelTally::new(Times::with_digits(digits));
        self.names.iter().map(|_| tally()).collect()
    }

    pub(crate) fn records(&self, tallies: &[LabelTally]) -> Option<Vec<LabelRecord>> {
        let record = |(name, tally): (&String, &LabelTally)| LabelRecord {
            label: name.clone(),
            grouped: (name == OTHER && self.grouped > 0).then_some(self.grouped),
            requests: tally.statuses.values().sum(),
            statuses: tally.statuses.clone(),
            errors: tally.errors.clone(),
            errors_total: tally.errors.values().sum(),
            failed_answers: tally.failed_answers,
            response_time: Summary::of_some(&tally.response),
        };
        let all = self.names.iter().zip(tallies).map(record);
        (!self.names.is_empty()).then(|| all.collect())
    }
}

/// Labels as requests are prepared.
#[derive(Debug, Default)]
pub(crate) struct Naming {
    names: Vec<String>,
    places: HashMap<String, usize>,
    /// Hashes of those that are counted together.
    grouped: HashSet<u64>,
    is_given: bool,
}

impl Naming {
    /// The place of a label; `is_given` says whether the request names it.
    pub(crate) fn place(&mut self, name: &str, is_given: bool) -> usize {
        self.is_given |= is_given;
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = self.names.len().min(MAX_LABELS - 1);
        if place + 1 < MAX_LABELS {
            self.names.push(name.to_owned());
            self.places.insert(name.to_owned(), place);
        } else {
            if self.names.len() < MAX_LABELS {
                self.names.push(OTHER.to_owned());
            }
            let mut hasher = DefaultHasher::new();
            name.hash(&mut hasher);
            self.grouped.insert(hasher.finish());
        }
        place
    }

    pub(crate) fn finish(self) -> Labels {
        if self.names.len() < 2 && !self.is_given {
            return Labels::default();
        }
        Labels {
            names: self.names,
            grouped: self.grouped.len() as u64,
        }
    }
}

/// What was counted for a label.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LabelTally {
    statuses: BTreeMap<u16, u64>,
    #[serde(deserialize_with = "static_text::counts")]
    errors: BTreeMap<&'static str, u64>,
    failed_answers: u64,
    /// Of good answers.
    response: Times,
}

impl LabelTally {
    const fn new(response: Times) -> Self {
        Self {
            statuses: BTreeMap::new(),
            errors: BTreeMap::new(),
            failed_answers: 0,
            response,
        }
    }

    pub(crate) fn answer(&mut self, status: u16, is_good: bool, response_ns: u64) {
        *self.statuses.entry(status).or_default() += 1;
        if is_good {
            self.response.record(response_ns);
        } else {
            self.failed_answers += 1;
        }
    }

    pub(crate) fn error(&mut self, failure: Failure) {
        *self.errors.entry(failure.name()).or_default() += 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        for (name, count) in &other.errors {
            *self.errors.entry(name).or_default() += count;
        }
        self.failed_answers += other.failed_answers;
        self.response.merge(&other.response);
    }
}

/// The order of requests: each as often as its weight says, evenly spread. Empty: one after the other.
pub(crate) fn order(weights: &[f64]) -> Box<[u32]> {
    let are_equal = weights
        .windows(2)
        .all(|pair| pair[0].total_cmp(&pair[1]).is_eq());
    if are_equal {
        return Box::default();
    }
    // The middle of each of the parts into which a request divides the cycle.
    let mut order: Vec<(f64, u32)> = Vec::new();
    for (place, count) in (0..).zip(counts(weights)) {
        order.extend((0..count).map(|turn| ((f64::from(turn) + 0.5) / f64::from(count), place)));
    }
    order.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    order.into_iter().map(|(_, place)| place).collect()
}

/// How often each request is sent in a cycle: at least once.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded numbers of at most a cycle"
)]
fn counts(weights: &[f64]) -> Vec<u32> {
    let is_whole = |number: f64| (number - number.round()).abs() < 1e-9 * number.max(1.0);
    let powers = (0..=DECIMALS).map(|decimals| 10_f64.powi(decimals));
    let exact = powers.into_iter().find_map(|power| {
        let scaled: Vec<f64> = weights.iter().map(|weight| weight * power).collect();
        let divisor = scaled
            .iter()
            .fold(0.0, |divisor, one| common_divisor(divisor, one.round()));
        let are_whole = scaled
            .iter()
            .all(|number| is_whole(*number) && *number >= 0.5);
        let counts = scaled.iter().map(|number| (number / divisor).round());
        (are_whole && counts.clone().sum::<f64>() <= MAX_CYCLE)
            .then(|| counts.collect::<Vec<f64>>())
    });
    let counts = exact.unwrap_or_else(|| {
        let scale = MAX_CYCLE / weights.iter().sum::<f64>();
        weights
            .iter()
            .map(|weight| (weight * scale).round().max(1.0))
            .collect()
    });
    counts.into_iter().map(|count| count as u32).collect()
}

fn common_divisor(one: f64, other: f64) -> f64 {
    if other == 0.0 {
        one
    } else {
        common_divisor(other, one % other)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_order_follows_the_weights_evenly() {
        for (weights, expected) in [
            (&[][..], &[][..]),
            (&[2.0, 2.0], &[]),
            (&[3.0, 1.0], &[0, 0, 1, 0]),
            (&[0.3, 0.1], &[0, 0, 1, 0]),
            (&[1.0, 4.0, 2.0], &[1, 2, 1, 0, 1, 2, 1]),
        ] {
            assert_eq!(&*order(weights), expected, "{weights:?}");
        }
        let share = |weights: &[f64]| {
            let order = order(weights);
            let first = order.iter().filter(|place| **place == 0).count();
            (first, order.len())
        };
        assert_eq!(share(&[0.001, 0.999]), (1, 1000));
        assert_eq!(share(&[1e-9, 1.0]).0, 1);
        let (first, all) = share(&[1e300, 3e300]);
        assert_eq!(4 * first, all);
    }

    #[test]
    fn labels_beyond_the_last_are_counted_together() {
        let mut naming = Naming::default();
        for number in 0..1500 {
            let place = naming.place(&format!("/{number}"), false);
            assert_eq!(place, number.min(999));
        }
        assert_eq!(naming.place("/7", false), 7);
        let labels = naming.finish();
        let records = labels.records(&labels.tallies()).unwrap();
        assert_eq!(records.len(), 1000);
        assert_eq!(
            (&*records[999].label, records[999].grouped),
            ("(other)", Some(501))
        );
        assert_eq!(records[0].grouped, None);
    }

    #[test]
    fn one_label_is_none_unless_it_was_given() {
        for (is_given, count) in [(false, 0), (true, 1)] {
            let mut naming = Naming::default();
            naming.place("/", is_given);
            naming.place("/", false);
            assert_eq!(naming.finish().names().len(), count);
        }
    }

    proptest! {
        #[test]
        fn every_part_of_an_order_keeps_the_shares(weights in proptest::collection::vec(1_u32..20, 2..8)) {
            let most = weights.iter().map(|_| 1.0).sum::<f64>();
            let total: u32 = weights.iter().sum();
            let given: Vec<f64> = weights.iter().map(|weight| f64::from(*weight)).collect();
            let order = order(&given);
            let mut sent = vec![0.0; weights.len()];
            for (number, place) in (1..).zip(&order) {
                sent[*place as usize] += 1.0;
                for (sent, weight) in sent.iter().zip(&weights) {
                    let due = f64::from(number) * f64::from(*weight) / f64::from(total);
                    prop_assert!((sent - due).abs() <= most);
                }
            }
        }

        #[test]
        fn parts_add_up_to_the_whole(answers in proptest::collection::vec((100_u16..600, any::<bool>(), 0_u64..1 << 40), 0..50)) {
            let mut parts = [(); 3].map(|()| LabelTally::new(Times::with_digits(3)));
            for (number, (status, is_good, time_ns)) in answers.iter().enumerate() {
                for part in [0, 1 + number % 2] {
                    parts[part].answer(*status, *is_good, *time_ns);
                    parts[part].error(Failure::ConnectionReset);
                }
            }
            let [whole, mut first, second] = parts;
            first.merge(&second);
            prop_assert_eq!(first.statuses, whole.statuses);
            prop_assert_eq!(first.errors, whole.errors);
            prop_assert_eq!(first.failed_answers, whole.failed_answers);
            prop_assert_eq!(first.response.histogram(), whole.response.histogram());
        }
    }
}
