//! Details of a URL, which only rows as JSON have: the requests that were made, their phases, the last answer.

use std::cell::RefCell;
use std::net::IpAddr;
use std::ops::Deref;
use std::time::{Duration, Instant};

use dyno_client::{AnswerHead, Exchanged, Failure, HttpVersion};
use serde::Serialize;
use url::Url;

use crate::options::Options;
use crate::row::{Code, Row, RowFormat, Timestamp};
use crate::stage_clock::{Stage, StageClock};

/// One URL from its start to its row: its clock, and its details if rows have them.
#[derive(Debug)]
pub(crate) struct Trail {
    clock: StageClock,
    /// On the heap, so that the tasks of other rows stay small.
    details: Option<Box<RefCell<Details>>>,
}

/// Requests of one URL.
#[derive(Debug, Default)]
pub(crate) struct Details {
    /// The answers in order, the last included.
    chain: Vec<Hop>,
    /// Under `--retries`.
    pub retries: u32,
    /// Requests sent again, because their connection was closed while they were on the way.
    pub resent: u32,
    /// Why the URL, or the target of a redirect, was not requested.
    refusal: Option<String>,
    /// The last request.
    last: Request,
}

/// One answer.
#[derive(Debug, Serialize)]
struct Hop {
    url: String,
    status: u16,
}

/// One request: its connection, its phases, its answer.
#[derive(Debug, Default)]
struct Request {
    url: Option<String>,
    lookup: Option<Duration>,
    connect: Option<Duration>,
    tls: Option<Duration>,
    first_byte: Option<Duration>,
    content: Option<Duration>,
    address: Option<IpAddr>,
    is_reused: Option<bool>,
    tls_version: Option<&'static str>,
    status: Option<u16>,
    http_version: Option<HttpVersion>,
    content_type: Option<String>,
    coding: Option<String>,
    is_decoded: bool,
    encoded_bytes: Option<u64>,
    decoded_bytes: Option<u64>,
    is_partial: bool,
    no_close_notify: bool,
}

/// A row. The order is that of its keys.
#[derive(Debug, Serialize)]
struct JsonRow<'a> {
    url: &'a str,
    final_url: Option<&'a str>,
    status: Option<u16>,
    error: Option<&'static str>,
    error_text: Option<String>,
    waited_for: Option<&'static str>,
    start_time: String,
    duration_ms: f64,
    lookup_ms: Option<f64>,
    connect_ms: Option<f64>,
    tls_ms: Option<f64>,
    first_byte_ms: Option<f64>,
    content_ms: Option<f64>,
    encoded_bytes: Option<u64>,
    decoded_bytes: Option<u64>,
    content_type: Option<&'a str>,
    coding: Option<&'a str>,
    not_decoded: bool,
    partial: bool,
    no_close_notify: bool,
    address: Option<IpAddr>,
    http_version: Option<&'static str>,
    tls_version: Option<&'static str>,
    reused: Option<bool>,
    retries: u32,
    resent: u32,
    chain: &'a [Hop],
}

impl Deref for Trail {
    type Target = StageClock;

    fn deref(&self) -> &StageClock {
        &self.clock
    }
}

impl Trail {
    /// Begins the way of a URL.
    pub(crate) fn new(options: &Options, now: Instant) -> Self {
        Self {
            clock: StageClock::new(options, now),
            details: (options.rows == RowFormat::Jsonl).then(Box::default),
        }
    }

    /// Begins the way of a URL that has no row.
    pub(crate) fn without_details(options: &Options, now: Instant) -> Self {
        Self {
            clock: StageClock::new(options, now),
            details: None,
        }
    }

    /// Changes the details, if there are any.
    #[inline]
    pub(crate) fn note(&self, change: impl FnOnce(&mut Details)) {
        if let Some(details) = &self.details {
            change(&mut details.borrow_mut());
        }
    }

    /// Appends the row as JSON, with its line end.
    pub(crate) fn write(&self, row: &Row<'_>, out: &mut Vec<u8>) {
        let Some(details) = &self.details else { return };
        let details = details.borrow();
        let url = String::from_utf8_lossy(row.url);
        let written = serde_json::to_writer(&mut *out, &details.row(&url, row, self.stage()));
        written.expect("a vector takes all bytes");
        out.push(b'\n');
    }
}

impl Details {
    /// Begins a request.
    pub(crate) fn request(&mut self, url: &Url) {
        self.last = Request {
            url: Some(url.to_string()),
            is_decoded: true,
            ..Request::default()
        };
    }

    /// Takes the reason why a URL was not requested.
    pub(crate) fn refused(&mut self, why: String) {
        self.refusal = Some(why);
    }

    /// Takes the times of a TCP connection: of its lookup, and of its handshake.
    pub(crate) const fn connected(&mut self, lookup: Duration, connect: Duration) {
        self.last.lookup = Some(lookup);
        self.last.connect = Some(connect);
    }

    /// Takes the time of a TLS handshake.
    pub(crate) const fn encrypted(&mut self, tls: Duration) {
        self.last.tls = Some(tls);
    }

    /// Takes the connection of the request.
    pub(crate) const fn link(
        &mut self,
        address: IpAddr,
        is_reused: bool,
        tls_version: Option<&'static str>,
    ) {
        self.last.address = Some(address);
        self.last.is_reused = Some(is_reused);
        self.last.tls_version = tls_version;
    }

    /// Takes the head of the answer; `is_decoded`: whether all of its codings are known.
    pub(crate) fn head(&mut self, head: &AnswerHead<'_>, is_decoded: bool) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let codings: Vec<_> = head.fields("content-encoding").collect();
        let last = &mut self.last;
        last.status = Some(head.status);
        last.http_version = Some(head.version);
        last.content_type = head.field("content-type").map(text);
        last.coding = (!codings.is_empty()).then(|| text(&codings.join(&b", "[..])));
        last.is_decoded = is_decoded;
        self.chain.push(Hop {
            url: last.url.clone().unwrap_or_default(),
            status: head.status,
        });
    }

    /// Takes the lengths of the content, also of one that was cut short.
    pub(crate) const fn content(&mut self, encoded_bytes: u64, decoded_bytes: u64) {
        self.last.encoded_bytes = Some(encoded_bytes);
        self.last.decoded_bytes = Some(decoded_bytes);
    }

    /// Takes the times of a complete answer, and whether TLS ended without `close_notify`.
    pub(crate) fn exchanged(&mut self, exchanged: &Exchanged, no_close_notify: bool) {
        self.last.first_byte = Some(exchanged.first_byte - exchanged.sent);
        self.last.content = Some(exchanged.end - exchanged.first_byte);
        self.last.no_close_notify = no_close_notify;
    }

    /// Marks the content as incomplete, but kept.
    pub(crate) const fn partial(&mut self) {
        self.last.is_partial = true;
    }

    fn row<'a>(&'a self, url: &'a str, row: &Row<'_>, stage: Stage) -> JsonRow<'a> {
        let last = &self.last;
        let (error, error_text) = match row.code {
            Code::Status(_) => (None, None),
            Code::CheckFailed => (
                Some("CheckFailed"),
                Some("the content is not the expected JSON".to_owned()),
            ),
            Code::Failure(failure) => {
                let refusal = self.refusal.clone();
                (
                    Some(failure.name()),
                    refusal.or_else(|| Some(text(failure))),
                )
            }
        };
        JsonRow {
            url,
            final_url: last.url.as_deref(),
            status: last.status,
            error,
            error_text,
            // A line that is not a URL, or not requested, has waited for nothing.
            waited_for: error
                .and(last.url.as_ref())
                .filter(|_| self.refusal.is_none())
                .map(|_| stage.name()),
            start_time: Timestamp(row.start).to_string(),
            duration_ms: milliseconds(row.duration),
            lookup_ms: last.lookup.map(milliseconds),
            connect_ms: last.connect.map(milliseconds),
            tls_ms: last.tls.map(milliseconds),
            first_byte_ms: last.first_byte.map(milliseconds),
            content_ms: last.content.map(milliseconds),
            encoded_bytes: last.encoded_bytes,
            decoded_bytes: last.decoded_bytes,
            content_type: last.content_type.as_deref(),
            coding: last.coding.as_deref(),
            not_decoded: !last.is_decoded && last.coding.is_some(),
            partial: last.is_partial,
            no_close_notify: last.no_close_notify,
            address: last.address,
            http_version: last.http_version.map(HttpVersion::number),
            tls_version: last.tls_version,
            reused: last.is_reused,
            retries: self.retries,
            resent: self.resent,
            chain: &self.chain,
        }
    }
}

/// Describes a failure; an alert or the reason of a proxy is part of it.
fn text(failure: Failure) -> String {
    if failure.full_name() == failure.name() {
        failure.to_string()
    } else {
        format!("{failure} ({})", failure.full_name())
    }
}

/// A time in milliseconds, with microseconds as decimals.
#[expect(clippy::cast_precision_loss, reason = "times of less than years")]
fn milliseconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn a_line_that_is_not_a_url_has_all_keys() {
        let row = Row {
            url: b"a \"b\" \xff",
            code: Code::Failure(Failure::InvalidUrl),
            start: UNIX_EPOCH,
            duration: Duration::from_nanos(1_234_567),
            length: 0,
        };
        let mut out = Vec::new();
        let trail = |rows| {
            let options = Options {
                rows,
                ..Options::default()
            };
            Trail::new(&options, Instant::now())
        };
        trail(RowFormat::Csv).write(&row, &mut out);
        assert!(out.is_empty());
        trail(RowFormat::Jsonl).write(&row, &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            concat!(
                r#"{"url":"a \"b\" "#,
                "\u{fffd}",
                r#"","final_url":null,"status":null,"error":"InvalidUrl","error_text":"not a URL","#,
                r#""waited_for":null,"start_time":"1970-01-01T00:00:00.000000Z","duration_ms":1.234,"#,
                r#""lookup_ms":null,"connect_ms":null,"tls_ms":null,"first_byte_ms":null,"content_ms":null,"#,
                r#""encoded_bytes":null,"decoded_bytes":null,"content_type":null,"coding":null,"not_decoded":false,"#,
                r#""partial":false,"no_close_notify":false,"address":null,"http_version":null,"tls_version":null,"#,
                r#""reused":null,"retries":0,"resent":0,"chain":[]}"#,
                "\n"
            )
        );
    }
}
