//! A client for HTTP/2, with or without TLS.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use h2::RecvStream;
use h2::client::{Builder, ResponseFuture, SendRequest};
use http::{HeaderMap, Request, Response};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::stage::{PATIENCE, Reply, SILENCE, Stage};

/// A connection.
pub struct Peer {
    pub requests: SendRequest<Bytes>,
    /// The result of the connection.
    pub end: JoinHandle<Result<(), h2::Error>>,
}

/// Runs a test on a thread's own runtime; fails if the test hangs.
pub fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { tokio::time::timeout(PATIENCE, test).await.unwrap() });
}

impl Peer {
    /// Connects with prior knowledge.
    pub async fn plain(stage: &Stage) -> Self {
        Self::with(stage.http(), &Builder::new()).await
    }

    pub async fn with(address: SocketAddr, builder: &Builder) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        Self::over(stream, builder).await
    }

    pub async fn over(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        builder: &Builder,
    ) -> Self {
        let (requests, connection) = builder.handshake(stream).await.unwrap();
        let end = tokio::spawn(connection);
        Self { requests, end }
    }

    pub fn ask(&mut self, method: &str, url: &str, fields: &[(&str, &str)]) -> ResponseFuture {
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let request = request.body(()).unwrap();
        self.requests.send_request(request, true).unwrap().0
    }

    /// Requests a URL and returns the complete answer.
    pub async fn get(&mut self, url: &str) -> Reply {
        let response = self.ask("GET", url, &[]).await.unwrap();
        whole(response).await.unwrap().0
    }
}

/// Performs the TLS handshake with `host`, offering the ALPN protocols of `offered`.
pub async fn secure(stage: &Stage, host: &str, offered: &[&[u8]]) -> TlsStream<TcpStream> {
    let mut config = rustls::ClientConfig::clone(&stage.client(rustls::ALL_VERSIONS));
    config.alpn_protocols = offered.iter().map(|name| name.to_vec()).collect();
    let stream = TcpStream::connect(stage.https()).await.unwrap();
    let name = ServerName::try_from(host.to_owned()).unwrap();
    let connector = TlsConnector::from(Arc::new(config));
    connector.connect(name, stream).await.unwrap()
}

/// Reads a content to its end; returns the bytes, and the error if it does not end cleanly.
pub async fn content(body: &mut RecvStream) -> (Vec<u8>, Option<h2::Error>) {
    let mut all = Vec::new();
    while let Some(piece) = body.data().await {
        match piece {
            Ok(piece) => {
                all.extend_from_slice(&piece);
                body.flow_control().release_capacity(piece.len()).unwrap();
            }
            Err(error) => return (all, Some(error)),
        }
    }
    (all, None)
}

/// Splits a complete answer into its parts, with its trailers.
pub async fn whole(
    response: Response<RecvStream>,
) -> Result<(Reply, Option<HeaderMap>), h2::Error> {
    let (head, mut body) = response.into_parts();
    let (content, error) = content(&mut body).await;
    if let Some(error) = error {
        return Err(error);
    }
    let trailers = body.trailers().await?;
    let fields = head.headers.iter().map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes());
        (name.as_str().to_owned(), value.into_owned())
    });
    let reply = Reply {
        status: head.status.as_u16(),
        fields: fields.collect(),
        content,
    };
    Ok((reply, trailers))
}

/// Whether a future stays pending for a while.
pub async fn is_silent<F: Future + Unpin>(future: &mut F) -> bool {
    tokio::time::timeout(SILENCE, future).await.is_err()
}

/// The interim answers before the final one, with their fields.
pub async fn interim(answer: &mut ResponseFuture) -> Vec<Response<()>> {
    let mut all = Vec::new();
    loop {
        let next = poll_fn(|context| match answer.poll_informational(context) {
            Poll::Ready(Some(Ok(response))) => Poll::Ready(Some(response)),
            Poll::Ready(_) => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        match next.await {
            Some(response) => all.push(response),
            None => return all,
        }
    }
}
