//! Counts of one thread, and their sum over all threads for the report.

use std::collections::BTreeMap;

use dyno_http::{HttpVersion, PerVersion};
use dyno_web::{Coding, Fault};
use hdrhistogram::Histogram;

use crate::bounds::Distinct;
use crate::report::{Lateness, OriginReport};
use crate::throughput::{Bins, Throughput};
use crate::user_agents::UserAgents;

/// Number of possible statuses, which have three digits.
const STATUSES: usize = 1_000;
/// Limit of names with a fault, or with a status of 400 or more, that are kept.
const FAULTY_NAMES: usize = 100;

/// The counts of one thread; nothing is shared, so counting is a plain addition.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) connections: u64,
    pub(crate) handshakes_full: u64,
    pub(crate) handshakes_resumed: u64,
    pub(crate) handshakes_failed: u64,
    /// Failed handshakes in which the client sent an alert, although the host has no TLS fault: it does not trust the
    /// certificate.
    pub(crate) handshakes_refused: u64,
    pub(crate) tls_1_2: u64,
    pub(crate) tls_1_3: u64,
    pub(crate) requests: u64,
    pub(crate) requests_by_version: PerVersion<u64>,
    pub(crate) reused: u64,
    pub(crate) dns_queries: u64,
    /// Connections and DNS queries dropped because of limits: too many, or idle.
    pub(crate) crowded_out: u64,
    pub(crate) idle: u64,
    pub(crate) unanswered: u64,
    /// Fingerprints of name and type.
    pub(crate) dns_seen: Distinct,
    /// The first requested names with a fault of any layer.
    pub(crate) faulty_names: BTreeMap<String, Fault>,
    /// The first names for which the web chose a status of 400 or more, with the first such status.
    pub(crate) refusing_names: BTreeMap<String, u16>,
    pub(crate) user_agents: UserAgents,
    pub(crate) bins: Bins,
    statuses: Box<[u64; STATUSES]>,
    codings: [u64; 4],
    faults: Vec<u64>,
    lateness: Histogram<u64>,
    /// Exact, while the histogram rounds.
    lateness_sum_ns: u64,
}

impl Counters {
    /// Creates counters at 0, which remember the last `most_names` names, or all.
    pub(crate) fn new(most_names: Option<usize>) -> Self {
        Self {
            connections: 0,
            handshakes_full: 0,
            handshakes_resumed: 0,
            handshakes_failed: 0,
            handshakes_refused: 0,
            tls_1_2: 0,
            tls_1_3: 0,
            requests: 0,
            requests_by_version: PerVersion::default(),
            reused: 0,
            dns_queries: 0,
            crowded_out: 0,
            idle: 0,
            unanswered: 0,
            dns_seen: Distinct::new(most_names),
            faulty_names: BTreeMap::new(),
            refusing_names: BTreeMap::new(),
            user_agents: UserAgents::default(),
            bins: Bins::default(),
            statuses: Box::new([0; STATUSES]),
            codings: [0; 4],
            faults: vec![0; Fault::ALL.len()],
            lateness: new_lateness(),
            lateness_sum_ns: 0,
        }
    }

    pub(crate) fn status(&mut self, status: u16) {
        self.statuses[usize::from(status).min(STATUSES - 1)] += 1;
    }

    pub(crate) fn coding(&mut self, coding: Coding) {
        self.codings[coding as usize] += 1;
    }

    pub(crate) fn fault(&mut self, fault: Fault) {
        self.faults[fault as usize] += 1;
    }

    pub(crate) fn faulty_name(&mut self, name: String, fault: Fault) {
        if self.faulty_names.len() < FAULTY_NAMES {
            self.faulty_names.insert(name, fault);
        }
    }

    /// Notes a status that the web chose for a name.
    pub(crate) fn chosen(&mut self, name: &str, status: u16) {
        if status >= 400
            && self.refusing_names.len() < FAULTY_NAMES
            && !self.refusing_names.contains_key(name)
        {
            self.refusing_names.insert(name.to_owned(), status);
        }
    }

    pub(crate) fn lateness(&mut self, late_ns: u64) {
        self.lateness.saturating_record(late_ns);
        self.lateness_sum_ns += late_ns;
    }
}

/// Histogram from nanoseconds to minutes with three digits: 0.1 % of any value.
fn new_lateness() -> Histogram<u64> {
    Histogram::new_with_max(600_000_000_000, 3).expect("bounds and digits are in range")
}

/// Adds the counters of all threads, except figures that exist only for the whole origin.
pub(crate) fn merge(threads: Vec<Counters>) -> (OriginReport, Throughput) {
    let sum = |count: fn(&Counters) -> u64| threads.iter().map(count).sum::<u64>();
    let dns_queries = sum(|thread| thread.dns_queries);
    let dns_distinct = Distinct::count(threads.iter().map(|thread| &thread.dns_seen));
    let mut lateness = new_lateness();
    for thread in &threads {
        lateness
            .add(&thread.lateness)
            .expect("both have the same bounds");
    }
    let report = OriginReport {
        connections: sum(|thread| thread.connections),
        handshakes_full: sum(|thread| thread.handshakes_full),
        handshakes_resumed: sum(|thread| thread.handshakes_resumed),
        handshakes_failed: sum(|thread| thread.handshakes_failed),
        tls_versions: present([
            ("1.2", sum(|thread| thread.tls_1_2)),
            ("1.3", sum(|thread| thread.tls_1_3)),
        ]),
        http_versions: present(
            HttpVersion::ALL.map(|version| (version.number(), requests_in(&threads, version))),
        ),
        requests: sum(|thread| thread.requests),
        reused: sum(|thread| thread.reused),
        let_go: present([
            ("connections", sum(|thread| thread.crowded_out)),
            ("idle_connections", sum(|thread| thread.idle)),
            ("dns_queries", sum(|thread| thread.unanswered)),
        ]),
        dns_queries,
        dns_repeated: dns_queries - dns_distinct,
        statuses: statuses(&threads),
        codings: present(CODINGS.map(|coding| (coding.name(), coded(&threads, coding)))),
        faults: present(
            Fault::ALL
                .iter()
                .map(|&fault| (fault.name(), injected(&threads, fault))),
        ),
        lateness_ns: Lateness {
            count: lateness.len(),
            mean: sum(|thread| thread.lateness_sum_ns)
                .checked_div(lateness.len())
                .unwrap_or(0),
            p50: lateness.value_at_quantile(0.5),
            p99: lateness.value_at_quantile(0.99),
            max: lateness.max(),
        },
        ..OriginReport::default()
    };
    let throughput = Bins::merge(threads.iter().map(|thread| &thread.bins));
    let user_agents = UserAgents::merge(threads.into_iter().map(|thread| thread.user_agents));
    let user_agents = user_agents.into_iter().collect();
    (
        OriginReport {
            user_agents,
            ..report
        },
        throughput,
    )
}

const CODINGS: [Coding; 4] = [Coding::Identity, Coding::Gzip, Coding::Br, Coding::Zstd];

/// Returns the counts that are not 0.
fn present(counts: impl IntoIterator<Item = (&'static str, u64)>) -> BTreeMap<&'static str, u64> {
    counts.into_iter().filter(|(_, count)| *count > 0).collect()
}

fn statuses(threads: &[Counters]) -> BTreeMap<String, u64> {
    (0..STATUSES)
        .map(|status| {
            (
                status,
                threads
                    .iter()
                    .map(|thread| thread.statuses[status])
                    .sum::<u64>(),
            )
        })
        .filter(|(_, count)| *count > 0)
        .map(|(status, count)| (status.to_string(), count))
        .collect()
}

fn requests_in(threads: &[Counters], version: HttpVersion) -> u64 {
    threads
        .iter()
        .map(|thread| thread.requests_by_version[version])
        .sum()
}

fn coded(threads: &[Counters], coding: Coding) -> u64 {
    threads
        .iter()
        .map(|thread| thread.codings[coding as usize])
        .sum()
}

fn injected(threads: &[Counters], fault: Fault) -> u64 {
    threads
        .iter()
        .map(|thread| thread.faults[fault as usize])
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up_and_what_never_occurred_is_absent() {
        let (mut first, mut second) = (Counters::new(None), Counters::new(None));
        first.status(200);
        second.status(200);
        second.status(404);
        first.coding(Coding::Br);
        second.fault(Fault::ShortChunked);
        first.requests_by_version[HttpVersion::Http11] = 2;
        second.requests_by_version[HttpVersion::Http11] = 3;
        second.requests_by_version[HttpVersion::Http2] = 4;
        (first.dns_queries, second.dns_queries) = (2, 1);
        first.dns_seen.insert(1);
        first.dns_seen.insert(2);
        second.dns_seen.insert(1);
        first.lateness(1_000);
        second.lateness(5_000_000);
        let (report, _) = merge(vec![first, second]);
        assert_eq!(
            report.statuses,
            [("200".to_owned(), 2), ("404".to_owned(), 1)].into()
        );
        assert_eq!(report.codings, [("br", 1)].into());
        assert_eq!(report.faults, [("short_chunked", 1)].into());
        assert_eq!(report.http_versions, [("1.1", 5), ("2", 4)].into());
        assert_eq!((report.dns_queries, report.dns_repeated), (3, 1));
        assert_eq!(
            (report.lateness_ns.count, report.lateness_ns.mean),
            (2, 2_500_500)
        );
        assert!(report.lateness_ns.max >= 5_000_000 && report.lateness_ns.p50 < 1_010);
    }

    #[test]
    fn every_fault_and_coding_has_its_own_place() {
        for (place, fault) in Fault::ALL.iter().enumerate() {
            assert_eq!(*fault as usize, place);
        }
        for (place, coding) in CODINGS.into_iter().enumerate() {
            assert_eq!(coding as usize, place);
        }
    }
}
