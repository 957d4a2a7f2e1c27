//! One connection from its acceptance to its end.

use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use dyno_web::{Block, Fault, Scheme, Web};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http::{self, End};
use crate::tls::{self, Shaken};
use crate::wire::Wire;
use crate::worker::Worker;

/// How long, at most, a closed connection is read on, so that bytes on their way do not reset it before the peer has read
/// the answer (RFC 9112, section 9.6).
const LINGER: Duration = Duration::from_secs(2);

/// A connection that was accepted.
pub(crate) struct Accepted {
    pub(crate) worker: Rc<Worker>,
    pub(crate) scheme: Scheme,
    /// Its number in the log of arrivals.
    pub(crate) number: u64,
    /// The address that the client connected to.
    pub(crate) local: SocketAddr,
}

/// Serves a connection to its end.
pub(crate) async fn serve(accepted: Accepted, stream: TcpStream) {
    let worker = &accepted.worker;
    worker.counters.borrow_mut().connections += 1;
    let mut wire = Wire::new(stream, worker.clone());
    // That a peer goes, in whichever way, is no failure of the origin's.
    let served = match Web::connection(accepted.local.ip()) {
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
            let end = http::serve(&mut wire, &accepted).await;
            finish(wire, &accepted, end, Wire::reset).await
        }
        _ => match tls::shake_hands(wire, &accepted).await {
            Ok(Shaken::Encrypted(mut stream)) => {
                let end = http::serve(&mut *stream, &accepted).await;
                finish(*stream, &accepted, end, |stream| stream.get_ref().0.reset()).await
            }
            Ok(Shaken::Over) => Ok(()),
            Err(error) => Err(error),
        },
    };
    drop(served);
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
        End::Gone => Ok(()),
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
