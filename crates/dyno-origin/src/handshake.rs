//! Performs a TLS handshake with the behaviour of the host that the client names.

use std::io;

use dyno_web::{Fault, Handshake};
use rustls::server::Acceptor;
use rustls::{HandshakeKind, ProtocolVersion};
use tokio::io::AsyncWriteExt;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{LazyConfigAcceptor, StartHandshake};

use crate::connection_info::ConnectionInfo;
use crate::scripted;
use crate::wire::Wire;

/// A record of the fatal alert `handshake_failure`.
const HANDSHAKE_FAILURE: [u8; 7] = [21, 3, 3, 0, 2, 2, 40];

/// Result of a handshake.
pub(crate) enum HandshakeEnd {
    /// An encrypted connection.
    Encrypted(Box<TlsStream<Wire>>),
    /// The connection has ended.
    Over,
}

/// Performs the handshake, or injects the host's fault instead.
pub(crate) async fn shake_hands(wire: Wire, info: &ConnectionInfo) -> io::Result<HandshakeEnd> {
    let worker = &info.worker;
    let failed = || worker.counters.borrow_mut().handshakes_failed += 1;
    let mut acceptor = LazyConfigAcceptor::new(Acceptor::default(), wire);
    let start = match (&mut acceptor).await {
        Ok(start) => start,
        Err(error) => {
            // A connection that closes without a byte, such as the loser of a race of two addresses, has begun no
            // handshake.
            if acceptor
                .take_io()
                .is_some_and(|wire| wire.meter().has_received())
            {
                failed();
            }
            return Err(error);
        }
    };
    let name = start
        .client_hello()
        .server_name()
        .map(str::to_ascii_lowercase);
    if let Some(scripts) = &worker.scripts
        && let Some(host) = name.as_deref().and_then(|name| scripts.named(name))
    {
        Box::pin(scripted::serve_handshake(
            scripts.clone(),
            host,
            info,
            start,
        ))
        .await;
        return Ok(HandshakeEnd::Over);
    }
    let host = name.clone().unwrap_or_else(|| info.local.ip().to_string());
    let handshake = worker.tls.web().handshake(&host);
    if let Some(fault) = handshake.fault {
        worker.counters.borrow_mut().fault(fault);
    }
    match handshake.fault {
        Some(Fault::StallTls) => {
            failed();
            start.io.until_peer_goes().await?;
            Ok(HandshakeEnd::Over)
        }
        Some(Fault::TlsAlert) => {
            failed();
            let mut wire = start.io;
            wire.write_all(&HANDSHAKE_FAILURE).await?;
            wire.shutdown().await?;
            wire.until_peer_goes().await?;
            Ok(HandshakeEnd::Over)
        }
        _ => {
            let stream = complete(start, info, name.is_some(), &host, handshake).await;
            stream
                .inspect_err(|error| {
                    failed();
                    if handshake.fault.is_none() && is_alert(error) {
                        worker.counters.borrow_mut().handshakes_refused += 1;
                    }
                })
                .map(|stream| HandshakeEnd::Encrypted(Box::new(stream)))
        }
    }
}

/// Whether the peer ended a handshake with an alert.
fn is_alert(error: &io::Error) -> bool {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
    matches!(cause, Some(rustls::Error::AlertReceived(_)))
}

async fn complete(
    start: StartHandshake<Wire>,
    info: &ConnectionInfo,
    named: bool,
    host: &str,
    handshake: Handshake,
) -> io::Result<TlsStream<Wire>> {
    let tls = &info.worker.tls;
    let config = if named {
        tls.config(handshake)
    } else {
        tls.config_of_address(host, handshake)
            .map_err(io::Error::other)?
    };
    let stream = start.into_stream(config).await?;
    let session = stream.get_ref().1;
    let mut counters = info.worker.counters.borrow_mut();
    match session.handshake_kind() {
        Some(HandshakeKind::Resumed) => counters.handshakes_resumed += 1,
        _ => counters.handshakes_full += 1,
    }
    match session.protocol_version() {
        Some(ProtocolVersion::TLSv1_2) => counters.tls_1_2 += 1,
        _ => counters.tls_1_3 += 1,
    }
    drop(counters);
    Ok(stream)
}
