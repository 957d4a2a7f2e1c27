//! Scheduling of a list within a limit per host. Without I/O; the clock is passed in.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::time::{Duration, Instant};

use dyno_fetch::HostLimits;

use super::answered_lines::AnsweredLines;

/// Maximum number of lines that are held back while the scheduler looks for a later line.
const LOOKAHEAD: usize = 100_000;
/// Block size: half of what a pipe accepts atomically. Lines in the pipe count as in flight.
const BLOCK_BYTES: usize = 2048;
/// Longest silence, in addition to two timeouts, of a subject that owes answers for which lines wait.
const SILENCE: Duration = Duration::from_secs(10);
/// The same before its first line, because a runtime starts slowly on a busy machine.
const START: Duration = Duration::from_secs(60);

/// The limit per host.
#[derive(Debug, Clone, Copy)]
pub struct HostLimit {
    /// Maximum number of lines of one host in flight.
    pub per_host: NonZeroUsize,
    /// Minimum time between two lines of one host.
    pub interval: Duration,
    /// Timeout of the subject.
    pub timeout: Duration,
}

/// The lines of a list, each fed once, and those in flight.
///
/// Lines are fed in order, except that a line is held back until its host is free. A fed line is in flight until it is
/// answered, however long that takes: the subject may still have it in a buffer, and send the request later.
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
    /// When the subject last received or printed something.
    active: Instant,
    withheld: Option<String>,
}

/// A URL in flight, and its number of occurrences.
struct Outstanding {
    count: u64,
    /// Absent for a line that is not a URL.
    host: Option<Rc<str>>,
}

impl<L: Iterator<Item = Vec<u8>>> PerHost<L> {
    /// A list of lines without line ends.
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

    /// Lines fed.
    pub fn lines_fed(&self) -> u64 {
        self.handed
    }

    /// Lines of output that answer a URL.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Lines fed and not answered.
    pub fn owed(&self) -> u64 {
        self.in_flight
    }

    /// Why the subject did not receive the whole list, if it did not.
    pub fn withheld(&self) -> Option<&str> {
        self.withheld.as_deref()
    }

    /// Appends permitted lines to the unread block; returns false when no more will follow.
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
            1 => ("answer", "its host"),
            _ => ("answers", "their hosts"),
        };
        self.withheld = Some(format!(
            "printed nothing for {silent_s} s while it owed {owed} {noun}; it was fed no further URLs of {hosts}"
        ));
        false
    }

    /// The time at which [`Self::fill`] may act again, even if the subject prints nothing.
    pub fn wake_at(&self) -> Instant {
        let silence = if self.rows > 0 { SILENCE } else { START };
        let due = self.limits.next_due();
        due.unwrap_or_else(|| self.active + self.two_timeouts + silence)
    }

    /// Processes output of the subject.
    pub fn read_output(&mut self, piece: &[u8], now: Instant) {
        self.active = now;
        let mut answers = std::mem::take(&mut self.answers);
        self.rows += answers.feed(piece, |url| self.answered(url));
        self.answers = answers;
    }

    /// The next permitted line.
    fn take(&mut self, now: Instant) -> Option<Vec<u8>> {
        loop {
            if let Some((host, line)) = self.limits.next(now) {
                return Some(self.mark_in_flight(line, Some(host)));
            }
            if self.is_read || self.limits.is_full() {
                return None;
            }
            match self.lines.next() {
                None => self.is_read = true,
                Some(line) => match host_of(&line) {
                    Some(host) => self.limits.offer(&host, line, now),
                    // A line that is not a URL causes no request.
                    None => return Some(self.mark_in_flight(line, None)),
                },
            }
        }
    }

    fn mark_in_flight(&mut self, line: Vec<u8>, host: Option<Rc<str>>) -> Vec<u8> {
        let new = Outstanding { count: 0, host };
        let outstanding = self.outstanding.entry(line.clone()).or_insert(new);
        outstanding.count += 1;
        self.handed += 1;
        self.in_flight += 1;
        line
    }

    /// Marks a URL as answered; returns false when it was not in flight.
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

/// The host of a URL for the purpose of a limit; none for a line that is not an http or https URL.
///
/// Case, a final dot and a leading `www.` are ignored: example.org and www.example.org are one site, and usually one
/// machine. The port is ignored for the same reason.
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
