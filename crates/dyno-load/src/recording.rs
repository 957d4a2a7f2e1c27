//! A recording as reports describe it: its format, its lines, and the hosts to which its requests go. No I/O.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Delay from which on a replayed request counts as late.
pub(crate) const LATE_NS: u64 = 1_000_000;

/// The format of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Format {
    /// Common or combined log format of Apache and nginx.
    #[serde(rename = "access log")]
    AccessLog,
    /// A JSON object on each line, as nginx and Caddy write it.
    #[serde(rename = "JSON log")]
    JsonLog,
    /// HTTP Archive 1.2, as browsers export it.
    #[serde(rename = "HAR")]
    Har,
    /// Requests in our own format, each with `at`.
    #[serde(rename = "JSONL")]
    Jsonl,
}

/// What a recording has, for the report.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recording {
    /// Name of the file.
    pub file: String,
    /// Its format.
    pub format: Format,
    /// Lines, or entries of a HAR file.
    pub lines: u64,
    /// Requests of one pass.
    pub requests: u64,
    /// Different requests.
    pub different: u64,
    /// Lines that are not sent, by the reason.
    pub skipped: BTreeMap<String, u64>,
    /// The first malformed line, and what is wrong with it.
    pub first_malformed: Option<String>,
    /// Where requests go, by their recorded host.
    pub hosts: Vec<HostRecord>,
    /// Speed of the replay, in per cent of the recording's.
    pub speed_percent: f64,
    /// Whether it begins again at its end.
    pub is_loop: bool,
    /// Time between the first and the last request of a pass, as replayed.
    pub duration_s: f64,
    /// Requests per second of a pass, on average.
    pub mean_per_s: f64,
    /// Requests in the busiest second.
    pub peak_per_s: usize,
}

/// The requests of one recorded host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRecord {
    /// The recorded host; `None` where none is recorded.
    pub host: Option<String>,
    /// Scheme, host and port to which its requests are sent.
    pub to: String,
    /// Number of its requests.
    pub requests: u64,
}

/// A replay in the report of a run.
#[derive(Debug, Clone, Serialize)]
pub struct ReplayRecord {
    /// What the recording has.
    #[serde(flatten)]
    pub recording: Recording,
    /// Its counts in a sentence.
    pub summary: String,
    /// Requests that were sent more than 1 ms after their moment, for any reason.
    pub late: u64,
    /// Their share of the sent requests.
    pub late_share: Option<f64>,
}

impl Format {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AccessLog => "access log",
            Self::JsonLog => "JSON log",
            Self::Har => "HAR",
            Self::Jsonl => "JSONL",
        }
    }

    pub(crate) const fn unit(self) -> &'static str {
        if matches!(self, Self::Har) {
            "entry"
        } else {
            "line"
        }
    }
}

impl Recording {
    /// The counts in a sentence: `50 lines: 48 requests, 2 skipped: 1 POST (no body is recorded), 1 malformed`.
    #[must_use]
    pub fn counts(&self) -> String {
        if self.skipped.is_empty() {
            return format!(
                "{}, {} requests",
                plural(self.lines, self.format),
                thousands(self.requests)
            );
        }
        let first = self.first_malformed.as_ref();
        let first = first.map_or_else(String::new, |first| format!(" (the first: {first})"));
        let skipped = skipped_text(self.lines, &self.skipped, self.format);
        format!("{skipped}{first}")
    }
}

impl ReplayRecord {
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    pub(crate) fn new(recording: &Recording, late: u64, sent: u64) -> Self {
        Self {
            recording: recording.clone(),
            summary: format!("{}: {}", recording.format.name(), recording.counts()),
            late,
            late_share: (sent > 0).then(|| late as f64 / sent as f64),
        }
    }
}

/// The skipped lines in words, with the reasons.
pub(crate) fn skipped_text(lines: u64, skipped: &BTreeMap<String, u64>, format: Format) -> String {
    let total: u64 = skipped.values().sum();
    let mut reasons: Vec<(&String, &u64)> = skipped.iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let reasons: Vec<String> = reasons
        .iter()
        .map(|(reason, count)| format!("{} {reason}", thousands(**count)))
        .collect();
    let verb = if total == 1 { "is" } else { "are" };
    format!(
        "{} of {} {verb} skipped: {}",
        thousands(total),
        plural(lines, format),
        reasons.join(", ")
    )
}

fn plural(count: u64, format: Format) -> String {
    let unit = match (format, count) {
        (Format::Har, 1) => "entry",
        (Format::Har, _) => "entries",
        (_, 1) => "line",
        _ => "lines",
    };
    format!("{} {unit}", thousands(count))
}

/// A count with commas: `1,204`.
pub(crate) fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
