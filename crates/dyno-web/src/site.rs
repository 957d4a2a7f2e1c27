//! Randomly drawn properties of hosts: addresses, handshakes, faults, the location of a site's home page.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dyno_http::HttpVersion;
use serde::Serialize;

use crate::address::{self, Block};
use crate::draw::{Draws, Kind};
use crate::fault::{Fault, Layer};
use crate::key_kind::KeyKind;
use crate::oddity::Oddity;
use crate::units::Nanos;
use crate::web::Web;

/// The answer of the name servers for a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resolved {
    /// The host's addresses.
    Addresses {
        /// The A record.
        v4: Ipv4Addr,
        /// The AAAA record, on hosts that have one.
        v6: Option<Ipv6Addr>,
    },
    /// NXDOMAIN.
    NxDomain,
    /// SERVFAIL.
    ServFail,
}

/// An answer of the name servers, and its delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Resolution {
    /// The answer.
    pub resolved: Resolved,
    /// The delay.
    pub delay: Nanos,
}

/// The properties of a TLS handshake for a host name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Handshake {
    /// The fault, of [`Layer::Handshake`].
    pub fault: Option<Fault>,
    /// Whether TLS 1.3 is not offered.
    pub only_1_2: bool,
    /// The kind of the certificate's key.
    pub key: KeyKind,
    /// The newest version of HTTP that the host offers by ALPN; it offers HTTP/1.1 and each one between, too.
    pub newest: HttpVersion,
}

/// The home page of a site, relative to a request for its bare name over https.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Home {
    Here,
    Www,
    Landing,
    Chain,
    Plain,
}

/// Places in a site's draws.
mod place {
    pub(super) const FAULT: usize = 0;
    pub(super) const HOME: usize = 1;
    pub(super) const PERMANENT: usize = 2;
    pub(super) const ONLY_1_2: usize = 3;
    pub(super) const ECDSA: usize = 4;
    pub(super) const HTTP2: usize = 5;
    pub(super) const ODDITY: usize = 6;
    // In a host's draws.
    pub(super) const V4: usize = 0;
    pub(super) const V6: usize = 1;
    pub(super) const HAS_V6: usize = 2;
    pub(super) const NAME_DELAY: usize = 3;
    pub(super) const REDIRECT_DELAY: usize = 4;
    pub(super) const SHARED: usize = 5;
}

/// The site of a host: its name without a leading `www.` or `landing.`.
pub(crate) fn site_of(host: &str) -> &str {
    ["www.", "landing."]
        .iter()
        .find_map(|prefix| host.strip_prefix(prefix).filter(|rest| rest.contains('.')))
        .unwrap_or(host)
}

/// A site with its draws, which all its hosts share.
pub(crate) struct Site<'w> {
    web: &'w Web,
    draws: Draws,
}

impl<'w> Site<'w> {
    pub(crate) fn new(web: &'w Web, host: &str) -> Self {
        Self {
            web,
            draws: web.key.draws(Kind::Site, site_of(host), ""),
        }
    }

    pub(crate) fn fault(&self) -> Option<Fault> {
        let mut place = self.draws.share(place::FAULT);
        for (fault, share) in &self.web.model.faults {
            if place < share.0 {
                return Some(*fault);
            }
            place -= share.0;
        }
        None
    }

    fn oddity(&self) -> Option<Oddity> {
        let mut place = self.draws.share(place::ODDITY);
        for (oddity, share) in &self.web.model.oddities {
            if place < share.0 {
                return Some(*oddity);
            }
            place -= share.0;
        }
        None
    }

    pub(crate) fn home(&self) -> Home {
        let redirects = &self.web.model.redirects;
        let shares = [
            (redirects.www, Home::Www),
            (redirects.landing, Home::Landing),
            (redirects.chain, Home::Chain),
            (redirects.https_to_http, Home::Plain),
        ];
        let mut place = self.draws.share(place::HOME);
        for (share, home) in shares {
            if place < share.0 {
                return home;
            }
            place -= share.0;
        }
        Home::Here
    }

    pub(crate) fn redirect_status(&self) -> u16 {
        let permanent = self
            .draws
            .happens(place::PERMANENT, self.web.model.redirects.permanent.0);
        // One in eight redirects has a status that keeps the method; one in sixteen temporary ones is a 303.
        match (permanent, self.draws.word(place::PERMANENT) >> 60) {
            (true, 0 | 1) => 308,
            (true, _) => 301,
            (false, 0 | 1) => 307,
            (false, 2) => 303,
            (false, _) => 302,
        }
    }
}

impl Web {
    /// The fault of a host, in any layer.
    #[must_use]
    pub fn fault(&self, host: &str) -> Option<Fault> {
        match self.entry(host) {
            Some(entry) => entry.fault,
            None if host.parse::<IpAddr>().is_ok() => None,
            None => Site::new(self, host).fault(),
        }
    }

    /// The oddity of a host, which has no fault then.
    #[must_use]
    pub fn oddity(&self, host: &str) -> Option<Oddity> {
        match self.entry(host) {
            Some(entry) => entry.oddity,
            None if self.model.oddities.is_empty() || host.parse::<IpAddr>().is_ok() => None,
            None => {
                let site = Site::new(self, host);
                site.oddity().filter(|_| site.fault().is_none())
            }
        }
    }

    /// Whether some answers of a host are odd.
    #[must_use]
    pub fn is_odd(&self, host: &str) -> bool {
        self.has_odd_hosts && self.oddity(host).is_some()
    }

    /// Whether the answers of a host depend on the number of earlier requests.
    #[must_use]
    pub fn counts_requests(&self, host: &str) -> bool {
        self.has_odd_hosts && self.oddity(host).is_some_and(Oddity::counts_requests)
    }

    /// The answer of the name servers for `host` (lower case, no final dot).
    #[must_use]
    pub fn resolve(&self, host: &str) -> Resolution {
        let entry = self.entry(host);
        let fault = self.fault(host);
        let draws = self.key.draws(Kind::Host, host, "");
        let delay = entry.and_then(|entry| entry.name_delay_ms).map_or_else(
            || self.samplers.name_delay(draws.word(place::NAME_DELAY)),
            Nanos::from_millis,
        );
        match fault {
            Some(Fault::NxDomain) => Resolution {
                resolved: Resolved::NxDomain,
                delay,
            },
            Some(Fault::ServFail) => {
                let delay = Nanos::from_millis(self.model.names.servfail_after_ms);
                Resolution {
                    resolved: Resolved::ServFail,
                    delay,
                }
            }
            _ => {
                let fault = fault.filter(|fault| fault.layer() == Layer::Connection);
                let draws = self.owner_of_address(draws);
                let has_v6 = entry
                    .and_then(|entry| entry.ipv6)
                    .unwrap_or_else(|| draws.happens(place::HAS_V6, self.model.names.ipv6.0));
                let v6 = has_v6.then(|| address::v6(draws.word(place::V6), fault));
                let resolved = Resolved::Addresses {
                    v4: address::v4(draws.word(place::V4), fault),
                    v6,
                };
                Resolution { resolved, delay }
            }
        }
    }

    /// The draws of the address of a host: its own, or those that several hosts share.
    fn owner_of_address(&self, draws: Draws) -> Draws {
        let names = &self.model.names;
        if !draws.happens(place::SHARED, names.shared.0) {
            return draws;
        }
        let number = draws.word(place::V4) % names.shared_addresses.max(1);
        self.key.draws(Kind::Host, "", &number.to_string())
    }

    /// The behaviour of connections to `address` before the first byte; `None` outside the web.
    #[must_use]
    pub fn connection(address: IpAddr) -> Option<Block> {
        address::block_of(address)
    }

    /// The properties of a TLS handshake for `host`.
    #[must_use]
    pub fn handshake(&self, host: &str) -> Handshake {
        let entry = self.entry(host);
        let site = Site::new(self, host);
        let tls = &self.model.tls;
        Handshake {
            fault: self
                .fault(host)
                .filter(|fault| fault.layer() == Layer::Handshake),
            only_1_2: entry
                .and_then(|entry| entry.tls_1_2)
                .unwrap_or_else(|| site.draws.happens(place::ONLY_1_2, tls.only_1_2.0)),
            key: entry.and_then(|entry| entry.key).unwrap_or_else(|| {
                if site.draws.happens(place::ECDSA, tls.ecdsa.0) {
                    KeyKind::Ecdsa
                } else {
                    KeyKind::Rsa
                }
            }),
            newest: if self.oddity(host).is_none()
                && entry
                    .and_then(|entry| entry.http2)
                    .unwrap_or_else(|| site.draws.happens(place::HTTP2, self.model.http.http2.0))
            {
                HttpVersion::Http2
            } else {
                HttpVersion::Http11
            },
        }
    }

    /// The delay of a host's redirects.
    pub(crate) fn redirect_delay(&self, host: &str) -> Nanos {
        let draws = self.key.draws(Kind::Host, host, "");
        self.samplers
            .redirect_delay(draws.word(place::REDIRECT_DELAY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_a_site() {
        let cases = [
            ("example.org", "example.org"),
            ("www.example.org", "example.org"),
            ("landing.example.org", "example.org"),
            ("en.example.org", "en.example.org"),
            ("www.com", "www.com"),
        ];
        for (host, site) in cases {
            assert_eq!(site_of(host), site);
        }
    }
}
