//! One connection from its acceptance to its end.

use std::io;
use std::pin::pin;
use std::sync::mpsc::Sender;
use std::time::Instant;

use dyno_web::{Block, Fault, Scheme, Web};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::accepted::Accepted;
use crate::control::ControlConnection;
use crate::handshake::{HandshakeEnd, shake_hands};
use crate::http::{self, End, LINGER, Rest};
use crate::http2::{self, Preceded};
use crate::message::{self, Input};
use crate::tls;
use crate::wire::Wire;
use crate::worker::Worker;

/// Serves a connection to its end.
pub(crate) async fn serve(accepted: Accepted, stream: TcpStream) {
    let worker = &accepted.worker;
    worker.counters.borrow_mut().connections += 1;
    let turn = worker.turn();
    let mut wire = Wire::new(stream, &accepted);
    let block = worker
        .faulty_blocks
        .then(|| Web::connection(accepted.local.ip()))
        .flatten();
    // That a peer goes, in whichever way, is no failure of the origin's.
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
        _ if accepted.scheme == Scheme::Http => {
            let mut input = Input::new();
            if let Some(control) = &worker.control
                && message::is_reserved(&mut wire, &mut input).await
            {
                hand_over(control, wire, &input, worker, turn)
            } else {
                let end = serve_plain(&mut wire, &accepted, input).await;
                finish_plain(wire, &accepted, end).await
            }
        }
        _ => match shake_hands(wire, &accepted).await {
            Ok(HandshakeEnd::Encrypted(mut stream)) => {
                let name = stream.get_ref().1.server_name();
                let name = name.map(|name| name.trim_end_matches('.').to_ascii_lowercase());
                let accepted = Accepted {
                    server_name: name.map(Into::into),
                    ..accepted.clone()
                };
                let end = if stream.get_ref().1.alpn_protocol() == Some(tls::HTTP2) {
                    http2::serve(&mut *stream, &accepted).await
                } else {
                    http::serve(&mut *stream, &accepted, Input::new()).await
                };
                finish(*stream, &accepted, end, |stream| stream.get_ref().0.reset()).await
            }
            Ok(HandshakeEnd::Over) => Ok(()),
            Err(error) => Err(error),
        },
    };
    drop(served);
}

/// Hands a connection over to whoever controls the origin, as if it had never been here: it is in no count.
fn hand_over(
    control: &Sender<ControlConnection>,
    wire: Wire,
    input: &Input,
    worker: &Worker,
    turn: u64,
) -> io::Result<()> {
    if worker.turn() == turn {
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
    // Where nobody takes it, it is closed.
    drop(control.send(ControlConnection {
        stream,
        received,
        from,
    }));
    Ok(())
}

/// Serves a connection without TLS in the version that its first bytes are of.
async fn serve_plain(wire: &mut Wire, accepted: &Accepted, mut input: Input) -> End {
    if !http2::is_announced(wire, &mut input).await {
        return http::serve(wire, accepted, input).await;
    }
    let mut stream = Preceded {
        received: input,
        stream: wire,
    };
    http2::serve(&mut stream, accepted).await
}

/// Goes on with a connection that was parked: sends what is left of an answer, serves what comes, of which the first bytes
/// are received already.
pub(crate) async fn go_on(
    accepted: Accepted,
    stream: std::net::TcpStream,
    input: Input,
    rest: Option<Rest>,
) {
    let Ok(stream) = TcpStream::from_std(stream) else {
        return;
    };
    let mut wire = Wire::new(stream, &accepted);
    if let Some(rest) = rest
        && rest.send(&mut wire, &accepted.worker).await.is_err()
    {
        return;
    }
    let end = http::go_on(&mut wire, &accepted, input).await;
    drop(finish_plain(wire, &accepted, end).await);
}

async fn finish_plain(wire: Wire, accepted: &Accepted, end: End) -> io::Result<()> {
    if end == End::Parked {
        let park = &accepted.worker.park;
        let connection = accepted.connection.clone();
        return park.take(
            wire.into_stream(),
            accepted.number,
            connection,
            accepted.local,
        );
    }
    finish(wire, accepted, end, Wire::reset).await
}

/// Ends a connection as its last exchange says.
async fn finish<S>(
    mut stream: S,
    accepted: &Accepted,
    end: End,
    reset: impl Fn(&S),
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    match end {
        End::Gone | End::Parked => Ok(()),
        End::Reset => {
            reset(&stream);
            Ok(())
        }
        End::Close => {
            stream.shutdown().await?;
            let mut last = pin!(accepted.worker.timer.until(Instant::now() + LINGER));
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
