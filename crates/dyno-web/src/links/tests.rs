//! Properties of pages with links.

use std::collections::BTreeSet;

use proptest::prelude::*;
use url::Url;

use super::*;
use crate::answer::{Content, Request};
use crate::{Capability, Model, Nanos, Outcome, Terms};

fn web(seed: u64) -> Web {
    let text = "name = 'linked'\nseed = 1\n[urls]\nhosts = 1000\n[content]\nsigma = 1.5\n\
        [links]\nelsewhere = 0.2\nmissing = 0.1\nnofollow = 0.1\nnofollow_pages = 0.1\nfragments = 0.1\n\
        without_robots = 0.1\nrobots_unavailable = 0.1\nwithout_sitemap = 0.1\n";
    Web::new(Model::from_toml(text).unwrap(), Some(seed))
}

fn document(web: &Web, host: &str, target: &str) -> (u16, String) {
    let answer = web.answer(&Request::first(Scheme::Https, host, target));
    let text = match answer.content {
        Content::Made(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        _ => String::new(),
    };
    (answer.status, text)
}

fn target_of(url: &Url) -> &str {
    &url[url::Position::BeforePath..url::Position::AfterQuery]
}

/// The references of the `<a>` of a page, read from its bytes.
fn hrefs(html: &str) -> Vec<String> {
    let links = html.split("<a href=\"").skip(1);
    links
        .map(|link| link[..link.find('"').unwrap()].replace("&amp;", "&"))
        .collect()
}

/// Whether the text of a robots.txt allows a path: each rule is tried at every length, byte by byte.
fn naive_robots(text: &str, path: &str) -> bool {
    fn is_match(pattern: &[u8], path: &[u8]) -> bool {
        match (pattern, path) {
            ([], _) => true,
            ([b'$'], path) => path.is_empty(),
            ([b'*', rest @ ..], path) => (0..=path.len()).any(|skip| is_match(rest, &path[skip..])),
            ([first, rest @ ..], [byte, after @ ..]) => first == byte && is_match(rest, after),
            (_, []) => false,
        }
    }
    let group = text.split("User-agent: *\n").nth(1).unwrap();
    let mut longest = (0, true);
    for line in group.lines() {
        let rule = line.split_once(": ");
        if let Some((name @ ("Allow" | "Disallow"), pattern)) = rule
            && is_match(pattern.as_bytes(), path.as_bytes())
        {
            longest = longest.max((pattern.len(), name == "Allow"));
        }
    }
    longest.1
}

proptest! {
    #[test]
    fn a_relative_reference_leads_to_its_target(
        from in "/([ab]/){0,3}[ab]?(\\?a=1)?",
        target in "/([ab]/){0,3}[ab]?(\\?b=2&c=3)?",
    ) {
        let base = Url::parse(&format!("https://host.test{from}")).unwrap();
        let reached = base.join(&relative(&from, &target)).unwrap();
        prop_assert_eq!(target_of(&reached), target.as_str());
    }

    #[test]
    fn every_link_within_a_host_leads_to_a_page_or_to_a_declared_404(seed: u64, index in 0_u64..1_000) {
        let web = web(seed);
        let host = name::name(&web.key, index);
        let pages = web.pages(&host);
        prop_assert!((3..=40).contains(&pages.len()));
        prop_assert_eq!(pages.iter().collect::<BTreeSet<_>>().len(), pages.len());
        for page in &pages {
            let (status, html) = document(&web, &host, page);
            prop_assert_eq!(status, 200);
            prop_assert!(html.len() <= MOST_BYTES);
            prop_assert_eq!(&document(&web, &host, page).1, &html);
            let base = Url::parse(&format!("https://{host}{page}")).unwrap();
            let hrefs = hrefs(&html);
            prop_assert!(hrefs.len() < 30);
            for href in hrefs {
                let url = base.join(&href).unwrap();
                if url.host_str() == Some(host.as_str()) {
                    let target = target_of(&url).to_owned();
                    let status = document(&web, &host, &target).0;
                    prop_assert_eq!(status, if pages.contains(&target) { 200 } else { 404 }, "{}", href);
                    prop_assert!(pages.contains(&target) || is_gone(&target));
                }
            }
        }
    }

    #[test]
    fn a_recursive_fetch_finds_every_page_and_obeys_robots(seed: u64, index in 0_u64..1_000) {
        let web = web(seed);
        let host = name::name(&web.key, index);
        let home = format!("https://{host}/");
        let met = |capabilities: &[Capability]| {
            let terms = Terms {
                capabilities: capabilities.iter().copied().collect(),
                ..Terms::within(Nanos::from_millis(5_000))
            };
            let met = web.crawl(&terms, &home).into_iter();
            let arrived = met.filter(|(_, expectation)| expectation.arrives);
            arrived.map(|(url, expectation)| {
                let target = url[home.len() - 1..].to_owned();
                let is_page = matches!(expectation.outcome, Outcome::Status { status: 200, .. });
                (target, is_page)
            }).collect::<Vec<_>>()
        };
        let all = met(&[]);
        let pages: BTreeSet<&str> = all.iter().filter(|(_, is_page)| *is_page).map(|(target, _)| target.as_str()).collect();
        let of_host = web.pages(&host);
        prop_assert_eq!(&pages, &of_host.iter().map(String::as_str).collect());
        let obedient = met(&[Capability::Robots]);
        let (status, robots) = document(&web, &host, "/robots.txt");
        let allows = |target: &str| match status {
            200 => naive_robots(&robots, target),
            status => status == 404,
        };
        for target in &of_host {
            prop_assert_eq!(web.robots_allow(&host, target), allows(target), "{}\n{}", target, robots);
        }
        prop_assert!(obedient.iter().all(|(target, _)| allows(target)));
        let is_open = |(target, _): &(String, bool)| !document(&web, &host, target).1.contains("<meta name=\"robots\"");
        if all.iter().all(|(target, _)| allows(target)) && all.iter().all(is_open) {
            prop_assert_eq!(obedient, all);
        }
    }

    #[test]
    fn a_sitemap_lists_the_pages_that_are_allowed(seed: u64, index in 0_u64..1_000) {
        let web = web(seed);
        let host = name::name(&web.key, index);
        let (status, xml) = document(&web, &host, "/sitemap.xml");
        let robots = document(&web, &host, "/robots.txt").1;
        prop_assert!(robots.is_empty() || robots.contains("\nSitemap: ") == (status == 200));
        if status == 404 {
            return Ok(());
        }
        prop_assert!(xml.len() <= MOST_BYTES);
        let listed: Vec<String> = xml
            .split("<loc>")
            .skip(1)
            .map(|rest| rest[..rest.find("</loc>").unwrap()].replace("&amp;", "&"))
            .collect();
        let allowed: Vec<String> = web
            .pages(&host)
            .into_iter()
            .filter(|target| web.robots_allow(&host, target))
            .map(|target| format!("https://{host}{target}"))
            .collect();
        prop_assert_eq!(listed, allowed);
    }
}

#[test]
fn some_hosts_have_many_links() {
    let web = web(1);
    let mut linked = std::collections::BTreeMap::<String, usize>::new();
    for index in 0..500 {
        let host = name::name(&web.key, index);
        for link in web.links(Scheme::Https, &host, "/") {
            let base = Url::parse(&format!("https://{host}/")).unwrap();
            let to = base
                .join(&link.href)
                .unwrap()
                .host_str()
                .unwrap()
                .to_owned();
            if to != host {
                *linked.entry(to).or_default() += 1;
            }
        }
    }
    let most = linked.values().max().unwrap();
    let all: usize = linked.values().sum();
    // A thousand hosts: an even spread would give each one or two.
    assert!(*most > 50 && all > 500, "{most} of {all}");
}

#[test]
fn the_longest_names_have_bounded_pages() {
    let text = "name = 'x'\nseed = 1\n[urls]\nhosts = 10\n[content]\nmedian_bytes = 8_000_000\n\
        [links]\nfewest_pages = 200\nmost_pages = 200\nmost_links = 100\n";
    let web = Web::new(Model::from_toml(text).unwrap(), None);
    let host = [
        ["x"; 63].concat(),
        ["y"; 63].concat(),
        ["z"; 63].concat(),
        ["w"; 61].concat(),
    ]
    .join(".");
    for page in web.pages(&host) {
        assert!(document(&web, &host, &page).1.len() <= MOST_BYTES, "{page}");
    }
    assert!(document(&web, &host, "/sitemap.xml").1.len() <= MOST_BYTES);
}
