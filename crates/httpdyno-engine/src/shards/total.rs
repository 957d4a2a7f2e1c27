//! The report of all shards. URLs, statuses, errors and durations come from the rows, which have each URL once; counters
//! of requests, connections and bytes are the sums over all starts of all shards.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;
use serde_json::{Map, Value};

use super::manifest::Division;
use super::rows::Figures;
use crate::table::thousands;

/// The form of the report.
const SCHEMA: &str = "httpdyno-merge 1";
/// Keys of a report of `fetch` whose numbers can be added.
const ADDED: [&str; 13] = [
    "requests",
    "tolerated",
    "not_decoded",
    "left_https",
    "no_close_notify",
    "partial",
    "resent",
    "retried",
    "dead_hosts",
    "retry_after",
    "wire",
    "connections",
    "dns",
];

/// The report of all shards.
#[derive(Debug, Serialize)]
#[expect(
    clippy::struct_field_names,
    reason = "the names of the report of `fetch`"
)]
pub struct Total<'a> {
    schema: &'static str,
    #[serde(flatten)]
    division: &'a Division,
    urls: u64,
    statuses: &'a BTreeMap<u16, u64>,
    errors: &'a BTreeMap<String, u64>,
    errors_total: u64,
    durations: Durations,
    /// Starts of `fetch`, and those of them that were killed and left no report: their requests are not in `sums`.
    starts: u64,
    starts_without_report: u64,
    /// When the first began; `null` if all were killed.
    started: Option<&'a str>,
    /// Their times, added up.
    elapsed_s: f64,
    sums: &'a Map<String, Value>,
}

/// Times of URLs, in nanoseconds; `null` without URLs.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "each name contains its unit")]
struct Durations {
    mean_ns: Option<f64>,
    p50_ns: Option<u64>,
    p90_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
}

impl Durations {
    fn new(histogram: &Histogram<u64>) -> Self {
        let of = |value| (!histogram.is_empty()).then_some(value);
        Self {
            mean_ns: (!histogram.is_empty()).then(|| histogram.mean()),
            p50_ns: of(histogram.value_at_quantile(0.5)),
            p90_ns: of(histogram.value_at_quantile(0.9)),
            p99_ns: of(histogram.value_at_quantile(0.99)),
            max_ns: of(histogram.max()),
        }
    }
}

/// The reports of starts, added up one after the other.
#[derive(Debug, Default)]
pub struct Sums {
    starts: u64,
    starts_without_report: u64,
    started: Option<String>,
    elapsed_s: f64,
    counters: Map<String, Value>,
}

impl Sums {
    /// Adds the text of a report; that of a killed start is empty.
    pub fn add(&mut self, text: &[u8]) {
        self.starts += 1;
        let Ok(report) = serde_json::from_slice::<Map<String, Value>>(text) else {
            self.starts_without_report += 1;
            return;
        };
        for key in ADDED {
            if let Some(value) = report.get(key) {
                add(self.counters.entry(key).or_insert(Value::Null), value);
            }
        }
        if let Some(started) = report.get("started").and_then(Value::as_str)
            && self.started.as_deref().is_none_or(|first| started < first)
        {
            self.started = Some(started.to_owned());
        }
        let elapsed_s = report.get("elapsed_s").and_then(Value::as_f64);
        self.elapsed_s += elapsed_s.unwrap_or_default();
    }
}

impl<'a> Total<'a> {
    /// Creates the report from the figures of all rows and the sums of all starts.
    pub fn new(division: &'a Division, figures: &'a Figures, sums: &'a Sums) -> Self {
        Self {
            schema: SCHEMA,
            division,
            urls: figures.rows,
            statuses: &figures.statuses,
            errors: &figures.errors,
            errors_total: figures.errors.values().sum(),
            durations: Durations::new(&figures.durations),
            starts: sums.starts,
            starts_without_report: sums.starts_without_report,
            started: sums.started.as_deref(),
            elapsed_s: sums.elapsed_s,
            sums: &sums.counters,
        }
    }

    /// The counts in one line.
    pub fn summary(&self) -> String {
        format!(
            "{} {}, {} answered, {} failed",
            thousands(self.urls),
            if self.urls == 1 { "URL" } else { "URLs" },
            thousands(self.urls - self.errors_total),
            thousands(self.errors_total)
        )
    }
}

/// Adds numbers, also those within objects of the same keys.
fn add(sum: &mut Value, value: &Value) {
    match (&mut *sum, value) {
        (Value::Object(sum), Value::Object(value)) => {
            for (key, value) in value {
                add(sum.entry(key).or_insert(Value::Null), value);
            }
        }
        (Value::Null, value) => *sum = value.clone(),
        (Value::Number(first), Value::Number(second)) => {
            *sum = match (first.as_u64(), second.as_u64()) {
                (Some(first), Some(second)) => first.saturating_add(second).into(),
                _ => (first.as_f64().unwrap_or_default() + second.as_f64().unwrap_or_default())
                    .into(),
            };
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counters_of_all_starts_are_added() {
        let list = dyno_fetch::LinesDigest::default().lines();
        let division = Division::new(0, 2, list);
        let report = |requests: u64, started: &str, tolerated: Value| {
            let wire = json!({"sent_bytes": requests * 10});
            let report = json!({
                "version": 1, "started": started, "elapsed_s": 1.5, "requests": requests, "wire": wire,
                "retry_after": {"pauses": 1, "paused_s": 0.25}, "tolerated": tolerated, "urls": 7
            });
            serde_json::to_vec(&report).unwrap()
        };
        let reports = [
            report(3, "2026-01-02T00:00:00.000000Z", json!({"lf": 1})),
            Vec::new(),
            report(
                4,
                "2026-01-01T00:00:00.000000Z",
                json!({"lf": 2, "folded": 5}),
            ),
        ];
        let (figures, mut sums) = (Figures::default(), Sums::default());
        for report in &reports {
            sums.add(report);
        }
        let total = serde_json::to_value(Total::new(&division, &figures, &sums)).unwrap();
        assert_eq!(
            total["sums"],
            json!({
                "requests": 7, "wire": {"sent_bytes": 70}, "retry_after": {"pauses": 2, "paused_s": 0.5},
                "tolerated": {"lf": 3, "folded": 5}
            })
        );
        assert_eq!(
            (&total["starts"], &total["starts_without_report"]),
            (&json!(3), &json!(1))
        );
        assert_eq!(
            (&total["elapsed_s"], &total["urls"]),
            (&json!(3.0), &json!(0))
        );
        assert_eq!(total["started"], "2026-01-01T00:00:00.000000Z");
        assert_eq!(total["durations"]["p50_ns"], Value::Null);
    }
}
