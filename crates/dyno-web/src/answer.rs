//! What the origin server answers to one request.

use serde::{Deserialize, Serialize};

use crate::Web;
use crate::coding::{Accepted, Coding};
use crate::content::{Class, STREAM_LINE};
use crate::draw::{Draws, Kind};
use crate::fault::{Fault, Layer};
use crate::fixed_path;
use crate::model::HostEntry;
use crate::site::{Home, Scheme, Site, site_of};
use crate::units::Nanos;

/// What matters of a request.
#[derive(Debug, Clone, Copy)]
pub struct Request<'r> {
    /// Which port it came in by.
    pub scheme: Scheme,
    /// The host name of the `Host` field: lower case, without port or final dot.
    pub host: &'r str,
    /// Path with query, as sent.
    pub target: &'r str,
    /// What its `Accept-Encoding` allows.
    pub accepted: Accepted,
}

/// How the end of the content is marked (RFC 9112, section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// By `Content-Length`.
    Length,
    /// By the last chunk.
    Chunked,
    /// By the end of the connection.
    UntilClose,
}

/// What the content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    /// None.
    Empty,
    /// The beginning of the web's text, as long as the class says.
    Page(Class),
    /// The beginning of the web's text, repeated where it is longer than that.
    Text {
        /// How long.
        bytes: u64,
    },
    /// A document of its own.
    Document(&'static str),
    /// [`STREAM_LINE`] again and again, a chunk each.
    Lines {
        /// How often.
        count: u64,
    },
}

impl Content {
    /// Bytes before any coding.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::Empty => 0,
            Self::Page(class) => class.bytes(),
            Self::Text { bytes } => bytes,
            Self::Document(document) => document.len() as u64,
            Self::Lines { count } => count * STREAM_LINE.len() as u64,
        }
    }
}

/// A slow content: some bytes, a wait, some bytes, a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Drip {
    /// Bytes of each piece, at least 1.
    pub bytes: u64,
    /// The wait before each piece but the first.
    pub every: Nanos,
}

/// An answer, complete but for its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answer {
    /// From the last byte of the request to the first of the answer.
    pub delay: Nanos,
    /// What goes wrong, of [`Layer::Head`] or [`Layer::Body`]. (A redirect loop is an ordinary answer with its name.)
    pub fault: Option<Fault>,
    /// An interim answer before this one.
    pub interim: Option<u16>,
    /// The final status.
    pub status: u16,
    /// The `Location` field.
    pub location: Option<String>,
    /// The `Content-Type` field.
    pub content_type: &'static str,
    /// The content, before coding.
    pub content: Content,
    /// The coding to send it in.
    pub coding: Coding,
    /// How its end is marked.
    pub framing: Framing,
    /// Whether trailer fields follow the last chunk.
    pub trailers: bool,
    /// Whether the server closes the connection afterwards.
    pub closes: bool,
    /// Whether the content is slow.
    pub drip: Option<Drip>,
}

impl Answer {
    /// A quick, whole answer: what the others differ from.
    pub(crate) fn new(status: u16, content: Content) -> Self {
        Self {
            delay: Nanos::ZERO,
            fault: None,
            interim: None,
            status,
            location: None,
            content_type: "text/html; charset=utf-8",
            content,
            coding: Coding::Identity,
            framing: Framing::Length,
            trailers: false,
            closes: false,
            drip: None,
        }
    }

    pub(crate) fn redirect(status: u16, location: String, delay: Nanos) -> Self {
        let content = Content::Page(Class::nearest(0));
        Self {
            location: Some(location),
            delay,
            ..Self::new(status, content)
        }
    }

    /// How long the answer takes by plan, from the request to its last byte, at no distance.
    #[must_use]
    pub fn planned(&self) -> Nanos {
        let dripping = self.drip.map_or(Nanos::ZERO, |drip| {
            let waits = self
                .content
                .bytes()
                .div_ceil(drip.bytes.max(1))
                .saturating_sub(1);
            Nanos(drip.every.0.saturating_mul(waits))
        });
        self.delay + dripping
    }
}

/// Places of a page's draws.
mod place {
    pub(super) const STATUS: usize = 0;
    pub(super) const CONTENT: usize = 1;
    pub(super) const DELAY: usize = 2;
    pub(super) const CODING: usize = 3;
    pub(super) const CHUNKED: usize = 4;
    pub(super) const CLOSES: usize = 5;
}

/// The piece of a body that never ends: a byte every half second.
const ENDLESS_DRIP: Drip = Drip {
    bytes: 1,
    every: Nanos::from_millis(500),
};
/// Its length: six days of such pieces.
const ENDLESS_BYTES: u64 = 1 << 20;

impl Web {
    /// The answer to one request.
    #[must_use]
    pub fn answer(&self, request: &Request<'_>) -> Answer {
        if let Some(answer) = fixed_path::answer(request) {
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
        let redirect = match entry {
            Some(entry) => self.entry_redirect(request, entry),
            None => self.site_redirect(request, &site),
        };
        redirect.unwrap_or_else(|| self.page(request, entry))
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
        let status = entry
            .and_then(|entry| entry.status)
            .unwrap_or_else(|| self.status(&draws));
        let divisor = if status >= 400 {
            self.model().content.error_divisor
        } else {
            1
        };
        let content = match (status, entry.and_then(|entry| entry.content_bytes)) {
            (204 | 304, _) => Content::Empty,
            // A length of a class can be served in every coding.
            (_, Some(bytes)) if Class::nearest(bytes).bytes() == bytes => {
                Content::Page(Class::nearest(bytes))
            }
            (_, Some(bytes)) => Content::Text { bytes },
            (_, None) => {
                Content::Page(self.samplers().content(draws.word(place::CONTENT), divisor))
            }
        };
        let preferred = entry
            .and_then(|entry| entry.coding)
            .unwrap_or_else(|| self.preferred_coding(&draws));
        let coded = matches!(content, Content::Page(_));
        let chunked = draws.happens(place::CHUNKED, self.model().http.chunked.0);
        let drawn_framing = if chunked {
            Framing::Chunked
        } else {
            Framing::Length
        };
        let bodiless = content == Content::Empty;
        Answer {
            delay: entry.and_then(|entry| entry.delay_ms).map_or_else(
                || self.samplers().server_delay(draws.word(place::DELAY)),
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
                return status.parse().expect("checked when the model was read");
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

/// `page`, spoilt: plain content with a marked end, so that the fault alone is at fault.
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
