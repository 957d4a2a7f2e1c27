//! The message of a push: `ExportMetricsServiceRequest` of OTLP, with the numbers of its fields. No I/O.
//!
//! <https://github.com/open-telemetry/opentelemetry-proto>, version 1.

use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use dyno_load::Buckets;
use prost::{Message, Oneof};

use super::Part;
use crate::load::sums::Sums;

/// Buckets for each doubling of the time are 2 to this power, so that a quantile is accurate to 4.4 %.
const SCALE: i32 = 3;
/// Indexes of the first and the last bound: 0.95 us and 2.3 h.
const FIRST: i32 = -20 << SCALE;
const LAST: i32 = 13 << SCALE;
/// Sums and histograms count from their start.
const CUMULATIVE: i32 = 2;

/// Upper ends of the buckets in nanoseconds, rounded down: times are whole nanoseconds.
static BOUNDS_NS: LazyLock<Vec<u64>> = LazyLock::new(|| {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and below 2^63"
    )]
    let bound_ns = |index| (1e9 * bound_s(index)).floor() as u64;
    (FIRST..=LAST).map(bound_ns).collect()
});

/// Bounds of the histograms that [`request`] takes.
pub fn bounds_ns() -> &'static [u64] {
    &BOUNDS_NS
}

fn bound_s(index: i32) -> f64 {
    (f64::from(index) / f64::from(1 << SCALE)).exp2()
}

#[derive(Clone, PartialEq, Message)]
pub struct ExportRequest {
    #[prost(message, repeated, tag = "1")]
    pub resource_metrics: Vec<ResourceMetrics>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ResourceMetrics {
    #[prost(message, optional, tag = "1")]
    pub resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub scope_metrics: Vec<ScopeMetrics>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ScopeMetrics {
    #[prost(message, optional, tag = "1")]
    pub scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    pub metrics: Vec<Metric>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Scope {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub version: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct Metric {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub description: String,
    #[prost(string, tag = "3")]
    pub unit: String,
    #[prost(oneof = "Points", tags = "5, 7, 10")]
    pub points: Option<Points>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum Points {
    #[prost(message, tag = "5")]
    Gauge(Gauge),
    #[prost(message, tag = "7")]
    Sum(Sum),
    #[prost(message, tag = "10")]
    Histogram(Histogram),
}

#[derive(Clone, PartialEq, Message)]
pub struct Gauge {
    #[prost(message, repeated, tag = "1")]
    pub points: Vec<NumberPoint>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Sum {
    #[prost(message, repeated, tag = "1")]
    pub points: Vec<NumberPoint>,
    #[prost(int32, tag = "2")]
    pub temporality: i32,
    #[prost(bool, tag = "3")]
    pub is_monotonic: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct NumberPoint {
    #[prost(fixed64, tag = "2")]
    pub start_ns: u64,
    #[prost(fixed64, tag = "3")]
    pub time_ns: u64,
    #[prost(oneof = "Number", tags = "4, 6")]
    pub number: Option<Number>,
    #[prost(message, repeated, tag = "7")]
    pub attributes: Vec<Attribute>,
}

#[derive(Clone, Copy, PartialEq, Oneof)]
pub enum Number {
    #[prost(double, tag = "4")]
    Double(f64),
    #[prost(sfixed64, tag = "6")]
    Whole(i64),
}

/// `ExponentialHistogram`.
#[derive(Clone, PartialEq, Message)]
pub struct Histogram {
    #[prost(message, repeated, tag = "1")]
    pub points: Vec<HistogramPoint>,
    #[prost(int32, tag = "2")]
    pub temporality: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct HistogramPoint {
    #[prost(message, repeated, tag = "1")]
    pub attributes: Vec<Attribute>,
    #[prost(fixed64, tag = "2")]
    pub start_ns: u64,
    #[prost(fixed64, tag = "3")]
    pub time_ns: u64,
    #[prost(fixed64, tag = "4")]
    pub count: u64,
    #[prost(double, optional, tag = "5")]
    pub sum: Option<f64>,
    #[prost(sint32, tag = "6")]
    pub scale: i32,
    #[prost(fixed64, tag = "7")]
    pub zero_count: u64,
    #[prost(message, optional, tag = "8")]
    pub positive: Option<PointBuckets>,
    #[prost(double, tag = "14")]
    pub zero_threshold: f64,
}

#[derive(Clone, PartialEq, Message)]
pub struct PointBuckets {
    #[prost(sint32, tag = "1")]
    pub offset: i32,
    #[prost(uint64, repeated, tag = "2")]
    pub counts: Vec<u64>,
}

/// `KeyValue`.
#[derive(Clone, PartialEq, Message)]
pub struct Attribute {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(message, optional, tag = "2")]
    pub value: Option<Value>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Value {
    #[prost(oneof = "Scalar", tags = "1, 3")]
    pub scalar: Option<Scalar>,
}

#[derive(Clone, PartialEq, Eq, Oneof)]
pub enum Scalar {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(int64, tag = "3")]
    Whole(i64),
}

#[derive(Clone, PartialEq, Message)]
pub struct ExportResponse {
    #[prost(message, optional, tag = "1")]
    pub partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Eq, Message)]
pub struct PartialSuccess {
    #[prost(int64, tag = "1")]
    pub rejected: i64,
    #[prost(string, tag = "2")]
    pub message: String,
}

/// An attribute whose value is a text.
pub fn text(key: &str, value: impl Into<String>) -> Attribute {
    attribute(key, Scalar::Text(value.into()))
}

/// An attribute whose value is a whole number.
pub fn whole(key: &str, value: impl TryInto<i64>) -> Attribute {
    attribute(key, Scalar::Whole(value.try_into().unwrap_or(i64::MAX)))
}

fn attribute(key: &str, scalar: Scalar) -> Attribute {
    Attribute {
        key: key.to_owned(),
        value: Some(Value {
            scalar: Some(scalar),
        }),
    }
}

/// The message about the parts of a load; `target` describes its requests, in the metrics of the semantic conventions.
pub fn request(
    resource: &[Attribute],
    target: &[Attribute],
    parts: &[Part],
    now: SystemTime,
) -> ExportRequest {
    let metrics = Metrics { target, parts, now };
    ExportRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource {
                attributes: resource.to_vec(),
            }),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(Scope {
                    name: "httpdyno".to_owned(),
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                }),
                metrics: metrics.all(),
            }],
        }],
    }
}

struct Metrics<'m> {
    target: &'m [Attribute],
    parts: &'m [Part],
    now: SystemTime,
}

impl Metrics<'_> {
    fn all(&self) -> Vec<Metric> {
        let one = |read: fn(&Sums) -> u64| move |sums: &Sums| vec![(None, read(sums))];
        let mut all = vec![
            self.histogram(
                "http.client.request.duration",
                "Time from when a request was due to the end of its answer.",
                |sums| {
                    let mut points = vec![(self.target.to_vec(), &sums.response)];
                    if sums.failed_answers > 0 {
                        let failed = [self.target, &[text("error.type", "_OTHER")]].concat();
                        points.push((failed, &sums.failed));
                    }
                    points
                },
            ),
            self.active_requests(),
            self.counter(
                "requests_sent",
                "{request}",
                "Requests sent.",
                one(|sums| sums.sent),
            ),
            self.counter(
                "requests",
                "{request}",
                "Complete answers by status.",
                |sums| {
                    let each = sums.statuses.iter();
                    let status = |status: u16| Some(whole("http.response.status_code", status));
                    each.map(|(code, count)| (status(*code), *count)).collect()
                },
            ),
            self.counter(
                "errors",
                "{request}",
                "Requests without an answer by cause.",
                |sums| {
                    let each = sums.errors.iter();
                    each.map(|(kind, count)| (Some(text("error.type", *kind)), *count))
                        .collect()
                },
            ),
            self.counter(
                "failed_answers",
                "{request}",
                "Answers that are not good: neither 2xx nor 3xx, or refused by a check.",
                one(|sums| sums.failed_answers),
            ),
            self.counter(
                "content",
                "By",
                "Content received.",
                one(|sums| sums.content_bytes),
            ),
            self.counter(
                "connections_opened",
                "{connection}",
                "Connections opened.",
                one(|sums| sums.opened),
            ),
            self.counter(
                "connections_failed",
                "{connection}",
                "Failed attempts to connect.",
                one(|sums| sums.not_opened),
            ),
        ];
        if self.parts.iter().any(|part| part.sums.rate.is_some()) {
            all.push(self.target_rate());
            all.push(self.histogram(
                "httpdyno.send_lag",
                "Delay of the generator beyond the moment at which it could send.",
                |sums| vec![(Vec::new(), &sums.send_lag)],
            ));
        }
        all
    }

    fn times_ns(&self, part: &Part) -> (u64, u64) {
        let ns = |moment: SystemTime| {
            let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
        };
        (ns(part.began), ns(part.ended.unwrap_or(self.now)))
    }

    fn number(&self, part: &Part, own: &[Attribute], number: Number) -> NumberPoint {
        let (start_ns, time_ns) = self.times_ns(part);
        NumberPoint {
            start_ns,
            time_ns,
            number: Some(number),
            attributes: [&part.attributes(), own].concat(),
        }
    }

    fn counter(
        &self,
        name: &str,
        unit: &str,
        description: &str,
        read: impl Fn(&Sums) -> Vec<(Option<Attribute>, u64)>,
    ) -> Metric {
        let points = self.parts.iter().flat_map(|part| {
            let values = read(&part.sums).into_iter();
            values.map(|(own, count)| self.number(part, own.as_slice(), of_count(count)))
        });
        let sum = Sum {
            points: points.collect(),
            temporality: CUMULATIVE,
            is_monotonic: true,
        };
        metric(
            &format!("httpdyno.{name}"),
            unit,
            description,
            Points::Sum(sum),
        )
    }

    fn active_requests(&self) -> Metric {
        let points = self.parts.iter().map(|part| {
            let is_running = part.ended.is_none();
            let in_flight = if is_running { part.sums.in_flight } else { 0 };
            self.number(part, self.target, of_count(in_flight))
        });
        let sum = Sum {
            points: points.collect(),
            temporality: CUMULATIVE,
            is_monotonic: false,
        };
        metric(
            "http.client.active_requests",
            "{request}",
            "Requests in flight.",
            Points::Sum(sum),
        )
    }

    fn target_rate(&self) -> Metric {
        let points = self.parts.iter().filter_map(|part| {
            let rate = part.sums.target_rate()?;
            Some(self.number(part, &[], Number::Double(rate)))
        });
        let gauge = Gauge {
            points: points.collect(),
        };
        metric(
            "httpdyno.target_requests",
            "{request}/s",
            "Rate of the schedule.",
            Points::Gauge(gauge),
        )
    }

    fn histogram<'p>(
        &'p self,
        name: &str,
        description: &str,
        read: impl Fn(&'p Sums) -> Vec<(Vec<Attribute>, &'p Buckets)>,
    ) -> Metric {
        let points = self.parts.iter().flat_map(|part| {
            let (start_ns, time_ns) = self.times_ns(part);
            let values = read(&part.sums).into_iter();
            values.map(move |(own, buckets)| HistogramPoint {
                attributes: [part.attributes(), own].concat(),
                start_ns,
                time_ns,
                ..point(buckets)
            })
        });
        let histogram = Histogram {
            points: points.collect(),
            temporality: CUMULATIVE,
        };
        metric(name, "s", description, Points::Histogram(histogram))
    }
}

fn metric(name: &str, unit: &str, description: &str, points: Points) -> Metric {
    Metric {
        name: name.to_owned(),
        description: description.to_owned(),
        unit: unit.to_owned(),
        points: Some(points),
    }
}

fn of_count(count: u64) -> Number {
    Number::Whole(i64::try_from(count).unwrap_or(i64::MAX))
}

/// The buckets from the first to the last with a count. Times up to the first bound are the zero bucket's.
fn point(buckets: &Buckets) -> HistogramPoint {
    let (zero_count, counts) = match buckets.counts.split_first() {
        Some((zero_count, counts)) => (*zero_count, counts),
        None => (0, &[][..]),
    };
    let is_used = |count: &u64| *count > 0;
    let first = counts.iter().position(is_used);
    let last = counts.iter().rposition(is_used);
    let positive = first.zip(last).map(|(first, last)| PointBuckets {
        // The bucket with this index ends at the bound with the next one.
        offset: FIRST + i32::try_from(first).unwrap_or(0),
        counts: counts[first..=last].to_vec(),
    });
    HistogramPoint {
        count: buckets.counts.iter().sum(),
        sum: Some(buckets.sum_s),
        scale: SCALE,
        zero_count,
        positive,
        zero_threshold: bound_s(FIRST),
        ..HistogramPoint::default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_histogram_without_times_has_no_buckets() {
        let point = point(&Buckets::default());
        assert_eq!(
            (point.count, point.zero_count, point.positive),
            (0, 0, None)
        );
    }

    proptest! {
        #[test]
        fn every_time_is_within_its_bucket(time_ns in 0_u64..8_000_000_000_000) {
            let bounds_ns = bounds_ns();
            let mut counts = vec![0; bounds_ns.len() + 1];
            counts[bounds_ns.partition_point(|bound_ns| *bound_ns < time_ns)] = 7;
            let point = point(&Buckets { counts, sum_s: 1.0 });
            #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
            let time_s = time_ns as f64 / 1e9;
            prop_assert_eq!(point.count, 7);
            match point.positive {
                None => {
                    prop_assert_eq!(point.zero_count, 7);
                    prop_assert!(time_s <= point.zero_threshold);
                }
                Some(buckets) => {
                    prop_assert_eq!((point.zero_count, &*buckets.counts), (0, &[7][..]));
                    prop_assert!(bound_s(buckets.offset) < time_s);
                    prop_assert!(time_s <= bound_s(buckets.offset + 1));
                }
            }
        }
    }
}
