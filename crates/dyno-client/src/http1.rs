//! A client's connection of HTTP/1.1: one exchange at a time.

use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use dyno_http::body::{Decoder, Framing};
use dyno_http::{Limits, Method, Parse, Tolerance, response};
use dyno_io::Input;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::answer::Fields;
use crate::answer::{AnswerHead, Exchanged, Receive};
use crate::failure::Failure;
use crate::link::Reach;
use crate::stream::Stream;

/// Interim answers that one exchange may have.
const MAX_INTERIM: u32 = 32;

/// The longest head that is remembered.
const MAX_REMEMBERED_HEAD_BYTES: usize = 1 << 10;

/// Rules for the heads of servers: lenient, since a client must read the web as it is.
const LIMITS: Limits = Limits {
    head_bytes: Input::MAX_BYTES,
    target_bytes: 16 << 10,
    // As many as fit: each has at least four bytes.
    fields: Input::MAX_BYTES / 4,
    chunk_line_bytes: 4 << 10,
    chunk_extension_bytes: 16 << 10,
    trailer_bytes: 8 << 10,
    tolerance: Tolerance::ALL,
};

/// A request as it goes on the wire.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    bytes: Vec<u8>,
    /// Parts that follow, in order; other requests share their memory.
    shared: [Bytes; 2],
    /// Whether the method is HEAD, whose answer has no content whatever it says.
    is_head: bool,
}

impl Request {
    /// A request of these bytes, head and content; `is_head` says whether its method is HEAD.
    #[must_use]
    pub const fn new(bytes: Vec<u8>, is_head: bool) -> Self {
        Self {
            bytes,
            shared: [Bytes::new(), Bytes::new()],
            is_head,
        }
    }

    /// The request with two more parts behind its bytes, whose memory other requests may use, too.
    #[must_use]
    pub fn followed_by(mut self, first: Bytes, second: Bytes) -> Self {
        self.shared = if first.is_empty() {
            [second, first]
        } else {
            [first, second]
        };
        self
    }

    /// The parts behind its bytes.
    #[must_use]
    pub const fn shared(&self) -> &[Bytes; 2] {
        &self.shared
    }

    fn len(&self) -> usize {
        self.bytes.len() + self.shared[0].len() + self.shared[1].len()
    }

    /// Returns the parts still to send after the first `sent` bytes.
    fn unsent(&self, mut sent: usize) -> [IoSlice<'_>; 3] {
        [&self.bytes[..], &self.shared[0][..], &self.shared[1][..]].map(|part| {
            let skipped = sent.min(part.len());
            sent -= skipped;
            IoSlice::new(&part[skipped..])
        })
    }
}

/// One connection.
#[derive(Debug)]
pub struct Connection<S> {
    stream: S,
    input: Input,
    parser: response::Parser,
    decoder: Decoder,
    /// The last head, which most answers of a server repeat to the byte.
    last: Option<ParsedHead>,
    exchange: Exchange,
}

/// A head that was parsed, and the result.
#[derive(Debug)]
struct ParsedHead {
    bytes: Vec<u8>,
    /// Where its fields are, and how many.
    fields: (Range<usize>, usize),
    status: u16,
    version: dyno_http::Version,
    content_length: Option<u64>,
    is_head: bool,
    framing: Framing,
    keep_alive: bool,
}

impl ParsedHead {
    fn fields(&self) -> dyno_http::Fields<'_> {
        let (range, count) = &self.fields;
        dyno_http::Fields::parsed_before(&self.bytes[range.clone()], *count)
    }
}

/// How far the request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sending {
    UnderWay,
    Done,
    /// The server takes no more of it; it may have answered all the same.
    Failed,
}

/// Where an exchange stands.
#[derive(Debug)]
struct Exchange {
    written: usize,
    sending: Sending,
    interim: u32,
    first_byte: Option<Instant>,
    /// Whether the connection outlives the answer, once there is a head.
    keep_alive: Option<bool>,
    /// Input that is not all taken yet: whether more may come, and when it came.
    filled: Option<(bool, Instant)>,
}

impl Exchange {
    const NEW: Self = Self {
        written: 0,
        sending: Sending::UnderWay,
        interim: 0,
        first_byte: None,
        keep_alive: None,
        filled: None,
    };
}

impl Connection<Stream> {
    /// Where it leads.
    #[must_use]
    pub fn reach(&self) -> Reach {
        self.stream.reach()
    }
}

impl<S> Connection<S> {
    /// Whether no byte of an answer has come since a request was last sent.
    #[must_use]
    pub const fn is_unanswered(&self) -> bool {
        self.exchange.first_byte.is_none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Begins to speak on a stream.
    #[must_use]
    pub fn new(stream: S) -> Self {
        Self {
            stream,
            input: Input::growing(),
            parser: response::Parser::new(LIMITS),
            decoder: Decoder::new(Framing::None, &LIMITS),
            last: None,
            exchange: Exchange::NEW,
        }
    }

    /// Sends a request and takes its answer.
    ///
    /// # Errors
    ///
    /// Whatever kept the answer from coming whole. The connection is of no further use then.
    #[inline]
    pub async fn exchange(
        &mut self,
        request: &Request,
        receive: &mut impl Receive,
    ) -> Result<Exchanged, Failure> {
        let sent = Instant::now();
        self.exchange_from(sent, request, receive).await
    }

    /// Does what [`Connection::exchange`] does, from a clock reading of the caller.
    ///
    /// # Errors
    ///
    /// As [`Connection::exchange`].
    #[inline]
    pub fn exchange_from(
        &mut self,
        sent: Instant,
        request: &Request,
        receive: &mut impl Receive,
    ) -> impl Future<Output = Result<Exchanged, Failure>> {
        // The state is the connection's, not the future's, which is moved about.
        self.exchange = Exchange::NEW;
        poll_fn(move |context| {
            self.poll_exchange(context, request, receive)
                .map_ok(|(first_byte, end, reusable)| Exchanged {
                    sent,
                    first_byte,
                    end,
                    reusable,
                })
        })
    }

    /// Whether nothing has come since the last answer. Asks the system only if there was news of the connection.
    ///
    /// A server that closed it meanwhile, or sent something without a request, makes it stale.
    pub async fn is_fresh(&mut self) -> bool {
        if !self.input.bytes().is_empty() {
            return false;
        }
        poll_fn(|context| {
            // Ready means bytes, an end or an error: all of them are news that should not be.
            Poll::Ready(self.input.poll_fill(context, &mut self.stream).is_pending())
        })
        .await
    }

    #[inline]
    fn poll_exchange(
        &mut self,
        context: &mut Context<'_>,
        request: &Request,
        receive: &mut impl Receive,
    ) -> Poll<Result<(Instant, Instant, bool), Failure>> {
        if self.exchange.sending == Sending::UnderWay {
            // A server may answer, and close, before it has read a long request: so a blocked or failed write is not the end.
            match self.poll_send(context, request) {
                Poll::Ready(Ok(())) => self.exchange.sending = Sending::Done,
                Poll::Ready(Err(_)) => self.exchange.sending = Sending::Failed,
                Poll::Pending => {}
            }
        }
        loop {
            let filled = if let Some(filled) = self.exchange.filled {
                filled
            } else {
                let more = match ready!(self.input.poll_fill(context, &mut self.stream)) {
                    Ok(more) => more,
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => false,
                    Err(error) => return Poll::Ready(Err(Failure::from_io(&error))),
                };
                (more, Instant::now())
            };
            let (more, now) = filled;
            if more {
                self.exchange.first_byte.get_or_insert(now);
            }
            let first_byte = self.exchange.first_byte.unwrap_or(now);
            let Poll::Ready(taken) = self.take(context, request.is_head, receive, more) else {
                self.exchange.filled = Some(filled);
                return Poll::Pending;
            };
            self.exchange.filled = None;
            if let Some(reusable) = taken? {
                return Poll::Ready(Ok((first_byte, now, reusable)));
            }
        }
    }

    #[inline]
    fn poll_send(&mut self, context: &mut Context<'_>, request: &Request) -> Poll<io::Result<()>> {
        while self.exchange.written < request.len() {
            let (sent, stream) = (self.exchange.written, Pin::new(&mut self.stream));
            let written = match request.bytes.get(sent..) {
                Some(rest) if request.shared[0].is_empty() => stream.poll_write(context, rest),
                _ => stream.poll_write_vectored(context, &request.unsent(sent)),
            };
            match ready!(written)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.exchange.written += written,
            }
        }
        Pin::new(&mut self.stream).poll_flush(context)
    }

    /// Takes what has been received. Some, when the answer is whole: whether the connection can carry another exchange.
    #[inline]
    fn take(
        &mut self,
        context: &mut Context<'_>,
        is_head: bool,
        receive: &mut impl Receive,
        more: bool,
    ) -> Poll<Result<Option<bool>, Failure>> {
        let keep_alive = loop {
            if let Some(keep_alive) = self.exchange.keep_alive {
                break keep_alive;
            }
            if !self.take_repeated_head(is_head, receive)? && !self.take_head(is_head, receive)? {
                return Poll::Ready(self.without_head(more));
            }
        };
        loop {
            ready!(receive.poll_ready(context))?;
            let bytes = self.input.bytes();
            if bytes.is_empty() || self.decoder.is_done() {
                break;
            }
            let step = self.decoder.decode(bytes).map_err(Failure::from_body)?;
            if !step.content.is_empty() {
                receive.content(&bytes[step.content])?;
            }
            self.input.consume(step.consumed);
        }
        if !more {
            self.decoder.end_of_input().map_err(Failure::from_body)?;
            return Poll::Ready(Ok(Some(false)));
        }
        // A request that is not out yet, or bytes behind the answer: the two sides no longer agree on where they are.
        let in_step = self.exchange.sending == Sending::Done && self.input.bytes().is_empty();
        let reusable = keep_alive && in_step;
        Poll::Ready(Ok(self.decoder.is_done().then_some(reusable)))
    }

    /// Returns what a missing head means: a wait for more bytes, or a failure.
    #[cold]
    fn without_head(&self, more: bool) -> Result<Option<bool>, Failure> {
        if more {
            Ok(None)
        } else if self.input.bytes().is_empty() && self.exchange.interim == 0 {
            Err(Failure::ClosedBeforeAnswer)
        } else {
            Err(Failure::BodyCutShort)
        }
    }

    /// Takes a final head that is byte for byte the last one of the connection: then it means the same, and is not parsed
    /// again. A head ends with its first empty line, so no other head begins with these bytes.
    #[inline]
    fn take_repeated_head(
        &mut self,
        is_head: bool,
        receive: &mut impl Receive,
    ) -> Result<bool, Failure> {
        let Some(last) = &self.last else {
            return Ok(false);
        };
        if last.is_head != is_head || !self.input.bytes().starts_with(&last.bytes) {
            return Ok(false);
        }
        receive.head(&AnswerHead {
            status: last.status,
            version: last.version.into(),
            content_length: last.content_length,
            fields: Fields::Lines(last.fields()),
        })?;
        self.decoder.restart(last.framing);
        self.exchange.keep_alive = Some(last.keep_alive);
        // The parser may have seen a part of it.
        self.parser = response::Parser::new(LIMITS);
        self.input.consume(last.bytes.len());
        Ok(true)
    }

    /// Takes one head, interim or final. False if it has not come whole.
    fn take_head(&mut self, is_head: bool, receive: &mut impl Receive) -> Result<bool, Failure> {
        let parsed = self.parser.parse(self.input.bytes());
        let Parse::Complete { head, bytes } = parsed.map_err(Failure::from_head)? else {
            return Ok(false);
        };
        if head.is_interim() {
            self.exchange.interim += 1;
            if self.exchange.interim > MAX_INTERIM {
                return Err(Failure::InterimFlood);
            }
        } else {
            let method = if is_head { Method::Head } else { Method::Get };
            let framing = head.framing(method);
            let keep_alive = head.keep_alive(framing);
            receive.head(&AnswerHead {
                status: head.status,
                version: head.version.into(),
                content_length: head.content_length(),
                fields: Fields::Lines(head.fields),
            })?;
            let mut memory = self.last.take().map_or_else(Vec::new, |last| last.bytes);
            // A long one is worth neither the memory nor the comparison.
            if bytes <= MAX_REMEMBERED_HEAD_BYTES {
                memory.clear();
                memory.extend_from_slice(&self.input.bytes()[..bytes]);
                // They end where the empty line begins.
                let end = bytes - 2;
                let fields = (end - head.fields.as_bytes().len()..end, head.fields.len());
                self.last = Some(ParsedHead {
                    bytes: memory,
                    fields,
                    status: head.status,
                    version: head.version,
                    content_length: head.content_length(),
                    is_head,
                    framing,
                    keep_alive,
                });
            }
            self.decoder.restart(framing);
            self.exchange.keep_alive = Some(keep_alive);
        }
        self.input.consume(bytes);
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
