//! The walk of a correct client through a web, from a URL to its result.

use std::net::IpAddr;

use dyno_http::HttpVersion;
use url::{Host, Url};

use crate::address::Block;
use crate::answer::{Answer, Content, Request};
use crate::content::JSON_DOCUMENT;
use crate::expectation::{Check, Expectation, Outcome, Terms};
use crate::fault::{Fault, Layer};
use crate::listed_url::{is_resolvable, request_url, scheme_of};
use crate::oddity::{Capability, Oddity};
use crate::scheme::Scheme;
use crate::site::Resolved;
use crate::units::{Bytes, Nanos};
use crate::web::Web;

/// Maximum number of redirects that a correct client follows.
const MOST_REDIRECTS: u32 = 10;
/// Honest answers end within this many billionths of the timeout; between that and the timeout the result is undecided.
const HONEST_PPB: u64 = 600_000_000;
/// Cause: the content fails the client's check.
const CHECK_FAILED: &str = "check_failed";
/// Cause: the URL, or the target of a redirect, belongs to another origin than the one that serves the web.
const ELSEWHERE: &str = "elsewhere";
/// Cause: the host does not speak HTTP/2, and the client speaks nothing else.
const WITHOUT_HTTP2: &str = "without_http2";
/// Cause of an undecided result: without TLS no version is negotiated, so an HTTP/2 client must know it beforehand.
const PLAIN_HTTP: &str = "plain_http";
/// Cause: robots.txt forbids the URL, or the target of a redirect, and the client obeys it.
const DISALLOWED: &str = "disallowed";
/// Cause of an undecided result near the timeout, and of an error beyond it.
const TIMEOUT: &str = "timeout";

/// One step of the walk.
enum Step {
    /// The next URL.
    Follow(Url),
    /// The end.
    End(Outcome),
}

/// A walk in progress.
struct Walk<'w> {
    web: &'w Web,
    terms: &'w Terms<'w>,
    planned: Nanos,
    ends: bool,
    /// Whether an HTTP/2 client has reached a URL without TLS.
    lacks_alpn: bool,
    requests: u32,
    resolved: Vec<String>,
    handshakes: Vec<String>,
    hazard: Option<&'static str>,
    /// The last oddity on the way.
    oddity: Option<Oddity>,
}

/// Walks `web` from `first` with these settings; returns the URL at which it ended, too.
pub(super) fn walk(web: &Web, terms: &Terms<'_>, first: Url) -> (Expectation, Url) {
    let request_url = Some(request_url(&first));
    let mut walk = Walk {
        web,
        terms,
        planned: Nanos::ZERO,
        ends: true,
        lacks_alpn: false,
        requests: 0,
        resolved: Vec::new(),
        handshakes: Vec::new(),
        hazard: None,
        oddity: None,
    };
    let mut url = first;
    let outcome = walk.run(&mut url);
    let expectation = Expectation {
        outcome,
        arrives: walk.requests > 0,
        request_url,
        requests: walk.requests,
        handshakes: walk.handshakes,
        planned: walk.ends.then_some(walk.planned),
        hazard: walk.hazard,
    };
    (expectation, url)
}

impl Walk<'_> {
    /// Follows redirects from `url`, which becomes the last URL.
    fn run(&mut self, url: &mut Url) -> Outcome {
        for _ in 0..=MOST_REDIRECTS {
            match self.step(url) {
                Step::Follow(next) => *url = next,
                Step::End(outcome) => {
                    return self.within_timeout(
                        self.undecided_by_oddity(self.undecided_by_version(outcome)),
                    );
                }
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
        let host_name = match host {
            // The origin knows an address without brackets.
            Host::Ipv6(address) => address.to_string(),
            _ => url
                .host_str()
                .unwrap_or_default()
                .trim_end_matches('.')
                .to_owned(),
        };
        let reached = match self.terms.origin {
            Some(origin) if origin.has(url) => Ok(()),
            Some(_) => Err(ELSEWHERE),
            None => self.reach(url, scheme, &host, &host_name),
        };
        match reached {
            Ok(()) => self.exchange(url, scheme, &host_name),
            Err(cause) => error(cause),
        }
    }

    /// Connects to a host of the web; returns the cause if that fails.
    fn reach(
        &mut self,
        url: &Url,
        scheme: Scheme,
        host: &Host<&str>,
        host_name: &str,
    ) -> Result<(), &'static str> {
        let fault = match *host {
            Host::Domain(_) => {
                self.look_up(host_name)?;
                self.web.fault(host_name)
            }
            Host::Ipv4(address) => address_fault(IpAddr::V4(address))?,
            Host::Ipv6(address) => address_fault(IpAddr::V6(address))?,
        };
        if let Some(fault) = fault.filter(|fault| fault.layer() == Layer::Connection) {
            return Err(self.record_fault(fault));
        }
        if url.port().is_some_and(|port| port != scheme.port()) {
            return Err(Fault::Refused.name());
        }
        match scheme {
            Scheme::Https => self.shake_hands(host_name, fault)?,
            Scheme::Http if self.terms.version == Some(HttpVersion::Http2) => {
                self.lacks_alpn = true;
            }
            Scheme::Http => {}
        }
        Ok(())
    }

    fn shake_hands(&mut self, host: &str, fault: Option<Fault>) -> Result<(), &'static str> {
        if !self.handshakes.iter().any(|known| known == host) {
            self.handshakes.push(host.to_owned());
        }
        if let Some(fault) = fault.filter(|fault| fault.layer() == Layer::Handshake) {
            return Err(self.record_fault(fault));
        }
        if self.terms.version == Some(HttpVersion::Http2)
            && self.web.handshake(host).newest < HttpVersion::Http2
        {
            return Err(WITHOUT_HTTP2);
        }
        Ok(())
    }

    fn look_up(&mut self, host: &str) -> Result<(), &'static str> {
        if host == "localhost" || host.ends_with(".localhost") {
            // The subject's own loopback, where the web does not listen.
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
        if self.terms.capabilities.has(Capability::Robots) && !self.web.robots_allow(host, target) {
            return Step::End(Outcome::Error { cause: DISALLOWED });
        }
        let first = Request::first(scheme, host, target);
        let mut answer = self.web.answer(&first);
        self.requests += 1;
        if let Some(oddity) = answer.oddity {
            self.oddity = Some(oddity);
            if oddity == Oddity::Cookie || oddity.counts_requests() {
                // The client asks again, with the cookie or as late as the answer says.
                self.requests += 1;
                self.planned += answer.delay;
                answer = self.web.answer(&Request {
                    has_cookie: true,
                    earlier: 1,
                    ..first
                });
            }
        }
        let is_whole = answer.oddity.is_none() || answer.location.is_none();
        self.planned += if is_whole {
            answer.planned()
        } else {
            // The content of a redirect decides nothing, however long it takes.
            answer.delay
        };
        self.note_hazard(&answer, scheme, host);
        let fault = answer.fault.filter(|_| is_whole);
        if let Some(fault) = fault.filter(|fault| *fault != Fault::RedirectLoop) {
            let cause = self.record_fault(fault);
            return Step::End(Outcome::Error { cause });
        }
        let redirects = matches!(answer.status, 301 | 302 | 303 | 307 | 308);
        match answer
            .location
            .filter(|location| redirects && !location.is_empty())
            .map(|location| url.join(&location))
        {
            Some(Ok(next)) => Step::Follow(next),
            Some(Err(_)) => Step::End(Outcome::Error {
                cause: "invalid_url",
            }),
            None if self.terms.check == Some(Check::Json) && !is_json(&answer.content) => {
                Step::End(Outcome::Error {
                    cause: CHECK_FAILED,
                })
            }
            None => {
                let length = Bytes(answer.content.bytes());
                Step::End(Outcome::Status {
                    status: answer.status,
                    length,
                })
            }
        }
    }

    fn note_hazard(&mut self, answer: &Answer, scheme: Scheme, host: &str) {
        if answer.interim.is_some() {
            self.hazard = Some("interim_response");
        } else if answer.closes
            && scheme == Scheme::Https
            && self.terms.version != Some(HttpVersion::Http11)
            && self.web.handshake(host).newest == HttpVersion::Http2
        {
            self.hazard = self.hazard.or(Some("goaway_after_answer"));
        }
    }

    /// Records that a fault ends the walk; returns its cause.
    fn record_fault(&mut self, fault: Fault) -> &'static str {
        if fault.never_ends() {
            self.ends = false;
        }
        fault.name()
    }

    /// Turns an answer into an undecided result if the client may not speak its version.
    fn undecided_by_version(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Status { status, length } if self.lacks_alpn => Outcome::Either {
                status,
                length,
                cause: PLAIN_HTTP,
            },
            outcome => outcome,
        }
    }

    /// Turns an answer into an undecided result if it needs a capability that the client does not have to show.
    fn undecided_by_oddity(&self, outcome: Outcome) -> Outcome {
        match (outcome, self.oddity) {
            (Outcome::Status { status, length }, Some(oddity))
                if !self.terms.capabilities.has(oddity.capability()) =>
            {
                Outcome::Either {
                    status,
                    length,
                    cause: oddity.name(),
                }
            }
            (outcome, _) => outcome,
        }
    }

    /// Turns an answer near the timeout into an undecided result, and one beyond it into an error.
    fn within_timeout(&self, outcome: Outcome) -> Outcome {
        let timeout = self.terms.timeout;
        if self.planned <= timeout.share(HONEST_PPB) {
            return outcome;
        }
        match outcome {
            // Beyond one and a half timeouts the result is certain.
            Outcome::Status { .. } | Outcome::Either { .. }
                if self.planned > timeout.share(1_500_000_000) =>
            {
                Outcome::Error { cause: TIMEOUT }
            }
            Outcome::Status { status, length } => Outcome::Either {
                status,
                length,
                cause: TIMEOUT,
            },
            // An error, whether the client checks the content or times out before.
            Outcome::Error {
                cause: CHECK_FAILED,
            } => Outcome::Error { cause: TIMEOUT },
            outcome @ (Outcome::Error { .. } | Outcome::Either { .. }) => outcome,
        }
    }
}

/// Whether content is the right JSON document.
fn is_json(content: &Content) -> bool {
    *content == Content::Document(&JSON_DOCUMENT)
}

fn address_fault(address: IpAddr) -> Result<Option<Fault>, &'static str> {
    match Web::connection(address) {
        Some(Block::Served | Block::Scripted(_)) => Ok(None),
        Some(Block::Faulty(fault)) => Ok(Some(fault)),
        None if address.is_loopback() || address.is_unspecified() => Err(Fault::Refused.name()),
        None => Err("unreachable"),
    }
}
