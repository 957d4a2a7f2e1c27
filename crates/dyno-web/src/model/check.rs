//! Checks of a model beyond its types.

use std::collections::BTreeSet;
use std::ops::Range;

use super::{HostEntry, LinkModel, Model, ModelError, Share, Sigma};
use crate::draw::BILLION;
use crate::fault::{Fault, Layer};
use crate::name::MOST_HOSTS;
use crate::scheme::Scheme;

/// Upper bounds of a site's pages and of a page's links, so that pages and sitemaps stay short.
const MOST_PAGES: u64 = 200;
const MOST_LINKS: u64 = 100;

impl Model {
    pub(super) fn check(&self) -> Result<(), ModelError> {
        let faults = self.faults.values().copied();
        let homes = &self.redirects;
        check_sum("[faults]", faults)?;
        check_sum("[oddities]", self.oddities.values().copied())?;
        check_sum("[statuses]", self.statuses.values().copied())?;
        check_sum("[content.codings]", self.content.codings.values().copied())?;
        check_sum(
            "[redirects]",
            [homes.www, homes.landing, homes.chain, homes.https_to_http],
        )?;
        check_sum(
            "the shares of [[host]]",
            self.hosts.iter().filter_map(|host| host.share),
        )?;
        if self.names.shared.is_none() != (self.names.shared_addresses == 0) {
            return Err(wrong_value(
                "[names] shared, shared_addresses: give both or neither".to_owned(),
            ));
        }
        for status in self.statuses.keys() {
            if !status
                .parse::<u16>()
                .is_ok_and(|status| (200..600).contains(&status))
            {
                return Err(wrong_value(format!(
                    "[statuses] {status}: must be a final status, 200 to 599"
                )));
            }
        }
        if self.urls.hosts > MOST_HOSTS {
            return Err(wrong_value(format!(
                "[urls] hosts = {}: at most {MOST_HOSTS}",
                self.urls.hosts
            )));
        }
        if !self.urls.path.starts_with('/') {
            return Err(wrong_value(format!(
                "[urls] path = {:?}: must begin with /",
                self.urls.path
            )));
        }
        if !(3..=8).contains(&self.content.compression_ratio) {
            return Err(wrong_value(
                "[content] compression_ratio: must be 3 to 8".to_owned(),
            ));
        }
        if self.content.error_divisor == 0 || self.timeout_ms == 0 {
            return Err(wrong_value(
                "error_divisor, timeout_ms: must be above 0".to_owned(),
            ));
        }
        if let Some(links) = &self.links {
            links.check()?;
        }
        self.check_delays()?;
        self.check_hosts()
    }

    /// Checks the longest honest exchange: two names, three redirects, one answer.
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
                    return Err(wrong_value(format!(
                        "{section}: needs most_ms, the bound of its tail"
                    )));
                }
            };
            longest_ms = longest_ms.saturating_add(most_ms.saturating_mul(times));
        }
        if longest_ms > self.timeout_ms / 10 * 6 {
            return Err(wrong_value(format!(
                "the delays add up to {longest_ms} ms at worst (two names, three redirects, one answer): \
                 more than 60 % of timeout_ms = {}",
                self.timeout_ms
            )));
        }
        Ok(())
    }

    fn check_hosts(&self) -> Result<(), ModelError> {
        for domain in &self.names.reliable {
            if !is_name(domain) {
                return Err(wrong_value(format!(
                    "[names] reliable: {domain:?}: must be a domain in lower case"
                )));
            }
        }
        let mut names = BTreeSet::new();
        for host in &self.hosts {
            let name = &host.name;
            if !is_name(name) {
                return Err(wrong_value(format!(
                    "[[host]] {name:?}: must be a host name in lower case"
                )));
            }
            if !names.insert(name) {
                return Err(wrong_value(format!("[[host]] {name}: named twice")));
            }
            if let Some(wrong) = host.wrong(self.urls.scheme) {
                return Err(wrong_value(format!("[[host]] {name}: {wrong}")));
            }
        }
        Ok(())
    }
}

impl LinkModel {
    fn check(&self) -> Result<(), ModelError> {
        let (fewest, most) = (self.fewest_pages, self.most_pages);
        if fewest == 0 || fewest > most || most > MOST_PAGES {
            return Err(wrong_value(format!(
                "[links] fewest_pages = {fewest}, most_pages = {most}: must ascend, from 1 to {MOST_PAGES}"
            )));
        }
        if !(1..=MOST_LINKS).contains(&self.most_links) {
            return Err(wrong_value(format!(
                "[links] most_links = {}: must be 1 to {MOST_LINKS}",
                self.most_links
            )));
        }
        check_sum("[links] elsewhere, missing", [self.elsewhere, self.missing])?;
        check_sum(
            "[links] without_robots, robots_unavailable",
            [self.without_robots, self.robots_unavailable],
        )
    }
}

impl HostEntry {
    /// Returns the fault of a host, in a list whose URLs have this scheme.
    fn wrong(&self, listed: Scheme) -> Option<&'static str> {
        let outside = |status: Option<u16>, allowed: Range<u16>| {
            status.is_some_and(|status| !allowed.contains(&status))
        };
        if outside(self.redirect_status, 300..400) {
            Some("redirect_status must be 300 to 399")
        } else if outside(self.status, 200..600) {
            Some("status must be 200 to 599")
        } else if outside(self.interim, 100..200) || self.interim == Some(101) {
            Some("interim must be 100 to 199, not 101")
        } else if self.has_unreachable_fault(listed) {
            Some("a fault of TLS has no effect on a plain URL")
        } else if self.oddity.is_some() && (self.fault.is_some() || self.http2 == Some(true)) {
            Some("an oddity is one of HTTP/1.1, without a fault")
        } else {
            None
        }
    }

    fn has_unreachable_fault(&self, listed: Scheme) -> bool {
        let plain = self
            .url
            .as_deref()
            .map_or(listed == Scheme::Http, |url| url.starts_with("http:"));
        let fault = self.fault.map(Fault::layer);
        plain && fault == Some(Layer::Handshake)
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_".contains(&byte)
        })
}

fn wrong_value(message: String) -> ModelError {
    ModelError::Meaning(message)
}

fn check_sum(what: &str, shares: impl IntoIterator<Item = Share>) -> Result<(), ModelError> {
    let sum: u64 = shares.into_iter().map(|share| share.0).sum();
    if sum > BILLION {
        return Err(wrong_value(format!(
            "{what}: the shares add up to more than 1"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Model::from_toml(text).unwrap_err().to_string()
    }

    #[test]
    fn wrong_models_are_refused_with_one_line() {
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
                "name = 'x'\nseed = 1\n[names]\nreliable = ['*.test']\n",
                "[names] reliable: \"*.test\": must be a domain in lower case",
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
                "a fault of TLS has no effect on a plain URL",
            ),
            (
                "name = 'x'\nseed = 1\n[links]\nfewest_pages = 50\n",
                "[links] fewest_pages = 50, most_pages = 40: must ascend, from 1 to 200",
            ),
            (
                "name = 'x'\nseed = 1\n[links]\nmost_links = 0\n",
                "[links] most_links = 0: must be 1 to 100",
            ),
            (
                "name = 'x'\nseed = 1\n[links]\nelsewhere = 0.6\nmissing = 0.6\n",
                "[links] elsewhere, missing: the shares add up",
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
