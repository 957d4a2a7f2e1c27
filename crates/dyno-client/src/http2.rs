//! A client's HTTP/2 connection: several exchanges at a time, over the h2 crate.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use dyno_http::Deviations;
use dyno_io::Alarm;
use h2::client::{self, ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use tokio::task::spawn_local;

use crate::answer::{AnswerHead, Exchanged, Receive};
use crate::failure::Failure;
use crate::http1::MAX_INTERIM;
use crate::link::Reach;
use crate::stream::Stream;
use crate::upload::{
    Expectation, LONGEST_SILENCE, PIECE_BYTES, PIECES_PER_TURN, Piece, Reader, Upload,
};

/// Content that a server may send before it is read: on one stream, and on all streams of a connection.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;
/// Streams to open before the server has announced its limit: fewer than the limit of any known server.
const STREAMS_AT_FIRST: usize = 100;
/// Limit on a head, the same as with HTTP/1.1.
const HEAD_BYTES: u32 = 64 << 10;
/// Limit of the codec where [`Receive::NAMES_ERRORS`] compares heads with the limit: the codec gives a longer head no
/// name of its own.
const CODEC_HEAD_BYTES: u32 = 4 * HEAD_BYTES;
/// Bytes that each field counts for besides its name and value (RFC 9113, section 6.5.2).
const FIELD_BYTES: usize = 32;

/// A request that can be sent any number of times.
#[derive(Debug, Clone)]
pub struct Request {
    /// Method, absolute URI and header fields.
    pub head: http::Request<()>,
    /// Content; may be empty.
    pub content: Bytes,
    /// Content that is sent in pieces, in place of the other.
    pub upload: Option<Arc<Upload>>,
}

/// A connection; its clones share it.
#[derive(Debug, Clone)]
pub struct Connection {
    sender: SendRequest<Bytes>,
    reach: Reach,
    tls_version: Option<&'static str>,
    /// When an answer on the connection last began or ended; before any answer, when it was opened. `None` once it is
    /// lost.
    answered: Rc<Cell<Option<Instant>>>,
}

/// A request in flight. If it is cancelled, and no answer arrived on its connection since it was sent, the connection
/// is lost.
struct PendingRequest<'c> {
    connection: &'c Connection,
    sent: Instant,
}

impl PendingRequest<'_> {
    fn is_answered(&self, at: Instant) {
        let answered = &self.connection.answered;
        answered.set(answered.get().map(|_| at));
    }
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        let answered = &self.connection.answered;
        answered.set(answered.get().filter(|at| *at > self.sent));
    }
}

impl Connection {
    /// Starts a connection on a stream, with prior knowledge or after ALPN. A local task of this thread drives the
    /// connection.
    ///
    /// # Errors
    ///
    /// If the peer closes at once, or does not speak HTTP/2.
    pub async fn new(stream: Stream) -> Result<Self, Failure> {
        Self::with_head_limit(stream, HEAD_BYTES).await
    }

    /// Like [`Connection::new`], for exchanges whose receivers have [`Receive::NAMES_ERRORS`].
    ///
    /// # Errors
    ///
    /// See [`Connection::new`].
    pub async fn with_named_errors(stream: Stream) -> Result<Self, Failure> {
        Self::with_head_limit(stream, CODEC_HEAD_BYTES).await
    }

    async fn with_head_limit(stream: Stream, head_bytes: u32) -> Result<Self, Failure> {
        let (reach, tls_version) = (stream.reach(), stream.tls_version());
        let (sender, connection) = client::Builder::new()
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(head_bytes)
            .initial_max_send_streams(STREAMS_AT_FIRST)
            .enable_push(false)
            .handshake(stream)
            .await
            .map_err(|error| Failure::from_http2(&error))?;
        // Each exchange on the connection returns the error that ended it.
        spawn_local(async move { drop(connection.await) });
        Ok(Self {
            sender,
            reach,
            tls_version,
            answered: Rc::new(Cell::new(Some(Instant::now()))),
        })
    }

    /// The address of the peer.
    #[must_use]
    pub const fn reach(&self) -> Reach {
        self.reach
    }

    /// The version of TLS: `1.2`, `1.3`; `None` without TLS.
    #[must_use]
    pub const fn tls_version(&self) -> Option<&'static str> {
        self.tls_version
    }

    /// Whether the peer seems to have vanished: a request was cancelled, and no answer to any request arrived since it
    /// was sent. Nothing more should be sent then.
    #[inline]
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.answered.get().is_none()
    }

    /// Sends a request and receives its answer.
    ///
    /// # Errors
    ///
    /// The reason why the answer is incomplete. After [`Failure::StreamReset`] and [`Failure::StreamRefused`] the connection
    /// can still be used.
    pub async fn exchange(
        &self,
        request: &Request,
        receive: &mut impl Receive,
    ) -> Result<Exchanged, Failure> {
        self.exchange_from(Instant::now(), request, receive).await
    }

    /// Like [`Connection::exchange`], with the caller's reading of the clock.
    ///
    /// # Errors
    ///
    /// See [`Connection::exchange`].
    #[inline]
    pub async fn exchange_from(
        &self,
        sent: Instant,
        request: &Request,
        receive: &mut impl Receive,
    ) -> Result<Exchanged, Failure> {
        if let Some(upload) = &request.upload {
            // On the heap, so that the future of other requests stays small.
            return Box::pin(self.exchange_upload(sent, request, upload, receive)).await;
        }
        let is_empty = request.content.is_empty();
        let waiting = PendingRequest {
            connection: self,
            sent,
        };
        // A cloned sender is always ready: requests beyond the server's limit of streams wait in the queue of the
        // connection.
        let (mut answer, stream) = self
            .sender
            .clone()
            .send_request(request.head.clone(), is_empty)
            .map_err(|error| Failure::from_http2(&error))?;
        let mut interim = 0;
        let answer =
            poll_fn(|context| poll_head(&mut answer, context, &waiting, &mut interim, receive));
        let (first_byte, content) = if is_empty {
            drop(stream);
            answer.await?
        } else {
            // A server may answer before it has received the whole request; then the rest is not sent.
            tokio::select! {
                biased;
                answer = answer => answer?,
                answer = send_content(stream, request.content.clone()) => match answer {},
            }
        };
        let waited = take_content(content, receive).await?;
        // If the whole answer was there at once, its end equals its beginning: the clock is read only once.
        let end = if waited { Instant::now() } else { first_byte };
        waiting.is_answered(end);
        Ok(Exchanged {
            sent,
            first_byte,
            end,
            reusable: true,
            expectation: Expectation::None,
            deviations: Deviations::NONE,
        })
    }

    /// Sends a request whose content is sent in pieces. Content and answer may overlap; what is not sent when the
    /// answer ends stays unsent, and the stream is reset.
    async fn exchange_upload(
        &self,
        sent: Instant,
        request: &Request,
        upload: &Upload,
        receive: &mut impl Receive,
    ) -> Result<Exchanged, Failure> {
        let waiting = PendingRequest {
            connection: self,
            sent,
        };
        let (mut answer, mut stream) = self
            .sender
            .clone()
            .send_request(request.head.clone(), false)
            .map_err(|error| Failure::from_http2(&error))?;
        let expectation = if upload.expects_continue() {
            expect(&mut answer, &waiting).await?
        } else {
            Expectation::None
        };
        let whole = async {
            let mut interim = 0;
            let head =
                poll_fn(|context| poll_head(&mut answer, context, &waiting, &mut interim, receive));
            let (first_byte, content) = head.await?;
            let waited = take_content(content, receive).await?;
            Ok((first_byte, waited))
        };
        let (first_byte, waited) = if expectation == Expectation::Final {
            whole.await?
        } else {
            tokio::select! {
                biased;
                whole = whole => whole?,
                failure = send_upload(&mut stream, upload) => {
                    stream.send_reset(h2::Reason::CANCEL);
                    return Err(failure);
                }
            }
        };
        let end = if waited { Instant::now() } else { first_byte };
        waiting.is_answered(end);
        Ok(Exchanged {
            sent,
            first_byte,
            end,
            reusable: true,
            expectation,
            deviations: Deviations::NONE,
        })
    }
}

/// Waits for the server's consent to the content, a final answer, or the end of its time.
async fn expect(
    answer: &mut ResponseFuture,
    waiting: &PendingRequest<'_>,
) -> Result<Expectation, Failure> {
    let failed = |error: std::io::Error| Failure::from_io(&error);
    let alarm = Alarm::new().map_err(failed)?;
    alarm.set(LONGEST_SILENCE).map_err(failed)?;
    poll_fn(|context| {
        loop {
            match answer.poll_informational(context) {
                Poll::Ready(Some(Ok(head))) if head.status() == http::StatusCode::CONTINUE => {
                    waiting.is_answered(Instant::now());
                    return Poll::Ready(Ok(Expectation::Continue));
                }
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(error))) => {
                    return Poll::Ready(Err(Failure::from_http2(&error)));
                }
                Poll::Ready(None) => return Poll::Ready(Ok(Expectation::Final)),
                Poll::Pending => break,
            }
        }
        let expired = alarm.poll_expired(context).map_err(failed);
        expired.map_ok(|()| Expectation::Silence)
    })
    .await
}

/// Sends content in pieces as the flow-control windows allow. Returns only if a file failed: all else is in the answer.
async fn send_upload(stream: &mut SendStream<Bytes>, upload: &Upload) -> Failure {
    let (mut reader, mut pieces) = (Reader::default(), 0_u32);
    let mut rest = upload.length();
    while rest > 0 {
        stream.reserve_capacity(PIECE_BYTES);
        // Only an increase wakes a task that polls: capacity that was left over must be used first.
        let room = match stream.capacity() {
            0 => poll_fn(|context| stream.poll_capacity(context)).await,
            room => Some(Ok(room)),
        };
        let Some(Ok(room)) = room else { break };
        if room == 0 {
            continue;
        }
        let mut buffer = Vec::new();
        let piece = match reader.piece(upload, &mut buffer, room.min(PIECE_BYTES)) {
            Ok(Some(Piece::Shared(bytes, range))) => bytes.slice(range),
            Ok(Some(Piece::Read)) => buffer.into(),
            Ok(None) => break,
            Err(failure) => return failure,
        };
        reader.advance(piece.len());
        rest -= piece.len() as u64;
        if stream.send_data(piece, rest == 0).is_err() {
            break;
        }
        pieces += 1;
        if pieces.is_multiple_of(PIECES_PER_TURN) {
            tokio::task::yield_now().await;
        }
    }
    std::future::pending().await
}

/// Takes the interim answers that have arrived: as many as over HTTP/1.1 are allowed, and none has status 101, which
/// HTTP/2 does not have (RFC 9113, section 8.6).
fn take_interim(
    answer: &mut ResponseFuture,
    context: &mut Context<'_>,
    interim: &mut u32,
) -> Result<(), Failure> {
    // An error is returned by the answer, too.
    while let Poll::Ready(Some(Ok(head))) = answer.poll_informational(context) {
        *interim += 1;
        if head.status() == http::StatusCode::SWITCHING_PROTOCOLS {
            return Err(Failure::Http2Protocol);
        }
        if *interim > MAX_INTERIM {
            return Err(Failure::InterimFlood);
        }
    }
    Ok(())
}

/// Whether a head is longer than the limit.
fn is_too_long(headers: &http::HeaderMap) -> bool {
    let bytes = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + FIELD_BYTES);
    bytes.sum::<usize>() > HEAD_BYTES as usize
}

/// Whether an answer with this status never has content (RFC 9110, sections 15.3.5 and 15.4.5).
const fn is_empty(status: http::StatusCode) -> bool {
    matches!(status.as_u16(), 204 | 304)
}

/// Passes the head of an answer to the receiver directly from the codec, without a copy.
#[inline]
fn poll_head<R: Receive>(
    answer: &mut ResponseFuture,
    context: &mut Context<'_>,
    waiting: &PendingRequest<'_>,
    interim: &mut u32,
    receive: &mut R,
) -> Poll<Result<(Instant, Content), Failure>> {
    if R::NAMES_ERRORS {
        take_interim(answer, context, interim)?;
    }
    let answer = ready!(Pin::new(answer).poll(context));
    let first_byte = Instant::now();
    // A reset stream counts as an answer, too.
    waiting.is_answered(first_byte);
    let answer = answer.map_err(|error| match Failure::from_http2(&error) {
        Failure::Http2Protocol if R::NAMES_ERRORS && has_long_head(&error) => Failure::HeadTooLong,
        other => other,
    })?;
    if R::NAMES_ERRORS && is_too_long(answer.headers()) {
        return Poll::Ready(Err(Failure::HeadTooLong));
    }
    let head = AnswerHead::of_http2(answer.status().as_u16(), answer.headers());
    receive.head(&head)?;
    let body = Content {
        length: head.content_length().filter(|_| R::NAMES_ERRORS),
        is_ignored: R::NAMES_ERRORS && is_empty(answer.status()),
        stream: answer.into_body(),
    };
    Poll::Ready(Ok((first_byte, body)))
}

/// Whether the codec ended the connection because of a head in too many frames. It keeps only the text of that.
fn has_long_head(error: &h2::Error) -> bool {
    error.to_string().contains("too_many_continuations")
}

/// The content of an answer that has a head.
struct Content {
    stream: RecvStream,
    /// Length that the head announced, where errors are named.
    length: Option<u64>,
    /// Whether the status allows no content: what comes is dropped.
    is_ignored: bool,
}

/// Sends content as the flow-control windows allow; never returns, since the outcome is in the answer.
async fn send_content(
    mut stream: SendStream<Bytes>,
    mut content: Bytes,
) -> std::convert::Infallible {
    while !content.is_empty() {
        stream.reserve_capacity(content.len());
        let Some(Ok(room)) = poll_fn(|context| stream.poll_capacity(context)).await else {
            break;
        };
        let piece = content.split_to(room.min(content.len()));
        if stream.send_data(piece, content.is_empty()).is_err() {
            break;
        }
    }
    std::future::pending().await
}

/// Receives content to its end; returns whether it had to wait for any of it.
async fn take_content(content: Content, receive: &mut impl Receive) -> Result<bool, Failure> {
    let Content {
        stream: mut content,
        length,
        is_ignored,
    } = content;
    let mut received = 0;
    // Bytes that were read but not yet returned to the server's windows.
    let mut owed = 0;
    let mut waited = false;
    loop {
        let piece = poll_fn(|context| {
            let piece = content.poll_data(context);
            if piece.is_pending() {
                waited = true;
                // Once for all bytes that had arrived, and not at all if no more follow: a stream that has ended
                // returns its window itself. If the stream was reset meanwhile, it has no window.
                drop(
                    content
                        .flow_control()
                        .release_capacity(std::mem::take(&mut owed)),
                );
            }
            piece
        });
        let Some(piece) = piece.await else {
            return Ok(waited);
        };
        let piece = piece.map_err(|error| match Failure::from_http2(&error) {
            Failure::ClosedBeforeAnswer => Failure::BodyCutShort,
            // The codec refuses an end before the announced length.
            Failure::Http2Protocol if length.is_some_and(|length| received < length) => {
                Failure::BodyCutShort
            }
            other => other,
        })?;
        received += piece.len() as u64;
        if !is_ignored {
            receive.content(&piece)?;
        }
        poll_fn(|context| receive.poll_ready(context)).await?;
        owed += piece.len();
    }
}
