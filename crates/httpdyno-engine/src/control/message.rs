//! What two machines say to each other: requests and answers of HTTP/1.1 on one connection, one after the other.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use dyno_http::body::Framing;
use dyno_http::{Limits, Method, Parse, request, response};

/// The version of what is asked and answered.
pub const PROTOCOL: u32 = 1;
/// Heads and bodies of requests are short; only what is given back at the end of a trial is not.
const MOST_ASKED_BYTES: usize = 64 << 10;
const MOST_ANSWERED_BYTES: usize = 4 << 30;
const PIECE_BYTES: usize = 64 << 10;
/// What comes more slowly than this, beyond the patience with the other side, is held up on purpose.
const LEAST_BYTES_PER_S: usize = 64 << 10;

/// A request for something below the reserved path.
#[derive(Debug, PartialEq, Eq)]
pub struct Asked {
    /// `GET` or `POST`.
    pub method: String,
    /// The path.
    pub target: String,
}

/// An answer to one.
#[derive(Debug, PartialEq, Eq)]
pub struct Answered {
    /// Its status code.
    pub status: u16,
    /// Its content.
    pub content: Vec<u8>,
}

/// A connection on which messages are read: what came of the next one is kept.
#[derive(Debug)]
pub struct Messages<S> {
    stream: S,
    received: Vec<u8>,
    /// How long a message may take, whatever pieces it comes in.
    patience: Duration,
    /// When the message that is read began to come.
    began: Option<Instant>,
}

impl<S: Read + Write> Messages<S> {
    /// Goes on with what was received already. A message may take `patience`, and a long one the time that its bytes need.
    pub fn new(stream: S, received: Vec<u8>, patience: Duration) -> Self {
        Self {
            stream,
            received,
            patience,
            began: None,
        }
    }

    /// Reads a request; `None` at the end of the connection.
    pub fn read_request(&mut self) -> io::Result<Option<Asked>> {
        self.began = None;
        loop {
            match request::parse(&self.received, &Limits::default()).map_err(malformed)? {
                Parse::Complete { head, bytes } => {
                    let asked = Asked {
                        method: head.method.as_str().to_owned(),
                        target: head.target.as_str().to_owned(),
                    };
                    let length = length_of(head.framing, MOST_ASKED_BYTES)?;
                    self.received.drain(..bytes);
                    self.take(length)?;
                    return Ok(Some(asked));
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

    /// Answers a request with content of the given type; the connection stays.
    pub fn answer(&mut self, answered: &Answered, content_type: &str) -> io::Result<()> {
        let Answered { status, content } = answered;
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
    pub fn read_answer(&mut self) -> io::Result<Answered> {
        self.began = None;
        loop {
            match response::parse(&self.received, &Limits::default()).map_err(malformed)? {
                Parse::Complete { head, bytes } => {
                    let framing = head.framing(Method::Get);
                    let (status, length) = (head.status, length_of(framing, MOST_ANSWERED_BYTES)?);
                    self.received.drain(..bytes);
                    let content = self.take(length)?;
                    return Ok(Answered { status, content });
                }
                Parse::Partial => {}
            }
            if !self.fill()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Takes so many bytes of a body.
    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.received.len() < length {
            if !self.fill()? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        let rest = self.received.split_off(length);
        Ok(std::mem::replace(&mut self.received, rest))
    }

    /// Receives more; false at the end.
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

/// Nobody who speaks this sends bodies of unknown length.
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

    /// A connection by which these bytes come, in pieces; what is sent is kept apart.
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
    fn a_request_with_a_long_body_is_refused_and_a_slow_one_given_up() {
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
    fn what_one_side_says_the_other_reads_however_it_comes() {
        for piece in [1, 7, 10_000] {
            let mut here = line(b"", piece);
            here.ask("GET", "other:8080", "/a?b").expect("asked");
            here.ask("POST", "other:8080", "/c").expect("asked");
            let mut there = line(&here.stream.sent, piece);
            for (method, target) in [("GET", "/a?b"), ("POST", "/c")] {
                let asked = there.read_request().expect("a request");
                let expected = Asked {
                    method: method.to_owned(),
                    target: target.to_owned(),
                };
                assert_eq!(asked, Some(expected));
            }
            assert_eq!(there.read_request().expect("an end"), None);
            let answers = [(200, vec![b'x'; 100_000]), (409, Vec::new())];
            for (status, content) in &answers {
                let answered = Answered {
                    status: *status,
                    content: content.clone(),
                };
                there.answer(&answered, "text/csv").expect("answered");
            }
            let mut here = line(&there.stream.sent, piece);
            for (status, content) in answers {
                let answered = here.read_answer().expect("an answer");
                assert_eq!(answered, Answered { status, content });
            }
        }
    }

    #[test]
    fn what_ends_early_or_is_no_http_is_an_error() {
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
