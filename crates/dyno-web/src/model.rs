//! The model of a web: what its TOML says, checked.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::coding::Coding;
use crate::fault::Fault;
use crate::framing::Framing;
use crate::key_kind::KeyKind;
use crate::scheme::Scheme;

mod check;
mod number;

pub(crate) use number::{Share, Sigma};

/// A TOML text that is no model: one line that says what, where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The TOML does not parse, has an unknown key or a value of the wrong kind.
    #[error("line {line}: {message}")]
    Syntax {
        /// Where, counted from 1.
        line: usize,
        /// What.
        message: String,
    },
    /// The TOML parses, but what it says cannot be.
    #[error("{0}")]
    Meaning(String),
}

/// What a web is like. Everything left out is absent: no fault, no delay, no redirect.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// What the web is called in records.
    pub name: String,
    /// The seed, unless the caller gives another.
    pub seed: u64,
    /// The timeout that answers are planned for: honest ones end within 60 % of it.
    #[serde(default = "default_timeout_ms")]
    pub timeout_ms: u64,
    #[serde(default)]
    pub(crate) urls: Urls,
    #[serde(default)]
    pub(crate) names: Names,
    #[serde(default)]
    pub(crate) faults: BTreeMap<Fault, Share>,
    #[serde(default)]
    pub(crate) tls: Tls,
    #[serde(default)]
    pub(crate) http: Http,
    #[serde(default)]
    pub(crate) redirects: Redirects,
    #[serde(default)]
    pub(crate) server: Server,
    #[serde(default)]
    pub(crate) statuses: BTreeMap<String, Share>,
    #[serde(default)]
    pub(crate) content: ContentModel,
    // Unsaid, it is not in the digest either: webs of before keep theirs.
    #[serde(default, skip_serializing_if = "JsonModel::is_right")]
    pub(crate) json: JsonModel,
    #[serde(default, rename = "host")]
    pub(crate) hosts: Vec<HostEntry>,
}

/// Which URLs the web lists.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Urls {
    pub scheme: Scheme,
    pub path: String,
    /// How many hosts of made-up names; 0 lists only the `[[host]]` entries.
    pub hosts: u64,
}

/// What the name servers do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Names {
    pub delay: Delay,
    pub ipv6: Share,
    pub servfail_after_ms: u64,
    /// Domains whose hosts, and all below them, always answer with a page of status 200: nothing goes wrong there by
    /// chance. (Unsaid, it is not in the digest either: webs of before keep theirs.)
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reliable: Vec<String>,
}

/// A log-normal delay with an upper bound; a median of 0 is no delay.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Delay {
    pub median_ms: u64,
    #[serde(default)]
    pub sigma: Sigma,
    #[serde(default)]
    pub most_ms: Option<u64>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Tls {
    /// Share of hosts that speak no more than TLS 1.2.
    pub only_1_2: Share,
    /// Share of hosts with an ECDSA P-256 leaf; the others have RSA.
    pub ecdsa: Share,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Http {
    /// Share of hosts that offer HTTP/2.
    pub http2: Share,
    /// Share of pages sent chunked.
    pub chunked: Share,
    /// Share of pages after which the server closes the connection.
    pub closes: Share,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Redirects {
    /// Share of sites whose home is at www.
    pub www: Share,
    /// Share of sites whose home is at another host.
    pub landing: Share,
    /// Share of sites whose home is at www, under a path.
    pub chain: Share,
    /// Share of sites that redirect https to http.
    pub https_to_http: Share,
    /// Whether every other site redirects http to https.
    pub http_to_https: bool,
    /// Share of redirects with a permanent status (301, 308); the others have 302, 307, 303.
    pub permanent: Share,
    pub delay: Delay,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Server {
    /// From the request to the first byte of the answer.
    pub delay: Delay,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ContentModel {
    pub median_bytes: u64,
    pub sigma: Sigma,
    /// Pages with an error status are this many times shorter.
    pub error_divisor: u64,
    /// What gzip makes of the text, `ratio` to 1.
    pub compression_ratio: u32,
    /// Shares of the preferred coding; what is left is identity.
    pub codings: BTreeMap<Coding, Share>,
}

/// What becomes of the JSON document.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct JsonModel {
    /// Share of URLs that give the document with a wrong number.
    pub wrong_share: Share,
}

impl JsonModel {
    /// Whether the document is right everywhere.
    fn is_right(&self) -> bool {
        self.wrong_share == Share(0)
    }
}

/// One host by name: what is said here replaces what would be drawn.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostEntry {
    pub name: String,
    #[serde(default)]
    pub fault: Option<Fault>,
    /// The URL listed for the host; without it, the list's scheme and path.
    #[serde(default)]
    pub url: Option<String>,
    /// In a web with made-up hosts: the share of the list that is this host.
    #[serde(default)]
    pub share: Option<Share>,
    #[serde(default)]
    pub status: Option<u16>,
    #[serde(default)]
    pub content_bytes: Option<u64>,
    #[serde(default)]
    pub coding: Option<Coding>,
    #[serde(default)]
    pub framing: Option<Framing>,
    /// Send trailer fields after the last chunk.
    #[serde(default)]
    pub trailers: bool,
    /// An interim status (103, 100) sent before the answer.
    #[serde(default)]
    pub interim: Option<u16>,
    #[serde(default)]
    pub closes: Option<bool>,
    /// Every path redirects here (an absolute URL, or a path of the same host).
    #[serde(default)]
    pub redirect_to: Option<String>,
    #[serde(default)]
    pub redirect_status: Option<u16>,
    #[serde(default)]
    pub delay_ms: Option<u64>,
    #[serde(default)]
    pub name_delay_ms: Option<u64>,
    /// Speak no more than TLS 1.2.
    #[serde(default)]
    pub tls_1_2: Option<bool>,
    /// Offer HTTP/2. (Unsaid, it is not in the digest either: webs of before keep theirs.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http2: Option<bool>,
    #[serde(default)]
    pub key: Option<KeyKind>,
    #[serde(default)]
    pub ipv6: Option<bool>,
}

impl Model {
    /// Reads a model from TOML.
    ///
    /// # Errors
    ///
    /// One line that says what is wrong: an unknown key with its line, shares beyond 1, a host named twice.
    pub fn from_toml(text: &str) -> Result<Self, ModelError> {
        let model: Self = toml::from_str(text).map_err(|error| ModelError::Syntax {
            line: error
                .span()
                .map_or(1, |span| 1 + text[..span.start].matches('\n').count()),
            message: error.message().replace('\n', " "),
        })?;
        model.check()?;
        Ok(model)
    }

    /// What gzip makes of the web's text, so many to 1: the argument of [`crate::text`].
    #[must_use]
    pub fn compression_ratio(&self) -> u32 {
        self.content.compression_ratio
    }

    /// The content codings that pages of the web are served in, identity among them.
    #[must_use]
    pub fn codings(&self) -> BTreeSet<Coding> {
        let of_hosts = self.hosts.iter().filter_map(|host| host.coding);
        let preferred = self.content.codings.keys().copied().chain(of_hosts);
        let mut codings: BTreeSet<Coding> = preferred.collect();
        if codings.iter().any(|&coding| coding != Coding::Identity) {
            // What a request gets that does not accept the preferred one.
            codings.insert(Coding::Gzip);
        }
        codings.insert(Coding::Identity);
        codings
    }

    /// One text for one meaning: what the digest is made of.
    pub(crate) fn canonical(&self) -> String {
        serde_json::to_string(self).expect("a model has string keys only")
    }
}

const fn default_timeout_ms() -> u64 {
    5_000
}

impl Default for Urls {
    fn default() -> Self {
        Self {
            scheme: Scheme::Https,
            path: "/".to_owned(),
            hosts: 0,
        }
    }
}

impl Default for Names {
    fn default() -> Self {
        Self {
            delay: Delay::default(),
            ipv6: Share(0),
            servfail_after_ms: 2_000,
            reliable: Vec::new(),
        }
    }
}

impl Default for ContentModel {
    fn default() -> Self {
        Self {
            median_bytes: 16 * 1024,
            sigma: Sigma(0),
            error_divisor: 1,
            compression_ratio: 5,
            codings: BTreeMap::new(),
        }
    }
}
