//! Options of a crawl.

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dyno_client::http1::Profile;
use dyno_client::{Protocol, Proxies, Reroute, Sockets, tls};

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
    /// `User-Agent` of every request.
    pub user_agent: String,
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
    /// Folder in which contents are kept.
    pub save: Option<PathBuf>,
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
    pub nameservers: Vec<SocketAddr>,
    /// Whether phases are measured.
    pub measure: bool,
    /// Destination of progress lines.
    pub progress: Option<File>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            concurrency: 10,
            timeout: Duration::from_secs(5),
            user_agent: concat!("httpdyno/", env!("CARGO_PKG_VERSION")).to_owned(),
            keepalive: true,
            check_json: false,
            profile: Profile::Tolerant,
            http: Versions::Http1,
            per_host: None,
            delay: Duration::ZERO,
            connections: usize::MAX,
            max_redirects: 10,
            allow_private: false,
            max_content: 1 << 30,
            retries: 0,
            save: None,
            resume: None,
            sync: true,
            insecure: false,
            cacert: None,
            tls: tls::Settings::default(),
            reroute: Reroute::default(),
            proxies: Proxies::default(),
            sockets: Arc::default(),
            nameservers: Vec::new(),
            measure: false,
            progress: None,
        }
    }
}
