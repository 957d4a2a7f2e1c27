//! Messages between two machines: HTTP/1.1 requests and answers, one after another on one connection.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use dyno_http::body::Framing;
use dyno_http::{Limits, Method, Parse, request, response};

/// The version of the protocol.
pub const PROTOCOL: u32 = 1;
/// Limits of bodies: requests are short, but the record at the end of a trial is long.
const MOST_REQUEST_BYTES: usize = 64 << 10;
const MOST_RESPONSE_BYTES: usize = 4 << 30;
const PIECE_BYTES: usize = 64 << 10;
/// Minimum rate of a message after its patience; a slower message is refused.
const LEAST_BYTES_PER_S: usize = 64 << 10;

/// A control request.
#[derive(Debug, PartialEq, Eq)]
pub struct ControlRequest {
    /// `GET` or `POST`.
    pub method: String,
    /// The path.
    pub target: String,
}

/// The answer to a control request.
#[derive(Debug, PartialEq, Eq)]
pub struct ControlResponse {
    /// Its status code.
    pub status: u16,
    /// Its content.
    pub content: Vec<u8>,
}

/// A connection for messages; bytes after the current message are kept for the next one.
#[derive(Debug)]
pub struct Messages<S> {
    stream: S,
    received: Vec<u8>,
    /// Time that a message may take, in however many pieces it arrives.
    patience: Duration,
    /// When the first bytes of the current message came.
    began: Option<Instant>,
}

impl<S: Read + Write> Messages<S> {
    /// Takes over a connection and the bytes already received. A message may take `patience`, and a long one additional
    /// time for its length.
    pub fn new(stream: S, received: Vec<u8>, patience: Duration) -> Self {
        Self {
            stream,
            received,
            patience,
            began: None,
        }
    }

    /// Reads a request; `None` at the end of the connection.
    pub fn read_request(&mut self) -> io::Result<Option<ControlRequest>> {
        self.began = None;
        loop {
            match request::parse(&self.received, &Limits::default()).map_err(malformed)? {
                Parse::Complete { head, bytes } => {
                    let request = ControlRequest {
                        method: head.method.as_str().to_owned(),
                        target: head.target.as_str().to_owned(),
                    };
                    let length = length_of(head.framing, MOST_REQUEST_BYTES)?;
                    self.received.drain(..bytes);
                    self.take(length)?;
                    return Ok(Some(request));
                }
                Parse::Partial => {}
            }
            if !self.fill()? {
                return if self.received.is_empty() {
                    Ok(None)
                } else {
                    Err(io::ErrorKind::UnexpectedEof.into())
                };
            }
        }
    }

    /// Sends an answer with the given content type; the connection stays open.
    pub fn answer(&mut self, response: &ControlResponse, content_type: &str) -> io::Result<()> {
        let ControlResponse { status, content } = response;
        let reason = dyno_http::write::reason(*status);
        let length = content.len();
        let mut message = format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\r\n"
        )
        .into_bytes();
        message.extend_from_slice(content);
        self.stream.write_all(&message)
    }

    /// Sends a request to `authority`.
    pub fn ask(&mut self, method: &str, authority: &str, target: &str) -> io::Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: httpdyno/{version}\r\nContent-Length: 0\r\n\r\n"
        );
        self.stream.write_all(request.as_bytes())
    }

    /// Reads the answer to a request.
    pub fn read_answer(&mut self) -> io::Result<ControlResponse> {
        self.began = None;
        loop {
            match response::parse(&self.received, &Limits::default()).map_err(malformed)? {
                Parse::Complete { head, bytes } => {
                    let framing = head.framing(Method::Get);
                    let (status, length) = (head.status, length_of(framing, MOST_RESPONSE_BYTES)?);
                    self.received.drain(..bytes);
                    let content = self.take(length)?;
                    return Ok(ControlResponse { status, content });
                }
                Parse::Partial => {}
            }
            if !self.fill()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Reads a body of the given length.
    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.received.len() < length {
            if !self.fill()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let rest = self.received.split_off(length);
        Ok(std::mem::replace(&mut self.received, rest))
    }

    /// Receives more bytes; false at the end.
    fn fill(&mut self) -> io::Result<bool> {
        let before = self.received.len();
        self.received.resize(before + PIECE_BYTES, 0);
        let read = self.stream.read(&mut self.received[before..]);
        self.received
            .truncate(before + read.as_ref().map_or(0, |count| *count));
        let came = read? > 0;
        let took = self.began.get_or_insert_with(Instant::now).elapsed();
        let due = Duration::from_secs((self.received.len() / LEAST_BYTES_PER_S) as u64);
        if took > self.patience.saturating_add(due) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(came)
    }
}

fn malformed(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// The length of a body; a body of unknown length violates the protocol.
fn length_of(framing: Framing, most: usize) -> io::Result<usize> {
    match framing {
        Framing::None => Ok(0),
        Framing::Length(length) => usize::try_from(length)
            .ok()
            .filter(|length| *length <= most)
            .ok_or_else(|| io::ErrorKind::InvalidData.into()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A connection that delivers these bytes in pieces, and records the bytes sent.
    struct Line {
        incoming: Cursor<Vec<u8>>,
        piece: usize,
        sent: Vec<u8>,
    }

    impl Read for Line {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = self.piece.min(buffer.len());
            self.incoming.read(&mut buffer[..most])
        }
    }

    impl Write for Line {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.sent.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn line(incoming: &[u8], piece: usize) -> Messages<Line> {
        let stream = Line {
            incoming: Cursor::new(incoming.to_vec()),
            piece,
            sent: Vec::new(),
        };
        Messages::new(stream, Vec::new(), Duration::from_secs(60))
    }

    #[test]
    fn a_long_body_and_a_slow_request_are_refused() {
        let mut long = line(
            b"POST /a HTTP/1.1\r\nHost: o\r\nContent-Length: 65537\r\n\r\n",
            9,
        );
        let refused = long.read_request().expect_err("too long");
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
        let mut slow = line(b"GET /a HTTP/1.1\r\nHost: o\r\n\r\n", 1);
        slow.patience = Duration::ZERO;
        let given_up = slow.read_request().expect_err("too slow");
        assert_eq!(given_up.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn messages_are_read_back_in_pieces_of_any_size() {
        for piece in [1, 7, 10_000] {
            let mut here = line(b"", piece);
            here.ask("GET", "other:8080", "/a?b").expect("request");
            here.ask("POST", "other:8080", "/c").expect("request");
            let mut there = line(&here.stream.sent, piece);
            for (method, target) in [("GET", "/a?b"), ("POST", "/c")] {
                let request = there.read_request().expect("a request");
                let expected = ControlRequest {
                    method: method.to_owned(),
                    target: target.to_owned(),
                };
                assert_eq!(request, Some(expected));
            }
            assert_eq!(there.read_request().expect("an end"), None);
            let answers = [(200, vec![b'x'; 100_000]), (409, Vec::new())];
            for (status, content) in &answers {
                let response = ControlResponse {
                    status: *status,
                    content: content.clone(),
                };
                there.answer(&response, "text/csv").expect("response");
            }
            let mut here = line(&there.stream.sent, piece);
            for (status, content) in answers {
                let response = here.read_answer().expect("an answer");
                assert_eq!(response, ControlResponse { status, content });
            }
        }
    }

    #[test]
    fn truncated_and_malformed_answers_are_errors() {
        let cases: [(&[u8], io::ErrorKind); 5] = [
            (b"", io::ErrorKind::UnexpectedEof),
            (
                b"HTTP/1.1 200 OK\r\nContent-Le",
                io::ErrorKind::UnexpectedEof,
            ),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
                io::ErrorKind::UnexpectedEof,
            ),
            (b"SSH-2.0-OpenSSH_9.2\r\n", io::ErrorKind::InvalidData),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                io::ErrorKind::InvalidData,
            ),
        ];
        for (bytes, expected) in cases {
            let error = line(bytes, 100).read_answer().expect_err("no answer");
            assert_eq!(error.kind(), expected, "{}", String::from_utf8_lossy(bytes));
        }
    }
}
