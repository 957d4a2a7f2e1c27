//! Sends one request to a server on a new connection, and receives its whole answer within a given time.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use dyno_http::body::Decoder;
use dyno_http::{Limits, Method, Parse, response};

/// Timeout of a connect: a full backlog drops the first attempt, and the second follows after a second.
const CONNECTING: Duration = Duration::from_secs(5);
/// Read timeout, after which the stop flag is checked.
const SLICE: Duration = Duration::from_millis(50);
/// Longer than any content of the contract.
const MOST_CONTENT_BYTES: usize = 16 << 20;

/// A request.
#[derive(Debug, Clone)]
pub struct Call {
    pub method: &'static str,
    pub path: &'static str,
    pub content: Option<Vec<u8>>,
}

impl Call {
    pub fn get(path: &'static str) -> Self {
        Self {
            method: "GET",
            path,
            content: None,
        }
    }

    fn bytes(&self, authority: &str) -> Vec<u8> {
        let Self { method, path, .. } = self;
        let version = env!("CARGO_PKG_VERSION");
        let fields = match &self.content {
            Some(content) => format!(
                "Content-Type: application/json\r\nContent-Length: {}\r\n",
                content.len()
            ),
            None => String::new(),
        };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: httpdyno/{version}\r\nConnection: close\r\n{fields}\r\n"
        );
        [head.as_bytes(), self.content.as_deref().unwrap_or_default()].concat()
    }
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub content: Vec<u8>,
    /// Time from before the connect to the last byte.
    pub took: Duration,
}

/// The reason of a missing answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// No answer came, or not all of it.
    Unanswered(String),
    /// The answer is not HTTP, or is longer than any answer of the contract.
    Malformed(String),
    /// The drive was stopped.
    Stopped,
}

/// The address of a server.
#[derive(Debug, Clone)]
pub struct Server {
    pub address: SocketAddr,
    pub authority: String,
}

impl Server {
    /// Sends a request and reads the whole answer; `is_stopped` is polled meanwhile.
    pub fn ask(
        &self,
        call: &Call,
        patience: Duration,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Answer, Failure> {
        let begun = Instant::now();
        let mut stream = self.connect(patience)?;
        // A server may refuse before it has read the whole request; its answer counts.
        let sent = stream.write_all(&call.bytes(&self.authority));
        let mut reading = Reading::default();
        loop {
            if let Some((status, content)) = reading.whole()? {
                let took = begun.elapsed();
                return Ok(Answer {
                    status,
                    content,
                    took,
                });
            }
            if is_stopped() {
                return Err(Failure::Stopped);
            }
            if begun.elapsed() >= patience {
                let text = format!("no complete answer within {:.1} s", patience.as_secs_f64());
                return Err(Failure::Unanswered(text));
            }
            match reading.read(&mut stream) {
                Ok(0) => reading.end()?,
                Err(error) if !is_slice(&error) => {
                    let error = sent.err().unwrap_or(error);
                    return Err(Failure::Unanswered(reason(&error)));
                }
                _ => {}
            }
        }
    }

    fn connect(&self, patience: Duration) -> Result<TcpStream, Failure> {
        TcpStream::connect_timeout(&self.address, CONNECTING.min(patience))
            .and_then(|stream| {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(SLICE))?;
                stream.set_write_timeout(Some(patience))?;
                Ok(stream)
            })
            .map_err(|error| Failure::Unanswered(format!("no connection: {}", reason(&error))))
    }
}

fn is_slice(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

/// The text of an I/O error without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error")
        .next()
        .unwrap_or(&text)
        .to_lowercase()
}

/// An answer that is received in pieces.
#[derive(Default)]
struct Reading {
    received: Vec<u8>,
    /// Status and decoder, after the head.
    head: Option<(u16, Decoder)>,
    content: Vec<u8>,
    done: bool,
}

impl Reading {
    fn read(&mut self, stream: &mut TcpStream) -> io::Result<usize> {
        let mut piece = [0; 16 << 10];
        let count = stream.read(&mut piece)?;
        self.received.extend_from_slice(&piece[..count]);
        Ok(count)
    }

    /// Status and content, once the answer is complete.
    fn whole(&mut self) -> Result<Option<(u16, Vec<u8>)>, Failure> {
        let malformed = |error: dyno_http::Error| Failure::Malformed(format!("no HTTP: {error}"));
        while self.head.is_none() {
            match response::parse(&self.received, &Limits::default()).map_err(malformed)? {
                Parse::Partial => return Ok(None),
                Parse::Complete { head, bytes } => {
                    if head.status >= 200 {
                        // Answers to GET and POST have the same framing.
                        let framing = head.framing(Method::Get);
                        let decoder = Decoder::new(framing, &Limits::default());
                        self.head = Some((head.status, decoder));
                    }
                    self.received.drain(..bytes);
                }
            }
        }
        let (status, decoder) = self.head.as_mut().expect("found above");
        let mut at = 0;
        while !self.done {
            let step = decoder.decode(&self.received[at..]).map_err(malformed)?;
            self.content
                .extend_from_slice(&self.received[at..][step.content.clone()]);
            self.done = step.done;
            if step.consumed == 0 {
                break;
            }
            at += step.consumed;
        }
        self.received.drain(..at);
        if self.content.len() > MOST_CONTENT_BYTES {
            return Err(Failure::Malformed("its content does not end".to_owned()));
        }
        let whole = (*status, std::mem::take(&mut self.content));
        if self.done {
            return Ok(Some(whole));
        }
        self.content = whole.1;
        Ok(None)
    }

    /// Handles the end of the connection.
    fn end(&mut self) -> Result<(), Failure> {
        let cut = |what: &str| Err(Failure::Unanswered(what.to_owned()));
        match &mut self.head {
            None if self.received.is_empty() => cut("closed without an answer"),
            None => cut("closed within the head of its answer"),
            Some((_, decoder)) => match decoder.end_of_input() {
                Ok(()) => {
                    self.done = true;
                    Ok(())
                }
                Err(_) => cut("closed before the end of its answer"),
            },
        }
    }
}

#[cfg(test)]
mod tests;
