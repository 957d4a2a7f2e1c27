//! Serves one connection from its acceptance to its end.

use std::io;
use std::pin::pin;
use std::sync::mpsc::Sender;
use std::time::Instant;

use dyno_http::HttpVersion;
use dyno_web::{Block, Fault, Scheme, Web};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::connection_info::ConnectionInfo;
use crate::control::ControlConnection;
use crate::handshake::{HandshakeEnd, shake_hands};
use crate::http::{self, End, LINGER, Rest};
use crate::http2::{self, Preceded};
use crate::message::{self, Input};
use crate::scripted;
use crate::wire::{Wire, WorkerMeter};
use crate::worker::Worker;

/// Serves a connection to its end.
pub(crate) async fn serve(info: ConnectionInfo, stream: TcpStream) {
    let worker = &info.worker;
    worker.counters.borrow_mut().connections += 1;
    let epoch = worker.epoch();
    let mut wire = Wire::new(stream, WorkerMeter::new(&info));
    let block = worker
        .faulty_blocks
        .then(|| Web::connection(info.local.ip()))
        .flatten();
    let mut input = Input::new();
    if let Some(scripts) = &worker.scripts
        && let Some(host) = scripted::host_of(scripts, &info, block, &mut wire, &mut input).await
    {
        // Boxed, so that other connections do not reserve its memory.
        return Box::pin(scripted::serve(scripts.clone(), host, &info, wire, input)).await;
    }
    // A peer that closes is not a failure of the origin.
    let served = match block {
        Some(Block::Faulty(Fault::StallAfterAccept)) => {
            worker.counters.borrow_mut().fault(Fault::StallAfterAccept);
            wire.until_peer_goes().await
        }
        Some(Block::Faulty(Fault::ResetAfterAccept)) => {
            worker.counters.borrow_mut().fault(Fault::ResetAfterAccept);
            wire.reset();
            Ok(())
        }
        _ if info.scheme == Scheme::Http => {
            if let Some(control) = &worker.control
                && message::is_reserved(&mut wire, &mut input).await
            {
                hand_over(control, wire, &input, worker, epoch)
            } else {
                let end = serve_plain(&mut wire, &info, input).await;
                finish_plain(wire, &info, end).await
            }
        }
        _ => match shake_hands(wire, &info).await {
            Ok(HandshakeEnd::Encrypted(mut stream)) => {
                let name = stream.get_ref().1.server_name();
                let name = name.map(|name| name.trim_end_matches('.').to_ascii_lowercase());
                let info = ConnectionInfo {
                    server_name: name.map(Into::into),
                    ..info.clone()
                };
                let agreed = stream.get_ref().1.alpn_protocol();
                let end = match agreed.and_then(HttpVersion::from_alpn) {
                    Some(HttpVersion::Http2) => http2::serve(&mut *stream, &info).await,
                    Some(HttpVersion::Http10 | HttpVersion::Http11) | None => {
                        http::serve(&mut *stream, &info, Input::new()).await
                    }
                };
                finish(*stream, &info, end, |stream| stream.get_ref().0.reset()).await
            }
            Ok(HandshakeEnd::Over) => Ok(()),
            Err(error) => Err(error),
        },
    };
    drop(served);
}

/// Passes a connection to the controller of the origin, and removes it from all counts.
fn hand_over(
    control: &Sender<ControlConnection>,
    wire: Wire,
    input: &Input,
    worker: &Worker,
    epoch: u64,
) -> io::Result<()> {
    if worker.epoch() == epoch {
        worker.counters.borrow_mut().connections -= 1;
    }
    let received = input.bytes().to_vec();
    worker
        .live()
        .received_bytes
        .take_back(received.len() as u64);
    let stream = wire.into_stream().into_std()?;
    stream.set_nonblocking(false)?;
    let from = stream.peer_addr()?;
    // Without a receiver, the connection is closed.
    drop(control.send(ControlConnection {
        stream,
        received,
        from,
    }));
    Ok(())
}

/// Serves a connection without TLS; its first bytes show the version of HTTP.
async fn serve_plain(wire: &mut Wire, info: &ConnectionInfo, mut input: Input) -> End {
    if !http2::is_announced(wire, &mut input).await {
        return http::serve(wire, info, input).await;
    }
    let mut stream = Preceded {
        received: input,
        stream: wire,
    };
    http2::serve(&mut stream, info).await
}

/// Continues a connection from the cached loop: sends the rest of an answer, then serves further requests, whose first
/// bytes are in `input`.
pub(crate) async fn go_on(
    info: ConnectionInfo,
    stream: std::net::TcpStream,
    input: Input,
    rest: Option<Rest>,
) {
    let Ok(stream) = TcpStream::from_std(stream) else {
        return;
    };
    let mut wire = Wire::new(stream, WorkerMeter::new(&info));
    if let Some(rest) = rest
        && rest.send(&mut wire, &info.worker).await.is_err()
    {
        return;
    }
    let end = http::go_on(&mut wire, &info, input).await;
    drop(finish_plain(wire, &info, end).await);
}

async fn finish_plain(wire: Wire, info: &ConnectionInfo, end: End) -> io::Result<()> {
    if end == End::ToCachedLoop {
        let cached = &info.worker.cached;
        let connection = info.connection.clone();
        return cached.take(wire.into_stream(), info.number, connection, info.local);
    }
    finish(wire, info, end, Wire::reset).await
}

/// Ends a connection as its last exchange requires.
async fn finish<S>(
    mut stream: S,
    info: &ConnectionInfo,
    end: End,
    reset: impl Fn(&S),
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    match end {
        // Dropping the stream closes the TCP connection in order.
        End::Gone | End::ToCachedLoop | End::WithoutNotice => Ok(()),
        End::Reset => {
            reset(&stream);
            Ok(())
        }
        End::Close => {
            stream.shutdown().await?;
            let mut last = pin!(info.worker.timer.until(Instant::now() + LINGER));
            let mut discarded = [0; 1_024];
            loop {
                tokio::select! {
                    () = &mut last => return Ok(()),
                    read = stream.read(&mut discarded) => if read? == 0 {
                        return Ok(());
                    }
                }
            }
        }
    }
}
