//! Parsing of a connection by hyper, over an in-memory pipe.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use http_body_util::{BodyExt, Empty};
use hyper::{
    HeaderMap, Request, Response,
    body::{Bytes, Incoming},
    client, server,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    runtime::Builder,
};

use crate::message::{FieldList, Message, Reading, sorted};

/// More than any case writes, so that neither side blocks.
const PIPE: usize = 1 << 20;

fn fields(map: &HeaderMap) -> FieldList {
    sorted(
        map.iter()
            .map(|(name, value)| (name.as_str(), value.as_bytes())),
    )
}

/// Read the body to its end. `None`: refused or cut short.
async fn message(start: String, head: HeaderMap, body: Incoming) -> Option<Message> {
    let body = body.collect().await.ok()?;
    let trailers = body.trailers().map(fields).unwrap_or_default();
    Some(Message {
        start,
        fields: fields(&head),
        content: body.to_bytes().to_vec(),
        trailers,
    })
}

/// Parse the requests that hyper's server accepts.
pub fn requests(wire: &[u8]) -> Reading {
    Builder::new_current_thread()
        .build()
        .expect("a runtime")
        .block_on(async {
            let (mut client, server) = tokio::io::duplex(PIPE);
            client.write_all(wire).await.expect("the pipe holds it");
            client.shutdown().await.expect("open");
            let reading = Arc::new(Mutex::new(Reading::default()));
            let service = service_fn(|request: Request<Incoming>| {
                let reading = Arc::clone(&reading);
                async move {
                    let (head, body) = request.into_parts();
                    let authority = head
                        .uri
                        .authority()
                        .map_or("", |authority| authority.as_str());
                    let path = head.uri.path_and_query().map_or("", |path| path.as_str());
                    let start = format!("{} {authority} {path}", head.method);
                    match message(start, head.headers, body).await {
                        Some(message) => reading.lock().expect("one thread").messages.push(message),
                        None => reading.lock().expect("one thread").refused = true,
                    }
                    Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
                }
            });
            let end = server::conn::http1::Builder::new()
                .half_close(true)
                .serve_connection(TokioIo::new(server), service)
                .await;
            let mut reading = reading.lock().expect("one thread").clone();
            reading.refused |= end.is_err();
            reading
        })
}

/// Parse the response that hyper's client accepts for one request.
pub fn response(method: &str, wire: &[u8]) -> Reading {
    Builder::new_current_thread()
        .build()
        .expect("a runtime")
        .block_on(async {
            let (client, server) = tokio::io::duplex(PIPE);
            let (mut sender, connection) = client::conn::http1::handshake(TokioIo::new(client))
                .await
                .expect("no bytes yet");
            let request = Request::builder()
                .method(method)
                .uri("/")
                .header("host", "a")
                .body(Empty::<Bytes>::new())
                .expect("valid");
            let request = if method == "CONNECT" {
                to_connect(request)
            } else {
                request
            };
            let exchange = async {
                let (head, body) = sender.send_request(request).await.ok()?.into_parts();
                message(head.status.as_u16().to_string(), head.headers, body).await
            };
            let (message, _, ()) = tokio::join!(exchange, connection, answer(server, wire));
            Reading {
                refused: message.is_none(),
                messages: message.into_iter().collect(),
            }
        })
}

fn to_connect(mut request: Request<Empty<Bytes>>) -> Request<Empty<Bytes>> {
    *request.uri_mut() = "a.test:443".parse().expect("valid");
    request
}

/// Write the answer after the request has arrived: hyper treats earlier bytes as a protocol error.
async fn answer(mut server: DuplexStream, wire: &[u8]) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(server.read_u8().await.expect("a request"));
    }
    // hyper may close the connection after an answer that it refuses.
    let _ = server.write_all(wire).await;
    let _ = server.shutdown().await;
}
