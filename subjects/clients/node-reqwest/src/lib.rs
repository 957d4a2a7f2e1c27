//! reqwest for JavaScript: a client whose answers are promises.

mod cause;

use std::time::Duration;

use napi::bindgen_prelude::{Buffer, Error, Result};
use napi_derive::napi;

/// How long an idle connection waits for the next URL of its host. A crawl rarely returns to a host, and reqwest's
/// 90 seconds would keep the connections of tens of thousands of them.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(1);

/// The version of reqwest.
#[napi]
pub fn version() -> &'static str {
    env!("REQWEST_VERSION")
}

#[napi(object)]
pub struct Options {
    /// Seconds for a whole request, redirects and content included.
    pub timeout: f64,
    pub user_agent: Option<String>,
    pub keepalive: bool,
    /// `1.1`, `2`, or none: HTTP/2 where TLS negotiates it, else HTTP/1.1.
    pub http_version: Option<String>,
}

#[napi(object)]
pub struct Answer {
    pub status: u16,
    /// Bytes of content after decoding.
    pub length: u32,
    /// The content, if requested.
    pub content: Option<Buffer>,
}

/// A pool of connections.
#[napi]
pub struct Client(reqwest::Client);

#[napi]
impl Client {
    #[napi(constructor)]
    pub fn new(options: Options) -> Result<Self> {
        let timeout = Duration::try_from_secs_f64(options.timeout)
            .map_err(|error| Error::from_reason(error.to_string()))?;
        let mut builder = reqwest::Client::builder()
            .timeout(timeout)
            .pool_idle_timeout(POOL_IDLE_TIMEOUT);
        if let Some(user_agent) = options.user_agent {
            builder = builder.user_agent(user_agent);
        }
        if !options.keepalive {
            builder = builder.pool_max_idle_per_host(0);
        }
        match options.http_version.as_deref() {
            Some("1.1") => builder = builder.http1_only(),
            Some("2") => builder = builder.http2_prior_knowledge(),
            _ => {}
        }
        builder.build().map(Self).map_err(rejection)
    }

    /// Fetches a URL and reads its content to the end. Unrequested content is only counted, and not passed to
    /// JavaScript.
    #[napi]
    pub async fn get(&self, url: String, with_content: bool) -> Result<Answer> {
        let mut response = self.0.get(url).send().await.map_err(rejection)?;
        let status = response.status().as_u16();
        let mut length = 0;
        let mut content = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(rejection)? {
            length += chunk.len();
            if with_content {
                content.extend_from_slice(&chunk);
            }
        }
        Ok(Answer {
            status,
            length: u32::try_from(length).unwrap_or(u32::MAX),
            content: with_content.then(|| content.into()),
        })
    }
}

/// A promise's rejection, whose message is the name of the innermost cause.
fn rejection(error: reqwest::Error) -> Error {
    Error::from_reason(cause::name(&error))
}
