//! Pages with links of a web that has `[links]`: the pages of a site, the links of a page, and its sitemap.

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use crate::content::text;
use crate::draw::{Draws, Kind};
use crate::model::LinkModel;
use crate::name;
use crate::scheme::Scheme;
use crate::site::site_of;
use crate::web::Web;

/// Longest page with links, and longest sitemap.
pub(crate) const MOST_BYTES: usize = 32 << 10;
/// Bytes of a page or sitemap besides its links, and of the markup of a link besides its URLs.
const FRAME_BYTES: usize = 1 << 10;
const MARKUP_BYTES: usize = 96;
/// Pages that links name and that no host has: `/gone-0` and so on.
const GONE: &str = "/gone-";
const GONE_PAGES: u64 = 8;
/// First part of most paths. Rules of robots.txt concern the last three.
const FOLDERS: [&str; 8] = [
    "news", "shop", "blog", "help", "about", "archive", "private", "tmp",
];

/// Places in the draws of a site.
pub(crate) mod place {
    pub(super) const PAGES: usize = 0;
    pub(super) const SITEMAP: usize = 1;
    pub(crate) const ROBOTS: usize = 2;
    pub(crate) const RULES: usize = 3;
    // In the draws of a path.
    pub(super) const NAME: usize = 0;
    pub(super) const FORM: usize = 1;
    pub(super) const LINKS: usize = 2;
    pub(super) const DAY: usize = 3;
    pub(super) const META: usize = 4;
    // In the draws of a link.
    pub(super) const KIND: usize = 0;
    pub(super) const TARGET: usize = 1;
    pub(super) const WRITTEN: usize = 2;
    pub(super) const FRAGMENT: usize = 3;
    pub(super) const NOFOLLOW: usize = 4;
    pub(super) const HOST: usize = 5;
}

/// A link of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageLink {
    /// The reference, before HTML escapes it.
    pub href: String,
    /// Whether it has `rel="nofollow"`.
    pub nofollow: bool,
}

/// The pages of a site with links.
pub(crate) struct LinkedSite<'w> {
    web: &'w Web,
    pub(crate) model: &'w LinkModel,
    site: &'w str,
    pub(crate) draws: Draws,
}

impl Web {
    /// The pages of the site of `host`; `None` in a web without `[links]`.
    pub(crate) fn linked_site<'w>(&'w self, host: &'w str) -> Option<LinkedSite<'w>> {
        let site = site_of(host);
        self.model.links.as_ref().map(|model| LinkedSite {
            web: self,
            model,
            site,
            draws: self.key.draws(Kind::Links, site, ""),
        })
    }

    /// The links of a page, in order; none for a path that is no page with links. (The status of the page may be an error: then they
    /// are not sent.)
    #[must_use]
    pub fn links(&self, scheme: Scheme, host: &str, target: &str) -> Vec<PageLink> {
        // A content of a given length has no room for links.
        let has_room = self
            .entry(host)
            .is_none_or(|entry| entry.content_bytes.is_none());
        self.linked_site(host)
            .filter(|_| has_room)
            .and_then(|site| Some(site.links(scheme, host, site.place_of(target)?)))
            .unwrap_or_default()
    }

    /// Whether a page tells crawlers not to follow its links (`<meta name="robots" content="nofollow">`).
    pub(crate) fn forbids_links(&self, host: &str, target: &str) -> bool {
        self.linked_site(host).is_some_and(|site| {
            site.place_of(target)
                .is_some_and(|page| site.has_meta(page))
        })
    }

    /// The pages that a host has: path and query, the home page first; none in a web without `[links]`.
    #[must_use]
    pub fn pages(&self, host: &str) -> Vec<String> {
        self.linked_site(host).map_or_else(Vec::new, |site| {
            (0..site.pages()).map(|place| site.path(place)).collect()
        })
    }
}

impl LinkedSite<'_> {
    /// Whether the host has an entry in the model.
    pub(crate) fn is_named(&self, host: &str) -> bool {
        self.web.entry(host).is_some()
    }

    fn draws(&self, name: &str) -> Draws {
        self.web.key.draws(Kind::Links, self.site, name)
    }

    /// Number of pages.
    fn pages(&self) -> u64 {
        let choices = self.model.most_pages - self.model.fewest_pages + 1;
        self.model.fewest_pages + self.draws.word(place::PAGES) % choices
    }

    /// Path and query of a page; that of place 0 is the home page.
    fn path(&self, page: u64) -> String {
        if page == 0 {
            return "/".to_owned();
        }
        let draws = self.draws(&page.to_string());
        let [folder, name, form] =
            [place::NAME, place::FORM, place::LINKS].map(|place| draws.word(place));
        let folder = FOLDERS[(folder % 8) as usize];
        let name = match folder {
            "private" if name >> 60 < 8 => "open".to_owned(),
            _ => name::word(name),
        };
        match form >> 62 {
            0 => format!("/{name}-{page}"),
            1 => format!("/{folder}/{name}-{page}/"),
            2 => format!("/{folder}/list?sort=name&page={page}"),
            _ => format!("/{folder}/{name}-{page}.html"),
        }
    }

    /// The place of the page with this path and query.
    pub(crate) fn place_of(&self, target: &str) -> Option<u64> {
        // A home page may be under a path (`chain` of `[redirects]`).
        if matches!(target, "/" | "/home") {
            return Some(0);
        }
        let end = target.rsplit(['-', '=']).next()?;
        let number = end.trim_end_matches('/').trim_end_matches(".html");
        let page = number.parse().ok()?;
        (page < self.pages() && self.path(page) == target).then_some(page)
    }

    fn has_meta(&self, page: u64) -> bool {
        self.draws(&page.to_string())
            .happens(place::META, self.model.nofollow_pages.0)
    }

    /// The links of a page. Page n links to pages 2n + 1 and 2n + 2, so that links lead from the home page to every other one.
    fn links(&self, scheme: Scheme, host: &str, page: u64) -> Vec<PageLink> {
        let (from, pages) = (self.path(page), self.pages());
        let children = [2 * page + 1, 2 * page + 2].into_iter();
        let children: Vec<u64> = children.filter(|&child| child < pages).collect();
        let random = self.draws(&page.to_string()).word(place::LINKS) % self.model.most_links;
        let count = random.max(children.len() as u64);
        let mut links = Vec::new();
        let mut bytes = FRAME_BYTES;
        for number in 0..count {
            let draws = self.draws(&format!("{page} {number}"));
            let child = usize::try_from(number).ok().and_then(|at| children.get(at));
            let mut href = match child {
                Some(&child) => Some(written(&draws, scheme, host, &from, &self.path(child))),
                None => self.drawn_link(&draws, scheme, host, &from),
            };
            if let Some(href) = &mut href
                && draws.happens(place::FRAGMENT, self.model.fragments.0)
            {
                href.push_str("#part");
            }
            let Some(href) = href else { continue };
            // A page has each reference twice, and stays short however long its host's name is.
            bytes += 2 * href.len() + MARKUP_BYTES;
            if bytes > MOST_BYTES {
                break;
            }
            links.push(PageLink {
                href,
                nofollow: child.is_none() && draws.happens(place::NOFOLLOW, self.model.nofollow.0),
            });
        }
        links
    }

    /// A link to another host, to a page that does not exist, or to a page of the host; low numbers have more links.
    fn drawn_link(&self, draws: &Draws, scheme: Scheme, host: &str, from: &str) -> Option<String> {
        let kind = draws.share(place::KIND);
        let word = draws.word(place::TARGET);
        if kind < self.model.elsewhere.0 {
            let hosts = self.web.model.urls.hosts;
            if hosts == 0 {
                return None;
            }
            let other = name::name(&self.web.key, skewed(draws.word(place::HOST), hosts));
            let target = match self.web.linked_site(&other) {
                Some(site) if word >> 63 == 0 => site.path(skewed(word, site.pages())),
                _ => "/".to_owned(),
            };
            let scheme = self.web.model.urls.scheme.name();
            return Some(format!("{scheme}://{other}{target}"));
        }
        let target = if kind < self.model.elsewhere.0 + self.model.missing.0 {
            format!("{GONE}{}", word % GONE_PAGES)
        } else {
            self.path(skewed(word, self.pages()))
        };
        Some(written(draws, scheme, host, from, &target))
    }

    /// The page at a place as HTML, `bytes` long unless its links take more.
    pub(crate) fn html(&self, scheme: Scheme, host: &str, page: u64, bytes: u64) -> Arc<[u8]> {
        const END: &str = "</p>\n</body>\n</html>\n";
        let bytes = usize::try_from(bytes).map_or(MOST_BYTES, |bytes| bytes.min(MOST_BYTES));
        let meta = if self.has_meta(page) {
            "<meta name=\"robots\" content=\"nofollow\">"
        } else {
            ""
        };
        let mut html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>{meta}<title>{} {page}</title></head>\n<body>\n<ul>\n",
            self.site
        );
        for link in self.links(scheme, host, page) {
            let nofollow = if link.nofollow {
                " rel=\"nofollow\""
            } else {
                ""
            };
            let href = link.href.replace('&', "&amp;");
            // Writing to a string cannot fail.
            let _ = writeln!(
                html,
                "<li><a href=\"{href}\"{nofollow}>{}</a></li>",
                &href[href.len().min(1)..]
            );
        }
        html.push_str("</ul>\n<p>");
        let rest = bytes.saturating_sub(html.len() + END.len());
        html.push_str(&FILLER[..rest]);
        html.push_str(END);
        html.into_bytes().into()
    }

    /// Whether the site has `/sitemap.xml`.
    pub(crate) fn has_sitemap(&self) -> bool {
        !self
            .draws
            .happens(place::SITEMAP, self.model.without_sitemap.0)
    }

    /// The content of `/sitemap.xml`: the pages that robots.txt does not forbid.
    pub(crate) fn sitemap(&self, scheme: Scheme, host: &str) -> Arc<[u8]> {
        const END: &str = "</urlset>\n";
        let robots = self.robots(host);
        let mut xml = String::from(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
        );
        for page in 0..self.pages() {
            let path = self.path(page);
            if !robots.allows(&path) || xml.len() + FRAME_BYTES > MOST_BYTES {
                continue;
            }
            let day = self.draws(&page.to_string()).word(place::DAY);
            let _ = writeln!(
                xml,
                "<url><loc>{}://{host}{}</loc><lastmod>2026-{:02}-{:02}</lastmod></url>",
                scheme.name(),
                path.replace('&', "&amp;"),
                day % 10 + 1,
                day / 10 % 28 + 1
            );
        }
        xml.push_str(END);
        xml.into_bytes().into()
    }
}

/// Whether a path is one of those that links name and that no host has.
pub(crate) fn is_gone(target: &str) -> bool {
    let number = target.strip_prefix(GONE).map(str::parse::<u64>);
    matches!(number, Some(Ok(number)) if number < GONE_PAGES)
}

/// Words between links.
static FILLER: LazyLock<String> = LazyLock::new(|| {
    let mut words = text(5);
    words.truncate(MOST_BYTES);
    String::from_utf8(words).expect("the text is ASCII")
});

/// A number below `count`: low ones far more often, as the cube of a uniform draw.
fn skewed(word: u64, count: u64) -> u64 {
    let uniform = (word >> 8) & 0xffff;
    let leaning = (((uniform * uniform) >> 16) * uniform) >> 16;
    (leaning * count) >> 16
}

/// A reference to `target` on the same host: relative, with a path, with the host, or a whole URL.
fn written(draws: &Draws, scheme: Scheme, host: &str, from: &str, target: &str) -> String {
    match draws.word(place::WRITTEN) >> 61 {
        0 => format!("{}://{host}{target}", scheme.name()),
        1 => format!("//{host}{target}"),
        2..=4 => target.to_owned(),
        _ => relative(from, target),
    }
}

/// The shortest relative reference from one path of a host to another (RFC 3986, section 5.2, backwards).
fn relative(from: &str, target: &str) -> String {
    let folder = |path: &str| {
        let path = path.split('?').next().unwrap_or_default();
        path[..=path.rfind('/').unwrap_or(0)].to_owned()
    };
    let (base, end) = (folder(from), folder(target));
    let ups = base.matches('/').count() - 1;
    match target.strip_prefix(&base) {
        // Without the dot it would be the page itself.
        Some(rest) if rest.is_empty() || rest.starts_with('?') => format!("./{rest}"),
        Some(rest) => rest.to_owned(),
        None => format!("{}{}{}", "../".repeat(ups), &end[1..], &target[end.len()..]),
    }
}

#[cfg(test)]
mod tests;
