//! The answers of the origin server.

use crate::answer::{Answer, Content, Drip, Request};
use crate::coding::Coding;
use crate::content::{Class, JSON_DOCUMENT, WRONG_DOCUMENT};
use crate::draw::{Draws, Kind};
use crate::fault::{Fault, Layer};
use crate::fixed_path;
use crate::framing::Framing;
use crate::links::is_gone;
use crate::model::HostEntry;
use crate::oddity::Oddity;
use crate::robots::Robots;
use crate::scheme::Scheme;
use crate::site::{Home, Site, site_of};
use crate::units::Nanos;
use crate::web::Web;

/// Places in a page's draws.
mod place {
    pub(super) const STATUS: usize = 0;
    pub(super) const CONTENT: usize = 1;
    pub(super) const DELAY: usize = 2;
    pub(super) const CODING: usize = 3;
    pub(super) const CHUNKED: usize = 4;
    pub(super) const CLOSES: usize = 5;
    pub(super) const WRONG_DOCUMENT: usize = 6;
}

/// The pieces of an endless body: a byte every half second.
const ENDLESS_DRIP: Drip = Drip {
    bytes: 1,
    every: Nanos::from_millis(500),
};
/// Length of an endless body: six days of such pieces.
const ENDLESS_BYTES: u64 = 1 << 20;

impl Web {
    /// The answer to one request.
    #[must_use]
    pub fn answer(&self, request: &Request<'_>) -> Answer {
        if let Some(answer) = fixed_path::answer(request, || self.json_document(request)) {
            return answer;
        }
        if let Some(answer) = self.crawlers_answer(request) {
            return answer;
        }
        let site = Site::new(self, request.host);
        let entry = self.entry(request.host);
        let fault = entry.map_or_else(|| site.fault(), |entry| entry.fault);
        if let Some(fault @ Fault::RedirectLoop) = fault {
            let location = format!(
                "{}://{}{}",
                request.scheme.name(),
                request.host,
                request.target
            );
            let redirect = Answer::redirect(302, location, self.redirect_delay(request.host));
            return Answer {
                fault: Some(fault),
                ..redirect
            };
        }
        if let Some(fault) =
            fault.filter(|fault| matches!(fault.layer(), Layer::Head | Layer::Body))
        {
            return faulty(self.page(request, entry), fault);
        }
        if let Some(oddity) = self.oddity(request.host) {
            return self.odd_answer(request, entry, oddity);
        }
        let redirect = match entry {
            Some(entry) => self.entry_redirect(request, entry),
            None => self.site_redirect(request, &site),
        };
        redirect.unwrap_or_else(|| self.page(request, entry))
    }

    /// The answer for `/robots.txt` and `/sitemap.xml` of a web with links: of each host, whatever its fault or oddity does.
    fn crawlers_answer(&self, request: &Request<'_>) -> Option<Answer> {
        let Request {
            scheme,
            host,
            target,
            ..
        } = *request;
        if !matches!(target, "/robots.txt" | "/sitemap.xml") {
            return None;
        }
        let site = self.linked_site(host)?;
        let made = |content_type, document| Answer {
            content_type,
            ..Answer::new(200, Content::Made(document))
        };
        Some(match (target, site.robots(host)) {
            (
                "/robots.txt",
                Robots::Rules {
                    rules,
                    has_crawl_delay,
                },
            ) => made(
                "text/plain; charset=utf-8",
                site.robots_text(scheme, host, &rules, has_crawl_delay),
            ),
            ("/robots.txt", Robots::Unavailable) => Answer::new(503, Content::Empty),
            ("/sitemap.xml", _) if site.has_sitemap() => {
                made("application/xml", site.sitemap(scheme, host))
            }
            _ => Answer::new(404, Content::Page(Class::nearest(0))),
        })
    }

    /// The JSON document of a URL, its query included; it is the same for every request.
    fn json_document(&self, request: &Request<'_>) -> &'static str {
        let share = self.model().json.wrong_share.0;
        let draws = || self.key.draws(Kind::Page, request.host, request.target);
        if share > 0 && draws().happens(place::WRONG_DOCUMENT, share) {
            &WRONG_DOCUMENT
        } else {
            &JSON_DOCUMENT
        }
    }

    fn odd_answer(
        &self,
        request: &Request<'_>,
        entry: Option<&HostEntry>,
        oddity: Oddity,
    ) -> Answer {
        let redirect =
            |path: &str| Answer::redirect(302, path.to_owned(), self.redirect_delay(request.host));
        let answer = match (oddity, oddity.redirect_path()) {
            (_, Some(path)) if path == request.target => return self.page(request, entry),
            (Oddity::RedirectCutShort, Some(path)) => faulty(redirect(path), Fault::ShortBody),
            (Oddity::RedirectWithoutEnd, Some(path)) => faulty(redirect(path), Fault::ShortChunked),
            (Oddity::RedirectDrips, Some(path)) => Answer {
                status: 302,
                ..faulty(redirect(path), Fault::DripBody)
            },
            (_, Some(path)) => redirect(path),
            (Oddity::Cookie, None) if request.has_cookie => return self.page(request, entry),
            (Oddity::Cookie, None) => redirect(request.target),
            (Oddity::TooManyRequests | Oddity::Unavailable, None) if request.earlier > 0 => {
                return self.page(request, entry);
            }
            (Oddity::TooManyRequests, None) => Answer::new(429, Content::Page(Class::nearest(0))),
            (Oddity::Unavailable, None) => Answer::new(503, Content::Page(Class::nearest(0))),
            (_, None) => odd_page(self.page(request, entry), oddity),
        };
        Answer {
            oddity: Some(oddity),
            ..answer
        }
    }

    fn entry_redirect(&self, request: &Request<'_>, entry: &HostEntry) -> Option<Answer> {
        let location = entry
            .redirect_to
            .as_ref()
            .filter(|location| *location != request.target)?;
        let delay = entry
            .delay_ms
            .map_or_else(|| self.redirect_delay(request.host), Nanos::from_millis);
        Some(Answer::redirect(
            entry.redirect_status.unwrap_or(301),
            location.clone(),
            delay,
        ))
    }

    fn site_redirect(&self, request: &Request<'_>, site: &Site<'_>) -> Option<Answer> {
        let Request {
            scheme,
            host,
            target,
            ..
        } = *request;
        if host.parse::<std::net::IpAddr>().is_ok() {
            return None;
        }
        let (name, home) = (site_of(host), site.home());
        let to = |scheme: Scheme, prefix: &str, target: &str| {
            Some(format!("{}://{prefix}{target}", scheme.name()))
        };
        let location = match (scheme, home) {
            (Scheme::Https, Home::Plain) => to(Scheme::Http, host, target),
            (Scheme::Http, Home::Plain) => None,
            (Scheme::Http, _) if self.model().redirects.http_to_https => {
                to(Scheme::Https, host, target)
            }
            (_, Home::Www | Home::Chain) if host == name => {
                to(scheme, &format!("www.{name}"), target)
            }
            (_, Home::Landing) if !host.starts_with("landing.") => {
                to(scheme, &format!("landing.{name}"), target)
            }
            (_, Home::Chain) if target == "/" => Some("/home".to_owned()),
            _ => None,
        }?;
        Some(Answer::redirect(
            site.redirect_status(),
            location,
            self.redirect_delay(host),
        ))
    }

    fn page(&self, request: &Request<'_>, entry: Option<&HostEntry>) -> Answer {
        let draws = self.key.draws(Kind::Page, request.host, request.target);
        let linked = self.linked_site(request.host);
        let status = match entry.and_then(|entry| entry.status) {
            _ if linked.is_some() && is_gone(request.target) => 404,
            Some(status) => status,
            None => self.status(&draws),
        };
        let divisor = if status >= 400 {
            self.model().content.error_divisor
        } else {
            1
        };
        let bytes_of_entry = entry.and_then(|entry| entry.content_bytes);
        let page = linked
            .as_ref()
            .filter(|_| status == 200 && bytes_of_entry.is_none())
            .and_then(|site| Some((site, site.place_of(request.target)?)));
        let content = match (status, bytes_of_entry) {
            (204 | 304, _) => Content::Empty,
            // Pages with the length of a class can be served in every coding.
            (_, Some(bytes)) if Class::nearest(bytes).bytes() == bytes => {
                Content::Page(Class::nearest(bytes))
            }
            (_, Some(bytes)) => Content::Text { bytes },
            (_, None) => {
                let class = self.samplers.content(draws.word(place::CONTENT), divisor);
                match page {
                    Some((site, place)) => {
                        Content::Made(site.html(request.scheme, request.host, place, class.bytes()))
                    }
                    None => Content::Page(class),
                }
            }
        };
        let preferred = entry
            .and_then(|entry| entry.coding)
            .unwrap_or_else(|| self.preferred_coding(&draws));
        let coded = matches!(content, Content::Page(_) | Content::Made(_));
        let chunked = draws.happens(place::CHUNKED, self.model().http.chunked.0);
        let drawn_framing = if chunked {
            Framing::Chunked
        } else {
            Framing::Length
        };
        let bodiless = content == Content::Empty;
        Answer {
            delay: entry.and_then(|entry| entry.delay_ms).map_or_else(
                || self.samplers.server_delay(draws.word(place::DELAY)),
                Nanos::from_millis,
            ),
            coding: if coded {
                request.accepted.choose(preferred)
            } else {
                Coding::Identity
            },
            framing: match entry.and_then(|entry| entry.framing) {
                _ if bodiless => Framing::Length,
                Some(framing) => framing,
                None => drawn_framing,
            },
            trailers: entry.is_some_and(|entry| entry.trailers),
            interim: entry.and_then(|entry| entry.interim),
            closes: entry
                .and_then(|entry| entry.closes)
                .unwrap_or_else(|| draws.happens(place::CLOSES, self.model().http.closes.0)),
            ..Answer::new(status, content)
        }
    }

    fn status(&self, draws: &Draws) -> u16 {
        let mut place = draws.share(place::STATUS);
        for (status, share) in &self.model().statuses {
            if place < share.0 {
                return status.parse().expect("checked by Model::check");
            }
            place -= share.0;
        }
        200
    }

    fn preferred_coding(&self, draws: &Draws) -> Coding {
        let mut place = draws.share(place::CODING);
        for (coding, share) in &self.model().content.codings {
            if place < share.0 {
                return *coding;
            }
            place -= share.0;
        }
        Coding::Identity
    }
}

/// Gives a page the framing and coding that its oddity needs.
fn odd_page(page: Answer, oddity: Oddity) -> Answer {
    let (framing, closes) = match oddity {
        Oddity::BareLfChunks | Oddity::ChunkExtensions => (Framing::Chunked, page.closes),
        // RFC 9112, 6.1: the connection closes after such an answer.
        Oddity::LengthAndChunked => (Framing::Chunked, true),
        Oddity::RepeatedLength => (Framing::Length, page.closes),
        Oddity::IdentityTransfer | Oddity::NoCloseNotify => (Framing::UntilClose, true),
        _ => (page.framing, page.closes),
    };
    let coding = match oddity {
        Oddity::UnknownCoding => Coding::Identity,
        _ => page.coding,
    };
    Answer {
        coding,
        framing,
        closes,
        trailers: false,
        ..page
    }
}

/// Adds a fault to `page`, without coding and with a length, so that nothing else can make a client fail.
fn faulty(page: Answer, fault: Fault) -> Answer {
    let whole = Answer {
        coding: Coding::Identity,
        framing: Framing::Length,
        fault: Some(fault),
        ..page
    };
    match fault {
        Fault::DripBody => Answer {
            status: 200,
            content: Content::Text {
                bytes: ENDLESS_BYTES,
            },
            drip: Some(ENDLESS_DRIP),
            ..whole
        },
        Fault::ShortChunked => Answer {
            framing: Framing::Chunked,
            ..whole
        },
        _ => whole,
    }
}
