//! Options of a crawl.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dyno_client::http1::Profile;
use dyno_client::resolve::{NameServer, OnFailure};
use dyno_client::{Protocol, Proxies, Reroute, Sockets, tls};

use crate::bucket;
use crate::cookies::CookieFile;
use crate::progress::Observer;
use crate::row::RowFormat;
use crate::shard::Share;

/// Allowed versions of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Versions {
    /// HTTP/2 if the server agrees, else HTTP/1.1.
    Auto,
    /// HTTP/1.1 only.
    Http1,
    /// HTTP/2 only; without TLS with prior knowledge.
    Http2,
}

impl Versions {
    /// Returns the protocols offered to servers, best first.
    pub(crate) const fn protocols(self) -> &'static [Protocol] {
        match self {
            Self::Auto => &[Protocol::Http2, Protocol::Http1],
            Self::Http1 => &[Protocol::Http1],
            Self::Http2 => &[Protocol::Http2],
        }
    }

    /// Returns the protocol of connections without TLS, where nothing is negotiated.
    pub(crate) const fn in_the_clear(self) -> Protocol {
        match self {
            Self::Auto | Self::Http1 => Protocol::Http1,
            Self::Http2 => Protocol::Http2,
        }
    }
}

/// A limit of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limit {
    /// Maximum number in flight.
    pub at_once: Option<usize>,
    /// Minimum time between two starts.
    pub interval: Duration,
}

impl Limit {
    /// Whether it limits anything.
    #[must_use]
    pub const fn is_set(self) -> bool {
        self.at_once.is_some() || !self.interval.is_zero()
    }
}

/// Options of a crawl.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a separate flag on the command line"
)]
pub struct Options {
    /// Maximum number of concurrent URLs.
    pub concurrency: usize,
    /// Timeout of a URL, from its start to the last byte.
    pub timeout: Duration,
    /// Timeout of a lookup, a connection and its handshake together; at most `timeout`.
    pub connect_timeout: Duration,
    /// Longest wait for a head, and between two pieces of content; at most `timeout`.
    pub idle_timeout: Duration,
    /// Whether `robots.txt` of each host decides which of its URLs are requested.
    pub robots: bool,
    /// `User-Agent` of every request.
    pub user_agent: String,
    /// Whether a line with a blank inside, or that is not UTF-8, is not a URL.
    pub strict_urls: bool,
    /// Headers of every request, with names and values that HTTP allows. Hosts after a redirect do not get `Host`,
    /// `Authorization` and `Cookie`.
    pub headers: Vec<(String, String)>,
    /// Cookies that are sent to their hosts.
    pub cookies: Option<CookieFile>,
    /// Whether the method is HEAD, and not GET.
    pub is_head: bool,
    /// Whether connections are reused.
    pub keepalive: bool,
    /// Whether content must be the expected JSON.
    pub check_json: bool,
    /// What answers over HTTP/1.1 are accepted.
    pub profile: Profile,
    /// Allowed versions of HTTP.
    pub http: Versions,
    /// Maximum number of concurrent URLs of one host.
    pub per_host: Option<usize>,
    /// Delay between two starts at one host.
    pub delay: Duration,
    /// Limit of requests to one registered domain.
    pub per_domain: Limit,
    /// Limit of requests to one address.
    pub per_address: Limit,
    /// Maximum number of open connections, including idle ones.
    pub connections: usize,
    /// Maximum number of redirects.
    pub max_redirects: u32,
    /// Whether a redirect from a public host may lead into a private network.
    pub allow_private: bool,
    /// Maximum length of decoded content, in bytes.
    pub max_content: u64,
    /// Retries of a URL after a failure that may be temporary.
    pub retries: u32,
    /// Longest time in a row for which `Retry-After` holds up a host; zero: such answers are final.
    pub max_retry_after: Duration,
    /// Failed connections in a row after which a host is not tried for a minute; 0: it is tried always.
    pub dead_after: u32,
    /// The shard of the list that is fetched; `None`: the whole list.
    pub share: Option<Share>,
    /// Folder in which contents and their index are kept.
    pub save: Option<PathBuf>,
    /// Bucket in which contents are kept in its place; the folder has the index.
    pub bucket: Option<bucket::Address>,
    /// Name of the WARC files in which all exchanges are archived.
    pub warc: Option<PathBuf>,
    /// Length of a WARC file at which the next one begins, in bytes.
    pub warc_size: u64,
    /// File of the journal of finished lines.
    pub resume: Option<PathBuf>,
    /// Whether journal entries must survive a power failure.
    pub sync: bool,
    /// Whether certificates are accepted unverified.
    pub insecure: bool,
    /// File of additional trusted certificates.
    pub cacert: Option<PathBuf>,
    /// What else is offered in handshakes of TLS.
    pub tls: tls::Settings,
    /// Hosts that are reached at other addresses.
    pub reroute: Reroute,
    /// Proxies on the way to hosts.
    pub proxies: Proxies,
    /// How the sockets of connections are made.
    pub sockets: Arc<Sockets>,
    /// Name servers to use in place of the machine's.
    pub nameservers: Vec<NameServer>,
    /// Called at the first failure of each name server.
    pub on_name_server_failure: Option<OnFailure>,
    /// The file that the output is, if a later run may cut it to the length in the journal; then it is open to read, too.
    pub rows_file: Option<PathBuf>,
    /// Form of the rows.
    pub rows: RowFormat,
    /// Whether a line with the names of the columns comes first. A file that is continued gets none.
    pub column_names: bool,
    /// Whether contents that were cut short or too long are kept.
    pub keep_partial: bool,
    /// Whether phases are measured.
    pub measure: bool,
    /// Destination of progress lines.
    pub progress: Option<File>,
    /// Observer of the crawl.
    pub observer: Option<Observer>,
}

impl Options {
    /// The `User-Agent` that is sent: that of [`Self::headers`], if there is one.
    #[must_use]
    pub fn sent_user_agent(&self) -> &str {
        let mut headers = self.headers.iter();
        let own = headers.find(|(name, _)| name.eq_ignore_ascii_case("user-agent"));
        own.map_or(&self.user_agent, |(_, value)| value)
    }

    /// Number of URLs in flight. A URL has one connection at a time; with fewer connections than slots, URLs would wait
    /// for a connection while their time runs.
    pub(crate) fn slots(&self) -> usize {
        self.concurrency.min(self.connections).max(1)
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            concurrency: 10,
            timeout: Duration::from_secs(5),
            connect_timeout: Duration::MAX,
            idle_timeout: Duration::MAX,
            robots: false,
            user_agent: concat!("httpdyno/", env!("CARGO_PKG_VERSION")).to_owned(),
            strict_urls: false,
            headers: Vec::new(),
            cookies: None,
            is_head: false,
            keepalive: true,
            check_json: false,
            profile: Profile::Tolerant,
            http: Versions::Http1,
            per_host: None,
            delay: Duration::ZERO,
            per_domain: Limit::default(),
            per_address: Limit::default(),
            connections: usize::MAX,
            max_redirects: 10,
            allow_private: false,
            max_content: 1 << 30,
            retries: 0,
            max_retry_after: Duration::ZERO,
            dead_after: 0,
            share: None,
            save: None,
            bucket: None,
            warc: None,
            warc_size: 1_000_000_000,
            resume: None,
            sync: true,
            insecure: false,
            cacert: None,
            tls: tls::Settings::default(),
            reroute: Reroute::default(),
            proxies: Proxies::default(),
            sockets: Arc::default(),
            nameservers: Vec::new(),
            on_name_server_failure: None,
            rows_file: None,
            rows: RowFormat::default(),
            column_names: false,
            keep_partial: false,
            measure: false,
            progress: None,
            observer: None,
        }
    }
}
