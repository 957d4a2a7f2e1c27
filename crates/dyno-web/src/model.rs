//! The model of a web: what its TOML says, checked.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use crate::answer::Framing;
use crate::coding::Coding;
use crate::draw::BILLION;
use crate::fault::{Fault, Layer};
use crate::name::MOST_HOSTS;
use crate::site::{KeyKind, Scheme};

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

/// A share of 1, kept in billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Share(pub u64);

/// A standard deviation of a logarithm, times 65,536.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sigma(pub u32);

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

/// One host by name: what is said here replaces what would be drawn.
#[derive(Debug, Clone, Serialize, Deserialize)]
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

    /// One text for one meaning: what the digest is made of.
    pub(crate) fn canonical(&self) -> String {
        serde_json::to_string(self).expect("a model has string keys only")
    }

    fn check(&self) -> Result<(), ModelError> {
        let faults = self.faults.values().copied();
        let homes = &self.redirects;
        whole("[faults]", faults)?;
        whole("[statuses]", self.statuses.values().copied())?;
        whole("[content.codings]", self.content.codings.values().copied())?;
        whole(
            "[redirects]",
            [homes.www, homes.landing, homes.chain, homes.https_to_http],
        )?;
        whole(
            "the shares of [[host]]",
            self.hosts.iter().filter_map(|host| host.share),
        )?;
        for status in self.statuses.keys() {
            if !status
                .parse::<u16>()
                .is_ok_and(|status| (200..600).contains(&status))
            {
                return Err(meaning(format!(
                    "[statuses] {status}: must be a final status, 200 to 599"
                )));
            }
        }
        if self.urls.hosts > MOST_HOSTS {
            return Err(meaning(format!(
                "[urls] hosts = {}: at most {MOST_HOSTS}",
                self.urls.hosts
            )));
        }
        if !self.urls.path.starts_with('/') {
            return Err(meaning(format!(
                "[urls] path = {:?}: must begin with /",
                self.urls.path
            )));
        }
        if !(3..=8).contains(&self.content.compression_ratio) {
            return Err(meaning(
                "[content] compression_ratio: must be 3 to 8".to_owned(),
            ));
        }
        if self.content.error_divisor == 0 || self.timeout_ms == 0 {
            return Err(meaning(
                "error_divisor, timeout_ms: must be above 0".to_owned(),
            ));
        }
        self.check_delays()?;
        self.check_hosts()
    }

    /// The longest honest exchange: two names, three redirects, one answer.
    fn check_delays(&self) -> Result<(), ModelError> {
        let sections = [
            ("[names] delay", &self.names.delay, 2),
            ("[redirects] delay", &self.redirects.delay, 3),
            ("[server] delay", &self.server.delay, 1),
        ];
        let mut longest_ms = 0_u64;
        for (section, delay, times) in sections {
            let most_ms = match (delay.most_ms, delay.median_ms, delay.sigma) {
                (Some(most_ms), ..) => most_ms,
                (None, median_ms, Sigma(0)) => median_ms,
                (None, ..) => {
                    return Err(meaning(format!(
                        "{section}: needs most_ms, the bound of its tail"
                    )));
                }
            };
            longest_ms = longest_ms.saturating_add(most_ms.saturating_mul(times));
        }
        if longest_ms > self.timeout_ms / 10 * 6 {
            return Err(meaning(format!(
                "the delays add up to {longest_ms} ms at worst (two names, three redirects, one answer): \
                 more than 60 % of timeout_ms = {}",
                self.timeout_ms
            )));
        }
        Ok(())
    }

    fn check_hosts(&self) -> Result<(), ModelError> {
        let mut names = BTreeSet::new();
        for host in &self.hosts {
            let name = &host.name;
            let lower = name.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_".contains(&byte)
            });
            if name.is_empty() || !lower {
                return Err(meaning(format!(
                    "[[host]] {name:?}: must be a host name in lower case"
                )));
            }
            if !names.insert(name) {
                return Err(meaning(format!("[[host]] {name}: named twice")));
            }
            if host
                .redirect_status
                .is_some_and(|status| !(300..400).contains(&status))
            {
                return Err(meaning(format!(
                    "[[host]] {name}: redirect_status must be 300 to 399"
                )));
            }
            if host
                .status
                .is_some_and(|status| !(200..600).contains(&status))
            {
                return Err(meaning(format!(
                    "[[host]] {name}: status must be 200 to 599"
                )));
            }
            if host
                .interim
                .is_some_and(|status| !(100..200).contains(&status) || status == 101)
            {
                return Err(meaning(format!(
                    "[[host]] {name}: interim must be 100 to 199, not 101"
                )));
            }
            let handshake = host
                .fault
                .is_some_and(|fault| fault.layer() == Layer::Handshake);
            let plain = host
                .url
                .as_deref()
                .map_or(self.urls.scheme == Scheme::Http, |url| {
                    url.starts_with("http:")
                });
            if handshake && plain {
                return Err(meaning(format!(
                    "[[host]] {name}: a fault of TLS on a plain URL never shows"
                )));
            }
        }
        Ok(())
    }
}

fn meaning(message: String) -> ModelError {
    ModelError::Meaning(message)
}

fn whole(what: &str, shares: impl IntoIterator<Item = Share>) -> Result<(), ModelError> {
    let sum: u64 = shares.into_iter().map(|share| share.0).sum();
    if sum > BILLION {
        return Err(meaning(format!("{what}: the shares add up to more than 1")));
    }
    Ok(())
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

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl Serialize for Sigma {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.0)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(Billionths { most: 1 })
            .map(Share)
    }
}

impl<'de> Deserialize<'de> for Sigma {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let billionths = deserializer.deserialize_any(Billionths { most: 3 })?;
        Ok(Self(
            u32::try_from(billionths * 65_536 / BILLION).expect("at most 3 * 65,536"),
        ))
    }
}

/// Reads a number from 0 to `most`, whole or not, as billionths.
struct Billionths {
    most: u32,
}

impl Visitor<'_> for Billionths {
    type Value = u64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a number from 0 to {}", self.most)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<u64, E> {
        if !(0.0..=f64::from(self.most)).contains(&value) {
            return Err(E::custom(format!(
                "{value}: expected a number from 0 to {}",
                self.most
            )));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 3e9, checked above"
        )]
        let billionths = (value * 1e9 + 0.5) as u64;
        Ok(billionths)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<u64, E> {
        match u32::try_from(value) {
            Ok(whole) if whole <= self.most => Ok(u64::from(whole) * BILLION),
            _ => Err(E::custom(format!(
                "{value}: expected a number from 0 to {}",
                self.most
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Model::from_toml(text).unwrap_err().to_string()
    }

    #[test]
    fn bad_models_are_refused_with_one_line() {
        let cases = [
            (
                "name = 'x'\nseed = 1\nsede = 2\n",
                "line 3: unknown field `sede`",
            ),
            (
                "name = 'x'\nseed = 1\n[faults]\nstall_teapot = 0.1\n",
                "line 4: unknown variant `stall_teapot`",
            ),
            (
                "name = 'x'\nseed = 1\n[http]\nhttp2 = 'all'\n",
                "line 4: invalid type: string",
            ),
            (
                "name = 'x'\nseed = 1\n[http]\nhttp2 = -1\n",
                "line 4: -1: expected a number from 0 to 1",
            ),
            ("name = 'x'\n", "missing field `seed`"),
            (
                "name = 'x'\nseed = 1\n[faults]\nnxdomain = 0.6\nrefused = 0.6\n",
                "[faults]: the shares add up",
            ),
            (
                "name = 'x'\nseed = 1\n[statuses]\nteapot = 0.6\n",
                "[statuses] teapot: must be a final status",
            ),
            (
                "name = 'x'\nseed = 1\n[[host]]\nname = 'a.test'\n[[host]]\nname = 'a.test'\n",
                "a.test: named twice",
            ),
            (
                "name = 'x'\nseed = 1\n[[host]]\nname = 'A.test'\n",
                "must be a host name in lower case",
            ),
            (
                "name = 'x'\nseed = 1\n[[host]]\nname = 'a.test'\ninterim = 101\n",
                "interim must be",
            ),
            (
                "name = 'x'\nseed = 1\n[server.delay]\nmedian_ms = 9\nsigma = 0.5\n",
                "[server] delay: needs most_ms",
            ),
            (
                "name = 'x'\nseed = 1\n[server.delay]\nmedian_ms = 9000\n",
                "more than 60 % of timeout_ms = 5000",
            ),
            (
                "name = 'x'\nseed = 1\n[urls]\nscheme = 'http'\n[[host]]\nname = 'a.test'\nfault = 'self_signed'\n",
                "a fault of TLS on a plain URL never shows",
            ),
        ];
        for (text, expected) in cases {
            let message = error(text);
            assert!(message.contains(expected), "{message:?} lacks {expected:?}");
            assert!(
                !message.contains('\n'),
                "{message:?} has more than one line"
            );
        }
    }

    #[test]
    fn a_minimal_model_has_no_fault() {
        let model = Model::from_toml("name = 'quiet'\nseed = 1\n").unwrap();
        assert!(model.faults.is_empty() && model.statuses.is_empty() && model.hosts.is_empty());
    }
}
