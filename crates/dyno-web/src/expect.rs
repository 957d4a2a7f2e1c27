//! What a correct client reports for a URL: the web walked as such a client would.

use std::net::IpAddr;

use serde::Serialize;
use url::{Host, Url};

use crate::Web;
use crate::address::Block;
use crate::answer::Request;
use crate::coding::Accepted;
use crate::fault::{Fault, Layer};
use crate::listed_url::{is_resolvable, parse, request_url, scheme_of};
use crate::scheme::Scheme;
use crate::site::Resolved;
use crate::units::{Bytes, Nanos};

/// Redirects that a correct client follows.
const MOST_REDIRECTS: u32 = 10;
/// Honest answers end within this many billionths of the timeout; between that and the timeout nobody can say.
const HONEST_PPB: u64 = 600_000_000;

/// What must be reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The final status with the content's length.
    Status {
        /// The status code.
        status: u16,
        /// Bytes of content after decoding.
        length: Bytes,
    },
    /// An error, of whatever name; `cause` is the web's name of what went wrong.
    Error {
        /// A fault's name, or `invalid_url`, `invalid_name`, `unreachable`, `too_many_redirects`, `timeout`.
        cause: &'static str,
    },
    /// Planned too near to the timeout: both are right.
    Either {
        /// The status if it makes it.
        status: u16,
        /// The length if it makes it.
        length: Bytes,
    },
}

/// The expectation of one URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Expectation {
    /// What must be reported.
    pub outcome: Outcome,
    /// Whether a request of a correct client reaches the origin.
    pub arrives: bool,
    /// The first request's URL as the origin sees it; `None` for an invalid URL.
    pub request_url: Option<String>,
    /// How many requests a correct client sends.
    pub requests: u32,
    /// The hosts that a correct client shakes hands with, in order, each once.
    pub handshakes: Vec<String>,
    /// How long the exchange is planned to take at no distance; `None` when only the timeout ends it.
    pub planned: Option<Nanos>,
    /// What of an honest exchange some clients are known to get wrong: `interim_response`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hazard: Option<&'static str>,
}

/// One step of the walk.
enum Step {
    /// The next URL.
    Follow(Url),
    /// The end.
    End(Outcome),
}

/// A walk under way.
struct Walk<'w> {
    web: &'w Web,
    timeout: Nanos,
    planned: Nanos,
    ends: bool,
    requests: u32,
    resolved: Vec<String>,
    handshakes: Vec<String>,
    hazard: Option<&'static str>,
}

impl Web {
    /// What a correct client with this timeout reports for `url`, a line of a URL list.
    #[must_use]
    pub fn expect(&self, url: &str, timeout: Nanos) -> Expectation {
        let Some(first) = parse(url) else {
            return Expectation {
                outcome: Outcome::Error {
                    cause: "invalid_url",
                },
                arrives: false,
                request_url: None,
                requests: 0,
                handshakes: Vec::new(),
                planned: Some(Nanos::ZERO),
                hazard: None,
            };
        };
        let request_url = Some(request_url(&first));
        let mut walk = Walk {
            web: self,
            timeout,
            planned: Nanos::ZERO,
            ends: true,
            requests: 0,
            resolved: Vec::new(),
            handshakes: Vec::new(),
            hazard: None,
        };
        let outcome = walk.run(first);
        Expectation {
            outcome,
            arrives: walk.requests > 0,
            request_url,
            requests: walk.requests,
            handshakes: walk.handshakes,
            planned: walk.ends.then_some(walk.planned),
            hazard: walk.hazard,
        }
    }
}

impl Walk<'_> {
    fn run(&mut self, first: Url) -> Outcome {
        let mut url = first;
        for _ in 0..=MOST_REDIRECTS {
            match self.step(&url) {
                Step::Follow(next) => url = next,
                Step::End(outcome) => return self.within_timeout(outcome),
            }
        }
        let looping =
            url.host_str().and_then(|host| self.web.fault(host)) == Some(Fault::RedirectLoop);
        let cause = if looping {
            Fault::RedirectLoop.name()
        } else {
            "too_many_redirects"
        };
        self.within_timeout(Outcome::Error { cause })
    }

    fn step(&mut self, url: &Url) -> Step {
        let error = |cause| Step::End(Outcome::Error { cause });
        let (Some(scheme), Some(host)) = (scheme_of(url), url.host()) else {
            return error("invalid_url");
        };
        let host_text = url
            .host_str()
            .unwrap_or_default()
            .trim_end_matches('.')
            .to_owned();
        let fault = match host {
            Host::Domain(_) => match self.look_up(&host_text) {
                Ok(()) => self.web.fault(&host_text),
                Err(cause) => return error(cause),
            },
            Host::Ipv4(address) => match literal(IpAddr::V4(address)) {
                Ok(fault) => fault,
                Err(cause) => return error(cause),
            },
            Host::Ipv6(address) => match literal(IpAddr::V6(address)) {
                Ok(fault) => fault,
                Err(cause) => return error(cause),
            },
        };
        if let Some(fault) = fault.filter(|fault| fault.layer() == Layer::Connection) {
            return self.broken(fault);
        }
        if url.port().is_some_and(|port| port != scheme.port()) {
            return error(Fault::Refused.name());
        }
        if scheme == Scheme::Https && !self.handshakes.contains(&host_text) {
            self.handshakes.push(host_text.clone());
        }
        if let Some(fault) =
            fault.filter(|fault| fault.layer() == Layer::Handshake && scheme == Scheme::Https)
        {
            return self.broken(fault);
        }
        self.exchange(url, scheme, &host_text)
    }

    fn look_up(&mut self, host: &str) -> Result<(), &'static str> {
        if host == "localhost" || host.ends_with(".localhost") {
            // The subject's own loopback, where nothing of the web listens.
            return Err(Fault::Refused.name());
        }
        if !is_resolvable(host) {
            return Err("invalid_name");
        }
        let resolution = self.web.resolve(host);
        if !self.resolved.iter().any(|known| known == host) {
            self.planned += resolution.delay;
            self.resolved.push(host.to_owned());
        }
        match resolution.resolved {
            Resolved::Addresses { .. } => Ok(()),
            Resolved::NxDomain => Err(Fault::NxDomain.name()),
            Resolved::ServFail => Err(Fault::ServFail.name()),
        }
    }

    fn exchange(&mut self, url: &Url, scheme: Scheme, host: &str) -> Step {
        let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let answer = self.web.answer(&Request {
            scheme,
            host,
            target,
            accepted: Accepted::NONE,
        });
        self.requests += 1;
        self.planned += answer.planned();
        if answer.interim.is_some() {
            self.hazard = Some("interim_response");
        }
        match answer.fault {
            Some(fault) if fault != Fault::RedirectLoop => return self.broken(fault),
            _ => {}
        }
        let redirects = matches!(answer.status, 301 | 302 | 303 | 307 | 308);
        match answer
            .location
            .filter(|_| redirects)
            .map(|location| url.join(&location))
        {
            Some(Ok(next)) => Step::Follow(next),
            Some(Err(_)) => Step::End(Outcome::Error {
                cause: "invalid_url",
            }),
            None => {
                let length = Bytes(answer.content.bytes());
                Step::End(Outcome::Status {
                    status: answer.status,
                    length,
                })
            }
        }
    }

    fn broken(&mut self, fault: Fault) -> Step {
        if fault.never_ends() {
            self.ends = false;
        }
        Step::End(Outcome::Error {
            cause: fault.name(),
        })
    }

    /// An outcome that is planned to come too late is another one.
    fn within_timeout(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Status { status, length } if self.planned > self.timeout.share(HONEST_PPB) => {
                // Half as long again as the timeout is beyond doubt.
                if self.planned > self.timeout.share(1_500_000_000) {
                    Outcome::Error { cause: "timeout" }
                } else {
                    Outcome::Either { status, length }
                }
            }
            outcome => outcome,
        }
    }
}

fn literal(address: IpAddr) -> Result<Option<Fault>, &'static str> {
    match Web::connection(address) {
        Some(Block::Served) => Ok(None),
        Some(Block::Faulty(fault)) => Ok(Some(fault)),
        None if address.is_loopback() || address.is_unspecified() => Err(Fault::Refused.name()),
        None => Err("unreachable"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Model;

    fn web(extra: &str) -> Web {
        Web::new(
            Model::from_toml(&format!("name = 'test'\nseed = 1\n{extra}")).unwrap(),
            None,
        )
    }

    fn outcome(web: &Web, url: &str) -> String {
        match web.expect(url, Nanos::from_millis(5_000)).outcome {
            Outcome::Status { status, length } => format!("{status} {}", length.0),
            Outcome::Error { cause } => cause.to_owned(),
            Outcome::Either { status, length } => format!("either {status} {}", length.0),
        }
    }

    #[test]
    fn an_interim_response_on_the_way_is_a_hazard() {
        let web = web("[[host]]\nname = 'hints.test'\ninterim = 103\n\
             [[host]]\nname = 'to.test'\nredirect_to = 'http://hints.test/'\n");
        let hazard = |url| web.expect(url, Nanos::from_millis(5_000)).hazard;
        assert_eq!(hazard("https://hints.test/"), Some("interim_response"));
        assert_eq!(hazard("https://to.test/"), Some("interim_response"));
        assert_eq!(hazard("https://other.test/"), None);
    }

    #[test]
    fn urls_are_walked() {
        let web = web("[[host]]\nname = 'loop.test'\nfault = 'redirect_loop'\n\
             [[host]]\nname = 'gone.test'\nfault = 'nxdomain'\n\
             [[host]]\nname = 'to.test'\nredirect_to = 'http://gone.test/'\n");
        let cases = [
            ("https://any.test/plain", "200 13"),
            ("HTTPS://ANY.test/plain", "200 13"),
            ("http://any.test/redirect/10", "200 13"),
            ("http://any.test/redirect/11", "too_many_redirects"),
            ("http://any.test/delay/2999", "200 13"),
            ("http://any.test/delay/3001", "either 200 13"),
            ("http://any.test/delay/9000", "timeout"),
            ("http://any.test:81/plain", "refused"),
            ("https://loop.test/", "redirect_loop"),
            ("https://to.test/", "nxdomain"),
            ("http://localhost/", "refused"),
            ("http://127.0.0.1/plain", "refused"),
            ("http://192.0.2.1/", "unreachable"),
            ("http://10.1.2.3/plain", "200 13"),
            ("http://10.66.2.3/plain", "blackhole"),
            ("http://[2001:db8:67::1]/plain", "refused"),
            ("any.test/plain", "invalid_url"),
            ("ftp://any.test/plain", "invalid_url"),
            ("https://", "invalid_url"),
            ("https:///path", "invalid_url"),
            ("http:", "invalid_url"),
            ("", "invalid_url"),
            ("https://a b.test/", "invalid_url"),
            ("https://any.test/a b", "invalid_url"),
            ("https://a..test/", "invalid_name"),
            ("https://a!b.test/", "invalid_name"),
            ("https://-a.test/", "invalid_name"),
            ("https://a-.test/", "invalid_name"),
            ("https://a_b.test/plain", "200 13"),
            ("https://xn--bcher-kva.test/plain", "200 13"),
        ];
        for (url, expected) in cases {
            assert_eq!(outcome(&web, url), expected, "{url}");
        }
        let long = format!("https://{}.test/", "a".repeat(64));
        assert_eq!(outcome(&web, &long), "invalid_name");
    }

    #[test]
    fn arrivals_and_requests_are_foreseen() {
        let web = web("[[host]]\nname = 'gone.test'\nfault = 'nxdomain'\n");
        let seen = |url: &str| {
            let expectation = web.expect(url, Nanos::from_millis(5_000));
            (
                expectation.arrives,
                expectation.requests,
                expectation.request_url,
            )
        };
        assert_eq!(
            seen("https://gone.test"),
            (false, 0, Some("https://gone.test/".to_owned()))
        );
        assert_eq!(
            seen("http://ANY.test:80/redirect/2?a=b#fragment"),
            (true, 3, Some("http://any.test/redirect/2?a=b".to_owned()))
        );
        assert_eq!(seen("nonsense"), (false, 0, None));
    }
}
