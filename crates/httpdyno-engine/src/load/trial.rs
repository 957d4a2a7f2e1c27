//! A trial and its figures, with the names that tables, `--fail-if` and `compare` share.

use dyno_http::Deviation;
use dyno_load::find;
use dyno_load::{CheckExample, Judgement, LabelRecord, Report, Summary, Verdict, format_time};

use crate::table::{Kind, general, thousands};

/// Share of failed requests up to which only the tables mention them.
const MOST_FAILED_PERCENT: f64 = 1.0;

/// A trial that has ended.
#[derive(Debug)]
pub struct Trial {
    /// Number of the trial, from 0.
    pub number: usize,
    /// Description of the target in a few words.
    pub target: String,
    pub report: Report,
    /// Response times of good answers, including lower bounds for requests that had not ended.
    pub response: Option<Summary>,
}

impl Trial {
    pub fn new(number: usize, target: String, report: Report) -> Self {
        Self {
            number,
            target,
            response: report.response(),
            report,
        }
    }

    /// The verdict in one or two words.
    pub fn verdict(&self) -> &'static str {
        match &self.report.validity {
            Some(judged) => judged.verdict.name(),
            None if self.has_died() => "died",
            None => "interrupted",
        }
    }

    /// Whether requests failed and none was answered; the server had answered earlier trials.
    fn has_died(&self) -> bool {
        self.report.requests == 0 && self.report.errors_total > 0
    }

    /// Why the trial is not valid, or has no verdict.
    pub fn reason(&self) -> Option<String> {
        match &self.report.validity {
            Some(judged) => judged.reason.clone(),
            None if self.has_died() => Some(format!("no answer came: {}", self.fates())),
            None => Some(format!("stopped after {:.1} s", self.elapsed_s())),
        }
    }

    /// The first broken rule, or the verdict of a trial that was not judged: trials with the same key have the same
    /// kind of reason.
    pub fn reason_key(&self) -> &'static str {
        let judged = self.report.validity.as_ref();
        judged
            .and_then(Judgement::broken)
            .map_or_else(|| self.verdict(), |found| found.rule)
    }

    /// Describes the failed requests if they are more than 1 % of those that ended: `12 % of the requests failed: 20 x status 503`.
    pub fn failure_note(&self) -> Option<String> {
        let (failed, ended) = (self.report.failed(), self.report.ended());
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let percent = 100.0 * failed as f64 / ended as f64;
        // A trial without answers has its own message.
        if percent <= MOST_FAILED_PERCENT || self.report.requests == 0 || ended == 0 {
            return None;
        }
        let statuses = self.statuses().into_iter();
        let failed_answers = statuses
            .filter(|(status, _)| {
                self.report.checks.is_none() && !matches!(status.as_bytes()[0], b'2' | b'3')
            })
            .map(|(status, count)| (format!("status {status}"), count));
        let wrong = self
            .report
            .checks
            .as_ref()
            .map(|checks| checks.counts.wrong())
            .filter(|wrong| *wrong > 0);
        let wrong = wrong.map(|wrong| ("wrong by a check".to_owned(), wrong));
        let causes = most_frequent_first(
            self.failures()
                .into_iter()
                .chain(failed_answers)
                .chain(wrong),
        );
        let causes: Vec<String> = causes
            .iter()
            .map(|(name, count)| format!("{} x {name}", thousands(*count)))
            .collect();
        Some(format!(
            "{} % of the requests failed: {}",
            general(percent, 3),
            causes.join(", ")
        ))
    }

    /// The first wrong answer of each kind of check.
    pub fn wrong_examples(&self) -> &[CheckExample] {
        let checks = self.report.checks.as_ref();
        checks.map_or(&[], |checks| &checks.examples)
    }

    /// The end of a load whose data was used up.
    pub fn data_note(&self) -> Option<String> {
        let data = self.report.data.filter(|data| data.used_up)?;
        let warm_up = self.report.warm_up.as_ref();
        Some(format!(
            "the load ended with its data: {} rows, each picked once{}",
            thousands(data.rows as u64),
            warm_up.map_or("", |_| ", some of them in the warm-up")
        ))
    }

    /// Describes a replay: what was skipped, and how many requests were late.
    pub fn replay_note(&self) -> Option<String> {
        let replay = self.report.replay.as_ref()?;
        let late = replay.late_share.map_or_else(String::new, |share| {
            format!(
                "; {} % of the requests were sent more than 1 ms late",
                general(100.0 * share, 2)
            )
        });
        Some(format!("{}{late}", replay.summary))
    }

    /// Describes what ended a load with `--until`, with the interval.
    pub fn until_note(&self) -> Option<String> {
        let until = self.report.until.as_ref()?;
        let interval = until
            .estimate_ns
            .zip(until.low_ns)
            .zip(until.high_ns)
            .zip(until.half_width_share);
        let found = interval.map_or_else(
            || {
                "there is no interval: too few answers, or they depend on each other too much"
                    .to_owned()
            },
            |(((estimate_ns, low_ns), high_ns), share)| {
                let [estimate, low, high] = [estimate_ns, low_ns, high_ns].map(format_time);
                format!(
                    "{estimate}, 95 % interval {low} to {high}, {} % to each side",
                    general(100.0 * share, 2)
                )
            },
        );
        let how = if until.is_met {
            "ended by"
        } else {
            "ended without"
        };
        Some(format!("{how} {}: {found}", until.condition))
    }

    /// Describes the warm-up: `warm-up: 10 s, 20,000 requests, left out`, with those of them that failed.
    pub fn warm_up_note(&self) -> Option<String> {
        let warm_up = self.report.warm_up.as_ref()?;
        let failures = warm_up.failures.iter();
        let causes = most_frequent_first(failures.map(|(name, count)| (name.clone(), *count)));
        let failed: u64 = causes.iter().map(|(_, count)| count).sum();
        let causes: Vec<String> = causes
            .iter()
            .map(|(name, count)| format!("{} x {name}", thousands(*count)))
            .collect();
        let failed = match failed {
            0 => String::new(),
            failed => format!(
                "; {} of them failed: {}",
                thousands(failed),
                causes.join(", ")
            ),
        };
        Some(format!(
            "warm-up: {} s, {} requests, left out{failed}",
            general(warm_up.duration_s, 3),
            thousands(warm_up.requests)
        ))
    }

    /// A note on requests whose `Expect: 100-continue` had no answer.
    pub fn expect_note(&self) -> Option<String> {
        let record = self.report.expect_continue?;
        (record.silent > 0).then(|| {
            format!(
                "Expect: 100-continue: {} of {} requests waited a second without an answer; their times include it",
                thousands(record.silent),
                thousands(record.continued + record.answered + record.silent)
            )
        })
    }

    /// Describes odd answers that were accepted: `VALID: 3 answers had LF line ends, 2 folded fields`.
    pub fn tolerated_note(&self) -> Option<String> {
        let counts = most_frequent_first(Deviation::ALL.into_iter().filter_map(|deviation| {
            let count = self.report.tolerated.get(deviation.name())?;
            Some((deviation.description().to_owned(), *count))
        }));
        let parts: Vec<String> = counts
            .iter()
            .enumerate()
            .map(|(place, (description, count))| {
                let had = match (place, count) {
                    (0, 1) => " answer had",
                    (0, _) => " answers had",
                    _ => "",
                };
                format!("{}{had} {description}", thousands(*count))
            })
            .collect();
        (!parts.is_empty()).then(|| self.after_verdict(&parts.join(", ")))
    }

    /// A remark on the load, after its verdict: that of a load which is not valid has reasons of its own.
    pub fn after_verdict(&self, note: &str) -> String {
        match self.verdict() {
            valid @ "VALID" => format!("{valid}: {note}"),
            _ => note.to_owned(),
        }
    }

    /// Describes the proxies, and the cure if one wants credentials.
    pub fn proxy_note(&self) -> Option<String> {
        let proxy = self.report.plan.proxy.as_ref()?;
        let wants_credentials = self.report.statuses.contains_key(&407);
        let cure = if wants_credentials {
            "; status 407: it wants credentials, --proxy http://user:password@host:port"
        } else {
            ""
        };
        Some(format!(
            "proxy: {proxy}; figures are those of proxy and server together{cure}"
        ))
    }

    /// Counts of requests without an answer, by cause: `3,015 x ConnectionRefused`.
    pub fn fates(&self) -> String {
        let failures = self.failures();
        let mut counts: Vec<String> = failures
            .iter()
            .map(|(name, count)| format!("{} x {name}", thousands(*count)))
            .collect();
        for (count, words) in [
            (self.report.censored.count, "still open at the end"),
            (self.report.unsent, "due and never sent"),
        ] {
            if count > 0 {
                counts.push(format!("{} {words}", thousands(count)));
            }
        }
        if counts.is_empty() {
            let stopped = self.report.interrupted && self.report.warm_up.is_some();
            let used_up = self.report.data.filter(|data| data.used_up);
            return match used_up {
                _ if stopped => "stopped in the warm-up".to_owned(),
                Some(data) => format!(
                    "the warm-up picked each of the {} rows of --data; add rows, or shorten --warm-up",
                    thousands(data.rows as u64)
                ),
                None => "nothing was sent".to_owned(),
            };
        }
        counts.join(", ")
    }

    /// Whether the generator limited the load, so that rates and times do not describe the server.
    pub fn is_generator_limited(&self) -> bool {
        let validity = self.report.validity.as_ref();
        validity.is_some_and(|judged| judged.verdict == Verdict::GeneratorLimited)
    }

    /// Maximum number of requests in flight at once.
    pub fn concurrency(&self) -> usize {
        self.report.plan.connections * self.report.plan.streams
    }

    /// Requests by label, where there are labels.
    pub fn labels(&self) -> &[LabelRecord] {
        self.report.labels.as_deref().unwrap_or_default()
    }

    /// Answers by status, the most frequent first.
    pub fn statuses(&self) -> Vec<(String, u64)> {
        let statuses = self.report.statuses.iter();
        most_frequent_first(statuses.map(|(status, count)| (status.to_string(), *count)))
    }

    /// Failures by name, the most frequent first.
    pub fn failures(&self) -> Vec<(String, u64)> {
        let errors = self.report.errors.iter();
        most_frequent_first(errors.map(|(name, count)| ((*name).to_owned(), *count)))
    }

    /// The distribution of one kind of time; `None` if nothing was measured.
    pub fn times(&self, of: Times) -> Option<&Summary> {
        let phases = &self.report.phases;
        let times = match of {
            Times::Response => self.response.as_ref(),
            Times::All => self
                .report
                .response_time_all
                .as_ref()
                .or(self.response.as_ref()),
            Times::Service => Some(&self.report.service_time),
            Times::SendLag => self.report.send_lag.as_ref(),
            Times::Dns => phases.dns.as_ref(),
            Times::Connect => phases.connect.as_ref(),
            Times::Tls => phases.tls.as_ref(),
            Times::FirstByte => phases.first_byte.as_ref(),
            Times::Content => phases.content.as_ref(),
        };
        times.and_then(Summary::some)
    }

    /// The elapsed time, rounded to nanoseconds.
    pub fn elapsed_s(&self) -> f64 {
        nanoseconds(self.report.elapsed_s) / 1e9
    }

    fn cpu_s(&self) -> f64 {
        let [user, system] = [self.report.cpu_user_s, self.report.cpu_system_s].map(nanoseconds);
        (user + system) / 1e9
    }

    fn has_status(&self, is_counted: impl Fn(&str) -> bool) -> u64 {
        let statuses = self.report.statuses.iter();
        statuses
            .filter(|(status, _)| is_counted(&status.to_string()))
            .map(|(_, count)| count)
            .sum()
    }
}

pub fn most_frequent_first(counts: impl Iterator<Item = (String, u64)>) -> Vec<(String, u64)> {
    let mut counts: Vec<(String, u64)> = counts.collect();
    counts.sort_by(|(name, count), (other, more)| more.cmp(count).then_with(|| name.cmp(other)));
    counts
}

fn nanoseconds(seconds: f64) -> f64 {
    (seconds * 1e9).round_ties_even()
}

/// The kinds of time that have a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// Response times of good answers.
    Response,
    /// Response times of all answers.
    All,
    Service,
    SendLag,
    Dns,
    Connect,
    Tls,
    FirstByte,
    Content,
}

impl Times {
    /// All kinds, in the order of tables.
    pub const ALL: [Self; 9] = [
        Self::Response,
        Self::All,
        Self::Service,
        Self::SendLag,
        Self::Dns,
        Self::Connect,
        Self::Tls,
        Self::FirstByte,
        Self::Content,
    ];

    /// The prefix of the figures' names; empty for the response time: `p99`.
    const fn prefix(self) -> &'static str {
        match self {
            Self::Response => "",
            Self::All => "all_",
            Self::Service => "service_",
            Self::SendLag => "send_lag_",
            Self::Dns => "dns_",
            Self::Connect => "connect_",
            Self::Tls => "tls_",
            Self::FirstByte => "first_byte_",
            Self::Content => "content_",
        }
    }

    /// The heading of its row.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Response => "response time",
            Self::All => "of all answers",
            Self::Service => "service time",
            Self::SendLag => "send lag",
            Self::Dns => "DNS",
            Self::Connect => "connect",
            Self::Tls => "TLS",
            Self::FirstByte => "first byte",
            Self::Content => "content",
        }
    }
}

/// Reads a figure of a distribution, in nanoseconds.
pub type Percentile = fn(&Summary) -> f64;

/// The figures of a distribution, by name.
#[expect(clippy::cast_precision_loss, reason = "times of less than months")]
const PERCENTILES: [(&str, Percentile); 9] = [
    ("mean", |times| times.mean_ns),
    ("p50", |times| times.p50_ns as f64),
    ("p75", |times| times.p75_ns as f64),
    ("p90", |times| times.p90_ns as f64),
    ("p95", |times| times.p95_ns as f64),
    ("p99", |times| times.p99_ns as f64),
    ("p99_9", |times| times.p99_9_ns as f64),
    ("p99_99", |times| times.p99_99_ns as f64),
    ("max", |times| times.max_ns as f64),
];

/// Finds a figure of a distribution by its name, or in the form that users write: `p99.9`.
pub fn percentile(name: &str) -> Option<Percentile> {
    let name = name.replace('.', "_");
    let known = PERCENTILES.iter().find(|(known, _)| *known == name);
    known.map(|(_, read)| *read)
}

/// The source of a figure.
#[derive(Clone, Copy)]
enum Figure {
    Of(fn(&Trial) -> Option<f64>),
    /// In milliseconds.
    Time(Times, Percentile),
    OfLabel(fn(&LabelRecord) -> Option<f64>),
    /// Of the response time, in milliseconds.
    TimeOfLabel(Percentile),
}

/// A figure of a trial.
pub struct Metric {
    pub name: String,
    /// The label whose figure it is; `None`: the whole load's.
    pub label: Option<String>,
    pub kind: Kind,
    /// Decimals in a table; 0: a whole number.
    pub decimals: usize,
    figure: Figure,
}

impl Metric {
    /// Whether it is a time of good answers.
    pub const fn is_of_good_answers(&self) -> bool {
        matches!(
            self.figure,
            Figure::Time(
                Times::Response | Times::Service | Times::FirstByte | Times::Content,
                _
            ) | Figure::TimeOfLabel(_)
        )
    }

    /// The rate that a search found. After a search without a result it is not measured.
    pub fn found() -> Self {
        Self {
            name: "found".to_owned(),
            label: None,
            kind: Kind::Number,
            decimals: 1,
            figure: Figure::Of(|trial| {
                let found = trial.report.found.as_ref()?;
                matches!(
                    found.find.verdict,
                    find::Verdict::Found | find::Verdict::TwoStates
                )
                .then_some(found.found_per_s)
                .flatten()
            }),
        }
    }

    /// The value in the unit of its column; `None` if the trial has none.
    pub fn figure(&self, trial: &Trial) -> Option<f64> {
        match self.figure {
            Figure::Of(read) => read(trial),
            Figure::Time(times, read) => trial.times(times).map(|times| read(times) * 1e-6),
            Figure::OfLabel(read) => read(self.label_of(trial)?),
            Figure::TimeOfLabel(read) => {
                let times = self.label_of(trial)?.response_time.as_ref()?;
                Some(read(times) * 1e-6)
            }
        }
    }

    /// What was counted for its label.
    pub fn label_of<'t>(&self, trial: &'t Trial) -> Option<&'t LabelRecord> {
        let label = self.label.as_ref()?;
        trial.labels().iter().find(|of| of.label == *label)
    }

    /// The name with the label: `checkout.p99`.
    pub fn full_name(&self) -> String {
        match &self.label {
            Some(label) => format!("{label}.{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// Every figure, in the order of the columns for programs.
pub fn metrics() -> Vec<Metric> {
    let mut all = figures(&BEFORE_TIMES);
    for times in Times::ALL {
        all.extend(PERCENTILES.iter().map(|(name, read)| Metric {
            name: format!("{}{name}", times.prefix()),
            label: None,
            kind: Kind::Time,
            decimals: 6,
            figure: Figure::Time(times, *read),
        }));
    }
    all.extend(figures(&AFTER_TIMES));
    all
}

/// The figures of a label.
#[expect(clippy::cast_precision_loss, reason = "counts")]
pub fn label_metrics(label: &str) -> Vec<Metric> {
    let metric = |name: &str, kind, decimals, figure| Metric {
        name: name.to_owned(),
        label: Some(label.to_owned()),
        kind,
        decimals,
        figure,
    };
    let count = |name, read| metric(name, Kind::Integer, 0, Figure::OfLabel(read));
    let mut all = vec![
        count("requests", |of| Some(of.requests as f64)),
        count("errors", |of| {
            Some((of.errors_total + of.failed_answers) as f64)
        }),
        count("not_2xx", |of| {
            let others = of.statuses.iter().filter(|(status, _)| **status / 100 != 2);
            Some(others.map(|(_, count)| *count).sum::<u64>() as f64)
        }),
    ];
    let times = PERCENTILES.iter();
    all.extend(times.map(|(name, read)| metric(name, Kind::Time, 6, Figure::TimeOfLabel(*read))));
    all
}

type FigureRow = (&'static str, Kind, usize, fn(&Trial) -> Option<f64>);

fn figures(rows: &[FigureRow]) -> Vec<Metric> {
    let metric = |(name, kind, decimals, read): &FigureRow| Metric {
        name: (*name).to_owned(),
        label: None,
        kind: *kind,
        decimals: *decimals,
        figure: Figure::Of(*read),
    };
    rows.iter().map(metric).collect()
}

#[expect(
    clippy::cast_precision_loss,
    clippy::unnecessary_wraps,
    reason = "counts and bytes, as every figure is read"
)]
const fn count(number: u64) -> Option<f64> {
    Some(number as f64)
}

#[expect(clippy::cast_precision_loss, reason = "counts")]
const BEFORE_TIMES: [FigureRow; 5] = [
    ("requests", Kind::Integer, 0, |trial| {
        count(trial.report.requests)
    }),
    ("rps", Kind::Number, 1, |trial| Some(trial.report.rps)),
    ("errors", Kind::Integer, 0, |trial| {
        count(trial.report.failed())
    }),
    ("error_share", Kind::Number, 6, |trial| {
        let ended = trial.report.ended();
        (ended > 0).then(|| trial.report.failed() as f64 / ended as f64)
    }),
    ("resent", Kind::Integer, 0, |trial| {
        count(trial.report.resent)
    }),
];

#[expect(clippy::cast_precision_loss, reason = "counts")]
const AFTER_TIMES: [FigureRow; 25] = [
    ("sent", Kind::Integer, 0, |trial| count(trial.report.sent)),
    ("censored", Kind::Integer, 0, |trial| {
        count(trial.report.censored.count)
    }),
    ("censored_oldest", Kind::Time, 6, |trial| {
        trial
            .report
            .censored
            .oldest_ns
            .map(|age_ns| age_ns as f64 * 1e-6)
    }),
    ("unsent", Kind::Integer, 0, |trial| {
        trial
            .report
            .plan
            .rate_per_s
            .and_then(|_| count(trial.report.unsent))
    }),
    ("checks", Kind::Integer, 0, |trial| {
        let checks = trial.report.checks.as_ref();
        checks.and_then(|checks| count(checks.counts.wrong()))
    }),
    ("not_2xx", Kind::Integer, 0, |trial| {
        count(trial.has_status(|status| !status.starts_with('2')))
    }),
    ("2xx", Kind::Integer, 0, |trial| {
        count(trial.has_status(|status| status.starts_with('2')))
    }),
    ("3xx", Kind::Integer, 0, |trial| {
        count(trial.has_status(|status| status.starts_with('3')))
    }),
    ("4xx", Kind::Integer, 0, |trial| {
        count(trial.has_status(|status| status.starts_with('4')))
    }),
    ("5xx", Kind::Integer, 0, |trial| {
        count(trial.has_status(|status| status.starts_with('5')))
    }),
    ("elapsed_s", Kind::Number, 6, |trial| {
        Some(nanoseconds(trial.report.elapsed_s) * 1e-9)
    }),
    ("sent_bytes", Kind::Size, 0, |trial| {
        count(trial.report.wire.sent_bytes)
    }),
    ("received_bytes", Kind::Size, 0, |trial| {
        count(trial.report.wire.received_bytes)
    }),
    ("content_bytes", Kind::Size, 0, |trial| {
        count(trial.report.wire.content_bytes)
    }),
    ("connections_opened", Kind::Integer, 0, |trial| {
        count(trial.report.connections.opened)
    }),
    ("connections_failed", Kind::Integer, 0, |trial| {
        count(trial.report.connections.failed)
    }),
    ("tls_full", Kind::Integer, 0, |trial| {
        count(trial.report.connections.tls_full)
    }),
    ("tls_resumed", Kind::Integer, 0, |trial| {
        count(trial.report.connections.tls_resumed)
    }),
    ("cpu_s", Kind::Number, 6, |trial| Some(trial.cpu_s())),
    ("cpu_user_s", Kind::Number, 6, |trial| {
        Some(nanoseconds(trial.report.cpu_user_s) * 1e-9)
    }),
    ("cpu_system_s", Kind::Number, 6, |trial| {
        Some(nanoseconds(trial.report.cpu_system_s) * 1e-9)
    }),
    ("requests_per_cpu_s", Kind::Number, 1, |trial| {
        let cpu_s = trial.cpu_s();
        (cpu_s > 0.0).then(|| trial.report.requests as f64 / cpu_s)
    }),
    ("busy_share", Kind::Number, 4, |trial| {
        trial.report.busy_share()
    }),
    ("waiting_share", Kind::Number, 4, |trial| {
        trial.report.waiting_share()
    }),
    ("peak_memory_bytes", Kind::Size, 0, |trial| {
        trial.report.peak_memory_bytes.and_then(count)
    }),
];

/// The median; the mean of the middle two for an even number of values.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        count if count % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}
