//! Uploads contents to a bucket of an object store that has the interface of Amazon S3.

use std::cell::RefCell;
use std::fmt;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use dyno_client::resolve::Resolver;
use dyno_client::{
    AnswerHead, ContentFile, Failure, Protocol, Receive, Segment, Sockets, Stream, Traffic, Upload,
    connect, http1, tls,
};
use rusty_s3::actions::{PutObject, S3Action};
use rusty_s3::{Credentials, UrlStyle};
use thiserror::Error;
use tokio::time::{sleep, timeout};
use url::Url;

/// Pauses before an upload is repeated.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];
/// Longest time of an attempt, without that of its bytes.
const PATIENCE: Duration = Duration::from_secs(60);
/// Bytes a second below which an attempt is given up.
const LEAST_BYTES_PER_S: u64 = 64 << 10;
/// How long a signature is valid; longer than any attempt.
const VALID: Duration = Duration::from_secs(24 * 3600);
/// Beginning of an error's document that is read: its code is there.
const MAX_ERROR_BYTES: usize = 4 << 10;

/// Reason why a content cannot be uploaded.
#[derive(Debug, Error)]
pub enum Error {
    /// The store was not reached, or its answer is incomplete.
    #[error(
        "--save {address}: the store at {store} cannot be used: {}; repeat the command to continue", failure.name()
    )]
    Unreachable {
        /// As in the command.
        address: String,
        /// Its scheme, host and port.
        store: String,
        /// The last failure.
        failure: Failure,
    },
    /// The store refuses the content.
    #[error("--save {address}: the store at {store} answered {status}{code}")]
    Refused {
        /// As in the command.
        address: String,
        /// Its scheme, host and port.
        store: String,
        /// Status of the last answer.
        status: u16,
        /// The error's code in parentheses, or nothing.
        code: String,
    },
}

impl Error {
    /// Whether the command named a wrong bucket or wrong credentials.
    #[must_use]
    pub const fn is_mistake(&self) -> bool {
        matches!(
            self,
            Self::Refused {
                status: 300..500,
                ..
            }
        )
    }
}

/// A bucket, the beginning of all names in it, and the credentials for it.
#[derive(Clone)]
pub struct Address {
    text: String,
    bucket: rusty_s3::Bucket,
    prefix: String,
    credentials: Credentials,
}

impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl Address {
    /// Reads `s3://BUCKET/PREFIX`; the store, its region and the credentials are in the variables that other programs read.
    ///
    /// # Errors
    ///
    /// The line to print.
    pub fn parse(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let wrong = |problem: &str| format!("--save {text}: {problem}");
        let variable = |names: &[&str]| {
            let mut values = names.iter().filter_map(|name| variable(name));
            values.find(|value| !value.is_empty())
        };
        let place = text.strip_prefix("s3://").unwrap_or(text);
        let (name, prefix) = place.split_once('/').unwrap_or((place, ""));
        if name.is_empty() {
            return Err(wrong("it names no bucket; write it like s3://bucket/crawl"));
        }
        let key = variable(&["AWS_ACCESS_KEY_ID"]);
        let (Some(key), Some(secret)) = (key, variable(&["AWS_SECRET_ACCESS_KEY"])) else {
            return Err(wrong(
                "it needs credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            ));
        };
        let credentials = match variable(&["AWS_SESSION_TOKEN"]) {
            Some(token) => Credentials::new_with_token(key, secret, token),
            None => Credentials::new(key, secret),
        };
        let region = variable(&["AWS_REGION", "AWS_DEFAULT_REGION"]);
        let region = region.unwrap_or_else(|| "us-east-1".to_owned());
        let endpoint = variable(&["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]);
        // A name with a dot does not fit to the certificate for *.s3.REGION.amazonaws.com.
        let style = match &endpoint {
            None if !name.contains('.') => UrlStyle::VirtualHost,
            _ => UrlStyle::Path,
        };
        let endpoint = endpoint.unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
        let is_store = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        let store = Url::parse(&endpoint).ok().filter(is_store);
        let bucket = store
            .and_then(|store| rusty_s3::Bucket::new(store, style, name.to_owned(), region).ok());
        let Some(bucket) = bucket else {
            return Err(format!(
                "AWS_ENDPOINT_URL: {endpoint:?} is not the URL of a store; write it like https://s3.example.org"
            ));
        };
        Ok(Self {
            text: text.trim_end_matches('/').to_owned(),
            bucket,
            prefix: prefix.trim_end_matches('/').to_owned(),
            credentials,
        })
    }

    /// Returns the URL of a content in the bucket.
    pub(crate) fn place(&self, name: &str) -> String {
        format!("{}/{name}", self.text)
    }

    fn key(&self, name: &str) -> String {
        if self.prefix.is_empty() {
            name.to_owned()
        } else {
            format!("{}/{name}", self.prefix)
        }
    }

    fn store(&self) -> String {
        self.bucket.base_url().origin().ascii_serialization()
    }
}

/// Uploads over connections that are kept open.
pub(crate) struct Uploads {
    to: Address,
    tls: tls::Client,
    sockets: Arc<Sockets>,
    traffic: Arc<Traffic>,
    idle: RefCell<Vec<http1::Connection<Stream>>>,
}

impl Uploads {
    pub(crate) fn new(to: Address, tls: tls::Client, sockets: Arc<Sockets>) -> Self {
        Self {
            to,
            tls,
            sockets,
            traffic: Arc::default(),
            idle: RefCell::default(),
        }
    }

    /// Uploads a content; returns its URL. Repeats it while that may help.
    pub(crate) async fn put(
        &self,
        resolver: &Resolver,
        name: &str,
        content_type: Option<&str>,
        file: ContentFile,
    ) -> Result<String, Error> {
        let limit = PATIENCE + Duration::from_secs(file.length() / LEAST_BYTES_PER_S);
        let content_type = content_type.filter(|value| is_field_value(value));
        let upload = Arc::new(Upload::new(vec![Segment::File(Arc::new(file))], false));
        let mut pauses = PAUSES.iter();
        loop {
            let attempt = timeout(limit, self.attempt(resolver, name, content_type, &upload));
            let (may_help, error) = match attempt.await.unwrap_or(Err(Failure::BodyTimeout)) {
                Ok(answer) if (200..300).contains(&answer.status) => {
                    return Ok(self.to.place(name));
                }
                Ok(answer) => (
                    answer.status == 429 || answer.status >= 500,
                    Error::Refused {
                        address: self.to.text.clone(),
                        store: self.to.store(),
                        status: answer.status,
                        code: answer.code(),
                    },
                ),
                Err(failure) => (
                    true,
                    Error::Unreachable {
                        address: self.to.text.clone(),
                        store: self.to.store(),
                        failure,
                    },
                ),
            };
            match pauses.next() {
                Some(pause) if may_help => sleep(*pause).await,
                _ => return Err(error),
            }
        }
    }

    async fn attempt(
        &self,
        resolver: &Resolver,
        name: &str,
        content_type: Option<&str>,
        upload: &Arc<Upload>,
    ) -> Result<Answer, Failure> {
        let key = self.to.key(name);
        let mut action = PutObject::new(&self.to.bucket, Some(&self.to.credentials), &key);
        if let Some(value) = content_type {
            action
                .headers_mut()
                .insert("content-type", value.to_owned());
        }
        let url = action.sign(VALID);
        let mut head = Vec::with_capacity(1024);
        write!(
            head,
            "PUT {}?{} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n",
            url.path(),
            url.query().unwrap_or_default(),
            &url[url::Position::BeforeHost..url::Position::AfterPort],
            upload.length(),
        )
        .expect("a vector takes all bytes");
        if let Some(value) = content_type {
            write!(head, "Content-Type: {value}\r\n").expect("a vector takes all bytes");
        }
        head.extend_from_slice(b"\r\n");
        let request = http1::Request::new(head, false).with_upload(upload.clone());
        let mut connection = match self.idle().await {
            Some(connection) => connection,
            None => self.open(resolver, &url).await?,
        };
        let mut answer = Answer::default();
        if connection.exchange(&request, &mut answer).await?.reusable {
            self.idle.borrow_mut().push(connection);
        }
        Ok(answer)
    }

    async fn idle(&self) -> Option<http1::Connection<Stream>> {
        loop {
            let taken = self.idle.borrow_mut().pop();
            let mut connection = taken?;
            if connection.is_fresh().await {
                return Some(connection);
            }
        }
    }

    async fn open(
        &self,
        resolver: &Resolver,
        url: &Url,
    ) -> Result<http1::Connection<Stream>, Failure> {
        let host = url.host_str().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = url.port_or_known_default().unwrap_or(443);
        let lookup = match host.parse() {
            Ok(address) => dyno_client::resolve::Lookup::of(&[address]),
            Err(_) => resolver.lookup(host),
        };
        let wire = connect::race(&self.sockets, &lookup, port, &self.traffic, |_| Ok(())).await?;
        let stream = if url.scheme() == "https" {
            let secured = self.tls.handshake(wire, host).await?;
            debug_assert_eq!(secured.protocol, Protocol::Http1);
            Stream::Encrypted(secured.stream)
        } else {
            Stream::Plain(wire)
        };
        Ok(http1::Connection::new(stream, http1::Profile::Tolerant))
    }
}

/// Whether a value of a server may be sent as a field.
fn is_field_value(value: &str) -> bool {
    value.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

/// The answer of a store.
#[derive(Debug, Default)]
struct Answer {
    status: u16,
    text: Vec<u8>,
}

impl Answer {
    /// Returns the code of an error, such as ` (NoSuchBucket)`.
    fn code(&self) -> String {
        let text = String::from_utf8_lossy(&self.text);
        let code = text
            .split_once("<Code>")
            .and_then(|(_, rest)| rest.split_once("</Code>"));
        match code {
            Some((code, _))
                if code.len() < 100 && code.bytes().all(|b| b.is_ascii_alphanumeric()) =>
            {
                format!(" ({code})")
            }
            _ => String::new(),
        }
    }
}

impl Receive for Answer {
    fn head(&mut self, head: &AnswerHead<'_>) -> Result<(), Failure> {
        self.status = head.status;
        Ok(())
    }

    fn content(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let room = MAX_ERROR_BYTES - self.text.len();
        self.text.extend_from_slice(&bytes[..bytes.len().min(room)]);
        Ok(())
    }
}
