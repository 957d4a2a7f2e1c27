//! Sends a message to a receiver over HTTP/1.1, each time over a new connection: pushes are seconds apart.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dyno_client::resolve::{Configuration, Hosts, Options, Resolver};
use dyno_client::{AnswerHead, Failure, Protocol, Receive, Stream, connect, http1, tls};
use url::Url;

/// Timeout of all attempts at a name server except the last.
const ATTEMPT: Duration = Duration::from_secs(2);
/// Answers of receivers are short.
const LONGEST_ANSWER: usize = 64 * 1024;

/// The way to a receiver.
pub struct Post {
    host: String,
    port: u16,
    tls: Option<tls::Client>,
    /// The head up to the length of the content.
    head: String,
}

/// The answer of a receiver.
#[derive(Debug, Default)]
pub struct Answer {
    pub status: u16,
    pub retry_after: Option<Duration>,
    pub content: Vec<u8>,
}

impl Receive for Answer {
    fn head(&mut self, head: &AnswerHead<'_>) -> Result<(), Failure> {
        self.status = head.status;
        let after = head.field("retry-after").map(<[u8]>::to_vec);
        let seconds = after.and_then(|text| String::from_utf8(text).ok()?.trim().parse().ok());
        self.retry_after = seconds.map(Duration::from_secs);
        Ok(())
    }

    fn content(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.content.extend_from_slice(bytes);
        if self.content.len() > LONGEST_ANSWER {
            return Err(Failure::ContentTooLong);
        }
        Ok(())
    }
}

impl Post {
    /// Prepares requests to this URL; `authorities` is a file of certificates that are trusted, too.
    pub fn new(
        url: &Url,
        headers: &[(String, String)],
        authorities: Option<&Path>,
    ) -> Result<Self, tls::Error> {
        let host = url.host_str().unwrap_or_default().to_owned();
        let trust = tls::Trust::Authorities(authorities);
        let is_tls = url.scheme() == "https";
        let tls =
            is_tls.then(|| tls::Client::new(trust, &[Protocol::Http1], &tls::Settings::default()));
        let port = url.port().map_or(String::new(), |port| format!(":{port}"));
        let query = url
            .query()
            .map_or(String::new(), |query| format!("?{query}"));
        let mut head = format!(
            "POST {}{query} HTTP/1.1\r\nHost: {host}{port}\r\nUser-Agent: httpdyno/{}\r\nContent-Type: application/x-protobuf\r\nConnection: close\r\n",
            url.path(),
            env!("CARGO_PKG_VERSION"),
        );
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head.push_str("Content-Length: ");
        Ok(Self {
            host,
            port: url.port_or_known_default().unwrap_or(0),
            tls: tls.transpose()?,
            head,
        })
    }

    /// Sends a message. The caller sets the timeout.
    pub async fn send(&self, message: &[u8]) -> Result<Answer, Failure> {
        let resolver = Resolver::new(Options {
            configuration: Configuration::of_machine(),
            hosts: Hosts::of_machine(),
            attempt_timeout: ATTEMPT,
            tls: None,
            on_failure: None,
        });
        let lookup = resolver.lookup(&self.host);
        let traffic = Arc::default();
        let wire = connect::race(&Arc::default(), &lookup, self.port, &traffic, |_| Ok(())).await?;
        let stream = match &self.tls {
            None => Stream::Plain(wire),
            Some(client) => {
                let name = self.host.trim_start_matches('[').trim_end_matches(']');
                Stream::Encrypted(client.handshake(wire, name).await?.stream)
            }
        };
        let mut bytes = format!("{}{}\r\n\r\n", self.head, message.len()).into_bytes();
        bytes.extend_from_slice(message);
        let mut answer = Answer::default();
        let mut connection = http1::Connection::new(stream, http1::Profile::Tolerant);
        let request = http1::Request::new(bytes, false);
        connection.exchange(&request, &mut answer).await?;
        Ok(answer)
    }
}
