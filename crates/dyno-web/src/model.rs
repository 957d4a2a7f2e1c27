//! The model of a web, parsed from TOML and checked.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::coding::Coding;
use crate::fault::Fault;
use crate::framing::Framing;
use crate::key_kind::KeyKind;
use crate::oddity::Oddity;
use crate::scheme::Scheme;

mod check;
mod number;

pub(crate) use number::{Share, Sigma};

/// A wrong model, described in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The TOML does not parse, or has an unknown key or a value of the wrong kind.
    #[error("line {line}: {message}")]
    Syntax {
        /// Line number, from 1.
        line: usize,
        /// Description.
        message: String,
    },
    /// The TOML parses, but its values are impossible.
    #[error("{0}")]
    Meaning(String),
}

/// The properties of a web. Omitted ones are absent: no fault, no delay, no redirect.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Name of the web in records.
    pub name: String,
    /// Default seed.
    pub seed: u64,
    /// The timeout for which delays are planned: honest answers end within 60 % of it.
    #[serde(default = "default_timeout_ms")]
    pub timeout_ms: u64,
    #[serde(default)]
    pub(crate) urls: Urls,
    #[serde(default)]
    pub(crate) names: Names,
    #[serde(default)]
    pub(crate) faults: BTreeMap<Fault, Share>,
    /// Shares of the sites without a fault. (Omitted from the digest when absent, so that older webs keep their digests.)
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) oddities: BTreeMap<Oddity, Share>,
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
    // Omitted from the digest when absent, so that older webs keep their digests.
    #[serde(default, skip_serializing_if = "JsonModel::is_right")]
    pub(crate) json: JsonModel,
    // Omitted from the digest when absent, so that older webs keep their digests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) links: Option<LinkModel>,
    #[serde(default, rename = "host")]
    pub(crate) hosts: Vec<HostEntry>,
}

/// The listed URLs.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Urls {
    pub scheme: Scheme,
    pub path: String,
    /// Number of hosts with made-up names; 0 lists only the `[[host]]` entries.
    pub hosts: u64,
}

/// The behaviour of the name servers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Names {
    pub delay: Delay,
    pub ipv6: Share,
    pub servfail_after_ms: u64,
    /// Share of hosts that share an address with others, and the number of these addresses. (Omitted from the digest when absent, so
    /// that older webs keep their digests.)
    #[serde(skip_serializing_if = "Share::is_none")]
    pub shared: Share,
    #[serde(skip_serializing_if = "is_zero")]
    pub shared_addresses: u64,
    /// Domains whose hosts, including all subdomains, always answer with a page of status 200, without random faults.
    /// (Omitted from the digest when absent, so that older webs keep their digests.)
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reliable: Vec<String>,
}

/// A log-normal delay with an upper bound; a median of 0 means no delay.
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
    /// Share of hosts limited to TLS 1.2.
    pub only_1_2: Share,
    /// Share of hosts with an ECDSA P-256 key; the others have RSA.
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
    /// Share of sites whose home page is at www.
    pub www: Share,
    /// Share of sites whose home page is at another host.
    pub landing: Share,
    /// Share of sites whose home page is at www, under a path.
    pub chain: Share,
    /// Share of sites that redirect https to http.
    pub https_to_http: Share,
    /// Whether all other sites redirect http to https.
    pub http_to_https: bool,
    /// Share of redirects with a permanent status (301, 308); the others have 302, 307, 303.
    pub permanent: Share,
    pub delay: Delay,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Server {
    /// Time from the request to the first byte of the answer.
    pub delay: Delay,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ContentModel {
    pub median_bytes: u64,
    pub sigma: Sigma,
    /// Factor by which pages with an error status are shorter.
    pub error_divisor: u64,
    /// Compression ratio of the text under gzip, `ratio` to 1.
    pub compression_ratio: u32,
    /// Shares of preferred codings; the rest is identity.
    pub codings: BTreeMap<Coding, Share>,
}

/// The JSON document.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct JsonModel {
    /// Share of URLs with a wrong number in the document.
    pub wrong_share: Share,
}

impl JsonModel {
    /// Whether the document is right everywhere.
    fn is_right(&self) -> bool {
        self.wrong_share == Share(0)
    }
}

/// Pages with links, robots.txt and sitemap.xml.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LinkModel {
    /// Bounds of the number of pages of a site.
    pub fewest_pages: u64,
    pub most_pages: u64,
    /// Upper bound of the number of links of a page.
    pub most_links: u64,
    /// Share of links to other hosts.
    pub elsewhere: Share,
    /// Share of links to pages that answer with 404.
    pub missing: Share,
    /// Share of links with `rel="nofollow"`.
    pub nofollow: Share,
    /// Share of pages that tell crawlers not to follow their links.
    pub nofollow_pages: Share,
    /// Share of links with a fragment.
    pub fragments: Share,
    /// Share of sites whose robots.txt is a 404, and a 503.
    pub without_robots: Share,
    pub robots_unavailable: Share,
    /// Share of sites whose sitemap.xml is a 404.
    pub without_sitemap: Share,
}

impl Default for LinkModel {
    fn default() -> Self {
        Self {
            fewest_pages: 3,
            most_pages: 40,
            most_links: 30,
            elsewhere: Share(0),
            missing: Share(0),
            nofollow: Share(0),
            nofollow_pages: Share(0),
            fragments: Share(0),
            without_robots: Share(0),
            robots_unavailable: Share(0),
            without_sitemap: Share(0),
        }
    }
}

/// A host by name: its values replace random ones.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostEntry {
    pub name: String,
    #[serde(default)]
    pub fault: Option<Fault>,
    /// (Omitted from the digest when absent, so that older webs keep their digests.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oddity: Option<Oddity>,
    /// The listed URL of the host [default: from the list's scheme and path].
    #[serde(default)]
    pub url: Option<String>,
    /// In a web with made-up hosts: the share of this host in the list.
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
    /// Whether the host is limited to TLS 1.2.
    #[serde(default)]
    pub tls_1_2: Option<bool>,
    /// Whether the host offers HTTP/2. (Omitted from the digest when absent, so that older webs keep their digests.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http2: Option<bool>,
    #[serde(default)]
    pub key: Option<KeyKind>,
    #[serde(default)]
    pub ipv6: Option<bool>,
}

impl Model {
    /// Parses a model from TOML.
    ///
    /// # Errors
    ///
    /// One line that describes the error: an unknown key with its line, shares beyond 1, a host named twice.
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

    /// Compression ratio of the web's text under gzip, to 1: the argument of [`crate::text`].
    #[must_use]
    pub fn compression_ratio(&self) -> u32 {
        self.content.compression_ratio
    }

    /// The content codings of the web's pages, including identity.
    #[must_use]
    pub fn codings(&self) -> BTreeSet<Coding> {
        let of_hosts = self.hosts.iter().filter_map(|host| host.coding);
        let preferred = self.content.codings.keys().copied().chain(of_hosts);
        let mut codings: BTreeSet<Coding> = preferred.collect();
        if codings.iter().any(|&coding| coding != Coding::Identity) {
            // Sent to clients that do not accept the preferred coding.
            codings.insert(Coding::Gzip);
        }
        codings.insert(Coding::Identity);
        codings
    }

    /// A canonical text of the model, the input of the digest.
    pub(crate) fn canonical(&self) -> String {
        serde_json::to_string(self).expect("a model has string keys only")
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
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
            shared: Share(0),
            shared_addresses: 0,
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
