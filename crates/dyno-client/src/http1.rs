//! A client's HTTP/1.1 connection: one exchange at a time.

use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::ops::Range;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use dyno_http::body::{Decoder, Framing};
use dyno_http::{
    Deviation, Deviations, Limits, Mended, Mender, Method, Parse, Tolerance, response,
};
use dyno_io::{Alarm, Input};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::answer::Fields;
use crate::answer::{AnswerHead, Exchanged, Receive};
use crate::failure::Failure;
use crate::link::Reach;
use crate::stream::Stream;
use crate::upload::{
    Expectation, LONGEST_SILENCE, PIECE_BYTES, PIECES_PER_TURN, Piece, Reader, Upload,
};

/// Limit of interim answers in one exchange.
pub(crate) const MAX_INTERIM: u32 = 32;

/// Longest head that is kept for comparison with the next one.
const MAX_REMEMBERED_HEAD_BYTES: usize = 1 << 10;

/// Parser settings of the strict profile, and of proxies.
pub(crate) const LIMITS: Limits = Limits {
    head_bytes: Input::MAX_BYTES,
    target_bytes: 16 << 10,
    // As many as fit: each field has at least four bytes.
    fields: Input::MAX_BYTES / 4,
    chunk_line_bytes: 4 << 10,
    chunk_extension_bytes: 16 << 10,
    trailer_bytes: 8 << 10,
    tolerance: Tolerance::HARMLESS,
};

/// Parser settings of the tolerant profile, which reads the web as browsers do.
const TOLERANT: Limits = Limits {
    // As in Chromium.
    head_bytes: 256 << 10,
    fields: (256 << 10) / 3,
    chunk_line_bytes: 64 << 10,
    chunk_extension_bytes: 1 << 20,
    trailer_bytes: 256 << 10,
    tolerance: Tolerance::TOLERANT,
    ..LIMITS
};

/// What answers a connection accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Well-formed ones, and odd ones that no two readers understand differently, as browsers do.
    #[default]
    Tolerant,
    /// Well-formed ones.
    Strict,
}

impl Profile {
    /// The profile of a command with or without `--strict`.
    #[must_use]
    pub const fn of(is_strict: bool) -> Self {
        if is_strict {
            Self::Strict
        } else {
            Self::Tolerant
        }
    }

    const fn limits(self) -> Limits {
        match self {
            Self::Tolerant => TOLERANT,
            Self::Strict => LIMITS,
        }
    }
}

/// The bytes of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    bytes: Vec<u8>,
    /// Parts that follow, in order; requests share their memory.
    shared: [Bytes; 2],
    /// Content that is sent in pieces, after all of these bytes.
    upload: Option<Arc<Upload>>,
    /// Whether the method is HEAD, whose answer never has content.
    is_head: bool,
}

impl Request {
    /// Creates a request from the bytes of its head and content; `is_head` says whether the method is HEAD.
    #[must_use]
    pub const fn new(bytes: Vec<u8>, is_head: bool) -> Self {
        Self {
            bytes,
            shared: [Bytes::new(), Bytes::new()],
            upload: None,
            is_head,
        }
    }

    /// Appends two parts, whose memory other requests may share.
    #[must_use]
    pub fn followed_by(mut self, first: Bytes, second: Bytes) -> Self {
        self.shared = if first.is_empty() {
            [second, first]
        } else {
            [first, second]
        };
        self
    }

    /// Appends content that is sent in pieces.
    #[must_use]
    pub fn with_upload(mut self, upload: Arc<Upload>) -> Self {
        self.upload = Some(upload);
        self
    }

    /// Its content that is sent in pieces.
    #[must_use]
    pub const fn upload(&self) -> Option<&Arc<Upload>> {
        self.upload.as_ref()
    }

    /// Whether the method is HEAD.
    #[must_use]
    pub const fn is_head(&self) -> bool {
        self.is_head
    }

    /// All of its bytes in one piece, without those that are sent in pieces.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.bytes[..], &self.shared[0], &self.shared[1]].concat()
    }

    /// Its memory, emptied for another request without shared parts.
    pub fn rewrite(&mut self, is_head: bool, upload: Option<Arc<Upload>>) -> &mut Vec<u8> {
        self.is_head = is_head;
        self.upload = upload;
        self.shared = Default::default();
        self.bytes.clear();
        &mut self.bytes
    }

    /// The appended parts.
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

/// An HTTP/1.1 connection.
#[derive(Debug)]
pub struct Connection<S> {
    stream: S,
    input: Input,
    profile: Profile,
    parser: response::Parser,
    /// Memory of the last head that was not well-formed.
    mender: Mender,
    decoder: Decoder,
    /// The last head: most answers of a server repeat it byte for byte.
    last: Option<ParsedHead>,
    exchange: Exchange,
    /// Memory of the upload that it sends, or sent last.
    uploading: Option<Box<Uploading>>,
}

/// Progress of an upload.
#[derive(Debug, Default)]
struct Uploading {
    reader: Reader,
    /// A piece of a file, and how much of it is sent.
    buffer: Vec<u8>,
    sent: usize,
    /// Ends the wait of a request with `Expect: 100-continue`.
    alarm: Option<Alarm>,
}

/// A parsed head, and the result.
#[derive(Debug)]
struct ParsedHead {
    bytes: Vec<u8>,
    /// Byte range of its fields, and their number.
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

/// Progress of sending the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sending {
    UnderWay,
    /// The head is sent; the content waits for the server's consent.
    Expecting,
    /// The head is sent, and content in pieces follows.
    Uploading,
    Done,
    /// Sending failed; the server may have answered nevertheless.
    Failed,
}

/// Progress of an exchange.
#[derive(Debug)]
struct Exchange {
    written: usize,
    sending: Sending,
    interim: u32,
    first_byte: Option<Instant>,
    /// Whether the connection stays open after the answer; known once there is a head.
    keep_alive: Option<bool>,
    /// Whether content in pieces follows, or has followed, the rest of the request.
    is_uploading: bool,
    expectation: Expectation,
    /// Deviations of its heads; the decoder has those of the content.
    deviations: Deviations,
    /// State of input that is not fully processed: whether more may follow, and when it arrived.
    filled: Option<(bool, Instant)>,
    lacks_close_notify: bool,
}

impl Exchange {
    const NEW: Self = Self {
        written: 0,
        sending: Sending::UnderWay,
        interim: 0,
        first_byte: None,
        keep_alive: None,
        is_uploading: false,
        expectation: Expectation::None,
        deviations: Deviations::NONE,
        filled: None,
        lacks_close_notify: false,
    };
}

impl Connection<Stream> {
    /// The address of the peer.
    #[must_use]
    pub fn reach(&self) -> Reach {
        self.stream.reach()
    }

    /// The version of TLS: `1.2`, `1.3`; `None` without TLS.
    #[must_use]
    pub fn tls_version(&self) -> Option<&'static str> {
        self.stream.tls_version()
    }
}

impl<S> Connection<S> {
    /// Whether no byte of an answer has arrived since the last request was sent.
    #[must_use]
    pub const fn is_unanswered(&self) -> bool {
        self.exchange.first_byte.is_none() && self.exchange.interim == 0
    }

    /// Whether the peer ended TLS without `close_notify` in the last exchange: the end of a content without a length
    /// may then be the work of a third party (RFC 9112, section 9.8).
    #[must_use]
    pub const fn lacks_close_notify(&self) -> bool {
        self.exchange.lacks_close_notify
    }

    /// What was odd in the last answer, and was accepted.
    #[must_use]
    #[inline]
    pub const fn deviations(&self) -> Deviations {
        self.exchange.deviations.union(self.decoder.deviations())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    /// Starts a connection on a stream.
    #[must_use]
    pub fn new(stream: S, profile: Profile) -> Self {
        let limits = profile.limits();
        Self {
            stream,
            input: Input::growing(),
            profile,
            parser: response::Parser::new(limits),
            mender: Mender::default(),
            decoder: Decoder::new(Framing::None, &limits),
            last: None,
            exchange: Exchange::NEW,
            uploading: None,
        }
    }

    /// Sends a request and receives its answer.
    ///
    /// # Errors
    ///
    /// The reason why the answer is incomplete. The connection cannot be used afterwards.
    #[inline]
    pub async fn exchange(
        &mut self,
        request: &Request,
        receive: &mut impl Receive,
    ) -> Result<Exchanged, Failure> {
        let sent = Instant::now();
        self.exchange_from(sent, request, receive).await
    }

    /// Like [`Connection::exchange`], with the caller's reading of the clock.
    ///
    /// # Errors
    ///
    /// See [`Connection::exchange`].
    #[inline]
    pub fn exchange_from(
        &mut self,
        sent: Instant,
        request: &Request,
        receive: &mut impl Receive,
    ) -> impl Future<Output = Result<Exchanged, Failure>> {
        // The state is in the connection, because the future may be moved.
        self.exchange = Exchange::NEW;
        poll_fn(move |context| {
            self.poll_exchange(context, request, receive)
                .map_ok(|(first_byte, end, reusable)| Exchanged {
                    sent,
                    first_byte,
                    end,
                    reusable,
                    expectation: self.exchange.expectation,
                    deviations: self.deviations(),
                })
        })
    }

    /// Whether nothing has arrived since the last answer. Makes a system call only if there was an event on the
    /// connection.
    ///
    /// A connection is not fresh if the server closed it, or sent bytes without a request.
    pub async fn is_fresh(&mut self) -> bool {
        if !self.input.bytes().is_empty() {
            return false;
        }
        poll_fn(|context| {
            // Ready means that there are bytes, an end or an error: none of them is expected now.
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
            // A server may answer, and close, before it has read a long request: so a blocked or failed write does not
            // end the exchange.
            match self.poll_send(context, request) {
                Poll::Ready(Ok(())) => self.exchange.sending = Sending::Done,
                Poll::Ready(Err(_)) => self.exchange.sending = Sending::Failed,
                Poll::Pending => {}
            }
        }
        loop {
            if let Some(upload) = &request.upload {
                self.upload(context, upload)?;
            }
            let filled = if let Some(filled) = self.exchange.filled {
                filled
            } else {
                let more = match ready!(self.input.poll_fill(context, &mut self.stream)) {
                    Ok(more) => more,
                    Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                        self.exchange.lacks_close_notify = true;
                        false
                    }
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

    /// Prepares to send content in pieces, once the head is sent.
    #[cold]
    fn begin_upload(&mut self, upload: &Upload) -> Result<Sending, Failure> {
        let uploading = self.uploading.get_or_insert_default();
        uploading.reader = Reader::default();
        uploading.buffer.clear();
        uploading.sent = 0;
        if !upload.expects_continue() {
            return Ok(Sending::Uploading);
        }
        // A final answer ends the wait unless something else does.
        self.exchange.expectation = Expectation::Final;
        let failed = |error: io::Error| Failure::from_io(&error);
        let alarm = match &mut uploading.alarm {
            Some(alarm) => alarm,
            none => none.insert(Alarm::new().map_err(failed)?),
        };
        alarm.set(LONGEST_SILENCE).map_err(failed)?;
        Ok(Sending::Expecting)
    }

    /// Sends as much of the content as the connection takes now. As with the head, an error of the connection does not
    /// end the exchange: the server may have answered before.
    #[cold]
    fn upload(&mut self, context: &mut Context<'_>, upload: &Upload) -> Result<(), Failure> {
        if self.exchange.sending == Sending::Done && !self.exchange.is_uploading {
            self.exchange.is_uploading = true;
            self.exchange.sending = self.begin_upload(upload)?;
        }
        if self.exchange.sending == Sending::Expecting && self.exchange.keep_alive.is_none() {
            let alarm = self.uploading.as_ref().and_then(|one| one.alarm.as_ref());
            if alarm.is_some_and(|alarm| alarm.poll_expired(context).is_ready()) {
                self.exchange.expectation = Expectation::Silence;
                self.exchange.sending = Sending::Uploading;
            }
        }
        if self.exchange.sending == Sending::Uploading {
            match self.poll_upload(context, upload) {
                Poll::Ready(Ok(())) => self.exchange.sending = Sending::Done,
                Poll::Ready(Err(Some(failure))) => return Err(failure),
                Poll::Ready(Err(None)) => self.exchange.sending = Sending::Failed,
                Poll::Pending => {}
            }
        }
        Ok(())
    }

    /// Sends content until the end, an error of the connection (`None`), or one of a file.
    fn poll_upload(
        &mut self,
        context: &mut Context<'_>,
        upload: &Upload,
    ) -> Poll<Result<(), Option<Failure>>> {
        let Some(uploading) = &mut self.uploading else {
            return Poll::Ready(Ok(()));
        };
        // The end is found in the same turn as the last write, or a complete request would seem to be under way.
        let mut writes = 0..PIECES_PER_TURN;
        loop {
            let mut stream = Pin::new(&mut self.stream);
            if uploading.sent < uploading.buffer.len() {
                if writes.next().is_none() {
                    break;
                }
                let rest = &uploading.buffer[uploading.sent..];
                match ready!(stream.poll_write(context, rest)) {
                    Ok(written @ 1..) => uploading.sent += written,
                    _ => return Poll::Ready(Err(None)),
                }
                continue;
            }
            let (reader, buffer) = (&mut uploading.reader, &mut uploading.buffer);
            match reader.piece(upload, buffer, PIECE_BYTES)? {
                None => return stream.poll_flush(context).map_err(|_| None),
                Some(Piece::Read) => {
                    reader.advance(buffer.len());
                    uploading.sent = 0;
                }
                Some(Piece::Shared(bytes, range)) => {
                    if writes.next().is_none() {
                        break;
                    }
                    match ready!(stream.as_mut().poll_write(context, &bytes[range])) {
                        Ok(written @ 1..) => reader.advance(written),
                        _ => return Poll::Ready(Err(None)),
                    }
                }
            }
        }
        // After the events of all connections: an answer may have arrived.
        pin!(tokio::task::yield_now()).poll(context).map(Ok)
    }

    /// Processes the received bytes. Returns `Some` if the answer is complete: whether the connection can carry another
    /// exchange.
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
            receive.received(&bytes[..step.consumed])?;
            if !step.content.is_empty() {
                receive.content(&bytes[step.content])?;
            }
            self.input.consume(step.consumed);
        }
        if !more {
            self.decoder.end_of_input().map_err(Failure::from_body)?;
            return Poll::Ready(Ok(Some(false)));
        }
        // If the request is not fully sent, or bytes follow the answer, the two sides no longer agree on their
        // position.
        let in_step = self.exchange.sending == Sending::Done && self.input.bytes().is_empty();
        let reusable = keep_alive && in_step;
        Poll::Ready(Ok(self.decoder.is_done().then_some(reusable)))
    }

    /// Handles a missing head: waits for more bytes, or returns a failure.
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

    /// Handles a final head that equals the previous one of the connection byte for byte: it has the same meaning, and
    /// is not parsed again. Because a head ends with its first empty line, no longer head begins with these bytes.
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
        receive.received(&last.bytes)?;
        receive.head(&AnswerHead {
            status: last.status,
            version: last.version.into(),
            content_length: last.content_length,
            fields: Fields::Lines(last.fields()),
        })?;
        self.decoder.restart(last.framing);
        self.exchange.keep_alive = Some(last.keep_alive);
        // The parser may have read a part of it.
        self.parser = response::Parser::new(self.profile.limits());
        self.input.consume(last.bytes.len());
        Ok(true)
    }

    /// Parses one head, interim or final. False if it is incomplete.
    fn take_head(&mut self, is_head: bool, receive: &mut impl Receive) -> Result<bool, Failure> {
        match self.parser.parse(self.input.bytes()) {
            Ok(Parse::Complete { head, bytes }) => {
                if head.is_interim() {
                    self.exchange.take_interim(head.status)?;
                    self.input.consume(bytes);
                    return Ok(true);
                }
                receive.received(&self.input.bytes()[..bytes])?;
                let parsed = TakenHead::new(&head, is_head, receive)?;
                let mut memory = self.last.take().map_or_else(Vec::new, |last| last.bytes);
                // A long head is not worth the memory and the comparison.
                if bytes <= MAX_REMEMBERED_HEAD_BYTES {
                    memory.clear();
                    memory.extend_from_slice(&self.input.bytes()[..bytes]);
                    // The fields end where the empty line begins.
                    let end = bytes - 2;
                    let fields = (end - head.fields.as_bytes().len()..end, head.fields.len());
                    self.last = Some(ParsedHead {
                        bytes: memory,
                        fields,
                        status: head.status,
                        version: head.version,
                        content_length: head.content_length(),
                        is_head,
                        framing: parsed.framing,
                        keep_alive: parsed.keep_alive,
                    });
                }
                self.begin_content(parsed, bytes);
                Ok(true)
            }
            Ok(Parse::Partial) => Ok(false),
            Err(error) if self.profile == Profile::Strict => Err(Failure::from_head(error)),
            Err(_) => self.take_odd_head(is_head, receive),
        }
    }

    /// Like [`Connection::take_head`], for a head that the parser refuses.
    #[cold]
    fn take_odd_head(
        &mut self,
        is_head: bool,
        receive: &mut impl Receive,
    ) -> Result<bool, Failure> {
        let mended = self.mender.mend(self.input.bytes(), &TOLERANT);
        let Parse::Complete { head, bytes } = mended.map_err(Failure::from_head)? else {
            return Ok(false);
        };
        let Mended { head, deviations } = head;
        self.exchange.deviations = self.exchange.deviations.union(deviations);
        if head.is_interim() {
            self.exchange.take_interim(head.status)?;
            self.input.consume(bytes);
        } else {
            receive.received(&self.input.bytes()[..bytes])?;
            let mut parsed = TakenHead::new(&head, is_head, receive)?;
            // Another reader may have counted the content otherwise, so nothing may follow it (RFC 9112, 6.1).
            parsed.keep_alive &= !deviations.contains(Deviation::LengthAndTransferEncoding);
            self.begin_content(parsed, bytes);
        }
        // The next head may begin in the received bytes.
        self.parser = response::Parser::new(TOLERANT);
        Ok(true)
    }

    fn begin_content(&mut self, head: TakenHead, bytes: usize) {
        self.decoder.restart(head.framing);
        self.exchange.keep_alive = Some(head.keep_alive);
        self.input.consume(bytes);
    }
}

impl Exchange {
    fn take_interim(&mut self, status: u16) -> Result<(), Failure> {
        self.interim += 1;
        if self.interim > MAX_INTERIM {
            return Err(Failure::InterimFlood);
        }
        if self.sending == Sending::Expecting && status == 100 {
            self.sending = Sending::Uploading;
            self.expectation = Expectation::Continue;
            // That of the final answer counts.
            self.first_byte = None;
        }
        Ok(())
    }
}

/// What a final head says about its content and connection.
#[derive(Debug, Clone, Copy)]
struct TakenHead {
    framing: Framing,
    keep_alive: bool,
}

impl TakenHead {
    /// Passes the head on.
    fn new(
        head: &response::ResponseHead<'_>,
        is_head: bool,
        receive: &mut impl Receive,
    ) -> Result<Self, Failure> {
        let method = if is_head { Method::Head } else { Method::Get };
        let framing = head.framing(method);
        let keep_alive = head.keep_alive(framing);
        receive.head(&AnswerHead {
            status: head.status,
            version: head.version.into(),
            content_length: head.content_length(),
            fields: Fields::Lines(head.fields),
        })?;
        Ok(Self {
            framing,
            keep_alive,
        })
    }
}

#[cfg(test)]
mod tests;
