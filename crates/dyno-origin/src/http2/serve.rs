//! Serves one connection: accepts requests, answers them concurrently, sends the answers together.

use std::future::poll_fn;
use std::task::{Context, Poll};

use h2::RecvStream;
use h2::server::{self, Builder, SendResponse};
use http::Request;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::exchange;
use super::outgoing::Outgoing;
use super::session::{Order, Session};
use crate::connection_info::ConnectionInfo;
use crate::http::End;
use crate::message::script::GARBAGE;

/// Concurrent requests on a connection: more than any client sends by default.
const STREAMS: u32 = 256;
/// Bytes of one body that a client may send before they are acknowledged; the next constant is for all bodies.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 8 << 20;
/// Limit on a head, the same as over HTTP/1.
const HEAD_BYTES: u32 = 64 << 10;

type Arriving = (Request<RecvStream>, SendResponse<Outgoing>);

/// State of the connection after a turn of its loop.
enum Turn {
    /// Requests have arrived.
    Requests,
    /// A stream has ordered how the connection ends.
    Ordered(Order),
    /// The connection has ended.
    Over(End),
}

/// Serves requests until the connection ends; returns how it is to end.
pub(crate) async fn serve<S>(stream: &mut S, info: &ConnectionInfo) -> End
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let order = match exchange_all(stream, info).await {
        Ok(order) => order,
        Err(end) => return end,
    };
    let last = match order {
        Order::Reset => return End::Reset,
        Order::Close => return End::Close,
        Order::Garbage => GARBAGE,
        Order::GoAway(last_stream) => &go_away(last_stream),
    };
    if stream.write_all(last).await.is_err() || stream.flush().await.is_err() {
        return End::Gone;
    }
    End::Close
}

/// Serves requests until the connection has ended, or a stream orders its end.
async fn exchange_all<S>(stream: &mut S, info: &ConnectionInfo) -> Result<Order, End>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let handshake = builder().handshake::<_, Outgoing>(stream).await;
    let mut connection = handshake.map_err(|_| End::Close)?;
    let session = Session::new(info.clone());
    let mut arriving = Vec::new();
    loop {
        let turn = poll_fn(|context| poll(context, &session, &mut connection, &mut arriving)).await;
        for (request, respond) in arriving.drain(..) {
            exchange::begin(&session, request, respond);
        }
        match turn {
            Turn::Requests => {}
            Turn::Ordered(order) => return Ok(order),
            Turn::Over(end) => return Err(end),
        }
    }
}

fn builder() -> Builder {
    let mut builder = server::Builder::new();
    builder
        .max_concurrent_streams(STREAMS)
        .initial_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_header_list_size(HEAD_BYTES);
    builder
}

/// Sends what the streams have ready, then accepts all requests that have arrived: the next turn sends their answers
/// together.
fn poll<S: AsyncRead + AsyncWrite + Unpin>(
    context: &mut Context<'_>,
    session: &Session,
    connection: &mut server::Connection<S, Outgoing>,
    arriving: &mut Vec<Arriving>,
) -> Poll<Turn> {
    session.listen(context);
    loop {
        match connection.poll_accept(context) {
            Poll::Ready(Some(Ok(arrived))) => arriving.push(arrived),
            Poll::Ready(Some(Err(error))) if error.is_io() => {
                return Poll::Ready(Turn::Over(End::Gone));
            }
            Poll::Ready(_) => return Poll::Ready(Turn::Over(End::Close)),
            Poll::Pending if !arriving.is_empty() => return Poll::Ready(Turn::Requests),
            Poll::Pending => match session.ordered() {
                Some(order) => return Poll::Ready(Turn::Ordered(order)),
                None if session.is_to_retire() => connection.graceful_shutdown(),
                None => return Poll::Pending,
            },
        }
    }
}

/// A GOAWAY without an error: streams after `last_stream` were not processed (RFC 9113, section 6.8).
fn go_away(last_stream: u32) -> [u8; 17] {
    let mut frame = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    frame[9..13].copy_from_slice(&last_stream.to_be_bytes());
    frame
}
