//! Options of a crawl.

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use dyno_client::{Protocol, Reroute};

/// Which versions of HTTP are spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Versions {
    /// HTTP/2 where a server agrees to it, else HTTP/1.1.
    Auto,
    /// HTTP/1.1 alone.
    Http1,
    /// HTTP/2 alone; in the clear with prior knowledge.
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
    reason = "each is a switch of its own on the command line"
)]
pub struct Options {
    /// The most URLs under way at a time.
    pub concurrency: usize,
    /// Longest time of a URL, from its slot to its last byte.
    pub timeout: Duration,
    /// Sent with every request.
    pub user_agent: String,
    /// Whether a connection carries more than one request.
    pub keepalive: bool,
    /// Whether content must be the expected JSON.
    pub check_json: bool,
    /// Which versions of HTTP are spoken.
    pub http: Versions,
    /// The most URLs of one host under way at a time.
    pub per_host: Option<usize>,
    /// Between two beginnings at one host.
    pub delay: Duration,
    /// The most connections open at a time, idle ones included.
    pub connections: usize,
    /// Redirects that are followed.
    pub max_redirects: u32,
    /// Whether a redirect from a public host may lead into a private network.
    pub allow_private: bool,
    /// Bytes of content, decoded, that are accepted.
    pub max_content: u64,
    /// How often a URL is tried again after what may have been an accident.
    pub retries: u32,
    /// Where contents are kept.
    pub save: Option<PathBuf>,
    /// The journal of what is done.
    pub resume: Option<PathBuf>,
    /// Whether what the journal calls done must survive a power cut.
    pub sync: bool,
    /// Whether certificates are not verified.
    pub insecure: bool,
    /// Further trusted certificates.
    pub cacert: Option<PathBuf>,
    /// Hosts that are reached elsewhere.
    pub reroute: Reroute,
    /// Name servers in place of the machine's.
    pub nameservers: Vec<SocketAddr>,
    /// Whether phases are measured.
    pub measure: bool,
    /// Where progress goes.
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
            reroute: Reroute::default(),
            nameservers: Vec::new(),
            measure: false,
            progress: None,
        }
    }
}
