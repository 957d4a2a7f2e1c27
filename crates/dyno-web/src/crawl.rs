//! The truth of a recursive fetch: the URLs that links lead to within a host.

use std::collections::{BTreeSet, VecDeque};

use url::Url;

use crate::expectation::{Expectation, Outcome, Terms};
use crate::listed_url::{parse, request_url, scheme_of};
use crate::oddity::Capability;
use crate::web::Web;

impl Web {
    /// The URLs that a recursive fetch from `seed` meets on the host, each with its correct result, in the order of a breadth-first
    /// search. Links to other hosts are not followed; those with `rel="nofollow"` are: it is a hint to search engines.
    /// With the capability `robots`, forbidden URLs have the cause `disallowed`, and pages that say so have no links.
    #[must_use]
    pub fn crawl(&self, terms: &Terms<'_>, seed: &str) -> Vec<(String, Expectation)> {
        let mut met = vec![];
        let mut known = BTreeSet::new();
        let mut due = VecDeque::from([seed.to_owned()]);
        // The host of the seed, and that to which it redirects.
        let mut hosts: Vec<String> = Vec::new();
        while let Some(url) = due.pop_front() {
            let (expectation, last) = self.walk_on(terms, &url);
            let is_page = matches!(
                expectation.outcome,
                Outcome::Status { status: 200, .. } | Outcome::Either { status: 200, .. }
            );
            met.push((url.clone(), expectation));
            let Some(last) = last.filter(|_| is_page) else {
                continue;
            };
            if known.is_empty() {
                let first = parse(&url);
                hosts.extend(first.iter().chain([&last]).filter_map(host_of));
                known.extend(first.as_ref().map(request_url));
            }
            due.extend(
                self.followed(&last, terms)
                    .filter(|next| host_of(next).is_some_and(|host| hosts.contains(&host)))
                    .map(|next| request_url(&next))
                    .filter(|next| known.insert(next.clone())),
            );
        }
        met
    }

    /// The URLs of the links of a page that a recursive fetch follows.
    fn followed(&self, page: &Url, terms: &Terms<'_>) -> impl Iterator<Item = Url> {
        let target = &page[url::Position::BeforePath..url::Position::AfterQuery];
        let obeys = terms.capabilities.has(Capability::Robots);
        let links = match (scheme_of(page), host_of(page)) {
            (_, Some(host)) if obeys && self.forbids_links(&host, target) => Vec::new(),
            (Some(scheme), Some(host)) => self.links(scheme, &host, target),
            _ => Vec::new(),
        };
        links
            .into_iter()
            .filter_map(|link| page.join(&link.href).ok())
    }
}

fn host_of(url: &Url) -> Option<String> {
    url.host_str()
        .map(|host| host.trim_end_matches('.').to_owned())
}
