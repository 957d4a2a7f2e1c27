//! Which lines of a list go to a subject, and when, so that no host is asked for too much at once. Without I/O; the clock is passed in.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::time::{Duration, Instant};

use dyno_load::fetch::HostLimits;

use super::answered_lines::AnsweredLines;

/// How many lines are held back at most while a line further down is looked for.
const LOOKAHEAD: usize = 100_000;
/// As many bytes as a pipe takes whole or not at all, or half of them: what waits for the subject to read is in flight.
const BLOCK_BYTES: usize = 2048;
/// Beside two timeouts: how long a subject may print nothing while others wait for the answers that it owes.
const SILENCE: Duration = Duration::from_secs(10);
/// The same before its first line: a runtime takes its time to start on a busy machine.
const START: Duration = Duration::from_secs(60);

/// How much a host may be asked for.
#[derive(Debug, Clone, Copy)]
pub struct HostLimit {
    /// Lines of one host in flight at most.
    pub per_host: NonZeroUsize,
    /// The least time between two of them.
    pub interval: Duration,
    /// How long the subject waits for an answer.
    pub timeout: Duration,
}

/// The lines of a list, each given once, and what is known of those that were.
///
/// The list keeps its order, but for lines that are held back: they go on as soon as their host is free. What was handed
/// out counts as in flight until its answer is told, however long that takes: the subject may have the line in a buffer, and
/// would ask the host later.
pub struct PerHost<L> {
    lines: L,
    limits: HostLimits<Vec<u8>>,
    is_read: bool,
    outstanding: HashMap<Vec<u8>, Outstanding>,
    answers: AnsweredLines,
    rows: u64,
    handed: u64,
    in_flight: u64,
    two_timeouts: Duration,
    /// When the subject was given, or printed, something last.
    active: Instant,
    withheld: Option<String>,
}

/// A URL that was given and not answered, as often as it was.
struct Outstanding {
    count: u64,
    /// Absent when it is no URL.
    host: Option<Rc<str>>,
}

impl<L: Iterator<Item = Vec<u8>>> PerHost<L> {
    /// Of lines without their ends.
    pub fn new(lines: L, limit: HostLimit, now: Instant) -> Self {
        Self {
            lines,
            limits: HostLimits::new(limit.per_host.get(), limit.interval, LOOKAHEAD),
            is_read: false,
            outstanding: HashMap::new(),
            answers: AnsweredLines::default(),
            rows: 0,
            handed: 0,
            in_flight: 0,
            two_timeouts: 2 * limit.timeout,
            active: now,
            withheld: None,
        }
    }

    /// Lines that were given.
    pub fn handed(&self) -> u64 {
        self.handed
    }

    /// Lines of the subject that answer one.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Lines that were given and not answered.
    pub fn owed(&self) -> u64 {
        self.in_flight
    }

    /// Why the subject was not given the whole list, if it was not.
    pub fn withheld(&self) -> Option<&str> {
        self.withheld.as_deref()
    }

    /// Puts lines that may go behind what the subject has not taken yet; false when there will be no more.
    pub fn fill(&mut self, block: &mut Vec<u8>, now: Instant) -> bool {
        while block.len() < BLOCK_BYTES {
            let Some(line) = self.take(now) else { break };
            block.extend_from_slice(&line);
            block.push(b'\n');
            self.active = now;
        }
        if !block.is_empty() {
            return true;
        }
        if self.is_read && self.limits.aside() == 0 {
            return false;
        }
        if now < self.wake_at() {
            return true;
        }
        let (silent_s, owed) = ((now - self.active).as_secs(), self.in_flight);
        let (noun, hosts) = match owed {
            1 => ("answer", "its host was"),
            _ => ("answers", "their hosts were"),
        };
        self.withheld = Some(format!(
            "printed nothing for {silent_s} s while it owed {owed} {noun}; {hosts} asked for nothing more"
        ));
        false
    }

    /// When [`Self::fill`] may do something else than now, though the subject prints nothing.
    pub fn wake_at(&self) -> Instant {
        let silence = if self.rows > 0 { SILENCE } else { START };
        let due = self.limits.next_due();
        due.unwrap_or_else(|| self.active + self.two_timeouts + silence)
    }

    /// Takes note of what the subject has printed.
    pub fn printed(&mut self, piece: &[u8], now: Instant) {
        self.active = now;
        let mut answers = std::mem::take(&mut self.answers);
        self.rows += answers.feed(piece, |url| self.answered(url));
        self.answers = answers;
    }

    /// The next line that may go.
    fn take(&mut self, now: Instant) -> Option<Vec<u8>> {
        loop {
            if let Some((host, line)) = self.limits.next(now) {
                return Some(self.given(line, Some(host)));
            }
            if self.is_read || self.limits.is_full() {
                return None;
            }
            match self.lines.next() {
                None => self.is_read = true,
                Some(line) => match host_of(&line) {
                    Some(host) => self.limits.offer(&host, line, now),
                    // No request comes of it.
                    None => return Some(self.given(line, None)),
                },
            }
        }
    }

    fn given(&mut self, line: Vec<u8>, host: Option<Rc<str>>) -> Vec<u8> {
        let new = Outstanding { count: 0, host };
        let outstanding = self.outstanding.entry(line.clone()).or_insert(new);
        outstanding.count += 1;
        self.handed += 1;
        self.in_flight += 1;
        line
    }

    /// Takes note that a URL was answered; false when it was not in flight.
    fn answered(&mut self, url: &[u8]) -> bool {
        let Some(outstanding) = self.outstanding.get_mut(url) else {
            return false;
        };
        outstanding.count -= 1;
        self.in_flight -= 1;
        if let Some(host) = &outstanding.host {
            self.limits.ended(host);
        }
        if outstanding.count == 0 {
            self.outstanding.remove(url);
        }
        true
    }
}

/// The host that a URL belongs to, as far as a limit is concerned; none for a line that is no http or https URL.
///
/// Names are compared without their case, the dot of the root and a first `www.`: example.org and www.example.org are one site,
/// and mostly one machine. Ports are left out for the same reason.
fn host_of(url: &[u8]) -> Option<String> {
    let url = String::from_utf8_lossy(url.trim_ascii()).to_ascii_lowercase();
    let (scheme, rest) = url.split_once("://")?;
    if !matches!(scheme, "http" | "https") {
        return None;
    }
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let (_, place) = authority.rsplit_once('@').unwrap_or(("", authority));
    let end = match place.find(']') {
        Some(end) if place.starts_with('[') => end + 1,
        _ => place.find(':').unwrap_or(place.len()),
    };
    let (name, port) = place.split_at(end);
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    if !(port.is_empty() || port.strip_prefix(':').is_some_and(is_port)) {
        return None;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let name = name.strip_prefix("www.").unwrap_or(name);
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests;
