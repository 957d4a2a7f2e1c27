//! Features that hyper leaves to its user: a deadline for the whole fetch, redirects, gzip.

use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use flate2::write::MultiGzDecoder;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT_ENCODING, CONTENT_ENCODING, LOCATION, USER_AGENT};
use hyper::{Method, Request, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::timeout;
use url::Url;

use crate::settings::{HttpVersion, Settings};

/// How long an idle connection waits for the next URL of its host. A crawl rarely returns to a host, and the 90
/// seconds of hyper-util would keep the connections of tens of thousands of them.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(1);
const REDIRECT_LIMIT: usize = 10;

type AnyError = Box<dyn Error + Send + Sync>;

/// An error of this program; its debug text is its name.
#[derive(Debug)]
enum Failure {
    InvalidRedirect,
    TimedOut,
    TooManyRedirects,
    UnknownCoding,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self:?}")
    }
}

impl Error for Failure {}

pub struct Fetcher {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    request_timeout: Duration,
    user_agent: Option<String>,
    method: Method,
    body: Bytes,
    check_json: bool,
}

impl Fetcher {
    pub fn new(settings: &Settings) -> io::Result<Self> {
        let connector = HttpsConnectorBuilder::new()
            .with_native_roots()? // the machine's certificates, not the compiled-in ones
            .https_or_http();
        let connector = match settings.http_version {
            HttpVersion::Default => connector.enable_all_versions().build(),
            HttpVersion::Http1 => connector.enable_http1().build(),
            HttpVersion::Http2 => connector.enable_http2().build(),
        };
        let mut builder = Client::builder(TokioExecutor::new());
        builder
            .pool_timer(TokioTimer::new()) // without one, idle connections are closed only when their host is visited again
            .pool_idle_timeout(POOL_IDLE_TIMEOUT)
            .http2_only(matches!(settings.http_version, HttpVersion::Http2));
        if !settings.keepalive {
            builder.pool_max_idle_per_host(0);
        }
        Ok(Self {
            client: builder.build(connector),
            request_timeout: settings.request_timeout,
            user_agent: settings.user_agent.clone(),
            method: settings.method.clone(),
            body: settings.body.clone().unwrap_or_default().into(),
            check_json: settings.check_json,
        })
    }

    /// The final status and the bytes of content after decoding.
    pub async fn fetch(&self, url: Url) -> Result<(String, usize), AnyError> {
        match timeout(self.request_timeout, self.fetch_at_leisure(url)).await {
            Ok(result) => result,
            Err(_) => Err(Failure::TimedOut.into()),
        }
    }

    async fn fetch_at_leisure(&self, url: Url) -> Result<(String, usize), AnyError> {
        let mut response = self.follow(url).await?;
        let status = response.status();
        if self.method == Method::HEAD {
            // There is no content to decode.
            response.headers_mut().remove(CONTENT_ENCODING);
        }
        let content = read(response, self.check_json).await?;
        if self.check_json && !is_expected(&content.bytes) {
            return Ok(("CheckFailed".to_owned(), content.length));
        }
        Ok((status.as_str().to_owned(), content.length))
    }

    async fn follow(&self, mut url: Url) -> Result<Response<Incoming>, AnyError> {
        let (mut method, mut body) = (self.method.clone(), self.body.clone());
        for _ in 0..=REDIRECT_LIMIT {
            let request = self.request(&url, &method, &body)?;
            let response = self.client.request(request).await?;
            let location = response.headers().get(LOCATION);
            match (response.status().as_u16(), location) {
                (301 | 302 | 303 | 307 | 308, Some(location)) => {
                    url = joined(&url, location.as_bytes())?;
                    // As browsers do.
                    let becomes_get = match response.status().as_u16() {
                        301 | 302 => method == Method::POST,
                        status => status == 303 && method != Method::HEAD,
                    };
                    if becomes_get {
                        (method, body) = (Method::GET, Bytes::new());
                    }
                }
                _ => return Ok(response),
            }
            // The connection of content that was read to its end is reused.
            let mut content = response.into_body();
            while let Some(frame) = content.frame().await {
                frame?;
            }
        }
        Err(Failure::TooManyRedirects.into())
    }

    fn request(
        &self,
        url: &Url,
        method: &Method,
        body: &Bytes,
    ) -> Result<Request<Full<Bytes>>, AnyError> {
        let mut request = Request::builder()
            .method(method)
            .uri(url.as_str())
            .header(ACCEPT_ENCODING, "gzip");
        if let Some(user_agent) = &self.user_agent {
            request = request.header(USER_AGENT, user_agent);
        }
        Ok(request.body(Full::new(body.clone()))?)
    }
}

/// The target of a redirect.
fn joined(url: &Url, location: &[u8]) -> Result<Url, Failure> {
    match url.join(&String::from_utf8_lossy(location)) {
        Ok(target) if matches!(target.scheme(), "http" | "https") => Ok(target),
        _ => Err(Failure::InvalidRedirect),
    }
}

/// Received content: counted, and kept only if it will be checked.
#[derive(Default)]
struct Content {
    keep: bool,
    length: usize,
    bytes: Vec<u8>,
}

impl Write for Content {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.length += piece.len();
        if self.keep {
            self.bytes.extend_from_slice(piece);
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads the content to its end, and decodes it.
async fn read(response: Response<Incoming>, keep: bool) -> Result<Content, AnyError> {
    let coding = response.headers().get(CONTENT_ENCODING).cloned();
    let mut body = response.into_body();
    let mut content = Content {
        keep,
        ..Content::default()
    };
    match coding.as_ref().map(|coding| coding.as_bytes()) {
        None | Some(b"" | b"identity") => {
            while let Some(frame) = body.frame().await {
                if let Some(piece) = frame?.data_ref() {
                    content.write_all(piece)?;
                }
            }
            Ok(content)
        }
        Some(b"gzip" | b"x-gzip") => {
            let mut decoder = MultiGzDecoder::new(content);
            while let Some(frame) = body.frame().await {
                if let Some(piece) = frame?.data_ref() {
                    decoder.write_all(piece)?;
                }
            }
            Ok(decoder.finish()?)
        }
        Some(_) => Err(Failure::UnknownCoding.into()),
    }
}

fn is_expected(content: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(content)
        .is_ok_and(|document| document[0]["numbers"] == 123_123)
}
