//! Builds the bytes of one request from its description and the settings that all requests share. No I/O.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use dyno_client::proxy::Proxy;
use dyno_client::{Protocol, Segment, Upload, http1, http2};
use dyno_http::Method;
use url::Url;

use crate::body::Body;
use crate::check::{Check, of_one};
use crate::jsonl::Described;
use crate::prepared::{Error, Message, Prepared, Shape};

/// Shortest part that is stored once for several requests, in bytes: copying a shorter part takes less memory than
/// a reference to it.
const SHARED_FROM: usize = 256;

/// Content that a server takes before it has to read any of it (RFC 9113, 6.9.2). Longer content may depend on the answer,
/// so that both are sent at the same time.
const HTTP2_WINDOW: u64 = 65_535;

const USER_AGENT: &str = concat!("httpdyno/", env!("CARGO_PKG_VERSION"));

/// A request, completed with the settings that all requests share.
pub(crate) struct Draft {
    url: String,
    /// As it is sent, where that is as it was typed.
    path: Option<String>,
    method: String,
    /// Headers from the caller, without those that frame the message.
    headers: Vec<(String, String)>,
    host: Option<String>,
    closes: bool,
    /// Whether a proxy forwards the request, so that its target is the whole URL.
    is_forwarded: bool,
    body: Option<Body>,
    /// Whether the content waits for the server's consent.
    expects_continue: bool,
    checks: Vec<Check>,
}

impl Draft {
    pub(crate) fn new(
        described: Described,
        body: Option<Body>,
        shape: &Shape,
    ) -> Result<Self, Error> {
        let method = described.method.or_else(|| shape.method.clone());
        let method = method.unwrap_or_else(|| match body {
            Some(_) => "POST".to_owned(),
            None => "GET".to_owned(),
        });
        if !matches!(Method::from_token(method.as_bytes()), Some(method) if method != Method::Connect)
        {
            return Err(Error::Method(method));
        }
        let own = &described.headers;
        let is_own = |name: &str| own.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let shared = shape.headers.iter().filter(|(name, _)| !is_own(name));
        let given: Vec<(String, String)> = shared.chain(own).cloned().collect();
        let mut draft = Self {
            path: shape
                .path_as_is
                .then(|| typed_path(&described.url))
                .flatten(),
            url: described.url,
            method,
            headers: Vec::with_capacity(given.len() + 1),
            host: None,
            closes: !shape.keepalive,
            is_forwarded: false,
            body,
            expects_continue: false,
            checks: described.checks,
        };
        for (name, value) in given {
            draft.add(name, value)?;
        }
        draft.add_content_type()?;
        if draft.length() == 0 {
            // Nothing to wait with (RFC 9110, 10.1.1).
            draft
                .headers
                .retain(|(name, value)| !is_expectation(name, value));
            draft.expects_continue = false;
        }
        if !draft.has("user-agent") {
            let agent = ("User-Agent".to_owned(), USER_AGENT.to_owned());
            draft.headers.insert(0, agent);
        }
        Ok(draft)
    }

    fn has(&self, wanted: &str) -> bool {
        let mut names = self.headers.iter().map(|(name, _)| name);
        names.any(|name| name.eq_ignore_ascii_case(wanted))
    }

    /// Length of the content.
    fn length(&self) -> u64 {
        self.body.as_ref().map_or(0, Body::length)
    }

    /// Adds the media type that the content determines.
    fn add_content_type(&mut self) -> Result<(), Error> {
        let name = "Content-Type";
        let Some(body) = &self.body else {
            return Ok(());
        };
        if let Some(content_type) = body.content_type() {
            if !self.has(name) {
                self.headers
                    .push((name.to_owned(), content_type.to_owned()));
            } else if body.is_multipart() {
                return Err(Error::Header {
                    name: name.to_owned(),
                    reason: "a multipart form sets it, with its boundary; leave it out".to_owned(),
                });
            }
        }
        Ok(())
    }

    /// Writes the request for a proxy that forwards it, with the proxy's credentials.
    pub(crate) fn go_through(&mut self, proxy: &Proxy) {
        const NAME: &str = "Proxy-Authorization";
        self.is_forwarded = true;
        let mut headers = self.headers.iter();
        let has_own = headers.any(|(name, _)| name.eq_ignore_ascii_case(NAME));
        if let Some(value) = proxy.authorization().filter(|_| !has_own) {
            self.headers.push((NAME.to_owned(), value));
        }
    }

    /// Takes a header from the caller. Headers about framing and the connection change how the request is sent, and
    /// are not merely copied.
    fn add(&mut self, name: String, value: String) -> Result<(), Error> {
        let wrong = |name: String, reason: String| Err(Error::Header { name, reason });
        let length = self.length();
        self.expects_continue |= is_expectation(&name, &value);
        match name.to_ascii_lowercase().as_str() {
            "host" => self.host = Some(value),
            "content-length" if value.trim().parse() == Ok(length) => {}
            "content-length" => {
                return wrong(
                    name,
                    format!("it says {value:?}, but the body has {length} bytes"),
                );
            }
            "transfer-encoding" => {
                let reason = "bodies are sent with their length; leave it out";
                return wrong(name, reason.to_owned());
            }
            "connection" => {
                let options: Vec<&[u8]> = dyno_http::fields::members(value.as_bytes()).collect();
                let has = |option: &[u8]| {
                    options
                        .iter()
                        .any(|found| found.eq_ignore_ascii_case(option))
                };
                self.closes |= has(b"close");
                self.headers.push((name, value));
            }
            _ => self.headers.push((name, value)),
        }
        Ok(())
    }

    pub(crate) fn prepare(
        self,
        url: &Url,
        server: usize,
        shape: &Shape,
        shared: &mut SharedParts,
    ) -> Result<Prepared, Error> {
        let message = match shape.protocol {
            Protocol::Http1 => Message::Http1(self.http1(url, shared)?),
            Protocol::Http2 => Message::Http2(Box::new(self.http2(url, shared)?)),
        };
        let idempotent = ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"];
        Ok(Prepared {
            server,
            is_idempotent: idempotent.contains(&self.method.as_str()),
            expects_continue: self.expects_continue,
            closes: self.closes && !shape.protocol.is_multiplexed(),
            message,
            url: self.url,
            checks: shared.checks(of_one(self.checks, &shape.checks)),
            label: 0,
            template: None,
        })
    }

    fn http1(&self, url: &Url, shared: &mut SharedParts) -> Result<http1::Request, Error> {
        let mut bytes = Vec::new();
        let method = Method::from_token(self.method.as_bytes())
            .ok_or_else(|| Error::Method(self.method.clone()))?;
        let failed = |name: &str, error: dyno_http::Error| Error::Header {
            name: name.to_owned(),
            reason: error.to_string(),
        };
        let version = dyno_http::Version::Http11;
        let mut target = self.target(url);
        if self.is_forwarded {
            target = format!("{}://{}{target}", url.scheme(), authority(url));
        }
        let mut head =
            dyno_http::write::request(&mut bytes, method, &target, version).map_err(|error| {
                Error::Url {
                    url: self.url.clone(),
                    reason: error.problem.to_string(),
                }
            })?;
        let host = self.host.clone().unwrap_or_else(|| authority(url));
        head = head
            .field("Host", host.as_bytes())
            .map_err(|error| failed("Host", error))?;
        for (name, value) in &self.headers {
            head = head
                .field(name, value.as_bytes())
                .map_err(|error| failed(name, error))?;
        }
        if self.closes && !self.has("connection") {
            head = head.close();
        }
        // A method that expects content announces an empty one (RFC 9110, 8.6).
        if self.body.is_some() || matches!(method, Method::Post | Method::Put | Method::Patch) {
            head = head.content_length(self.length());
        }
        head.end();
        let upload = self.upload(shared, false);
        let in_memory = self.body.as_ref().filter(|_| upload.is_none());
        let body = in_memory.and_then(Body::bytes).unwrap_or_default();
        // The request line and the host stay with each request; the rest can be shared.
        let mut ends = (1..).zip(&bytes).filter(|(_, byte)| **byte == b'\n');
        let own = ends.nth(1).map_or(bytes.len(), |(end, _)| end);
        let mut fields = Bytes::new();
        if bytes.len() - own >= SHARED_FROM {
            fields = shared.bytes(bytes.split_off(own).into());
        }
        let mut content = Bytes::new();
        if body.len() >= SHARED_FROM || !fields.is_empty() {
            content = shared.bytes(body);
        } else {
            bytes.extend_from_slice(&body);
        }
        bytes.shrink_to_fit();
        let request = http1::Request::new(bytes, method == Method::Head);
        let request = request.followed_by(fields, content);
        Ok(match upload {
            Some(upload) => request.with_upload(upload),
            None => request,
        })
    }

    /// The content, if it is sent in pieces: it has files, waits for the server's consent, or `is_long`.
    fn upload(&self, shared: &mut SharedParts, is_long: bool) -> Option<Arc<Upload>> {
        let body = self.body.as_ref()?;
        if !body.has_files() && !self.expects_continue && !is_long {
            return None;
        }
        let segments = body.segments().into_iter().map(|segment| match segment {
            Segment::Bytes(bytes) => Segment::Bytes(shared.bytes(bytes)),
            file @ Segment::File(_) => file,
        });
        Some(Arc::new(Upload::new(
            segments.collect(),
            self.expects_continue,
        )))
    }

    fn http2(&self, url: &Url, shared: &mut SharedParts) -> Result<http2::Request, Error> {
        let host = self.host.clone().unwrap_or_else(|| authority(url));
        let mut head = http::Request::builder()
            .method(self.method.as_str())
            .version(http::Version::HTTP_2)
            .uri(format!("{}://{host}{}", url.scheme(), self.target(url)));
        for (name, value) in &self.headers {
            // HTTP/2 forbids headers about an HTTP/1.1 connection (RFC 9113, 8.2.2).
            let of_connection = ["connection", "keep-alive", "proxy-connection", "upgrade"];
            if !of_connection.contains(&name.to_ascii_lowercase().as_str()) {
                let value = shared.bytes(Bytes::copy_from_slice(value.as_bytes()));
                let value = http::HeaderValue::from_maybe_shared(value);
                let value = value.map_err(|error| Error::Header {
                    name: name.clone(),
                    reason: error.to_string(),
                })?;
                head = head.header(name.as_str(), value);
            }
        }
        if let Some(body) = &self.body {
            head = head.header("content-length", body.length());
        }
        let head = head.body(()).map_err(|error| Error::Url {
            url: self.url.clone(),
            reason: error.to_string(),
        })?;
        let upload = self.upload(shared, self.length() > HTTP2_WINDOW);
        let in_memory = self.body.as_ref().filter(|_| upload.is_none());
        Ok(http2::Request {
            head,
            content: shared.bytes(in_memory.and_then(Body::bytes).unwrap_or_default()),
            upload,
        })
    }

    /// Path and query, as they go into the request line.
    fn target(&self, url: &Url) -> String {
        let path = self.path.as_deref().unwrap_or(url.path());
        match url.query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        }
    }
}

/// The path of a URL with its dot segments, which a parser of URLs removes. What cannot stand in a request is escaped.
fn typed_path(url: &str) -> Option<String> {
    let (_, rest) = url.trim().split_once("://")?;
    let path = &rest[rest.find(['/', '?', '#'])?..];
    let path = path
        .split(['?', '#'])
        .next()
        .filter(|path| !path.is_empty())?;
    let mut typed = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte) {
            typed.push(byte.into());
        } else {
            let _ = write!(typed, "%{byte:02X}");
        }
    }
    Some(typed)
}

/// Whether a header announces content that waits for the server's consent.
fn is_expectation(name: &str, value: &str) -> bool {
    name.eq_ignore_ascii_case("expect") && value.trim().eq_ignore_ascii_case("100-continue")
}

/// Host, and the port if it is not the scheme's default.
fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// Parts that several requests share, each stored once.
#[derive(Debug, Default)]
pub(crate) struct SharedParts {
    bytes: HashSet<Bytes>,
    checks: HashSet<Arc<[Check]>>,
}

impl SharedParts {
    fn bytes(&mut self, bytes: Bytes) -> Bytes {
        kept_once(&mut self.bytes, bytes)
    }

    fn checks(&mut self, checks: Arc<[Check]>) -> Arc<[Check]> {
        kept_once(&mut self.checks, checks)
    }
}

fn kept_once<T: Clone + Eq + std::hash::Hash>(all: &mut HashSet<T>, value: T) -> T {
    if let Some(kept) = all.get(&value) {
        return kept.clone();
    }
    all.insert(value.clone());
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_sent_as_it_was_typed() {
        for (url, expected) in [
            ("http://a/x/../y/./z?q=/../", Some("/x/../y/./z")),
            ("http://a/..%2f/%2e%2e/#/../", Some("/..%2f/%2e%2e/")),
            ("http://a/../\u{fc} {x}", Some("/../%C3%BC%20%7Bx%7D")),
            (" http://a:1// ", Some("//")),
            ("http://a", None),
            ("http://a?/../", None),
            ("http:a/../b", None),
        ] {
            assert_eq!(typed_path(url).as_deref(), expected, "{url}");
        }
    }
}
