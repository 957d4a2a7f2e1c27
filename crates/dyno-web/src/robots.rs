//! `/robots.txt` of a web with `[links]`: its rules, and the paths that they forbid (RFC 9309).

use std::fmt::Write as _;
use std::sync::Arc;

use crate::links::{LinkedSite, place};
use crate::scheme::Scheme;
use crate::web::Web;

/// A rule for every crawler: whether it allows the paths that match its pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) allows: bool,
    pub(crate) pattern: &'static str,
}

/// The robots.txt of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Robots {
    /// 404: everything is allowed.
    Missing,
    /// 503: nothing is allowed.
    Unavailable,
    /// Rules, and whether crawlers must wait between requests.
    Rules {
        rules: Vec<Rule>,
        has_crawl_delay: bool,
    },
}

const fn allow(pattern: &'static str) -> Rule {
    Rule {
        allows: true,
        pattern,
    }
}

const fn disallow(pattern: &'static str) -> Rule {
    Rule {
        allows: false,
        pattern,
    }
}

impl Web {
    /// Whether the robots.txt of a host lets crawlers without rules of their own fetch a path; always in a web without `[links]`.
    #[must_use]
    pub fn robots_allow(&self, host: &str, target: &str) -> bool {
        self.linked_site(host)
            .is_none_or(|site| site.robots(host).allows(target))
    }
}

impl LinkedSite<'_> {
    pub(crate) fn robots(&self, host: &str) -> Robots {
        let model = self.model;
        let draw = self.draws.share(place::ROBOTS);
        // A host with an entry of its own can be crawled.
        let is_named = self.is_named(host);
        if !is_named && draw < model.without_robots.0 {
            return Robots::Missing;
        }
        if !is_named && draw < model.without_robots.0 + model.robots_unavailable.0 {
            return Robots::Unavailable;
        }
        let word = self.draws.word(place::RULES);
        let (of_64, bit) = (word >> 58, |place: u32| word >> place & 1 == 1);
        let mut rules = vec![disallow("/private/")];
        if of_64 == 0 && !is_named {
            rules = vec![disallow("/")];
        }
        if bit(0) {
            rules.push(allow("/private/open-"));
        }
        if bit(1) {
            rules.push(disallow("/tmp"));
        }
        // Patterns that crawlers of the time before RFC 9309 do not read.
        if bit(2) && bit(3) {
            rules.push(disallow("/*?sort="));
            rules.push(allow("/tmp/*.html$"));
        }
        if bit(4) {
            // For crawlers that take the first rule that matches, as most sites write them.
            rules.sort_by_key(|rule| std::cmp::Reverse(rule.pattern.len()));
        }
        Robots::Rules {
            rules,
            has_crawl_delay: bit(5) && bit(6),
        }
    }

    /// The content of `/robots.txt` with these rules.
    pub(crate) fn robots_text(
        &self,
        scheme: Scheme,
        host: &str,
        rules: &[Rule],
        has_crawl_delay: bool,
    ) -> Arc<[u8]> {
        let mut text = String::from(
            "# Rules for crawlers\nUser-agent: badbot\nUser-agent: worsebot\nDisallow: /\n\nUser-agent: *\n",
        );
        if has_crawl_delay {
            text.push_str("Crawl-delay: 1\n");
        }
        for Rule { allows, pattern } in rules {
            let name = if *allows { "Allow" } else { "Disallow" };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name}: {pattern}");
        }
        if self.has_sitemap() {
            let _ = write!(text, "\nSitemap: {}://{host}/sitemap.xml\n", scheme.name());
        }
        text.into_bytes().into()
    }
}

impl Robots {
    /// Whether crawlers may fetch a path: the longest pattern that matches decides, and `Allow` between equals.
    pub(crate) fn allows(&self, target: &str) -> bool {
        match self {
            Self::Missing => true,
            _ if target == "/robots.txt" => true,
            Self::Unavailable => false,
            Self::Rules { rules, .. } => rules
                .iter()
                .filter(|rule| matches(rule.pattern, target))
                .max_by_key(|rule| (rule.pattern.len(), rule.allows))
                .is_none_or(|rule| rule.allows),
        }
    }
}

/// Whether a pattern matches the beginning of a path: `*` stands for any bytes, `$` at its end for the end of the path.
fn matches(pattern: &str, target: &str) -> bool {
    let (pattern, is_whole) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let Some(mut rest) = target.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return !is_whole || rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if is_whole && parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Matches byte by byte, with every way to read a `*`.
    fn naive(pattern: &[u8], path: &[u8]) -> bool {
        match (pattern, path) {
            ([], _) => true,
            ([b'$'], path) => path.is_empty(),
            ([b'*', rest @ ..], path) => (0..=path.len()).any(|skip| naive(rest, &path[skip..])),
            ([first, rest @ ..], [byte, after @ ..]) => first == byte && naive(rest, after),
            (_, []) => false,
        }
    }

    proptest! {
        #[test]
        fn patterns_match_as_a_naive_matcher_says(pattern in "/[ab*]{0,6}\\$?", path in "/[ab]{0,8}") {
            prop_assert_eq!(
                matches(&pattern, &path),
                naive(pattern.as_bytes(), path.as_bytes()),
                "{} {}", pattern, path
            );
        }
    }

    #[test]
    fn the_longest_pattern_decides() {
        let robots = Robots::Rules {
            rules: vec![
                disallow("/private/"),
                allow("/private/open-"),
                disallow("/*?sort="),
            ],
            has_crawl_delay: false,
        };
        let cases = [
            ("/", true),
            ("/private", true),
            ("/private/", false),
            ("/private/x-1.html", false),
            ("/private/open-1.html", true),
            ("/news/list?sort=name&page=1", false),
            ("/robots.txt", true),
        ];
        for (path, is_allowed) in cases {
            assert_eq!(robots.allows(path), is_allowed, "{path}");
        }
        assert!(Robots::Missing.allows("/private/x"));
        assert!(!Robots::Unavailable.allows("/") && Robots::Unavailable.allows("/robots.txt"));
    }
}
