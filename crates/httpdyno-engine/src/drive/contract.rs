//! The contract of servers: requests to send, and judgements of the answers. No I/O.

use std::time::Duration;

use clap::ValueEnum;
use dyno_web::{JSON_DOCUMENT, PLAIN_DOCUMENT};
use serde_json::{Value, json};

use super::exchange::{Answer, Call};

/// Tolerance for a timer that fires a little early.
const EARLY: Duration = Duration::from_millis(20);
/// Default time that an idle server may take in addition to the waits.
pub const OVERHEAD: Duration = Duration::from_secs(1);

/// An endpoint of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Endpoint {
    Plain,
    Json,
    Workloads,
}

/// The settings and the endpoints of a server.
#[derive(Debug, Clone)]
pub struct Contract {
    pub endpoints: Vec<Endpoint>,
    pub workloads: Vec<Duration>,
    pub timeout: Option<Duration>,
    /// Time that an idle server may take in addition to the waits.
    pub overhead: Duration,
}

/// One line of evidence: of a right answer, or of a wrong one.
pub type Judgement = Result<String, String>;

impl Contract {
    pub fn has(&self, endpoint: Endpoint) -> bool {
        self.endpoints.contains(&endpoint)
    }

    /// The longest wait: no answer may come earlier.
    pub fn longest(&self) -> Duration {
        self.workloads.iter().copied().max().unwrap_or_default()
    }

    /// The timeout, if it is shorter than the longest wait, so that every request times out.
    pub fn always_times_out(&self) -> Option<Duration> {
        self.timeout.filter(|timeout| *timeout < self.longest())
    }

    /// Maximum time that an idle server may take for the waits.
    pub fn idle_limit(&self) -> Duration {
        self.always_times_out().unwrap_or_else(|| self.longest()) + self.overhead
    }

    /// Maximum time, with a large margin, that an idle server may take for a request without waits.
    pub fn quick_limit(&self) -> Duration {
        self.overhead * 5
    }

    /// A request whose answer has the text `count` times the number of waits.
    pub fn work(method: &'static str, text: &str, count: usize) -> Call {
        let content = json!({"text": text, "count": count}).to_string();
        Self::content(method, content.as_bytes())
    }

    /// A request with any content.
    pub fn content(method: &'static str, content: &[u8]) -> Call {
        Call {
            method,
            path: "/",
            content: Some(content.to_vec()),
        }
    }

    /// Judges the answer to [`Contract::work`], however late.
    pub fn judge_work(&self, answer: &Answer, text: &str, count: usize) -> Judgement {
        let late = self.timeout.filter(|_| answer.status == 503);
        if let Some(timeout) = late.or(self.always_times_out()) {
            return timed_out(answer, timeout);
        }
        has_status(answer, 200)?;
        let number = count * self.workloads.len();
        has_texts(&answer.content, text, number)?;
        not_before(answer, self.longest(), "the longest wait")?;
        Ok(format!("{number} texts {}", after(answer)))
    }

    /// Like [`Contract::judge_work`], for an idle server, which must also be in time.
    pub fn judge_idle_work(&self, answer: &Answer, text: &str, count: usize) -> Judgement {
        let evidence = self.judge_work(answer, text, count)?;
        let most = self.idle_limit();
        if answer.took > most {
            return Err(format!(
                "{evidence}: more than {}, as if the waits were not in parallel",
                seconds(most)
            ));
        }
        Ok(evidence)
    }
}

/// Malformed contents: each must be refused.
pub const MALFORMED: [(&str, &[u8]); 7] = [
    ("no content", b""),
    ("cut short", b"{\"text\": \"a\", \"count\": 1"),
    ("no JSON", b"text=a&count=1"),
    ("no object", b"[\"a\", 1]"),
    ("no text", b"{\"count\": 1}"),
    ("a text that is a number", b"{\"text\": 5, \"count\": 1}"),
    (
        "a count that is a text",
        b"{\"text\": \"a\", \"count\": \"1\"}",
    ),
];

/// Counts below 1, which must be refused.
pub const COUNTS: [(&str, &[u8]); 2] = [
    ("count 0", b"{\"text\": \"a\", \"count\": 0}"),
    ("count -1", b"{\"text\": \"a\", \"count\": -1}"),
];

pub fn judge_plain(answer: &Answer) -> Judgement {
    has_status(answer, 200)?;
    if answer.content != PLAIN_DOCUMENT.as_bytes() {
        return Err(format!(
            "{} instead of {PLAIN_DOCUMENT:?}",
            shown(&answer.content)
        ));
    }
    Ok(format!("{PLAIN_DOCUMENT:?} {}", after(answer)))
}

pub fn judge_json(answer: &Answer) -> Judgement {
    has_status(answer, 200)?;
    let (content, due) = (&answer.content, JSON_DOCUMENT.as_bytes());
    if content == due {
        return Ok(format!("the document {}", after(answer)));
    }
    let Ok(value) = serde_json::from_slice::<Value>(content) else {
        return Err(format!("no JSON: {}", shown(content)));
    };
    let numbers = &value[0]["numbers"];
    if *numbers != json!(123_123) {
        return Err(format!("[0].numbers is {numbers} instead of 123123"));
    }
    let at = content
        .iter()
        .zip(due)
        .position(|(one, other)| one != other)
        .unwrap_or_else(|| content.len().min(due.len()));
    Err(format!(
        "another document than the contract's: {} bytes, different from byte {at} on",
        content.len()
    ))
}

pub fn judge_refusal(answer: &Answer) -> Judgement {
    has_status(answer, 400).map(|()| "400".to_owned())
}

fn timed_out(answer: &Answer, timeout: Duration) -> Judgement {
    has_status(answer, 503)?;
    not_before(answer, timeout, "the timeout")?;
    Ok(format!("503 {}", after(answer)))
}

fn has_status(answer: &Answer, due: u16) -> Result<(), String> {
    if answer.status == due {
        return Ok(());
    }
    Err(format!(
        "{} instead of {due}: {}",
        answer.status,
        shown(&answer.content)
    ))
}

fn has_texts(content: &[u8], text: &str, number: usize) -> Result<(), String> {
    let Ok(value) = serde_json::from_slice::<Value>(content) else {
        return Err(format!("no JSON: {}", shown(content)));
    };
    let Some(texts) = value["texts"].as_array() else {
        return Err(format!("no \"texts\": {}", shown(content)));
    };
    if texts.len() != number {
        return Err(format!("{} texts instead of {number}", texts.len()));
    }
    match texts.iter().position(|one| one != text) {
        None => Ok(()),
        Some(place) => Err(format!(
            "text {} is {} instead of {}",
            place + 1,
            shown(texts[place].to_string().as_bytes()),
            json!(text)
        )),
    }
}

fn not_before(answer: &Answer, due: Duration, what: &str) -> Result<(), String> {
    if answer.took + EARLY >= due {
        return Ok(());
    }
    Err(format!(
        "{} {}, before {what} of {} is over",
        answer.status,
        after(answer),
        seconds(due)
    ))
}

fn after(answer: &Answer) -> String {
    format!("after {}", seconds(answer.took))
}

fn seconds(duration: Duration) -> String {
    format!("{:.3} s", duration.as_secs_f64())
}

/// The beginning of a content, in one line.
fn shown(content: &[u8]) -> String {
    const MOST: usize = 60;
    if content.is_empty() {
        return "nothing".to_owned();
    }
    let text = String::from_utf8_lossy(content);
    let start: String = text.chars().take(MOST).collect();
    let dots = if start.len() < text.len() { "..." } else { "" };
    format!("{}{dots}", start.escape_debug())
}

#[cfg(test)]
mod tests;
