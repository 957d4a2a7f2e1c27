//! What the clients of scripted hosts did: a line (JSON) for each connection and each query.

use std::io::{self, Write};
use std::mem::size_of;
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::prelude::{BASE64_STANDARD, Engine};
use dyno_web::Scheme;
use serde_json::{Value, json};

/// Received bytes that are kept of a connection.
const MOST_BYTES: usize = 256 << 10;
/// Events that are kept of a connection.
const MOST_EVENTS: usize = 10_000;
/// Bytes of all lines.
const MOST_OF_ALL: usize = 256 << 20;
/// Bytes that arrive within this time of each other are one event.
const TOGETHER_US: u64 = 1_000;

pub(crate) const PEER_CLOSED: &str = "peer_closed";
pub(crate) const PEER_RESET: &str = "peer_reset";
pub(crate) const CLOSED: &str = "closed";
pub(crate) const RESET: &str = "reset";
pub(crate) const ROOM_ENDED: &str = "room_ended";

/// The lines of all connections and queries that have ended.
#[derive(Debug, Default)]
pub(crate) struct Transcripts(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// Each with its time.
    lines: Vec<(u64, String)>,
    bytes: usize,
}

impl Transcripts {
    /// Keeps a line. Once there are too many bytes, further lines are lost.
    pub(crate) fn keep(&self, at_us: u64, line: &Value) {
        let line = line.to_string();
        let mut kept = self.kept();
        kept.bytes += line.len() + size_of::<(u64, String)>();
        if kept.bytes <= MOST_OF_ALL {
            kept.lines.push((at_us, line));
        }
    }

    /// Writes all lines in order of time.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut kept = self.kept();
        kept.lines.sort_by_key(|(at_us, _)| *at_us);
        kept.lines
            .iter()
            .try_for_each(|(_, line)| writeln!(out, "{line}"))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // A panic between the two changes leaves a count that is too high, which loses lines at most.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An event of a connection.
#[derive(Debug, PartialEq, Eq)]
enum Event {
    Got(Vec<u8>),
    /// Bytes sent by a step; 0 stands for an automatic answer.
    Sent(u64, usize),
    End(&'static str),
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Transcript {
    pub(crate) host: String,
    /// Its number among those of its host that have sent a byte; 0 before that.
    pub(crate) connection: usize,
    pub(crate) scheme: Scheme,
    pub(crate) at_us: u64,
    pub(crate) server_name: Option<String>,
    pub(crate) alpn: Option<String>,
    pub(crate) tls_version: Option<&'static str>,
    pub(crate) handshake: String,
    pub(crate) requests: usize,
    truncated: bool,
    kept_bytes: usize,
    events: Vec<(u64, Event)>,
}

impl Transcript {
    /// Begins the transcript of a connection without TLS.
    pub(crate) fn new(host: String, scheme: Scheme, at_us: u64) -> Self {
        Self {
            host,
            connection: 0,
            scheme,
            at_us,
            server_name: None,
            alpn: None,
            tls_version: None,
            handshake: "none".to_owned(),
            requests: 0,
            truncated: false,
            kept_bytes: 0,
            events: Vec::new(),
        }
    }

    /// Adds received bytes.
    pub(crate) fn got(&mut self, at_us: u64, bytes: &[u8]) {
        let count = bytes.len().min(MOST_BYTES - self.kept_bytes);
        self.truncated |= count < bytes.len();
        self.kept_bytes += count;
        let bytes = &bytes[..count];
        match self.events.last_mut() {
            _ if count == 0 => {}
            Some((at, Event::Got(earlier))) if at_us < *at + TOGETHER_US => {
                earlier.extend_from_slice(bytes);
            }
            _ => self.add(at_us, Event::Got(bytes.to_vec())),
        }
    }

    /// Adds sent bytes; those of one step without a break are one event.
    pub(crate) fn sent(&mut self, at_us: u64, bytes: usize, step: usize) {
        match self.events.last_mut() {
            Some((_, Event::Sent(earlier, same))) if *same == step => *earlier += bytes as u64,
            _ => self.add(at_us, Event::Sent(bytes as u64, step)),
        }
    }

    /// Adds the end, and returns whether it is the first, which counts.
    pub(crate) fn end(&mut self, at_us: u64, end: &'static str) -> bool {
        let is_end = |(_, event): &(u64, Event)| matches!(event, Event::End(_));
        let is_first = !self.events.iter().any(is_end);
        if is_first {
            self.events.push((at_us, Event::End(end)));
        }
        is_first
    }

    fn add(&mut self, at_us: u64, event: Event) {
        if self.events.len() < MOST_EVENTS {
            self.events.push((at_us, event));
        } else {
            self.truncated = true;
        }
    }

    /// Its line.
    pub(crate) fn line(&self) -> Value {
        let events = self.events.iter().map(|(at_us, event)| match event {
            Event::Got(bytes) => json!({"at_us": at_us, "got": BASE64_STANDARD.encode(bytes)}),
            Event::Sent(bytes, step) => json!({"at_us": at_us, "sent": bytes, "step": step}),
            Event::End(end) => json!({"at_us": at_us, "end": end}),
        });
        json!({
            "host": self.host,
            "connection": self.connection,
            "scheme": self.scheme.name(),
            "at_us": self.at_us,
            "server_name": self.server_name,
            "alpn": self.alpn,
            "tls_version": self.tls_version,
            "handshake": self.handshake,
            "requests": self.requests,
            "truncated": self.truncated,
            "events": events.collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transcript() -> Transcript {
        Transcript::new("a.test".to_owned(), Scheme::Http, 5)
    }

    #[test]
    fn bytes_that_come_together_are_one_event() {
        let mut transcript = transcript();
        transcript.got(10, b"a");
        transcript.got(1_009, b"b");
        transcript.got(1_010, b"c");
        transcript.sent(2_000, 3, 2);
        transcript.sent(2_001, 4, 2);
        transcript.sent(2_002, 5, 3);
        transcript.end(3_000, PEER_CLOSED);
        transcript.end(3_001, ROOM_ENDED);
        let expected = json!([
            {"at_us": 10, "got": "YWI="},
            {"at_us": 1_010, "got": "Yw=="},
            {"at_us": 2_000, "sent": 7, "step": 2},
            {"at_us": 2_002, "sent": 5, "step": 3},
            {"at_us": 3_000, "end": "peer_closed"},
        ]);
        let line = transcript.line();
        assert_eq!(line["events"], expected);
        assert_eq!(
            (&line["truncated"], &line["handshake"]),
            (&json!(false), &json!("none"))
        );
    }

    #[test]
    fn the_first_bytes_are_kept_and_the_end_always() {
        let mut bytes = transcript();
        bytes.got(0, &vec![0; MOST_BYTES]);
        bytes.got(1, b"a");
        let mut events = transcript();
        for at_ms in 0..=MOST_EVENTS as u64 {
            events.got(at_ms * 1_000, b"a");
        }
        for mut transcript in [bytes, events] {
            transcript.end(0, RESET);
            let line = transcript.line();
            assert_eq!(line["truncated"], json!(true));
            let events = line["events"].as_array().unwrap();
            assert_eq!(events.last().unwrap()["end"], json!("reset"));
        }
    }

    #[test]
    fn lines_are_written_in_order_of_time() {
        let transcripts = Transcripts::default();
        for at_us in [3, 1, 2] {
            transcripts.keep(at_us, &json!({"at_us": at_us}));
        }
        let mut out = Vec::new();
        transcripts.write(&mut out).unwrap();
        assert_eq!(out, b"{\"at_us\":1}\n{\"at_us\":2}\n{\"at_us\":3}\n");
    }
}
